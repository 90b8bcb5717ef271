//! `vorrang node`: one real node over TCP, driven by hand.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing_subscriber::EnvFilter;
use vorrang_algorithms::card::About;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry;
use vorrang_algorithms::setup::Setup;
use vorrang_net::{Clock, CommandError, Config, Handle, Log, NetError, Starting, Stopped};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_trace::Trace;

use crate::failure::Failure;
use crate::lookup;
use crate::options::{Given, SetupArgs};
use crate::output::{BOLD, DIM, RESET, is_closed, print, say_aside};
use crate::problem::{Driven, Future, header};
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
    id: u32,
    /// The addresses of all nodes, this one included, the same list everywhere
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST:PORT")]
    peers: Vec<String>,
    /// Which algorithm, as `vorrang list` calls it; the same everywhere
    #[arg(long, short, default_value = "ricart-agrawala")]
    algorithm: String,
    /// The name of the group; nodes of another group are refused
    #[arg(long, default_value = "default")]
    group: String,
    #[command(flatten, next_help_heading = "Set-up, the same everywhere")]
    setup: Given<SetupArgs>,
    /// Write everything that happens at this node to this file when it ends
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Go on answering the others when standard input ends
    #[arg(long)]
    stay: bool,
}

impl Node {
    pub(crate) fn execute(self) -> Result<(), Failure> {
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
        let setup = self.setup.args.setup(&about, nodes)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Served { about, setup: setup.clone(), node: self };
        let ended = runtime.block_on(async { entry.algorithm.serve(&setup, served)?.await });
        // A read of standard input that nobody waits for any more must not hold up the end.
        runtime.shutdown_background();
        ended
    }
}

/// A node that is to be run.
pub(crate) struct Served {
    about: About,
    setup: Setup,
    node: Node,
}

/// Runs one node until it leaves.
pub(crate) fn serve<Q, P>(served: Served, make: &registry::Node<P>) -> Future<'static>
where
    Q: Driven,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    let Served { about, setup, node } = served;
    let (id, name) = (NodeId(node.id), about.name);
    // Nodes that are set up differently would let too many in, so they must agree on it.
    let config = Config {
        group: node.group.clone(),
        setup: setup.text(about.takes),
        ..Config::new(id, node.peers.clone(), name)
    };
    let mut starting = vorrang_net::Node::new(make(id), config);
    let log = node.trace.as_ref().map(|_| Log::new());
    if let Some(log) = &log {
        starting = starting.record(log.clone(), Clock::start());
    }
    let save = move |file: File| {
        let Some(log) = log else { return Ok(()) };
        let header = header(&about, &setup).with("node", &id);
        let trace = Trace::<P> { header, records: log.take() };
        trace.write(BufWriter::new(file))
    };
    Box::pin(attend::<Q>(name, node, starting.start(), Box::new(save)))
}

type Started<Q> = (Handle<<Q as Problem>::Command>, UnboundedReceiver<<Q as Problem>::Notice>);

async fn attend<Q: Driven>(
    name: &'static str,
    node: Node,
    starting: Starting<Started<Q>>,
    save: Box<dyn FnOnce(File) -> std::io::Result<()>>,
) -> Result<(), Failure> {
    let id = NodeId(node.id);
    // A trace that cannot be written is no surprise for the end.
    let create = |path: PathBuf| match File::create(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(Failure::at(&path, error)),
    };
    let trace = node.trace.map(create).transpose()?;
    let own = node.peers[id.index()].clone();
    let (handle, notices) = starting.await.map_err(not_started)?;
    tell(&format!("node {id} of {} listens on {own}, running {name}", node.peers.len()))?;
    let ended = converse::<Q>(&handle, notices, node.stay).await;
    // Whoever leaves the group from inside would keep everyone else out. Before the start nobody
    // is inside, and a command would wait for it.
    let has_started = handle.status().await.is_ok_and(|status| status.started);
    if let Some(farewell) = Q::farewell().filter(|_| has_started)
        && handle.command(farewell.clone()).await.is_ok()
    {
        tell(Q::obeyed(&farewell).unwrap_or_default())?;
    }
    match handle.shutdown().await {
        Ok(goodbye) if goodbye.unacknowledged > 0 => tell(&format!(
            "left; {} messages were not acknowledged by nodes that could not be reached",
            goodbye.unacknowledged
        ))?,
        Ok(_) => tell("left")?,
        Err(stopped) => return Err(Failure::Failed(stopped.to_string())),
    }
    if let Some((path, file)) = trace {
        save(file).map_err(|error| Failure::at(&path, error))?;
    }
    ended
}

