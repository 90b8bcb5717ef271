//! `vorrang quorum`: a quorum system, shown, analysed, and beside others.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vorrang_algorithms::quorum::conditions::of_any;
use vorrang_algorithms::quorum::{QuorumSystem, Quorums};
use vorrang_algorithms::setup::Unfit;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::grouped;
use vorrang_experiment::options::{MOST_NODES, any_sets, quorums};
use vorrang_experiment::quorum::{Asked, Report, assignment, conditions_in_words, of_maekawa};
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{print, screen, wrapped};
use vorrang_protocol::{Group, NodeId, NodeSet};
use vorrang_sim::Share;

use crate::output::print_json;
use crate::quorum_drawing::{MOST_DRAWN, drawing};
use vorrang_terminal::table::{table, tables};

/// Build a quorum system: sets of nodes, one to ask for each node, of which any two intersect
///
/// Nodes are counted from 0. A file has a line a node, with the members of its quorum. `compare` in
/// the place of a system compares all systems of so many nodes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Systems:\n  \
    plane              the lines of a projective plane: N = 7, 13, 21, 31, 57, 73, 91, 133, …\n  \
    plane:printed      the plane of 13 nodes with the sets that lectures print (from 1 there)\n  \
    plane:reduced      the next larger plane, its last nodes played by the first: any N\n  \
    cyclic             one set turned round the ring of nodes, as small as can be: any N\n  \
    grid               a row and a column\n  \
    majority           more than half of the nodes\n  \
    weighted:2,1,1     more than half of all weight, a weight a node\n  \
    triangle           a row and a column of a triangle, two quorums in turn\n  \
    triangle:columns   only the first of the two; triangle:rows only the second\n  \
    wall               a full row, and one of each row below: rows as wide as a logarithm\n  \
    wall:1,2,3         the same with rows of these widths\n  \
    tree               a way from the root of a binary tree to a leaf\n  \
    all, singleton     everybody; node 0 alone\n  \
    sets:0-1,1-2,0-2   these, one a node; sets-from-1:1-2,2-3,1-3 if nodes are counted from 1\n  \
    FILE               these, a line a node; counted from 1 below a line 'from 1'\n\n\
    Examples:\n  \
    vorrang quorum plane --nodes 13 --show\n  \
    vorrang quorum wall:1,2,3 --analyse --fail 10%\n  \
    vorrang quorum tree --nodes 15 --dead 0,1 --show\n  \
    vorrang quorum compare --nodes 49\n  \
    vorrang quorum sets-from-1:1-2,2-3,3-4,4-1 --conditions\n  \
    vorrang quorum grid --nodes 10000 --json")]
#[expect(clippy::struct_excessive_bools, reason = "an option is given or not")]
pub(crate) struct Quorum {
    /// plane, cyclic, grid, majority, triangle, wall, tree, all, singleton, weighted:2,1,1,
    /// wall:1,2,3, sets:0-1,1-2,0-2, a file of sets; or compare
    system: String,
    /// How many nodes, N [default: as many as the system says, or 13]
    #[arg(long, short, value_parser = whole(1..=MOST_NODES))]
    nodes: Option<u32>,
    /// Draw it, with one quorum in brackets
    #[arg(long)]
    show: bool,
    /// Show its properties: coterie, symmetric, non-dominated, ideal, Maekawa's conditions, load,
    /// resilience
    #[arg(long)]
    analyse: bool,
    /// Judge any assignment by Maekawa's conditions, also one whose sets do not all meet, and name
    /// the nodes to blame: (1) any two sets meet, (2) every node is in its own, (3) all sets are of
    /// one size, (4) every node is in as many. Exit code 1 if one does not hold
    #[arg(long, conflicts_with_all = ["show", "analyse", "fail", "of", "dead", "seed"])]
    conditions: bool,
    /// The probability that a node is down, for the probability that no quorum is available
    /// [default: 5%]
    #[arg(long, value_name = "SHARE")]
    fail: Option<Share>,
    /// Whose quorum is drawn [default: 0]
    #[arg(long, value_name = "NODE", value_parser = whole(0..=MOST_NODES - 1))]
    of: Option<u32>,
    /// Look for a quorum without these nodes, as in 0,1
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    #[arg(value_parser = whole(0..=MOST_NODES - 1))]
    dead: Vec<u32>,
    /// Seed of the samples where a probability cannot be computed [default: 1]
    #[arg(long, value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// How many nodes there are if nothing says so.
const USUAL_NODES: u32 = 13;

impl Quorum {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        self.check_sense()?;
        if self.system == "compare" {
            return self.compare();
        }
        if self.conditions {
            return self.judge();
        }
        let quorums = quorums(&self.system, ", or compare")?;
        let nodes = self.nodes.or(quorums.nodes()).unwrap_or(USUAL_NODES);
        if nodes > MOST_NODES {
            return Err(Failure::usage(format!("{nodes} nodes are more than {MOST_NODES}")));
        }
        let system = quorums.system(Group::of(nodes)).map_err(|Unfit(why)| {
            // There is no such option here.
            Failure::usage(why.trim_start_matches("--quorum "))
        })?;
        for &id in self.dead.iter().chain([&self.of()]) {
            if id >= nodes {
                let last = nodes - 1;
                return Err(Failure::usage(format!("there is no node {id}: the last is {last}")));
            }
        }
        if self.json { self.print_json(&quorums, &system) } else { self.print(&quorums, &system) }
    }

