//! A quorum system as text: rows, a tree, or a table of quorums.

use std::fmt::Write as _;

use vorrang_algorithms::quorum::{QuorumSystem, Quorums};
use vorrang_node::terminal::{BAD, GOOD, RESET};
use vorrang_protocol::{NodeId, NodeSet};

/// More nodes than this make no picture.
pub(crate) const MOST_DRAWN: u32 = 200;

/// Levels of a tree that are drawn side by side; deeper trees are drawn as an outline.
const MOST_LEVELS: usize = 5;

/// Columns of a table that have names; more of them would not fit a screen.
const MOST_NAMED: u32 = 18;

/// The system with one quorum in brackets and dead nodes between x.
pub(crate) fn drawing(
    quorums: &Quorums,
    system: &QuorumSystem,
    quorum: &[NodeId],
    dead: &NodeSet,
) -> String {
    let digits = (system.group().size() - 1).to_string().len();
    let cells = Cells { digits, quorum, dead };
    let rows = system.rows().unwrap_or_default();
    match quorums {
        Quorums::Grid | Quorums::Triangle(_) => cells.rows(&rows, false),
        Quorums::Wall(_) => cells.rows(&rows, true),
        Quorums::Tree if rows.len() <= MOST_LEVELS => cells.tree(&rows),
        Quorums::Tree => cells.outline(system.group().size()),
        Quorums::Plane
        | Quorums::PlaneAsPrinted
        | Quorums::PlaneReduced
        | Quorums::Cyclic
        | Quorums::Sets(_)
            if system.group().size() <= MOST_NAMED =>
        {
            cells.table(system)
        }
        Quorums::Plane
        | Quorums::PlaneAsPrinted
        | Quorums::PlaneReduced
        | Quorums::Cyclic
        | Quorums::Sets(_) => cells.dots(system),
        Quorums::Singleton | Quorums::All | Quorums::Majority | Quorums::Weighted(_) => {
            const WIDE: u32 = 10;
            let nodes = system.group().size();
            let mut rows = vec![WIDE; (nodes / WIDE) as usize];
            rows.push(nodes % WIDE);
            cells.rows(&rows, false)
        }
    }
}

/// How nodes are drawn.
struct Cells<'a> {
    digits: usize,
    quorum: &'a [NodeId],
    dead: &'a NodeSet,
}

impl Cells<'_> {
    fn width(&self) -> usize {
        self.digits + 2
    }

    fn cell(&self, id: NodeId) -> String {
        let digits = self.digits;
        if self.quorum.contains(&id) {
            format!("{GOOD}[{id:>digits$}]{RESET}")
        } else if self.dead.contains(id) {
            format!("{BAD}x{id:>digits$}x{RESET}")
        } else {
            format!(" {id:>digits$} ")
        }
    }

    /// Rows of these widths, one below the other; each in the middle, if that is wanted.
    fn rows(&self, widths: &[u32], is_centred: bool) -> String {
        let widest = widths.iter().max().copied().unwrap_or(0) as usize;
        let mut ids = (0..).map(NodeId);
        let mut text = String::new();
        for &width in widths.iter().filter(|&&width| width > 0) {
            let room = (widest - width as usize) * (self.width() + 1) / 2;
            let indent = if is_centred { room } else { 0 };
            let cells: Vec<String> =
                ids.by_ref().take(width as usize).map(|id| self.cell(id)).collect();
            let _ = writeln!(text, "  {:indent$}{}", "", cells.join(" ").trim_end());
        }
        text
    }

    /// Levels, every node above the middle of its children.
    fn tree(&self, levels: &[u32]) -> String {
        let mut text = String::new();
        let mut ids = (0..).map(NodeId);
        for (level, &width) in levels.iter().enumerate() {
            // So many columns for each node of this level, each as wide as a leaf.
            let room = (self.width() + 1) << (levels.len() - 1 - level);
            let before = (room - self.width()) / 2;
            let after = room - self.width() - before;
            let mut line = "  ".to_owned();
            for id in ids.by_ref().take(width as usize) {
                let _ = write!(line, "{:before$}{}{:after$}", "", self.cell(id), "");
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// A node a line, below its parent and further to the right.
    fn outline(&self, nodes: u32) -> String {
        let mut text = String::new();
        let mut ahead = vec![(0, 0_usize)];
        while let Some((id, depth)) = ahead.pop() {
            let (indent, cell) = (3 * depth, self.cell(NodeId(id)));
            let _ = writeln!(text, "  {:indent$}{}", "", cell.trim_end());
            let children = [2 * id + 2, 2 * id + 1].into_iter().filter(|&child| child < nodes);
            ahead.extend(children.map(|child| (child, depth + 1)));
        }
        text
    }

    /// A line a node, a column a member; the line of the quorum in brackets.
    fn table(&self, system: &QuorumSystem) -> String {
        let digits = self.digits;
        let mut text = String::new();
        let column = |id: NodeId| format!(" {id:>digits$} ");
        let names: String = system.group().members().map(column).collect();
        let _ = writeln!(text, "  {:digits$}  {}", "", names.trim_end());
        for id in system.group().members() {
            let members = system.of(id);
            let is_it = members == self.quorum;
            let mut line = String::new();
            for member in system.group().members() {
                let is_member = members.contains(&member);
                line += &match (is_member, is_it, self.dead.contains(member)) {
                    (true, true, _) => self.cell(member),
                    (true, false, true) => format!(" {:>digits$} ", "x"),
                    (true, false, false) => format!(" {:>digits$} ", "o"),
                    (false, _, _) => format!(" {:>digits$} ", "·"),
                };
            }
            let _ = writeln!(text, "  {id:>digits$}: {}", line.trim_end());
        }
        text
    }

    /// The same with a letter a member: `#` for the quorum, `o` for the others.
    fn dots(&self, system: &QuorumSystem) -> String {
        let digits = self.digits;
        let mut text = String::new();
        for id in system.group().members() {
            let members = system.of(id);
            let is_it = members == self.quorum;
            let letter = |member: NodeId| match members.contains(&member) {
                true if is_it => '#',
                true if self.dead.contains(member) => 'x',
                true => 'o',
                false => '·',
            };
            let line: String = system.group().members().map(letter).collect();
            text += &if is_it {
                format!("{GOOD} [{id:>digits$}] {line}{RESET}\n")
            } else {
                format!("  {id:>digits$}  {line}\n")
            };
        }
        text
    }
}