/// A port in use is the world's fault, a list of peers that makes no sense is the caller's.
fn not_started(error: NetError) -> Failure {
    match error {
        NetError::Bind { .. } => Failure::Failed(error.to_string()),
        other => Failure::Usage(other.to_string()),
    }
}

/// Does what is typed and tells what happens, until one or the other ends.
async fn converse<Q: Driven>(
    handle: &Handle<Q::Command>,
    mut notices: UnboundedReceiver<Q::Notice>,
    stay: bool,
) -> Result<(), Failure> {
    let mut events = handle.events();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut has_input = true;
    // Whom nobody hears any more need not stay.
    while !is_closed() {
        tokio::select! {
            Some(notice) = notices.recv() => tell(&format!("{BOLD}{notice}{RESET}"))?,
            event = events.recv() => match event {
                Ok(event) => say_aside(&format!("{DIM}{event}{RESET}")),
                Err(RecvError::Lagged(missed)) => {
                    say_aside(&format!("{DIM}{missed} events were too many to show{RESET}"));
                }
                // The node has ended by itself; leaving says why.
                Err(RecvError::Closed) => return Ok(()),
            },
            line = lines.next_line(), if has_input => match line?.as_deref().map(str::trim) {
                None if stay => has_input = false,
                None | Some("quit") => return Ok(()),
                Some("") => {}
                Some("help") => tell(&help::<Q>())?,
                Some("status") => tell(&status(handle).await.map_err(|error| stopped(&error))?)?,
                Some(text) => obey::<Q>(handle, text)?,
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
    Ok(())
}

fn obey<Q: Driven>(handle: &Handle<Q::Command>, text: &str) -> Result<(), Failure> {
    let command: Q::Command = match text.parse() {
        Ok(command) => command,
        Err(why) => return tell(&format!("{why}, status, help or quit")),
    };
    // Before all nodes have met, a command waits with the node; the conversation must not.
    let handle = handle.clone();
    tokio::spawn(async move {
        let answer = match handle.command(command.clone()).await {
            Ok(()) => match Q::obeyed(&command) {
                Some(answer) => answer.to_owned(),
                None => return,
            },
            Err(CommandError::Refused(refused)) => refused.to_string(),
            Err(error @ (CommandError::Fenced(_) | CommandError::Stopped(_))) => error.to_string(),
        };
        // If standard output is closed, the conversation finds out by itself.
        let _ = tell(&answer);
    });
    Ok(())
}

/// What can be typed.
fn help<Q: Driven>() -> String {
    let always = [
        ("status", "how this node and its links are"),
        ("quit", "leave the group; end of input does the same, unless --stay"),
    ];
    let line = |(command, what): &(&str, &str)| format!("  {command:10} {what}");
    Q::COMMANDS.iter().chain(&always).map(line).collect::<Vec<_>>().join("\n")
}

async fn status<C: Send + 'static>(handle: &Handle<C>) -> Result<String, Stopped> {
    let status = handle.status().await?;
    let mut text = format!("node {}: {}", status.id, status.machine);
    if !status.started {
        text.push_str("\n  waits to meet all others");
    }
    if let Some(why) = &status.fenced {
        text.push_str(&format!("\n  must not act: {why}"));
    }
    for link in &status.links {
        let (peer, address, state) = (link.peer, &link.address, &link.state);
        text.push_str(&format!("\n  node {peer} at {address}: {state}"));
        if link.unacknowledged > 0 {
            text.push_str(&format!(", {} messages not acknowledged", link.unacknowledged));
        }
    }
    Ok(text)
}

fn stopped(stopped: &Stopped) -> Failure {
    Failure::Failed(stopped.to_string())
}

fn tell(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}
