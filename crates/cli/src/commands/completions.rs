//! `vorrang completions`: scripts that let a shell complete commands and options.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Arguments;
use crate::failure::Failure;
use crate::output::print;

/// Print a script that lets your shell complete commands and options
///
/// For bash:  source <(vorrang completions bash)
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "vorrang", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
