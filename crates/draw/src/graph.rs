//! Graphs of nodes: topologies, trees, quorum systems, wait-for graphs.

use std::fmt::Write as _;

use crate::colours::Theme;
use crate::dot::quoted;
use crate::places::{Edge, Placement, places};
use crate::svg::{Num, Svg, escaped, pointed, width, wrap, wrap_mono};

/// A picture of nodes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// What it is.
    pub title: String,
    /// The command that makes it.
    pub command: String,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// The links.
    pub links: Vec<Link>,
    /// Sets of nodes, each drawn as a loop through its members.
    pub sets: Vec<Vec<usize>>,
    /// Where the nodes are.
    pub placement: Placement,
    /// The caption.
    pub caption: Vec<String>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The label.
    pub name: String,
    /// What it is.
    pub rank: Rank,
}

/// The role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rank {
    /// Nothing.
    #[default]
    Plain,
    /// In the first set that is looked at.
    One,
    /// In the second.
    Two,
    /// In both.
    Both,
    /// It is down.
    Dead,
    /// It is where all begins.
    Root,
}

/// A link between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// One end.
    pub from: usize,
    /// The other.
    pub to: usize,
    /// What it is.
    pub rank: Bond,
}

/// The kind of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bond {
    /// A link both ways.
    Link,
    /// From a parent to a child.
    Tree,
    /// One waits for another.
    Wait,
    /// The same, and it is part of a cycle.
    Circle,
    /// One asks another.
    Ask,
    /// The same, and it informs it as well.
    Inform,
}

impl Graph {
    /// Nodes that are called by their numbers.
    pub fn numbered(count: usize) -> Vec<Node> {
        (0..count).map(|id| Node { name: id.to_string(), rank: Rank::Plain }).collect()
    }

    /// Draws it as SVG.
    pub fn svg(&self, theme: Theme) -> String {
        let radius = match self.nodes.len() {
            0..=40 => 15.0,
            41..=120 => 11.0,
            _ => 7.0,
        };
        let (mut at, (wide, high)) =
            places(&self.placement, self.nodes.len(), &self.edges(), radius);
        let mut svg = Svg::default();
        let room = wide.max(360.0);
        svg.text((20.0, 30.0), "h", &self.title);
        let mut top = 32.0;
        for line in wrap_mono(&self.command, 10.5, room - 40.0) {
            top += 15.0;
            svg.text((20.0, top), "s m mono", &line);
        }
        top += 16.0;
        for place in &mut at {
            *place = (place.0 + (room - wide) / 2.0, place.1 + top);
        }
        self.draw_sets(&mut svg, &at);
        self.draw_links(&mut svg, &at, radius);
        for (node, &place) in self.nodes.iter().zip(&at) {
            draw_node(&mut svg, node, place, radius);
        }
        let mut bottom = self.legend(&mut svg, top + high + 14.0);
        for sentence in &self.caption {
            for line in wrap(sentence, 12.0, room - 40.0) {
                bottom += 17.0;
                svg.text((20.0, bottom), "t", &line);
            }
        }
        svg.finish((room, bottom + 18.0), theme, &format!("{}: {}", self.title, self.command))
    }

    /// The links, as far as they decide where nodes are.
    fn edges(&self) -> Vec<Edge> {
        let edge = |&Link { from, to, rank }: &Link| Edge { from, to, is_tree: rank == Bond::Tree };
        self.links.iter().map(edge).collect()
    }

    fn draw_sets(&self, svg: &mut Svg, at: &[(f64, f64)]) {
        for (number, set) in self.sets.iter().enumerate() {
            // The first two are those that are looked at.
            let class = match number {
                0 => "ko0 tree",
                1 => "ko1 tree",
                _ => "edge",
            };
            let mut path = String::new();
            for (place, &node) in set.iter().enumerate() {
                let letter = if place == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{letter}{} {}", Num(at[node].0), Num(at[node].1));
            }
            let faint = if number < 2 { "0.85" } else { "0.5" };
            svg.put(format_args!(
                "<path class=\"{class}\" stroke-linejoin=\"round\" opacity=\"{faint}\" \
                 d=\"{path}Z\"/>"
            ));
        }
    }

