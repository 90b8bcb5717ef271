//! A link that is cut, while both of its ends hear all others.

use std::fmt;
use std::str::FromStr;

use vorrang_protocol::NodeId;

/// A link between two nodes: `1-2` in both directions, `1->2` in one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Link {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Whether it goes for the other direction as well.
    pub both_ways: bool,
}

impl Link {
    /// Whether messages from one node to the other go over it.
    pub fn carries(&self, from: NodeId, to: NodeId) -> bool {
        self.directions().any(|it| it == (from, to))
    }

    /// Its directions: sender and receiver.
    pub fn directions(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let back = self.both_ways.then_some((self.to, self.from));
        [(self.from, self.to)].into_iter().chain(back)
    }
}

/// Reads `1-2` or `1->2`.
impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is not a link: write 1-2, or 1->2 for messages from 1 to 2");
        let (from, to, both_ways) = match (text.split_once("->"), text.split_once('-')) {
            (Some((from, to)), _) => (from, to, false),
            (None, Some((from, to))) => (from, to, true),
            (None, None) => return Err(wrong()),
        };
        let end = |text: &str| text.trim().parse().map(NodeId).map_err(|_| wrong());
        let (from, to) = (end(from)?, end(to)?);
        if from == to {
            return Err(format!("'{text}': a link is between two nodes"));
        }
        Ok(Self { from, to, both_ways })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.from, if self.both_ways { "-" } else { "->" }, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_they_are_written() {
        for text in ["1-2", "2->0"] {
            assert_eq!(text.parse::<Link>().unwrap().to_string(), text);
        }
        let wrong = |text: &str| text.parse::<Link>().unwrap_err();
        for text in ["", "1", "1-", "a-b", "*-3", "1>2"] {
            assert!(wrong(text).contains("is not a link: write 1-2, or 1->2"), "{text}");
        }
        assert_eq!(wrong("1-1"), "'1-1': a link is between two nodes");
    }

    #[test]
    fn a_link_carries_what_goes_in_its_directions() {
        let carries =
            |text: &str, from, to| text.parse::<Link>().unwrap().carries(NodeId(from), NodeId(to));
        assert!(carries("1-2", 1, 2) && carries("1-2", 2, 1) && !carries("1-2", 1, 3));
        assert!(carries("1->2", 1, 2) && !carries("1->2", 2, 1));
    }
}
