//! Runs a node until it leaves.

use std::process::exit;

use vorrang_algorithms::setup::Parameter;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::net_defaults::{Pace, within_if_real};

use crate::discovery;
use crate::hosts::host;
use crate::log;
use crate::nonblocking_output::NonblockingOutput;
use crate::options::{Node, check_address};
use crate::terminal_session::Served;

/// Runs the node until it leaves. If it fails and its output is not read, the process ends here,
/// with the given exit code.
pub fn run(mut node: Node, exit_code: impl Fn(&Failure) -> i32) -> Result<(), Failure> {
    let entry = lookup::algorithm(&node.algorithm)?;
    node.listen_if_it_looks_for_others();
    let nodes = node.discover.unwrap_or(node.peers.len() as u32);
    if let Some(id) = node.id.filter(|&id| id >= nodes && !node.views.joins()) {
        return Err(Failure::usage(format!(
            "--id {id} does not exist: --peers has {nodes} addresses, so the last is {}",
            nodes - 1
        )));
    }
    for peer in &node.peers {
        check_address("--peers", peer)?;
    }
    if let Some(listen) = &node.listen {
        check_address("--listen", listen)?;
    }
    if let Some(twice) = node.peers.iter().enumerate().find(|(i, it)| node.peers[..*i].contains(it))
    {
        return Err(Failure::usage(format!("--peers names {} twice", twice.1)));
    }
    for member in &node.views.join {
        check_address("--join", member)?;
    }
    let about = entry.algorithm.about();
    let about = node.views.check(about, node.listen.as_deref(), nodes)?;
    node.check_reach()?;
    let output = NonblockingOutput::new()?;
    log::start(&output)?;
    node.setup.check_fit(&[&about])?;
    node.check_udp(&about)?;
    let nodes = node.views.room(nodes);
    let mut setup = node.setup.args.setup(&about, nodes)?;
    if let Some(within) = within_if_real(&about)
        && !node.setup.args.says(Parameter::Within)
    {
        setup.within = within;
    }
    let pace = if node.views.is_on() { Pace::ON_VIEWS } else { Pace::REAL };
    pace.unless_told(&mut setup, &node.setup.args);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let name = about.name;
    let mut served =
        Served { about, setup: setup.clone(), node, output: output.clone(), socket: None };
    let ended = runtime.block_on(async {
        // It answers until the node ends.
        let Some(_answering) = discovery::take_place(&mut served).await? else { return Ok(()) };
        host(name, &setup, served)?.await
    });
    // A pending read of standard input must not delay the exit.
    runtime.shutdown_background();
    match ended {
        // The output is not read: then one more line would block for ever.
        Err(failure) if !output.finish() => exit(exit_code(&failure)),
        Err(failure) => Err(failure),
        Ok(()) => {
            output.finish();
            Ok(())
        }
    }
}
