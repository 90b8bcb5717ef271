//! `vorrang node`: one real node over TCP, driven by hand.

use std::path::PathBuf;

use tracing_subscriber::EnvFilter;

use crate::failure::Failure;
use crate::given::Given;
use crate::lookup;
use crate::network::conversation::Served;
use crate::options::SetupArgs;
use crate::values::whole;

/// Run one real node over TCP; lines on standard input drive it
///
/// Start one on each machine, or three in three terminals, with the same --peers; a node begins
/// when it has met all others. Then type:
///
///   acquire    wait to enter (also: acquire shared, acquire group 2)
///   release    leave
///   status     how this node and its links are
///   help       what else there is, for other problems too
///   quit       leave the group; end of input does the same, unless --stay
///
/// Links are neither encrypted nor authenticated: keep them on a network of your own.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "Example, in three terminals:\n  \
    vorrang node --id 0 --peers 127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002\n  \
    vorrang node --id 1 --peers 127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002\n  \
    vorrang node --id 2 --peers 127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002\n\n\
    VORRANG_LOG sets what is logged: error, warn (as it is), info or debug.")]
pub(crate) struct Node {
    /// Which of the peers this is, counted from 0
    #[arg(long, value_parser = whole(0..=u32::MAX))]
    pub(crate) id: u32,
    /// The addresses of all nodes, this one included, the same list everywhere
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST:PORT")]
    pub(crate) peers: Vec<String>,
    /// Which algorithm, as `vorrang list` calls it; the same everywhere
    #[arg(long, short, default_value = "ricart-agrawala")]
    algorithm: String,
    /// The name of the group; nodes of another group are refused
    #[arg(long, default_value = "default")]
    pub(crate) group: String,
    /// Write everything that happens at this node to this file when it ends
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Go on answering the others when standard input ends
    #[arg(long)]
    pub(crate) stay: bool,
    #[command(flatten, next_help_heading = "Set-up, the same everywhere")]
    setup: Given<SetupArgs>,
}

impl Node {
    pub(crate) fn execute(mut self) -> Result<(), Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        let nodes = self.peers.len() as u32;
        if self.id >= nodes {
            return Err(Failure::usage(format!(
                "--id {} does not exist: --peers has {nodes} addresses, so the last is {}",
                self.id,
                nodes - 1
            )));
        }
        let is_address = |peer: &&String| {
            let parts = peer.rsplit_once(':');
            parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        if let Some(wrong) = self.peers.iter().find(|peer| !is_address(peer)) {
            return Err(Failure::usage(format!(
                "--peers: '{wrong}' is not an address: write HOST:PORT, as in 127.0.0.1:7000"
            )));
        }
        if let Some(twice) =
            self.peers.iter().enumerate().find(|(i, it)| self.peers[..*i].contains(it))
        {
            return Err(Failure::usage(format!("--peers names {} twice", twice.1)));
        }
        let filter =
            EnvFilter::try_from_env("VORRANG_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
        let about = entry.algorithm.about();
        self.setup.check_fit(&[&about])?;
        self.setup.args.allow_for_busy_machines(&about);
        let setup = self.setup.args.setup(&about, nodes)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Served { about, setup: setup.clone(), node: self };
        let ended = runtime.block_on(async { entry.algorithm.serve(&setup, served)?.await });
        // A read of standard input that nobody waits for any more must not hold up the end.
        runtime.shutdown_background();
        ended
    }
}
