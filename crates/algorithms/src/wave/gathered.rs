//! What a wave brings back: the aggregate of a value of every node.
//!
//! Echoes meet in any order and in trees of any shape, so an aggregate must not depend on either:
//! it is the fold of a commutative and associative operation. How many values are in it is always
//! counted as well, since a largest value that came in twice looks like one that came in once.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{NodeId, StateValue};

use crate::setup::{Aggregate, Setup, Unfit};

/// The aggregate that echoes carry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Gathered {
    /// How many values are in it.
    pub count: u64,
    /// What they come to.
    pub value: Value,
}

/// What several values come to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// All together.
    Sum(u64),
    /// The largest.
    Max(u64),
    /// The smallest.
    Min(u64),
    /// Nothing but their number.
    Count,
    /// Each of them with the node that gave it, the lowest node first.
    Collect(Vec<(NodeId, u64)>),
}

impl Gathered {
    /// The aggregate of no node, whatever the operation.
    pub const NOTHING: Self = Self { count: 0, value: Value::Sum(0) };

    /// What a node gives that is asked for nothing else: its number, to be summed up.
    pub fn of(node: NodeId) -> Self {
        Self { count: 1, value: Value::Sum(node.0.into()) }
    }

    /// What a node gives in a set-up.
    pub fn given(setup: &Setup, node: NodeId) -> Self {
        let value = setup.values.of(node);
        let value = match setup.aggregate {
            Aggregate::Sum => Value::Sum(value),
            Aggregate::Max => Value::Max(value),
            Aggregate::Min => Value::Min(value),
            Aggregate::Count => Value::Count,
            Aggregate::Collect => Value::Collect([(node, value)].into()),
        };
        Self { count: 1, value }
    }

    /// Refuses to collect from so many that messages would be too long: an echo may carry all
    /// values.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub(super) fn fits(setup: &Setup) -> Result<(), Unfit> {
        const MOST_COLLECTED: u32 = 10_000;
        let nodes = setup.group.size();
        if setup.aggregate == Aggregate::Collect && nodes > MOST_COLLECTED {
            return Err(Unfit(format!(
                "--aggregate collect from --nodes {nodes} is too much: an ECHO may carry the \
                 values of all, so at most {MOST_COLLECTED}"
            )));
        }
        Ok(())
    }

    /// What several nodes give, together.
    pub fn of_all(given: impl IntoIterator<Item = Self>) -> Self {
        given.into_iter().fold(Self::NOTHING, Self::and)
    }

    /// The aggregate of both. A message from outside may carry any numbers, so sums saturate; it
    /// may even be of another operation, and then only its count counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self.count == 0 {
            return other;
        }
        if other.count == 0 {
            return self;
        }
        let value = match (self.value, other.value) {
            (Value::Sum(one), Value::Sum(two)) => Value::Sum(one.saturating_add(two)),
            (Value::Max(one), Value::Max(two)) => Value::Max(one.max(two)),
            (Value::Min(one), Value::Min(two)) => Value::Min(one.min(two)),
            (Value::Collect(mut all), Value::Collect(more)) => {
                all.extend(more);
                // Two runs in order, which this sort merges.
                all.sort();
                Value::Collect(all)
            }
            (
                ours,
                Value::Sum(_) | Value::Max(_) | Value::Min(_) | Value::Count | Value::Collect(_),
            ) => ours,
        };
        Self { count: self.count.saturating_add(other.count), value }
    }

    /// As it is shown in a state.
    pub(super) fn shown(&self) -> StateValue {
        match &self.value {
            Value::Sum(value) | Value::Max(value) | Value::Min(value) => {
                (self.count, *value).into()
            }
            Value::Count => self.count.into(),
            Value::Collect(all) => StateValue::list(all.iter().copied()),
        }
    }

    /// In words, of so many `nodes` or `pieces`: `3 nodes with the sum 3`.
    pub(super) fn in_words(&self, of: &str) -> String {
        let Self { count, value } = self;
        match value {
            Value::Count => format!("{count} {of}"),
            Value::Sum(_) | Value::Max(_) | Value::Min(_) => {
                format!("{count} {of} with the {value}")
            }
            Value::Collect(_) => format!("{count} {of} with the values {value}"),
        }
    }
}

/// Pieces of work, where nothing is gathered but how many there were and the sum of the numbers of
/// those who did them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Summed {
    /// How many pieces.
    pub count: u64,
    /// The sum of the nodes' numbers.
    pub sum: u64,
}

impl Summed {
    /// No piece.
    pub const NOTHING: Self = Self { count: 0, sum: 0 };

