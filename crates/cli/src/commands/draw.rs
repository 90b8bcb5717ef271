//! `vorrang draw`: a run as a picture, and what runs are runs on.

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use vorrang_algorithms::quorum::Quorums;
use vorrang_algorithms::setup::Unfit;
use vorrang_draw::clocks::Clocks;
use vorrang_draw::pdf::pdf;
use vorrang_draw::spacetime::{self, Options};
use vorrang_draw::text::Paint;
use vorrang_draw::{Graph, Story, Theme, dot, mermaid, perfetto, shiviz, text};
use vorrang_experiment::catalogue::Run;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::network::{Place, Processes};
use vorrang_experiment::options::check::CheckArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::options::{RunArgs, quorums, topology};
use vorrang_experiment::story_from_trace::{self, remark};
use vorrang_experiment::tracefile::Keep;
use vorrang_experiment::values::whole;
use vorrang_experiment::{lookup, pictures, tracefile};
use vorrang_node::terminal::{BAD, BOLD, DIM, RESET, print, say_aside, screen};
use vorrang_protocol::{Group, NodeId, NodeSet};
use vorrang_trace::Recording;

use crate::commands::clocks::OfScript;
use crate::commands::run::run_of;
use crate::commands::structure::OfStructure;
use crate::drawn_part::{Only, Part};
use crate::pixels;
use crate::search_progress::SearchProgress;

/// Draw a run as a space-time diagram: a line a node, time to the right, messages as arrows
///
/// The run is one that was recorded (a file that --trace wrote), or one that is made now: `draw run
/// …` with the options of `vorrang run`, `draw check …` with those of `vorrang check`, for a
/// counterexample. A bar is outlined while a node waits and filled while it is inside; crashes,
/// losses, partitions, pauses and the path of a token are shown; the caption says what went wrong,
/// and which node waited for which. A run that is wider than a screen goes on below, up to 12 rows
/// or some 6000 pixels down; --from and --to show another part of it. Beyond 20 nodes messages have
/// colours and no names. `draw run` makes 10 entries or multicasts, or 4 heartbeats of failure
/// detection, unless it is told how many or how long.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "Examples:\n  \
    vorrang draw run ricart-agrawala --nodes 3 --entries 4 -o run.svg\n  \
    vorrang draw check maekawa-basic -o deadlock.svg --states\n  \
    vorrang draw run.jsonl.zst --format text\n  \
    vorrang draw run echo --nodes 12 --topology random:0.3 --view tree -o tree.svg\n  \
    vorrang draw run maekawa --from 5ms --to 15ms --only REQUEST,LOCKED -o part.svg\n  \
    vorrang draw run lamport --nodes 25 --nodes-shown 0-3,24 -o five.svg\n  \
    vorrang draw quorum plane --nodes 13 -o plane.svg\n  \
    vorrang draw structure sets:0-1/0,0-1/1,0-1-2,0-1-3 -o structure.svg\n  \
    vorrang draw run raymond --nodes 7 --entries 10 --format perfetto -o run.json\n\n\
    Perfetto is at https://ui.perfetto.dev, ShiViz at https://bestchai.bitbucket.io/shiviz.")]
pub(crate) struct Draw {
    #[command(subcommand)]
    source: Option<Source>,
    /// A trace, compressed or not
    file: Option<PathBuf>,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Subcommand)]
enum Source {
    /// Draw a run that is made now, with the options of `vorrang run`
    Run(Box<Inline>),
    /// Draw the counterexample, with the options of `vorrang check`
    Check(Box<Question>),
    /// Draw a topology: ring, line, star, complete, tree:2, grid, torus, hypercube, random-tree,
    /// random:0.1, or a file of links
    Topology(OfShape),
    /// Draw a quorum system with two quorums and where they meet
    Quorum(OfSystem),
    /// Draw a script of events, as `vorrang clocks` has it, with Lamport's clocks at them unless
    /// --clocks says vector
    Clocks(OfScript),
    /// Draw an information structure: who asks whom, and who informs whom as well
    Structure(OfStructure),
}

