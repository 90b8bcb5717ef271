//! An option with several values: what a comparison goes through.

use std::fmt;

use vorrang_sim::Share;

use super::RunArgs;

/// An option, and what each of its values changes in the options of a run.
pub struct Axis {
    /// The option's name.
    pub option: &'static str,
    /// The change of options, once for each value.
    pub values: Vec<Change>,
}

/// A change of the options of a run.
pub type Change = Box<dyn Fn(&mut RunArgs)>;

impl Axis {
    /// An option with these values, and how one of them is set.
    pub fn new<T: 'static>(
        option: &'static str,
        values: impl IntoIterator<Item = T>,
        set: fn(&mut RunArgs, &T),
    ) -> Self {
        let change = |value: T| Box::new(move |args: &mut RunArgs| set(args, &value)) as Change;
        Self { option, values: values.into_iter().map(change).collect() }
    }

    /// Shares of messages that are lost.
    pub(crate) fn losses<const N: usize>(shares: [&'static str; N]) -> Self {
        let shares = shares.map(|it| it.parse::<Share>().expect("it is a share"));
        Self::new("loss", shares, |args, share| args.faults.loss = Some(*share))
    }
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Axis")
            .field("option", &self.option)
            .field("values", &self.values.len())
            .finish()
    }
}
