//! `vorrang run`: one algorithm under one workload, measured.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use vorrang_algorithms::card::Card;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit};
use vorrang_protocol::Protocol;
use vorrang_sim::Recorder;
use vorrang_trace::{Record, Writer};

use crate::failure::Failure;
use crate::lookup;
use crate::measured::Measured;
use crate::network::{self, Place};
use crate::output::{Format, print, print_csv, print_json, progress};
use crate::simulate::simulate;
use crate::workload::{Scenario, ScenarioArgs};

/// Run one algorithm under one workload and measure it, beside what the theory says
///
/// Runs in the simulator, where times are in units of T, the mean latency; or over real TCP with
/// --net, where they are in microseconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang run ricart-agrawala\n  \
    vorrang run ricart-agrawala --nodes 5 --load light --hold 2ms\n  \
    vorrang run ricart-agrawala --nodes 3 --net --processes\n  \
    vorrang run ricart-agrawala --latency uniform:1ms..3ms --order any --seed 7 --json")]
pub(crate) struct Run {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Run over real TCP on loopback instead of the simulator; times are then in microseconds
    #[arg(long)]
    net: bool,
    /// With --net: one operating-system process a node
    #[arg(long, requires = "net")]
    processes: bool,
    /// Also write everything that happens to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

impl Run {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let card = lookup::card(&self.algorithm)?;
        let load = self.scenario.single_load()?;
        let scenario = self.scenario.scenario(card, load, self.scenario.fixed.seed)?;
        if self.net {
            self.check_network(&scenario)?;
        }
        if self.format.is_text() {
            let options = match (self.net, self.processes) {
                (false, _) => scenario.options(),
                (true, false) => format!("--net {}", scenario.options_of_any_network()),
                (true, true) => format!("--net --processes {}", scenario.options_of_any_network()),
            };
            print(&format!("vorrang run {} {options}\n\n", card.name))?;
        }
        let measured = if self.net {
            let place = if self.processes { Place::Processes } else { Place::Here };
            network::run(&scenario, place, self.trace.as_deref())?
        } else {
            let visitor = Simulate { scenario: &scenario, trace: self.trace.as_ref() };
            registry::visit(card.name, scenario.setup, visitor)
                .expect("a card's algorithm can be made")?
        };
        if self.format.json {
            print_json(&measured.json())?;
        } else if self.format.csv {
            print_csv(&[measured.json()])?;
        } else {
            print(&measured.text())?;
        }
        if measured.is_fine() { Ok(()) } else { Err(Failure::AlreadySaid) }
    }
}

impl Run {
    /// What the simulator can be told and a real network cannot.
    fn check_network(&self, scenario: &Scenario) -> Result<(), Failure> {
        const MOST_NODES: u32 = 128;
        if self.scenario.latency.is_some() || self.scenario.fixed.order.is_some() {
            return Err(Failure::usage(
                "--latency and --order are for the simulator: with --net, TCP decides both",
            ));
        }
        if scenario.nodes() > MOST_NODES {
            return Err(Failure::usage(format!(
                "--nodes {} is too many for --net: every two nodes have a connection, so at most \
                 {MOST_NODES}",
                scenario.nodes()
            )));
        }
        Ok(())
    }
}

/// Runs the scenario in the simulator.
struct Simulate<'a> {
    scenario: &'a Scenario,
    trace: Option<&'a PathBuf>,
}

impl Visit for Simulate<'_> {
    type Output = Result<Measured, Failure>;

    fn visit<P>(self, _: &'static Card, node: impl Make<P>) -> Self::Output
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let bar = progress(
            self.scenario.entries,
            "{bar:40} {human_pos} of {human_len} entries, {eta} left",
        );
        match self.trace {
            None => simulate(self.scenario, node, (), Some(&bar)).map(|(measured, ())| measured),
            Some(path) => {
                let file = File::create(path)
                    .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
                let writer = Writer::new(BufWriter::new(file), &self.scenario.header())?;
                let recorder = ToFile { writer, failed: None };
                let (measured, recorder) = simulate(self.scenario, node, recorder, Some(&bar))?;
                if let Some(error) = recorder.failed {
                    return Err(Failure::Failed(format!("{}: {error}", path.display())));
                }
                recorder.writer.finish()?;
                Ok(measured)
            }
        }
    }
}

/// Writes records as they come; a full disk is reported at the end.
struct ToFile {
    writer: Writer<BufWriter<File>>,
    failed: Option<std::io::Error>,
}

impl<P: Protocol> Recorder<P> for ToFile {
    const LISTENS: bool = true;

    fn record(&mut self, record: Record<P>) {
        if self.failed.is_none() {
            self.failed = self.writer.write(&record).err();
        }
    }
}
