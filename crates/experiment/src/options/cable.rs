//! Cables that are plugged in and unplugged, as they are typed, and what nodes notice of it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use vorrang_algorithms::election::{Card, Command};
use vorrang_algorithms::setup::Setup;
use vorrang_protocol::{Graph, NodeId, show_duration_ns};

use super::fault_args::parse_time;
use crate::failure::Failure;

/// A cable, or all cables of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cable {
    /// Between these two.
    Between(NodeId, NodeId),
    /// Of this one.
    Device(NodeId),
}

impl FromStr for Cable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is neither a cable nor a device: write 1-2, or 2");
        let node = |it: &str| it.trim().parse().map(NodeId).map_err(|_| wrong());
        Ok(match text.split_once('-') {
            Some((one, other)) => Self::Between(node(one)?, node(other)?),
            None => Self::Device(node(text)?),
        })
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Between(one, other) => write!(f, "{one}-{other}"),
            Self::Device(node) => node.fmt(f),
        }
    }
}

/// Reads `1-2@50ms` or `2@50ms`.
pub fn parse_cable_at(text: &str) -> Result<(Cable, u64), String> {
    let wrong = || format!("'{text}' is not a cable and a time: write 1-2@50ms");
    let (cable, time) = text.split_once('@').ok_or_else(wrong)?;
    Ok((cable.parse()?, parse_time(time.trim())?))
}

/// The cables of a check.
pub type CableList = Vec<Cable>;

/// Reads `1-2,3`, or `none`.
pub fn parse_cables(text: &str) -> Result<CableList, String> {
    match text {
        "none" | "" => Ok(Vec::new()),
        some => some.split(',').map(str::parse).collect(),
    }
}

/// Writes what [`parse_cables`] reads.
pub fn show_cables(cables: &[Cable]) -> String {
    let all: Vec<String> = cables.iter().map(ToString::to_string).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(",") }
}

/// Something that is done to cables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CableChange {
    /// When.
    pub at_ns: u64,
    /// To which.
    pub cable: Cable,
    /// Whether they are there from then on.
    pub plugs: bool,
}

impl CableChange {
    /// The option's name.
    pub const fn option(self) -> &'static str {
        if self.plugs { "plug" } else { "unplug" }
    }

    /// Cable and time, as they are typed.
    pub fn typed(self) -> String {
        format!("{}@{}", self.cable, show_duration_ns(self.at_ns))
    }
}

/// A command at a node, and when it is given.
pub type Noticed = (u64, NodeId, Command);

/// What nodes notice of their cables, if the algorithm knows of any; or why that cannot be. `typed`
/// is how a change was typed.
pub fn noticed(
    card: &Card,
    setup: &Setup,
    changes: &[CableChange],
    typed: impl Fn(CableChange) -> String,
) -> Result<Vec<Noticed>, Failure> {
    let Some(&first) = changes.first() else { return Ok(Vec::new()) };
    if !card.terms.hot_plug {
        return Err(Failure::usage(format!(
            "--{} {}: {} has no cables that come and go; bus-reset has",
            first.option(),
            typed(first),
            card.name
        )));
    }
    let tree = setup.topology.tree(setup.group).map_err(|unfit| Failure::Usage(unfit.0))?;
    noticed_on(changes, &tree, typed)
}

