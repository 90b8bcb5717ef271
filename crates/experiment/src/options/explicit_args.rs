//! Options, which of them were typed, and whether they fit what they were typed for.

#[cfg(not(feature = "clap"))]
use vorrang_algorithms::card::About;

#[cfg(not(feature = "clap"))]
use crate::failure::Failure;

/// Options, and which of them were typed.
#[derive(Clone, Debug)]
pub struct ExplicitArgs<A> {
    /// The options.
    pub args: A,
    typed: Vec<String>,
}

impl<A> ExplicitArgs<A> {
    /// Options, and the names of those that were typed.
    #[cfg(feature = "clap")]
    pub(super) const fn new(args: A, typed: Vec<String>) -> Self {
        Self { args, typed }
    }

    /// The names of the options that were typed.
    pub fn typed(&self) -> &[String] {
        &self.typed
    }

    /// Whether an option was typed.
    pub fn has(&self, option: &str) -> bool {
        self.typed.iter().any(|typed| typed == option)
    }
}

#[cfg(not(feature = "clap"))]
impl<A> ExplicitArgs<A> {
    /// Without a command line nothing is typed that could not fit.
    pub const fn check_fit(&self, _: &[&About]) -> Result<(), Failure> {
        Ok(())
    }
}