    /// A piece that this node did.
    pub fn of(node: NodeId) -> Self {
        Self { count: 1, sum: node.0.into() }
    }

    /// Both together; as above, sums saturate.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let count = self.count.saturating_add(other.count);
        Self { count, sum: self.sum.saturating_add(other.sum) }
    }
}

impl fmt::Display for Summed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.count, self.sum)
    }
}

impl From<Summed> for Gathered {
    fn from(Summed { count, sum }: Summed) -> Self {
        Self { count, value: Value::Sum(sum) }
    }
}

/// As in a message: how many, and what they come to.
impl fmt::Display for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, value } = self;
        match value {
            Value::Sum(sum) => write!(f, "{count},{sum}"),
            Value::Count => write!(f, "{count}"),
            Value::Max(_) | Value::Min(_) | Value::Collect(_) => write!(f, "{count}, {value}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum(value) => write!(f, "sum {value}"),
            Self::Max(value) => write!(f, "max {value}"),
            Self::Min(value) => write!(f, "min {value}"),
            Self::Count => f.write_str("count"),
            Self::Collect(all) => {
                for (place, (node, value)) in all.iter().enumerate() {
                    write!(f, "{}{node}:{value}", if place == 0 { "" } else { " " })?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use vorrang_protocol::Group;

    use super::*;

    fn setup(aggregate: Aggregate) -> Setup {
        let mut setup = Setup { aggregate, ..Setup::new(Group::of(4)) };
        setup.set(crate::setup::Parameter::Values, "7,2,9,2").unwrap();
        setup
    }

    #[test]
    fn aggregates_depend_neither_on_order_nor_on_grouping() {
        for aggregate in Aggregate::ALL {
            let setup = setup(aggregate);
            let of = |node| Gathered::given(&setup, NodeId(node));
            let all = Gathered::of_all([0, 1, 2, 3].map(of));
            let other = of(2).and(of(0)).and(Gathered::NOTHING).and(of(3).and(of(1)));
            assert_eq!(all, other, "{aggregate:?}");
            assert_eq!(all.count, 4);
            assert_eq!(Gathered::NOTHING.and(of(1)), of(1), "{aggregate:?}");
        }
    }

    #[test]
    fn too_many_are_not_collected_from() {
        let of = |aggregate, nodes| {
            let topology = crate::topology::Topology::Star;
            let setup = Setup { topology, aggregate, ..Setup::new(Group::of(nodes)) };
            crate::wave::echo::recipe().nodes(&setup).err().map(|unfit| unfit.0)
        };
        assert_eq!(of(Aggregate::Collect, 10_000), None);
        assert_eq!(of(Aggregate::Max, 10_001), None);
        let why = of(Aggregate::Collect, 10_001).expect("too many");
        assert!(why.contains("--nodes 10001 is too much") && why.contains("10000"), "{why}");
    }

    #[test]
    fn they_say_what_they_are() {
        let shown = Aggregate::ALL.map(|aggregate| {
            let setup = setup(aggregate);
            let given = |id| Gathered::given(&setup, id);
            let all = Gathered::of_all(setup.group.members().map(given));
            (all.to_string(), all.in_words("nodes"))
        });
        let expected = [
            ("4,20", "4 nodes with the sum 20"),
            ("4, max 9", "4 nodes with the max 9"),
            ("4, min 2", "4 nodes with the min 2"),
            ("4", "4 nodes"),
            ("4, 0:7 1:2 2:9 3:2", "4 nodes with the values 0:7 1:2 2:9 3:2"),
        ];
        assert_eq!(shown, expected.map(|(short, long)| (short.to_string(), long.to_string())));
    }

    #[test]
    fn what_comes_in_twice_or_not_at_all_makes_a_difference() {
        for aggregate in Aggregate::ALL {
            let setup = setup(aggregate);
            let of = |node| Gathered::given(&setup, NodeId(node));
            let all = Gathered::of_all([0, 1, 2, 3].map(of));
            assert_ne!(all.clone().and(of(1)), all, "{aggregate:?}: once more");
            assert_ne!(Gathered::of_all([0, 1, 2].map(of)), all, "{aggregate:?}: 3 is missing");
        }
    }

    #[test]
    fn numbers_from_outside_do_no_harm() {
        let most = Gathered { count: u64::MAX, value: Value::Sum(u64::MAX) };
        assert_eq!(most.clone().and(Gathered::of(NodeId(1))), most);
        let other = Gathered { count: 1, value: Value::Max(3) };
        let both = Gathered::of(NodeId(1)).and(other);
        assert_eq!(both, Gathered { count: 2, value: Value::Sum(1) });
    }
}