#[derive(Debug, clap::Args)]
struct OfShape {
    /// As `vorrang topology` has it
    shape: String,
    /// How many nodes, N
    #[arg(long, short, default_value_t = 13, value_parser = whole(1..=MOST_DRAWN))]
    nodes: u32,
    /// Seed of what is drawn at random
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    seed: u64,
}

#[derive(Debug, clap::Args)]
struct OfSystem {
    /// As `vorrang quorum` has it
    system: String,
    /// How many nodes, N [default: as many as the system says, or 13]
    #[arg(long, short, value_parser = whole(1..=MOST_DRAWN))]
    nodes: Option<u32>,
    /// Whose quorum is drawn
    #[arg(long, value_name = "NODE", default_value_t = 0, value_parser = whole(0..=MOST_DRAWN - 1))]
    of: u32,
    /// Whose quorum is drawn beside it [default: that of the node half-way round]
    #[arg(long, value_name = "NODE", value_parser = whole(0..=MOST_DRAWN - 1))]
    and: Option<u32>,
    /// Draw a quorum without these nodes instead, as in 0,1
    #[arg(long, value_name = "NODES", value_delimiter = ',', conflicts_with_all = ["of", "and"])]
    #[arg(value_parser = whole(0..=MOST_DRAWN - 1))]
    dead: Vec<u32>,
}

/// More nodes than this make no picture.
const MOST_DRAWN: u32 = 2_000;

#[derive(Debug, clap::Args)]
struct Inline {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    options: ExplicitArgs<RunArgs>,
    /// Run over real TCP on loopback instead of the simulator
    #[arg(long, help_heading = "Network")]
    net: bool,
    #[command(flatten)]
    only: Only,
}

#[derive(Debug, clap::Args)]
struct Question {
    /// Which algorithm, as `vorrang list` calls it
    algorithm: String,
    #[command(flatten)]
    args: ExplicitArgs<CheckArgs>,
}

/// How it is drawn, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// The file to write; without one, text goes to standard output
    #[arg(long, short, value_name = "FILE", global = true, help_heading = "Picture")]
    output: Option<PathBuf>,
    /// The format [default: by the name of the file, or text]
    #[arg(long, value_enum, global = true, help_heading = "Picture")]
    format: Option<Kind>,
    /// For which background: what the reader prefers, if the format can tell
    #[arg(long, value_enum, default_value = "auto", global = true, help_heading = "Picture")]
    theme: Background,
    /// How wide, in pixels or columns: the whole run in one row [default: rows that can be read]
    #[arg(long, global = true, help_heading = "Picture", value_parser = whole(40..=20_000_u32))]
    width: Option<u32>,
    /// The scale of PNG: pixels for one of SVG
    #[arg(long, global = true, default_value_t = 2, help_heading = "Picture")]
    #[arg(value_parser = whole(1..=8_u32))]
    scale: u32,
    /// The view of a run
    #[arg(long, value_enum, default_value = "time", global = true, help_heading = "Picture")]
    view: View,
    /// Show what every event changed at its node, and the nodes' variables at the end
    #[arg(long, global = true, help_heading = "Picture")]
    states: bool,
    /// Write logical clocks at events
    #[arg(long, value_enum, global = true, help_heading = "Picture")]
    clocks: Option<Logical>,
    #[command(flatten)]
    part: Part,
}