    fn draw_links(&self, svg: &mut Svg, at: &[(f64, f64)], radius: f64) {
        let faint = if self.links.len() > 400 { " opacity=\"0.5\"" } else { "" };
        for link in &self.links {
            let (from, to) = (at[link.from], at[link.to]);
            let (x1, y1, x2, y2) = (Num(from.0), Num(from.1), Num(to.0), Num(to.1));
            match link.rank {
                Bond::Link => svg.put(format_args!(
                    "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"edge\"{faint}/>"
                )),
                Bond::Tree => {
                    let path = pointed(from, short_of(from, to, radius + 2.0));
                    svg.put(format_args!("<path class=\"k0 way\" d=\"{path}\"/>"));
                }
                Bond::Wait | Bond::Circle | Bond::Ask | Bond::Inform => {
                    // Two that wait for each other are two arrows.
                    let is_mutual =
                        self.links.iter().any(|it| (it.from, it.to) == (link.to, link.from));
                    let (from, to) = if is_mutual { beside(from, to, 5.0) } else { (from, to) };
                    let path = pointed(from, short_of(from, to, radius + 2.0));
                    let class = arrow(link.rank);
                    svg.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
                }
            }
        }
    }

    /// The legend of node colours.
    fn legend(&self, svg: &mut Svg, y: f64) -> f64 {
        let names = [
            (Rank::One, "one quorum"),
            (Rank::Two, "another"),
            (Rank::Both, "in both"),
            (Rank::Dead, "down"),
        ];
        let bonds = [(Bond::Ask, "asks"), (Bond::Inform, "asks and informs")];
        let mut x = 28.0;
        for (bond, name) in bonds {
            if self.links.iter().any(|link| link.rank == bond) {
                let path = pointed((x - 8.0, y - 4.0), (x + 16.0, y - 4.0));
                svg.put(format_args!("<path class=\"{}\" d=\"{path}\"/>", arrow(bond)));
                svg.text((x + 22.0, y), "s m", name);
                x += 46.0 + width(name, 10.5);
            }
        }
        for (rank, name) in names {
            if self.nodes.iter().any(|node| node.rank == rank) {
                draw_node(svg, &Node { name: String::new(), rank }, (x, y - 4.0), 7.0);
                svg.text((x + 14.0, y), "s m", name);
                x += 34.0 + width(name, 10.5);
            }
        }
        if x > 28.0 { y + 10.0 } else { y - 10.0 }
    }

    /// As text, for a terminal: the links, a line each; then the sets.
    pub fn text(&self) -> String {
        let name = |id: usize| self.nodes[id].name.as_str();
        let mut text = format!("{}\n\n", self.title);
        let mut line = |of: &str, verb: &str, others: &[&str]| {
            if !others.is_empty() {
                let _ = writeln!(text, "  {of} {verb} {}", others.join(", "));
            }
        };
        for (id, node) in self.nodes.iter().enumerate() {
            let bonds = |ranks: &[Bond]| {
                let of = self.links.iter().filter(|it| ranks.contains(&it.rank));
                let from = of.clone().filter(|it| it.from == id).map(|it| it.to);
                let is_mutual = ranks.contains(&Bond::Link);
                let to = of.filter(|it| is_mutual && it.to == id).map(|it| it.from);
                let mut others: Vec<usize> = from.chain(to).collect();
                others.sort_unstable();
                others.into_iter().map(name).collect::<Vec<_>>()
            };
            line(&node.name, "–", &bonds(&[Bond::Link]));
            line(&node.name, "→", &bonds(&[Bond::Tree]));
            line(&node.name, "waits for", &bonds(&[Bond::Wait, Bond::Circle]));
            line(&node.name, "asks", &bonds(&[Bond::Ask]));
            line(&node.name, "asks and informs", &bonds(&[Bond::Inform]));
        }
        for set in &self.sets {
            let members: Vec<&str> = set.iter().map(|&id| name(id)).collect();
            let _ = writeln!(text, "  {{{}}}", members.join(", "));
        }
        for sentence in &self.caption {
            let _ = writeln!(text, "\n{sentence}");
        }
        text
    }

