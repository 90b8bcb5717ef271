//! `vorrang serve`: the daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use vorrang_lock::tls::Tls;

use crate::daemon;
use crate::failure::Failure;
use crate::settings::{KeyArgs, Settings};

/// Run a member of a group, for the programs of this machine
///
/// With no configuration it is a group of one, on a Unix socket that its user alone can use. What
/// else it is told is in a file, in variables of the environment, or in options: an option counts
/// before a variable, and that before the file.
///
/// SIGTERM and SIGINT: it leaves the group. Nothing is granted any more, and who holds something
/// may finish within leave-within; the second one ends it at once. SIGHUP: certificates are read
/// again, and who may join (tls.newcomers); all else counts when it is started the next time.
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "Examples:\n  \
    vorrang serve\n  \
    vorrang serve --config /etc/vorrang/vorrang.toml --name a\n  \
    vorrang serve --show-config\n\n\
    A group of three, in three terminals of one machine:\n  \
    LIST=a=127.0.0.1:7400,b=127.0.0.1:7401,c=127.0.0.1:7402\n  \
    vorrang serve --member $LIST --name a --socket a.sock\n  \
    vorrang serve --member $LIST --name b --socket b.sock\n  \
    vorrang serve --member $LIST --name c --socket c.sock\n\n\
    VORRANG_LOG sets what is logged: error, warn, info (as it is) or debug; of the network alone\n\
    with vorrang_net=debug,info.")]
pub(crate) struct Serve {
    /// The configuration [variable: `VORRANG_CONFIG`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say whether the configuration is fine, and do nothing else
    #[arg(long)]
    check_config: bool,
    /// Print every value and where it comes from, as a file that can be read back, and do nothing
    /// else
    #[arg(long)]
    show_config: bool,
    #[command(flatten)]
    keys: KeyArgs,
}

impl Serve {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let file = self.config.or_else(usual_config);
        let collect = || Settings::collect(file.as_deref(), std::env::vars_os(), &self.keys);
        let settings = collect().map_err(|why| Failure::Config(why.to_string()))?;
        if self.show_config {
            print!("{}", settings.show());
        }
        if self.check_config {
            // Files that cannot be read are found before they are needed.
            Tls::of(&settings.config).map_err(|why| Failure::Config(why.to_string()))?;
        }
        if self.show_config || self.check_config {
            return Ok(ExitCode::SUCCESS);
        }
        daemon::run(&settings, &collect)
    }
}

/// The configuration if no other is given.
pub(crate) fn usual_config() -> Option<PathBuf> {
    std::env::var_os("VORRANG_CONFIG").map(PathBuf::from)
}