/// What the ends notice, the first first, on a bus where at first all cables of a tree are plugged
/// in.
fn noticed_on(
    changes: &[CableChange],
    tree: &Graph,
    typed: impl Fn(CableChange) -> String,
) -> Result<Vec<Noticed>, Failure> {
    let mut changes = changes.to_vec();
    changes.sort_by_key(|it| (it.at_ns, it.plugs));
    let mut unplugged: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
    let mut all = Vec::new();
    for change in changes {
        let wrong =
            |why: String| Failure::usage(format!("--{} {}: {why}", change.option(), typed(change)));
        let links = links_of(change.cable, tree).map_err(wrong)?;
        let mut is_done = false;
        for (one, other) in links {
            let has_changed = if change.plugs {
                unplugged.remove(&(one, other))
            } else {
                unplugged.insert((one, other))
            };
            is_done |= has_changed;
            for (at, peer) in [(one, other), (other, one)].into_iter().filter(|_| has_changed) {
                let command = if change.plugs { Command::Plug } else { Command::Unplug };
                all.push((change.at_ns, at, command(peer)));
            }
        }
        if !is_done {
            let is = if change.plugs { "plugged in" } else { "unplugged" };
            return Err(wrong(format!("that is {is} then")));
        }
    }
    Ok(all)
}

/// The links of a tree that a cable or a device stands for, the lower end first.
fn links_of(cable: Cable, tree: &Graph) -> Result<Vec<(NodeId, NodeId)>, String> {
    let last = tree.group().size() - 1;
    let named = match cable {
        Cable::Between(one, other) => vec![one, other],
        Cable::Device(node) => vec![node],
    };
    if let Some(node) = named.iter().find(|node| node.0 > last) {
        return Err(format!("there is no node {node}, the last is {last}"));
    }
    let ordered = |one: NodeId, other: NodeId| (one.min(other), one.max(other));
    match cable {
        Cable::Between(one, other) if tree.has(one, other) => Ok(vec![ordered(one, other)]),
        Cable::Between(one, other) => {
            let peers: Vec<String> = tree.neighbours(one).iter().map(ToString::to_string).collect();
            Err(format!(
                "no cable is between nodes {one} and {other}; node {one} has one to {}",
                peers.join(", ")
            ))
        }
        Cable::Device(node) => {
            Ok(tree.neighbours(node).iter().map(|&peer| ordered(node, peer)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;

    fn commands(changes: &[(u64, &str, bool)]) -> Result<Vec<String>, String> {
        let pairs = [(0, 1), (1, 2), (1, 3)].map(|(one, other)| (NodeId(one), NodeId(other)));
        let star = Graph::new(Group::of(4), pairs);
        let change = |&(at_ns, cable, plugs): &(u64, &str, bool)| CableChange {
            at_ns,
            cable: cable.parse().unwrap(),
            plugs,
        };
        let changes: Vec<CableChange> = changes.iter().map(change).collect();
        let shown = |(at_ns, at, command): &Noticed| format!("{at_ns} {command} {at}");
        noticed_on(&changes, &star, |it| it.cable.to_string())
            .map(|all| all.iter().map(shown).collect())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn both_ends_notice_and_a_device_is_all_its_cables() {
        let one = commands(&[(9, "1-2", true), (5, "2-1", false)]).unwrap();
        assert_eq!(one, ["5 unplug 2 1", "5 unplug 1 2", "9 plug 2 1", "9 plug 1 2"]);
        let all = commands(&[(1, "0-1", false), (2, "1", false), (3, "1", true)]).unwrap();
        assert_eq!(all.len(), 2 + 4 + 6, "one of three was unplugged before");
    }

    #[test]
    fn what_cannot_be_done_to_a_cable_says_why() {
        let why = |changes: &[(u64, &str, bool)]| commands(changes).unwrap_err();
        assert_eq!(why(&[(1, "0-1", true)]), "--plug 0-1: that is plugged in then");
        assert!(why(&[(1, "2", false), (2, "1-2", false)]).ends_with("unplugged then"));
        assert!(why(&[(1, "4", false)]).ends_with("no node 4, the last is 3"));
        let apart = "no cable is between nodes 0 and 2; node 0 has one to 1";
        assert!(why(&[(1, "0-2", false)]).ends_with(apart));
        assert!("a-b".parse::<Cable>().unwrap_err().contains("'a-b'"));
        assert!(parse_cable_at("1-2").unwrap_err().contains("1-2@50ms"));
    }
}