    /// For Graphviz.
    pub fn dot(&self) -> String {
        let is_directed = self.links.iter().any(|it| it.rank != Bond::Link);
        let (kind, arrow) = if is_directed { ("digraph", "->") } else { ("graph", "--") };
        let mut text =
            format!("{kind} {{\n  label={}\n  node [shape=circle]\n", quoted(&self.title));
        for (id, node) in self.nodes.iter().enumerate() {
            let style = match node.rank {
                Rank::Plain => "",
                Rank::One => ", style=filled, fillcolor=lightblue",
                Rank::Two => ", style=filled, fillcolor=lightsalmon",
                Rank::Both => ", style=filled, fillcolor=gold",
                Rank::Dead => ", style=dashed",
                Rank::Root => ", shape=doublecircle",
            };
            let _ = writeln!(text, "  n{id} [label={}{style}]", quoted(&node.name));
        }
        for link in &self.links {
            let style = match link.rank {
                Bond::Link if is_directed => " [dir=none, color=grey]",
                Bond::Link | Bond::Wait => "",
                Bond::Tree => " [penwidth=2]",
                Bond::Circle => " [penwidth=2, color=red]",
                Bond::Ask => " [color=forestgreen, style=dashed]",
                Bond::Inform => " [color=red]",
            };
            let _ = writeln!(text, "  n{} {arrow} n{}{style}", link.from, link.to);
        }
        text + "}\n"
    }
}

fn draw_node(svg: &mut Svg, node: &Node, (x, y): (f64, f64), radius: f64) {
    let (class, letters) = match node.rank {
        Rank::Plain => ("knot", "t c"),
        Rank::One => ("one", "t c b onw"),
        Rank::Two => ("two", "t c b onw"),
        Rank::Both => ("both", "t c b onw"),
        Rank::Dead => ("knot dash", "t c m"),
        Rank::Root => ("in", "t c b onw"),
    };
    let (cx, cy, r) = (Num(x), Num(y), Num(radius));
    let title = escaped(&node.name);
    svg.put(format_args!(
        "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"{r}\" class=\"{class}\"><title>{title}</title>\
         </circle>"
    ));
    // Letters that do not fit are not written.
    if radius >= 11.0 && width(&node.name, 12.0) < 2.0 * radius {
        svg.text((x, y + 4.2), letters, &node.name);
    }
}

/// How an arrow is drawn.
const fn arrow(bond: Bond) -> &'static str {
    match bond {
        Bond::Circle => "x wx2",
        Bond::Ask => "k2 a dash",
        Bond::Inform => "x a",
        Bond::Link | Bond::Tree | Bond::Wait => "k6 a",
    }
}

/// Before the edge of a node.
fn short_of(from: (f64, f64), to: (f64, f64), by: f64) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(0.001);
    let share = ((length - by) / length).max(0.0);
    (from.0 + dx * share, from.1 + dy * share)
}

/// The same way, a little to its right.
fn beside(from: (f64, f64), to: (f64, f64), by: f64) -> ((f64, f64), (f64, f64)) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(0.001);
    let (ox, oy) = (-dy / length * by, dx / length * by);
    ((from.0 + ox, from.1 + oy), (to.0 + ox, to.1 + oy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_words_every_bond_is_said_from_where_it_begins_and_links_from_both_ends() {
        let bond = |from, to, rank| Link { from, to, rank };
        let graph = Graph {
            title: "three".to_owned(),
            nodes: Graph::numbered(3),
            links: vec![
                bond(0, 1, Bond::Link),
                bond(1, 2, Bond::Tree),
                bond(2, 0, Bond::Wait),
                bond(2, 1, Bond::Circle),
                bond(0, 2, Bond::Ask),
                bond(0, 1, Bond::Inform),
            ],
            sets: vec![vec![0, 2]],
            caption: vec!["That is all.".to_owned()],
            ..Graph::default()
        };
        let text = "three\n\n  0 – 1\n  0 asks 2\n  0 asks and informs 1\n  1 – 0\n  1 → 2\n  2 \
                    waits for 0, 1\n  {0, 2}\n\nThat is all.\n";
        assert_eq!(graph.text(), text);
    }
}
