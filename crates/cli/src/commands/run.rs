//! `vorrang run`: one algorithm under one workload, measured.

use std::path::PathBuf;

use clap::Args as _;
use vorrang_experiment::catalogue::{self, Entry};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::network::{Place, Processes};
use vorrang_experiment::options::RunArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::options::fault_args::FaultArgs;
use vorrang_node::terminal::print;

use crate::figures_text::text;
use crate::output::{Format, print_csv, print_json, with_bar};

/// Run one algorithm under one workload and measure it, beside the theory
///
/// Runs in the simulator, where times are in units of T, the mean latency; or over real TCP with
/// --net, where they are in microseconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang run ricart-agrawala\n  \
    vorrang run ricart-agrawala --nodes 5 --load light --hold 2ms\n  \
    vorrang run ricart-agrawala --nodes 3 --net --processes\n  \
    vorrang run regenerating-ring --nodes 3 --net --processes --hold 1ms --within 100ms --crash \
    2@1s\n  \
    vorrang run bully --nodes 8 --crash 7@0\n  \
    vorrang run bully --nodes 8 --crash 7@0 --flaw no-guard\n  \
    vorrang run heartbeat --nodes 5 --crash 2@52ms --latency uniform:0..2ms\n  \
    vorrang run virtual-synchrony --nodes 5 --crash 2@50ms --restart 2@120ms\n  \
    vorrang run raymond --nodes 7 --on-views --crash holder@50ms --restart holder@120ms\n  \
    vorrang run raymond --nodes 3 --net --processes --on-views --hold 5ms --entries 300 --crash \
    1@500ms --restart 1@2s\n  \
    vorrang run raymond --nodes 7 --pause 3@10ms..40ms --slow 0-1:x10@10ms..20ms\n  \
    vorrang run suzuki-kasami --nodes 5 --random-faults mild --reliable --seed 7\n  \
    vorrang run echo --nodes 50 --topology random:0.1\n  \
    vorrang run ricart-agrawala --latency uniform:1ms..3ms --order any --seed 7 --json\n  \
    vorrang run maekawa --nodes 3 --latency-matrix rows:0-1ms-9ms/1ms-0-9ms/9ms-9ms-0")]
pub(crate) struct Run {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    options: ExplicitArgs<RunArgs>,
    /// Run over real TCP on loopback instead of the simulator; times are then in microseconds
    #[arg(long, help_heading = "Network")]
    net: bool,
    /// With --net: one operating-system process a node
    #[arg(long, requires = "net", help_heading = "Network")]
    processes: bool,
    /// Also write everything that happens to this file, one JSON object a line; compressed if its
    /// name ends in .zst. 'vorrang replay' and 'vorrang draw' read it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

impl Run {
    pub(crate) fn execute(mut self) -> Result<(), Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        self.options.args.common.is_real = self.net;
        let run = run_of(entry, &self.options)?;
        if self.net {
            self.check_network(run.about().assumes.one_at_a_time)?;
        }
        let at = if self.processes { Processes::OneEach } else { Processes::One };
        let net = if self.net { at.typed() } else { "" };
        let line = format!("vorrang run {}{net} {}", run.about().name, run.options(self.net));
        if self.format.is_text() {
            print(&format!("{line}\n\n"))?;
        }
        let trace = self.trace.as_deref();
        let measured = if self.net {
            let template = "{bar:40} {human_pos} of {human_len} entries";
            with_bar(run.total(), template, |told| {
                run.over_tcp(Place { at, progress: Some(told) }, trace.into())
            })?
        } else {
            let template = "{bar:40} {human_pos} of {human_len}, {left} left";
            with_bar(run.total(), template, |told| run.simulate(trace, Some(told)))?
        };
        let mut value = measured.json();
        // However it was typed.
        value["command"] = line.into();
        match self.format {
            Format { json: true, .. } => print_json(&value)?,
            Format { csv: true, .. } => print_csv(&[value])?,
            Format { json: false, csv: false } => print(&text(&measured))?,
        }
        if measured.is_fine() { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    /// Options of the simulator only, for an algorithm that may assume that requests come one at a
    /// time.
    fn check_network(&self, one_at_a_time: bool) -> Result<(), Failure> {
        const SIMULATED: [&str; 6] =
            ["latency", "latency_matrix", "order", "break_assumptions", "reliable", "flaw"];
        const MOST_NODES: u32 = 128;
        let faults = FaultArgs::augment_args(clap::Command::new(""));
        let faults = faults.get_arguments().map(|arg| arg.get_id().as_str());
        let on_views = self.options.args.views.on_views;
        // A process can be killed, and started again; and a lock on views gets over more than that.
        let is_struck = |option: &str| match option {
            "crash" | "restart" => self.processes,
            "pause" | "partition" | "cut" => self.processes && on_views,
            // One mistake of locks on views is made between processes as well.
            "flaw" => on_views,
            _ => false,
        };
        // So is a load that an algorithm assumes not to be there.
        let is_loaded = |option: &str| option == "break_assumptions" && one_at_a_time;
        let is_real = |option: &str| is_struck(option) || is_loaded(option);
        let mut simulated = SIMULATED.into_iter().chain(faults).filter(|it| !is_real(it));
        if let Some(option) = simulated.find(|&option| self.options.has(option)) {
            if let Some(why) = why_not_over_tcp(option, on_views) {
                return Err(Failure::usage(why));
            }
            return Err(Failure::usage(format!(
                "--{} is for the simulator: with --net, TCP decides how messages travel, and all \
                 of them arrive",
                option.replace('_', "-")
            )));
        }
        // On views none is replayed.
        if self.options.has("restart") && self.trace.is_some() && !on_views {
            return Err(Failure::usage(
                "--trace with --restart: a process that is started again goes by the time, which \
                 is not in a trace, so that the run could not be replayed: leave out one of them",
            ));
        }
        if self.options.has("crash") && self.options.has("invariants") {
            return Err(Failure::usage(
                "--invariants needs the complete trace of a run, and that of a killed process \
                 ends early: leave out one of them",
            ));
        }
        let nodes = self.options.args.common.nodes;
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {nodes} is too many for --net: every two nodes have a connection, so at \
                 most {MOST_NODES}"
            )));
        }
        Ok(())
    }
}

/// Why an option is none for a real network, if there is more to be said than that.
fn why_not_over_tcp(option: &str, on_views: bool) -> Option<&'static str> {
    Some(match option {
        "crash" => {
            "--crash kills a process: with --net, say --processes, so that every node has one"
        }
        "restart" => {
            "--restart starts a killed process again: with --net, say --processes, so that every \
             node has one"
        }
        "pause" | "partition" | "cut" if on_views => {
            "nodes of one process cannot be stopped or cut off from each other: with --net, say \
             --processes, so that every node has one"
        }
        "break_assumptions" => {
            "--break-assumptions lets the simulator reorder and delay messages as an algorithm \
             does not stand it; with --net nothing can make TCP do so, and an algorithm that is \
             stuck would run for ever"
        }
        _ => return None,
    })
}

/// Whether options that were typed fit an algorithm, and then what it makes of them.
pub(crate) fn run_of(
    entry: &Entry,
    given: &ExplicitArgs<RunArgs>,
) -> Result<Box<dyn catalogue::Run>, Failure> {
    given.check_fit(&[&entry.algorithm.about()])?;
    entry.algorithm.run(&given.args)
}