    /// Refuses options that would change nothing, as if they had been looked at.
    fn check_sense(&self) -> Result<(), Failure> {
        let compares = self.system == "compare";
        let draws = self.show || !self.dead.is_empty();
        let analyses = self.analyse || self.json || compares;
        let senseless = [
            (compares && self.conditions, "--conditions judges one system, and compare shows all"),
            (compares && self.show, "--show draws one system, and compare shows all"),
            (compares && self.of.is_some(), "--of is about one system, and compare shows all"),
            (compares && !self.dead.is_empty(), "--dead is about one system, compare shows all"),
            (!compares && self.of.is_some() && !draws, "--of says whose quorum: say --show"),
            (self.fail.is_some() && !analyses, "--fail is for what is analysed: say --analyse"),
            (self.seed.is_some() && !analyses, "--seed is for what is analysed: say --analyse"),
        ];
        match senseless.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, why)) => Err(Failure::usage(why)),
            None => Ok(()),
        }
    }

    /// Maekawa's conditions on any assignment.
    fn judge(&self) -> Result<(), Failure> {
        let quorums = any_sets(&self.system)?;
        let group = Group::of(self.nodes.or(quorums.nodes()).unwrap_or(USUAL_NODES));
        let found = of_any(&quorums, group).map_err(|Unfit(why)| {
            // There is no such option here.
            Failure::usage(why.trim_start_matches("--quorum "))
        })?;
        let Some(found) = found else {
            return Err(Failure::usage(format!(
                "{} nodes have too many sets to compare any two",
                group.size()
            )));
        };
        if self.json {
            print_json(&of_maekawa(&found))?;
        } else {
            let nodes = group.size();
            let mut text =
                wrapped(&format!("vorrang quorum {} --nodes {nodes} --conditions\n", self.system));
            text.push('\n');
            for (number, (says, why)) in (1..).zip(conditions_in_words(&found)) {
                let answer = why.map_or_else(|| "yes".to_owned(), |why| format!("no: {why}"));
                text += &wrapped(&format!("  {number}  {says:30} {answer}\n"));
            }
            print(&text)?;
        }
        if found.hold() == [true; 4] { Ok(()) } else { Err(Failure::AlreadySaid) }
    }

    fn asked(&self) -> Asked {
        Asked { dead: self.fail(), seed: self.seed.unwrap_or(1) }
    }

    /// How likely each node is dead.
    fn fail(&self) -> Share {
        self.fail.unwrap_or_else(|| "5%".parse().expect("it is a share"))
    }

    /// Whose quorum is meant.
    fn of(&self) -> u32 {
        self.of.unwrap_or(0)
    }

    fn dead(&self) -> NodeSet {
        self.dead.iter().copied().map(NodeId).collect()
    }

    /// The quorum that is asked for: without the dead, if some are. If that of the node is alive,
    /// there is no need for another.
    fn quorum(&self, system: &QuorumSystem) -> Option<Vec<NodeId>> {
        let (own, dead) = (system.of(NodeId(self.of())), self.dead());
        if own.iter().any(|&id| dead.contains(id)) { system.live(&dead) } else { Some(own) }
    }

    fn print_json(&self, quorums: &Quorums, system: &QuorumSystem) -> Result<(), Failure> {
        let mut value = Report::new(quorums, system, self.asked()).json();
        value["assignment"] = assignment(system, 0)?;
        if system.turns() > 1 {
            let others = (1..system.turns()).map(|turn| assignment(system, turn));
            value["other_turns"] = others.collect::<Result<_, _>>()?;
        }
        if !self.dead.is_empty() {
            let live = self.quorum(system);
            value["live"] = live.map_or(Value::Null, |it| it.iter().map(|id| id.0).collect());
        }
        print_json(&value)
    }

    fn print(&self, quorums: &Quorums, system: &QuorumSystem) -> Result<(), Failure> {
        let nodes = system.group().size();
        let mut text = wrapped(&format!("vorrang quorum {} --nodes {nodes}\n", self.system));
        let quorum = self.quorum(system);
        if !self.dead.is_empty() {
            text += &match &quorum {
                Some(quorum) => {
                    wrapped(&format!("\nA quorum without the dead: {}\n", listed(quorum)))
                }
                None => "\nEvery quorum has a dead node.\n".to_owned(),
            };
        }
        if self.show {
            text += &self.picture(quorums, system, &quorum.unwrap_or_default());
        }
        if self.analyse {
            let report = Report::new(quorums, system, self.asked());
            text += "\n";
            for (name, value) in report.rows() {
                text += &wrapped(&format!("  {name:18} {value}\n"));
            }
            if let Some(remark) = report.remark() {
                text += &wrapped(&format!("\n{remark}\n"));
            }
        }
        if !self.show && !self.analyse && self.dead.is_empty() {
            text += &assigned(system);
        }
        print(&text)
    }

    fn picture(&self, quorums: &Quorums, system: &QuorumSystem, quorum: &[NodeId]) -> String {
        let nodes = system.group().size();
        if nodes > MOST_DRAWN {
            return wrapped(&format!(
                "\nMore than {MOST_DRAWN} nodes are not drawn. The quorum of node {}: {}\n",
                self.of(),
                listed(quorum)
            ));
        }
        let mut text = format!("\n{}", drawing(quorums, system, quorum, &self.dead()));
        if self.dead.is_empty() {
            let it = format!("  [ ] the quorum of node {}: {}\n", self.of(), listed(quorum));
            let _ = write!(text, "\n{}", wrapped(&it));
        }
        if system.turns() > 1 {
            let next = system.of_turn(NodeId(self.of()), 1);
            text += &wrapped(&format!("      and, in turn with it: {}\n", listed(&next)));
        }
        text
    }

    fn compare(&self) -> Result<(), Failure> {
        let nodes = self.nodes.unwrap_or(USUAL_NODES);
        let mut reports = Vec::new();
        let mut unfit = Vec::new();
        for quorums in side_by_side(nodes) {
            match quorums.system(Group::of(nodes)) {
                Ok(system) => reports.push(Report::new(&quorums, &system, self.asked())),
                Err(why) => unfit.push((quorums, why.0)),
            }
        }
        if self.json {
            let none =
                unfit.iter().map(|(it, why)| json!({ "construction": it.to_string(), "why": why }));
            return print_json(&json!({
                "nodes": nodes,
                "fail": self.fail().value(),
                "systems": reports.iter().map(Report::json).collect::<Vec<_>>(),
                "unfit": none.collect::<Vec<_>>(),
            }));
        }
        let mut rows = vec![Report::header()];
        rows.extend(reports.iter().map(Report::cells));
        let (count, fail) = (grouped(nodes.into()), self.fail());
        let title = format!("Quorum systems of {count} nodes, each dead with {fail}:\n\n");
        let mut text = wrapped(&title);
        text += &match screen() {
            // As many tables as it takes, with the names of the systems in each.
            Some(screen) => tables(&rows, &vec![1; rows[0].len() - 1], screen),
            None => table(&rows),
        };
        if let Some(remark) = reports.iter().find_map(Report::remark) {
            text += &wrapped(&format!("\n{remark}\n"));
        }
        for (_, why) in unfit {
            text += &wrapped(&format!("\n{}\n", why.trim_start_matches("--quorum ")));
        }
        print(&text)
    }
}

