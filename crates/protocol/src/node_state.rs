//! The state of a node as a table of names and values, in the words of its algorithm's paper.
//!
//! An algorithm says what its variables are called and what they hold; how that is laid out as
//! text, as a picture or as JSON is the same for all of them.

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use serde::ser::{Serialize, Serializer};

use crate::{NodeId, NodeSet};

/// The variables of a node, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeState(Vec<(Cow<'static, str>, StateValue)>);

/// The value of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StateValue {
    /// There is none.
    Nothing,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(u64),
    /// A node.
    Node(NodeId),
    /// Words.
    Text(Cow<'static, str>),
    /// Values that belong together, as the time and the node of a stamp.
    Tuple(Vec<Self>),
    /// Values in no particular order.
    Set(Vec<Self>),
    /// Values in an order, as in a queue.
    List(Vec<Self>),
    /// A value for every node, by its number.
    Vector(Vec<Self>),
    /// The same for every row.
    Matrix(Vec<Vec<Self>>),
    /// The variables of something inside.
    Inner(NodeState),
}

impl NodeState {
    /// No variables.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// And this one.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<StateValue>) -> Self {
        self.0.push((Cow::Borrowed(name), value.into()));
        self
    }

    /// And this one, if it has a value: where most have none, none is shown.
    #[must_use]
    pub fn with_if_any(self, name: &'static str, value: Option<impl Into<StateValue>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// And all of these.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// And those of what lies beneath, each of which may have a name that is taken: then the
    /// layer's name comes before it.
    #[must_use]
    pub fn beneath(mut self, layer: &str, more: Self) -> Self {
        for (name, value) in more.0 {
            let is_taken = self.0.iter().any(|(known, _)| *known == name);
            let name = if is_taken { Cow::Owned(alloc::format!("{layer} {name}")) } else { name };
            self.0.push((name, value));
        }
        self
    }

    /// The same, with only these nodes in sets of nodes.
    #[must_use]
    pub fn only_with(self, is_somebody: &dyn Fn(NodeId) -> bool) -> Self {
        let all = self.0.into_iter();
        Self(all.map(|(name, value)| (name, value.only_with(is_somebody))).collect())
    }

    /// The variables.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &StateValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The value of one of them.
    pub fn get(&self, name: &str) -> Option<&StateValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl StateValue {
    /// Values in no particular order.
    pub fn set<T: Into<Self>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::Set(values.into_iter().map(Into::into).collect())
    }

    /// Values in an order.
    pub fn list<T: Into<Self>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }

    /// A value for every node.
    pub fn vector<T: Into<Self>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::Vector(values.into_iter().map(Into::into).collect())
    }

    fn only_with(self, is_somebody: &dyn Fn(NodeId) -> bool) -> Self {
        let each = |values: Vec<Self>| -> Vec<Self> {
            values.into_iter().map(|value| value.only_with(is_somebody)).collect()
        };
        match self {
            Self::Set(mut values) => {
                values.retain(|value| !matches!(value, Self::Node(id) if !is_somebody(*id)));
                Self::Set(each(values))
            }
            Self::Tuple(values) => Self::Tuple(each(values)),
            Self::List(values) => Self::List(each(values)),
            Self::Inner(state) => Self::Inner(state.only_with(is_somebody)),
            Self::Nothing
            | Self::Flag(_)
            | Self::Number(_)
            | Self::Node(_)
            | Self::Text(_)
            | Self::Vector(_)
            | Self::Matrix(_) => self,
        }
    }

    /// What something writes of itself, as words.
    pub fn shown(value: &dyn fmt::Display) -> Self {
        Self::Text(Cow::Owned(value.to_string()))
    }
}

/// `H 0, RN 1 0 2`: as one line.
impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{name} {value}")?;
        }
        Ok(())
    }
}

/// As one line: a set in braces, a stamp in parentheses, and a dash for nothing.
impl fmt::Display for StateValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("–"),
            Self::Flag(true) => f.write_str("yes"),
            Self::Flag(false) => f.write_str("no"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Node(id) => write!(f, "{id}"),
            Self::Text(text) => f.write_str(text),
            Self::Tuple(values) => between(f, ("(", ",", ")"), values),
            Self::Set(values) => between(f, ("{", " ", "}"), values),
            Self::List(values) if values.is_empty() => f.write_str("–"),
            Self::List(values) | Self::Vector(values) => between(f, ("", " ", ""), values),
            Self::Matrix(rows) => {
                for (place, row) in rows.iter().enumerate() {
                    between(f, (if place > 0 { " | " } else { "" }, " ", ""), row)?;
                }
                Ok(())
            }
            Self::Inner(state) => write!(f, "[{state}]"),
        }
    }
}

