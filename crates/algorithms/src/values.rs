//! What nodes know: a number each, as a value.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use vorrang_protocol::{Group, NodeId};

/// Sums over all nodes are far from overflow.
const LARGEST_VALUE: u64 = 1_000_000_000;

/// A number for each node: its own number, unless others are given.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Values(Option<Arc<[u64]>>);

impl Values {
    /// To every node its number.
    pub const IDS: Self = Self(None);

    /// The value of a node.
    pub fn of(&self, node: NodeId) -> u64 {
        let given = self.0.as_ref().and_then(|all| all.get(node.index())).copied();
        given.unwrap_or_else(|| node.0.into())
    }

    /// Reads `ids`, or a number for each node of a group, as in `4,0,7`.
    ///
    /// # Errors
    ///
    /// If it is neither, with a sentence that says why.
    pub fn read(text: &str, group: Group) -> Result<Self, String> {
        if text == "ids" {
            return Ok(Self::IDS);
        }
        Self::of_words(text.split(','), group)
    }

    /// Reads a file: a number for each node, between commas, blanks or ends of lines; what follows
    /// a `#` is a comment.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn of_lines(text: &str, group: Group) -> Result<Self, String> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let words = lines.flat_map(|line| line.split([',', ' ', '\t', '\r']));
        Self::of_words(words.filter(|word| !word.is_empty()), group)
    }

    fn of_words<'a>(words: impl Iterator<Item = &'a str>, group: Group) -> Result<Self, String> {
        let value = |word: &str| match word.trim().parse() {
            Ok(it @ 0..=LARGEST_VALUE) => Ok(it),
            Ok(_) | Err(_) => Err(format!(
                "'{word}' is not a value from 0 to {LARGEST_VALUE}: say ids, or a number a node, \
                 as in 4,0,7"
            )),
        };
        let all = words.map(value).collect::<Result<Vec<u64>, String>>()?;
        if all.len() != group.size() as usize {
            let nodes = group.size();
            let there = match all.len() {
                1 => String::from("is 1 value"),
                many => format!("are {many} values"),
            };
            return Err(format!("there {there} for {nodes} nodes: give one a node"));
        }
        let are_ids = (0..).zip(&all).all(|(id, value)| *value == id);
        Ok(if are_ids { Self::IDS } else { Self(Some(all.into())) })
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(all) = &self.0 else { return f.write_str("ids") };
        for (place, value) in all.iter().enumerate() {
            write!(f, "{}{value}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn values_are_given_in_a_list_or_in_a_file() {
        let group = Group::of(3);
        let listed = Values::read("4,0,7", group).unwrap();
        assert_eq!((listed.of(NodeId(2)), listed.to_string()), (7, "4,0,7".to_string()));
        let file = "# what was measured\n4, 0\n\n7 # the last\n";
        assert_eq!(Values::of_lines(file, group), Ok(listed));
        assert_eq!(Values::read("0,1,2", group), Ok(Values::IDS));
        assert_eq!(Values::IDS.of(NodeId(9)), 9);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text| Values::read(text, Group::of(3)).unwrap_err();
        assert_eq!(wrong("1,2"), "there are 2 values for 3 nodes: give one a node");
        for text in ["1,-2,3", "1,1000000001,3", "1,,3", "id"] {
            let why = wrong(text);
            assert!(why.contains("is not a value from 0 to 1000000000"), "{why}");
        }
        let why = Values::of_lines("1\n2\n3\n4", Group::of(3)).unwrap_err();
        assert_eq!(why, "there are 4 values for 3 nodes: give one a node");
    }
}