/// The formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// A picture for browsers and papers, light and dark
    Svg,
    /// A picture for papers
    Pdf,
    /// The same in pixels, in a build with --features png
    Png,
    /// A sequence diagram for Markdown
    Mermaid,
    /// A log with vector clocks
    Shiviz,
    /// Trace events, for Perfetto and Chrome
    Perfetto,
    /// A graph of what happened before what, for Graphviz
    Dot,
    /// Columns for a terminal
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum View {
    /// A space-time diagram
    Time,
    /// The wait-for graph at the end of the run
    Waits,
    /// The spanning tree that it has built
    Tree,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Background {
    /// As the reader prefers
    Auto,
    /// White
    Light,
    /// Dark
    Dark,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Logical {
    /// A number
    Lamport,
    /// A number for every node
    Vector,
}

/// Wider than this, lines are no longer followed.
const WIDE: usize = 200;

impl Draw {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let kind = self.how.kind()?;
        if kind == Kind::Png {
            pixels::check(self.how.output.as_deref())?;
        }
        let mut only = self.only;
        let run = match (self.source, self.file) {
            (Some(Source::Run(mut inline)), _) => {
                only = std::mem::take(&mut inline.only);
                inline.record()?
            }
            (Some(Source::Check(question)), _) => question.record()?,
            (Some(Source::Topology(shape)), _) => return self.how.show(kind, &shape.graph()?),
            (Some(Source::Quorum(system)), _) => return self.how.show(kind, &system.graph()?),
            (Some(Source::Clocks(of)), _) => {
                let (script, command) = of.read()?;
                let clocks = self.how.clocks.or(Some(Logical::Lamport));
                let how = How { clocks, ..self.how };
                let story = script.story(format!("vorrang draw {command}"));
                return how.draw(kind, story, &only);
            }
            (Some(Source::Structure(of)), _) => {
                let (structure, group, quorums) = of.read()?;
                let sets = structure.unchecked(group, &quorums);
                let sets = sets.map_err(|unfit| Failure::Usage(unfit.0))?;
                let command = format!("vorrang draw {}", of.typed(group));
                return self.how.show(kind, &pictures::structure(&structure, &sets, command));
            }
            (None, Some(path)) => tracefile::read(&path)?,
            (None, None) => return Err(Failure::usage("draw what? Say a trace, run or check")),
        };
        self.how.draw_run(kind, &run, &only)
    }
}

impl How {
    /// Draws a run to this file.
    pub(crate) fn draw_to(
        self,
        file: PathBuf,
        only: &Only,
        run: &Recording,
    ) -> Result<(), Failure> {
        let how = Self { output: Some(file), ..self };
        let kind = how.kind()?;
        if kind == Kind::Png {
            pixels::check(how.output.as_deref())?;
        }
        how.draw_run(kind, run, only)
    }

    fn draw_run(&self, kind: Kind, run: &Recording, only: &Only) -> Result<(), Failure> {
        if let Some(remark) = remark(run) {
            say_aside(&remark);
        }
        let story = story_from_trace::story(run, self.states)?;
        match self.view {
            View::Time => self.draw(kind, story, only),
            View::Waits => self.show(kind, &pictures::waits(&story)),
            View::Tree => self.show(kind, &pictures::tree(&story)?),
        }
    }

    fn kind(&self) -> Result<Kind, Failure> {
        if let Some(kind) = self.format {
            return Ok(kind);
        }
        let Some(path) = &self.output else { return Ok(Kind::Text) };
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        Ok(match ending.to_ascii_lowercase().as_str() {
            "svg" => Kind::Svg,
            "pdf" => Kind::Pdf,
            "png" => Kind::Png,
            "mmd" | "mermaid" => Kind::Mermaid,
            "shiviz" | "log" => Kind::Shiviz,
            "json" | "perfetto" => Kind::Perfetto,
            "dot" | "gv" => Kind::Dot,
            "txt" => Kind::Text,
            _ => {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "{path}: nothing is known by that ending: say --format, or one of .svg, .pdf, \
                     .png, .mmd (Mermaid), .log (ShiViz), .json (Perfetto), .dot, .txt"
                )));
            }
        })
    }

    fn draw(&self, kind: Kind, mut story: Story, only: &Only) -> Result<(), Failure> {
        let is_diagram = matches!(kind, Kind::Svg | Kind::Pdf | Kind::Png);
        if let Some(clocks) = self.clocks {
            story.stamps = match clocks {
                Logical::Lamport => Clocks::Lamport.of(&story),
                Logical::Vector => Clocks::Vector.of(&story),
            };
        }
        let (excerpt, from, to) = self.part.of(only, &story, !is_diagram)?;
        let story = &excerpt.of(story);
        let (theme, width, states) = (self.theme(), self.width.map(f64::from), self.states);
        let options = Options { theme, width, states, from, to };
        if let Some(remark) = is_diagram.then(|| spacetime::remark(story, &options)).flatten() {
            say_aside(&remark);
        }
        match kind {
            Kind::Svg => self.write(spacetime::svg(story, &options).as_bytes()),
            Kind::Pdf => self.write_pdf(&spacetime::svg(story, &options)),
            Kind::Png => self.write_png(&spacetime::svg(story, &options)),
            Kind::Mermaid => self.write(mermaid::mermaid(story).as_bytes()),
            Kind::Shiviz => self.write(shiviz::shiviz(story).as_bytes()),
            Kind::Perfetto => self.write(perfetto::perfetto(story).as_bytes()),
            Kind::Dot => self.write(dot::dot(story).as_bytes()),
            Kind::Text => {
                let wide = self.width.map(|it| it as usize).or_else(screen).unwrap_or(WIDE);
                let heading =
                    format!("{BOLD}{}{RESET}\n{DIM}{}{RESET}\n\n", story.title, story.command);
                let shown = heading + &text::text(story, wide, &painted);
                match &self.output {
                    None => print(&shown),
                    Some(_) => {
                        self.write(anstream::adapter::strip_str(&shown).to_string().as_bytes())
                    }
                }
            }
        }
    }

    fn theme(&self) -> Theme {
        match self.theme {
            Background::Auto => Theme::Auto,
            Background::Light => Theme::Light,
            Background::Dark => Theme::Dark,
        }
    }

    /// Draws a graph of nodes.
    fn show(&self, kind: Kind, graph: &Graph) -> Result<(), Failure> {
        match kind {
            Kind::Svg => self.write(graph.svg(self.theme()).as_bytes()),
            Kind::Pdf => self.write_pdf(&graph.svg(self.theme())),
            Kind::Png => self.write_png(&graph.svg(self.theme())),
            Kind::Dot => self.write(graph.dot().as_bytes()),
            Kind::Text => self.write(graph.text().as_bytes()),
            Kind::Mermaid | Kind::Shiviz | Kind::Perfetto => Err(Failure::usage(
                "that format is for runs: nodes and what is between them are drawn as svg, pdf, \
                 png, dot or text",
            )),
        }
    }

    fn write_png(&self, svg: &str) -> Result<(), Failure> {
        self.write(&pixels::png(svg, f64::from(self.scale), self.output.as_deref())?)
    }

    fn write_pdf(&self, svg: &str) -> Result<(), Failure> {
        if self.output.is_none() {
            return Err(Failure::usage("PDF is not for a terminal: say -o FILE"));
        }
        self.write(&pdf(svg).map_err(Failure::Failed)?)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.output {
            Some(path) => fs::write(path, bytes).map_err(|error| Failure::at(path, error)),
            None => match std::str::from_utf8(bytes) {
                Ok(text) => print(text),
                Err(_) => Err(Failure::usage("PNG is not for a terminal: say -o FILE")),
            },
        }
    }
}