/// More weights than this are not worth a line.
const MOST_WEIGHTED: u32 = 1_000;

/// All systems that there may be of so many nodes.
fn side_by_side(nodes: u32) -> Vec<Quorums> {
    const ALL: [&str; 10] = [
        "singleton",
        "all",
        "majority",
        "grid",
        "triangle",
        "wall",
        "tree",
        "plane",
        "plane:reduced",
        "cyclic",
    ];
    let mut systems: Vec<Quorums> =
        ALL.map(|text| text.parse().expect("it is one of ours")).to_vec();
    // The repair of a majority of an even number: there is no tie any more.
    if nodes.is_multiple_of(2) && nodes <= MOST_WEIGHTED {
        let mut weights = vec![1; nodes as usize];
        weights[0] = 2;
        systems.insert(3, Quorums::Weighted(weights.into()));
    }
    systems
}

fn listed(quorum: &[NodeId]) -> String {
    quorum.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Every node and its quorum.
fn assigned(system: &QuorumSystem) -> String {
    let nodes = system.group().size();
    if nodes > MOST_DRAWN {
        return wrapped(&format!(
            "\nOf more than {MOST_DRAWN} nodes the quorums are not listed here: see --json, or \
             --analyse for what can be said of them.\n"
        ));
    }
    let mut text = "\n".to_owned();
    for id in system.group().members() {
        let turns = (0..system.turns()).map(|turn| listed(&system.of_turn(id, turn)));
        let all = turns.collect::<Vec<_>>().join("  or  ");
        text += &wrapped(&format!("  {id:>3}: {all}\n"));
    }
    text
}