fn between(
    f: &mut fmt::Formatter<'_>,
    (open, comma, close): (&str, &str, &str),
    values: &[StateValue],
) -> fmt::Result {
    f.write_str(open)?;
    for (place, value) in values.iter().enumerate() {
        f.write_str(if place > 0 { comma } else { "" })?;
        fmt::Display::fmt(value, f)?;
    }
    f.write_str(close)
}

/// An object: a member for every variable.
impl Serialize for NodeState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Nothing is null; a node is its number; a tuple, a set, a list and a vector are arrays, and a
/// matrix is one of its rows.
impl Serialize for StateValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Node(id) => serializer.serialize_u32(id.0),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Tuple(values) | Self::Set(values) | Self::List(values) | Self::Vector(values) => {
                serializer.collect_seq(values)
            }
            Self::Matrix(rows) => serializer.collect_seq(rows),
            Self::Inner(state) => state.serialize(serializer),
        }
    }
}

impl From<bool> for StateValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u8> for StateValue {
    fn from(number: u8) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for StateValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for StateValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for StateValue {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<NodeId> for StateValue {
    fn from(id: NodeId) -> Self {
        Self::Node(id)
    }
}

impl From<&'static str> for StateValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for StateValue {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<&NodeSet> for StateValue {
    fn from(nodes: &NodeSet) -> Self {
        Self::set(nodes.iter())
    }
}

impl From<NodeState> for StateValue {
    fn from(state: NodeState) -> Self {
        Self::Inner(state)
    }
}

impl<T: Into<Self>> From<Option<T>> for StateValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

impl<A: Into<Self>, B: Into<Self>> From<(A, B)> for StateValue {
    fn from((a, b): (A, B)) -> Self {
        Self::Tuple([a.into(), b.into()].into())
    }
}

impl<A: Into<Self>, B: Into<Self>, C: Into<Self>> From<(A, B, C)> for StateValue {
    fn from((a, b, c): (A, B, C)) -> Self {
        Self::Tuple([a.into(), b.into(), c.into()].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> NodeState {
        NodeState::new()
            .with("H", true)
            .with("RN", StateValue::vector([1_u64, 0, 2]))
            .with("queue", StateValue::list([(3_u64, NodeId(1)), (4, NodeId(0))]))
            .with("failed", &NodeSet::from_iter([NodeId(5), NodeId(2)]))
            .with("holder", None::<NodeId>)
            .with("T", StateValue::Matrix([[1_u64.into()].into(), ["R".into()].into()].into()))
            .with("tree", NodeState::new().with("parent", NodeId(7)))
    }

    #[test]
    fn a_state_is_one_line_in_the_words_of_a_paper() {
        assert_eq!(
            sample().to_string(),
            "H yes, RN 1 0 2, queue (3,1) (4,0), failed {2 5}, holder –, T 1 | R, \
             tree [parent 7]"
        );
        assert_eq!(StateValue::list::<u64>([]).to_string(), "–");
    }

    #[test]
    fn a_set_can_be_shown_without_nodes_that_nobody_is() {
        let suspects: NodeSet = (0..64).map(NodeId).collect();
        let state = NodeState::new().with("next", NodeId(9)).with("suspects", &suspects);
        let beneath = NodeState::new().with("lost", &suspects);
        let state = state.with("others", StateValue::list([(NodeId(8), beneath)]));
        let shown = state.only_with(&|id| id.0 < 2).to_string();
        assert_eq!(shown, "next 9, suspects {0 1}, others (8,[lost {0 1}])");
    }

    #[test]
    fn what_lies_beneath_keeps_its_names_unless_they_are_taken() {
        let layer = NodeState::new().with("life", 1_u64);
        let node = NodeState::new().with("life", 2_u64).with("phase", "outside");
        assert_eq!(layer.beneath("node", node).to_string(), "life 1, node life 2, phase outside");
    }
}