fn painted(paint: Paint, text: &str) -> String {
    const BLUE: anstyle::Style = anstyle::AnsiColor::Cyan.on_default();
    const YELLOW: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();
    let style = match paint {
        Paint::Strong => BOLD,
        Paint::Message => BLUE,
        Paint::Token => YELLOW,
        Paint::Bad => BAD,
        Paint::Dim => DIM,
    };
    format!("{style}{text}{RESET}")
}

impl Inline {
    fn record(mut self) -> Result<Recording, Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        self.options.args.common.is_real = self.net;
        // More is not seen than this.
        if !self.options.has("entries") {
            self.options.args.mutex.entries = DRAWN;
        }
        self.options.args.multicast.multicasts.get_or_insert(DRAWN);
        let about = entry.algorithm.about();
        if about.problem == "detection" && !self.options.has("for") {
            let args = &mut self.options.args;
            let beat = args.setup.setup(&about, args.common.nodes)?.beat;
            args.lasting.lasting = Some(beat.saturating_mul(DRAWN_HALVES) / 2);
        }
        record(&*run_of(entry, &self.options)?, self.net)
    }
}

/// So many entries or multicasts are drawn, unless another number is wanted.
const DRAWN: u64 = 10;

/// For so many halves of the time between two heartbeats failure detection is drawn, and longer
/// where faults take longer to be noticed: four heartbeats, none of which is under way at the end.
const DRAWN_HALVES: u32 = 7;

