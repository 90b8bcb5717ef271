//! How urgent the requests of nodes are, as a value.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use vorrang_protocol::{Group, NodeId};

/// A priority rises by one for every missed turn: higher ones would take too long to reach.
const HIGHEST_PRIORITY: u32 = 1000;

/// How urgent the requests of the nodes are: a number a node, the higher the more urgent. None at
/// all if they are all the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Priorities(Option<Arc<[u32]>>);

impl Priorities {
    /// All alike.
    pub const NONE: Self = Self(None);

    /// The priority of a node, if there are any.
    pub fn of(&self, node: NodeId) -> Option<u32> {
        self.0.as_ref().and_then(|all| all.get(node.index())).copied()
    }

    /// How far the highest is above the lowest.
    pub fn spread(&self) -> u32 {
        let all = self.0.iter().flat_map(|all| all.iter().copied());
        all.clone().max().unwrap_or(0) - all.min().unwrap_or(0)
    }

    pub(crate) fn read(text: &str, group: Group) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let priority = |word: &str| match word.parse() {
            Ok(it @ 0..=HIGHEST_PRIORITY) => Ok(it),
            Ok(_) | Err(_) => {
                Err(format!("'{word}' is not a priority from 0 to {HIGHEST_PRIORITY}"))
            }
        };
        let all = text.split(',').map(priority).collect::<Result<Vec<u32>, String>>()?;
        if all.len() != group.size() as usize {
            return Err(format!(
                "'{text}' has {} priorities, and there are {} nodes",
                all.len(),
                group.size()
            ));
        }
        let are_alike = all.windows(2).all(|two| two[0] == two[1]);
        Ok(if are_alike { Self::NONE } else { Self(Some(all.into())) })
    }
}

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(all) = &self.0 else { return f.write_str("none") };
        for (place, priority) in all.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{priority}")?;
        }
        Ok(())
    }
}
