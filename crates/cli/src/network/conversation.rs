//! One node that is driven by hand: does what is typed, and tells what happens.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;
use vorrang_algorithms::card::About;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry;
use vorrang_algorithms::setup::Setup;
use vorrang_net::{
    Clock, CommandError, Config, Handle, LinkState, LinkStatus, Log, NetError, Starting, Status,
    Stopped,
};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_trace::Trace;

use super::input::{Input, MAX_LINE, Typed};
use crate::commands::node::Node;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, RESET, is_closed, print, say_aside};
use crate::problem::{Driven, Future, header};

/// A node that is to be run.
pub(crate) struct Served {
    pub(crate) about: About,
    pub(crate) setup: Setup,
    pub(crate) node: Node,
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
        listen: node.listen.clone(),
        timing: node.timing(),
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
    let own = node.listens_on().to_owned();
    let trace = node.trace.map(create).transpose()?;
    let (handle, notices) = starting.await.map_err(not_started)?;
    tell(&format!("node {id} of {} listens on {own}, running {name}", node.peers.len()))?;
    let ended = converse::<Q>(&handle, notices, node.stay).await;
    // Whoever leaves the group from inside would keep everyone else out. Before the start nobody
    // is inside, and a command would wait for it.
    let status = handle.status().await;
    let has_started = status.as_ref().is_ok_and(|status| status.started);
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
        Err(stopped) => return Err(Failure::World(stopped.to_string())),
    }
    if let Some((path, file)) = trace {
        save(file).map_err(|error| Failure::at(&path, error))?;
    }
    ended?;
    if is_closed() {
        return Err(Failure::World("standard output was closed: nobody heard it any more".into()));
    }
    match status.ok().and_then(|status| kept_out(&status)) {
        Some(why) => Err(Failure::World(format!("this node could not take part: {why}"))),
        None => Ok(()),
    }
}

/// Why a node has done nothing all the time, if somebody refused it, or it refused somebody whom it
/// needed.
fn kept_out(status: &Status) -> Option<String> {
    let refused = |link: &LinkStatus| match &link.state {
        LinkState::Refused(why) => Some(format!("node {}: {why}", link.peer)),
        LinkState::Connected(_) | LinkState::Connecting(_) | LinkState::Gone(_) => None,
    };
    let of_links = || status.links.iter().find_map(refused).filter(|_| !status.started);
    status.fenced.clone().or_else(of_links)
}

/// A port in use is the world's fault, a list of peers that makes no sense is the caller's.
fn not_started(error: NetError) -> Failure {
    match error {
        NetError::Bind { .. } => Failure::World(error.to_string()),
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
    let mut input = Input::new(tokio::io::stdin());
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
            typed = input.next(), if has_input => match typed? {
                None if stay => has_input = false,
                None => return Ok(()),
                Some(Typed::TooLong) => {
                    tell(&format!("a line of more than {MAX_LINE} bytes is no command"))?;
                }
                Some(Typed::Line(line)) => match line.trim() {
                    "quit" => return Ok(()),
                    "" => {}
                    "help" => tell(&help::<Q>())?,
                    "status" => tell(&status(handle).await.map_err(|error| stopped(&error))?)?,
                    text => obey::<Q>(handle, text)?,
                },
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
        if let Some(trouble) = &link.trouble {
            text.push_str(&format!(" ({trouble})"));
        }
        if link.unacknowledged > 0 {
            text.push_str(&format!(", {} messages not acknowledged", link.unacknowledged));
        }
    }
    Ok(text)
}

fn stopped(stopped: &Stopped) -> Failure {
    Failure::World(stopped.to_string())
}

fn tell(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}
