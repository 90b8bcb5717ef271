//! `vorrang topology`: a graph that algorithms can run on, shown and measured.

use std::fmt::Write as _;

use serde_json::json;
use vorrang_algorithms::topology::Topology as Shape;
use vorrang_algorithms::topology::measure::{self, shape_of};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::format::{figure, grouped};
use vorrang_experiment::options::{MOST_NODES, topology};
use vorrang_experiment::values::whole;
use vorrang_node::terminal::{print, wrapped};
use vorrang_protocol::{Graph, Group};

use crate::output::print_json;

/// Show a topology: its links, how far apart its nodes are, how many links they have
///
/// A topology is a shape of any number of nodes, or a file with a link a line: two nodes, counted
/// from 0, with a space between them. Algorithms that run on several take --topology.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang topology tree:2 --nodes 15\n  \
    vorrang topology random:0.1 --nodes 50 --seed 7 --dot | dot -Tsvg > graph.svg\n  \
    vorrang topology links.txt --nodes 6 --json")]
pub(crate) struct Topology {
    /// ring, line, star, complete, tree:2 (so many children), grid, torus, hypercube, random-tree,
    /// random:0.1 (a share of all links), or a file of links
    shape: String,
    /// How many nodes, N
    #[arg(long, short, default_value_t = 13, value_parser = whole(1..=MOST_NODES))]
    nodes: u32,
    /// Seed of random topologies
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Print the graph in the language of Graphviz
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    dot: bool,
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Up to so many nodes, the neighbours of each are listed.
const MOST_LISTED: u32 = 200;

impl Topology {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let shape = topology(&self.shape)?.seeded(self.seed);
        let graph = shape.graph(Group::of(self.nodes)).map_err(|unfit| Failure::Usage(unfit.0))?;
        match (self.json, self.dot) {
            (true, _) => print_json(&in_json(&shape, &graph)),
            (false, true) => print(&dot(&graph)),
            (false, false) => print(&self.text(&shape, &graph)),
        }
    }

    fn text(&self, shape: &Shape, graph: &Graph) -> String {
        let measured = shape_of(graph);
        let unknown = || "too many to measure".to_owned();
        let mean = 2.0 * graph.edges() as f64 / f64::from(self.nodes);
        let rows = [
            ("nodes", grouped(self.nodes.into())),
            ("links", grouped(graph.edges() as u64)),
            ("tree", if is_tree(graph) { "yes" } else { "no" }.to_owned()),
            ("diameter", measured.diameter.map_or_else(unknown, |it| it.to_string())),
            ("mean distance", measured.mean_distance.map_or_else(unknown, figure)),
            (
                "links of a node",
                format!(
                    "{} to {}, {} on average",
                    measured.least_degree,
                    measured.most_degree,
                    figure(mean)
                ),
            ),
        ];
        let mut text = format!("vorrang topology {} --nodes {}\n\n", shape.in_short(), self.nodes);
        for (name, value) in rows {
            text += &wrapped(&format!("  {name:16} {value}\n"));
        }
        if self.nodes > MOST_LISTED {
            text += &wrapped(&format!(
                "\nOf more than {MOST_LISTED} nodes the links are not listed here: see --json or \
                 --dot.\n"
            ));
            return text;
        }
        text += "\n";
        for id in graph.group().members() {
            let all = graph.neighbours(id).iter().map(ToString::to_string);
            text += &wrapped(&format!("  {id:>3}: {}\n", all.collect::<Vec<_>>().join(" ")));
        }
        text
    }
}

fn is_tree(graph: &Graph) -> bool {
    graph.edges() + 1 == graph.group().size() as usize
}

fn in_json(shape: &Shape, graph: &Graph) -> serde_json::Value {
    let measure::Shape { diameter, mean_distance, least_degree, most_degree } = shape_of(graph);
    let nodes = graph.group().size();
    json!({
        "topology": shape.in_short(),
        "nodes": nodes,
        "edges": graph.edges(),
        "tree": is_tree(graph),
        "diameter": diameter,
        "mean_distance": mean_distance,
        "degree_min": least_degree,
        "degree_max": most_degree,
        "degree_mean": 2.0 * graph.edges() as f64 / f64::from(nodes),
        "links": graph.links().map(|(one, other)| [one.0, other.0]).collect::<Vec<_>>(),
    })
}

fn dot(graph: &Graph) -> String {
    let mut text = "graph {\n  node [shape=circle]\n".to_owned();
    for id in graph.group().members().filter(|&id| graph.neighbours(id).is_empty()) {
        let _ = writeln!(text, "  {id}");
    }
    for (one, other) in graph.links() {
        let _ = writeln!(text, "  {one} -- {other}");
    }
    text + "}\n"
}