/// Makes a run, and hands back what was recorded of it.
pub(crate) fn record(run: &dyn Run, net: bool) -> Result<Recording, Failure> {
    if !net {
        return run.record();
    }
    let mut recording = None;
    run.over_tcp(Place { at: Processes::One, progress: None }, Keep::Here(&mut recording))?;
    recording.ok_or_else(|| Failure::World("nothing was recorded".to_owned()))
}

impl Question {
    fn record(self) -> Result<Recording, Failure> {
        let entry = lookup::algorithm(&self.algorithm)?;
        let args = &self.args.args;
        if args.flaw.as_deref() == Some("list") {
            let line = format!("vorrang check {} --flaw list", self.algorithm);
            return Err(Failure::usage(format!("--flaw list draws nothing: {line} names flaws")));
        }
        self.args.check_fit(&[&entry.algorithm.about()])?;
        let query = lookup::subject(entry, args)?.question(args)?;
        let answer = (query.answer)(&mut SearchProgress::new(true).watch());
        match answer.recorded {
            Some(recorded) => Ok(recorded.into()),
            None => Err(Failure::Failed(format!(
                "there is nothing to draw: the outcome is {}, without a counterexample\n  {}",
                answer.outcome, query.line
            ))),
        }
    }
}

impl OfShape {
    fn graph(&self) -> Result<Graph, Failure> {
        let shape = topology(&self.shape)?.seeded(self.seed);
        let graph = shape.graph(Group::of(self.nodes)).map_err(|unfit| Failure::Usage(unfit.0))?;
        let command = format!("vorrang draw topology {} --nodes {}", shape.in_short(), self.nodes);
        Ok(pictures::topology(&shape, &graph, command))
    }
}

impl OfSystem {
    fn graph(&self) -> Result<Graph, Failure> {
        let quorums = quorums(&self.system, "")?;
        let nodes = self.nodes.or(quorums.nodes()).unwrap_or(13);
        let system = quorums.system(Group::of(nodes)).map_err(|Unfit(why)| {
            // There is no such option here.
            Failure::usage(why.trim_start_matches("--quorum "))
        })?;
        // Ways down a tree part where its last node is.
        let far = if quorums == Quorums::Tree { nodes - 1 } else { nodes.div_ceil(2) };
        let and = self.and.unwrap_or((self.of + far) % nodes);
        for &id in self.dead.iter().chain([&self.of, &and]) {
            if id >= nodes {
                let last = nodes - 1;
                return Err(Failure::usage(format!("there is no node {id}: the last is {last}")));
            }
        }
        let dead: NodeSet = self.dead.iter().copied().map(NodeId).collect();
        let command = format!("vorrang draw quorum {} --nodes {nodes}", self.system);
        Ok(pictures::quorum(&quorums, &system, (self.of, and), &dead, command))
    }
}
