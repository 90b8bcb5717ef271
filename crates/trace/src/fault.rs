//! What befalls a node or the network, besides crashes and what messages meet with.

use std::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, show_duration_ns};

/// Faults besides crashes and losses: of these, a monitor sees partitions and links that are cut.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The node stands still from now on.
    Pause,
    /// It goes on.
    Resume,
    /// A message that the node sent takes longer than others.
    Delayed {
        /// The receiver.
        to: NodeId,
        /// Its number.
        seq: u64,
        /// By how much.
        by_ns: u64,
    },
    /// The network fell apart. Noted at the first node that is named, like all that befalls the
    /// whole network.
    Partition {
        /// The sides; nodes that are not named are on one more side.
        sides: Vec<Vec<NodeId>>,
    },
    /// It is whole again, as far as this partition goes.
    Heal {
        /// As it was.
        sides: Vec<Vec<NodeId>>,
    },
    /// A link is cut.
    Cut {
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
        /// Whether it is cut in the other direction as well.
        both_ways: bool,
    },
    /// It is mended.
    Mend {
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
        /// As it was.
        both_ways: bool,
    },
    /// Links are slow from now on.
    Slow {
        /// Which, and how slow, as on the command line: `0-1:x10`.
        links: String,
    },
    /// They no longer are.
    Recover {
        /// As it was.
        links: String,
    },
}

impl Fault {
    /// What befalls the network, in short, and whether it begins: none if it befalls a node.
    pub fn of_network(&self) -> Option<(String, bool)> {
        let said = match self {
            Self::Pause | Self::Resume | Self::Delayed { .. } => return None,
            Self::Partition { sides } => (apart(sides), true),
            Self::Heal { sides } => (apart(sides), false),
            Self::Cut { from, to, both_ways } => (cut(*from, *to, *both_ways), true),
            Self::Mend { from, to, both_ways } => (cut(*from, *to, *both_ways), false),
            Self::Slow { links } => (format!("slow: {links}"), true),
            Self::Recover { links } => (format!("slow: {links}"), false),
        };
        Some(said)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.of_network()) {
            (_, Some((what, true))) => f.write_str(&what),
            (_, Some((what, false))) => write!(f, "no longer {what}"),
            (Self::Delayed { to, seq, by_ns }, None) => {
                write!(f, "message {seq} to {to} takes {} longer", show_duration_ns(*by_ns))
            }
            (Self::Resume, None) => f.write_str("goes on"),
            (_, None) => f.write_str("stands still"),
        }
    }
}

fn cut(from: NodeId, to: NodeId, both_ways: bool) -> String {
    format!("cut: {from}{}{to}", if both_ways { "-" } else { "->" })
}

fn apart(sides: &[Vec<NodeId>]) -> String {
    let side =
        |nodes: &Vec<NodeId>| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let sides: Vec<String> = sides.iter().map(side).filter(|it| !it.is_empty()).collect();
    match &sides[..] {
        [one] => format!("cut off: {one}"),
        all => format!("apart: {}", all.join(" | ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_said_in_words() {
        let (from, to) = (NodeId(0), NodeId(2));
        let sides = vec![vec![NodeId(0), NodeId(1)], vec![to]];
        let links = "0-1:x10".to_owned();
        for (fault, words) in [
            (Fault::Pause, "stands still"),
            (Fault::Resume, "goes on"),
            (Fault::Delayed { to, seq: 7, by_ns: 2_000_000 }, "message 7 to 2 takes 2ms longer"),
            (Fault::Partition { sides: sides.clone() }, "apart: 0 1 | 2"),
            (Fault::Partition { sides: sides[1..].to_vec() }, "cut off: 2"),
            (Fault::Heal { sides }, "no longer apart: 0 1 | 2"),
            (Fault::Cut { from, to, both_ways: true }, "cut: 0-2"),
            (Fault::Mend { from, to, both_ways: false }, "no longer cut: 0->2"),
            (Fault::Slow { links: links.clone() }, "slow: 0-1:x10"),
            (Fault::Recover { links }, "no longer slow: 0-1:x10"),
        ] {
            assert_eq!(fault.to_string(), words);
        }
    }
}
