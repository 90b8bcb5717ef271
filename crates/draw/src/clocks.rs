//! Logical clocks of a run, computed from outside: after Lamport, "Time, clocks, and the ordering
//! of events in a distributed system", 1978, and vectors after Fidge and Mattern, 1988.

use std::collections::HashMap;

use crate::story::{Story, What};

/// Which clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clocks {
    /// A number.
    Lamport,
    /// A number for every node.
    Vector,
}

impl Clocks {
    /// The logical clock of its node at every event.
    pub fn of(self, story: &Story) -> Vec<String> {
        let vectors = vectors(story);
        match self {
            Self::Vector => {
                let shown = |vector: &Vec<u64>| {
                    vector.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
                };
                vectors.iter().map(shown).collect()
            }
            Self::Lamport => lamport(story).iter().map(u64::to_string).collect(),
        }
    }
}

/// Whether something counts as an event of its node.
pub(crate) const fn counts(what: &What) -> bool {
    match what {
        What::Said { .. }
        | What::Sent { .. }
        | What::Got { .. }
        | What::Timer(_)
        | What::Crash
        | What::Restart => true,
        What::Choice(_)
        | What::Lost { .. }
        | What::Doubled { .. }
        | What::Pause
        | What::Resume
        | What::Network { .. }
        | What::Remark(_) => false,
    }
}

/// The vector clock of its node after every event.
pub(crate) fn vectors(story: &Story) -> Vec<Vec<u64>> {
    let lanes = story.lanes.len();
    let mut now = vec![vec![0_u64; lanes]; lanes];
    let mut carried: HashMap<(usize, usize, u64), Vec<u64>> = HashMap::new();
    let mut all = Vec::with_capacity(story.events.len());
    for event in &story.events {
        let node = event.node;
        if counts(&event.what) {
            if let What::Got { from, letter } = &event.what
                && let Some(past) = carried.get(&(*from, node, letter.number))
            {
                for (own, other) in now[node].iter_mut().zip(past) {
                    *own = (*own).max(*other);
                }
            }
            now[node][node] += 1;
            if let What::Sent { to, letter } = &event.what {
                carried.insert((node, *to, letter.number), now[node].clone());
            }
        }
        all.push(now[node].clone());
    }
    all
}

fn lamport(story: &Story) -> Vec<u64> {
    let mut now = vec![0_u64; story.lanes.len()];
    let mut carried: HashMap<(usize, usize, u64), u64> = HashMap::new();
    let mut all = Vec::with_capacity(story.events.len());
    for event in &story.events {
        let node = event.node;
        if counts(&event.what) {
            if let What::Got { from, letter } = &event.what {
                let past = carried.get(&(*from, node, letter.number)).copied();
                now[node] = now[node].max(past.unwrap_or(0));
            }
            now[node] += 1;
            if let What::Sent { to, letter } = &event.what {
                carried.insert((node, *to, letter.number), now[node]);
            }
        }
        all.push(now[node]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::{Event, MessageLabel};

    #[test]
    fn what_was_caused_is_later() {
        let letter =
            MessageLabel { number: 1, kind: "A".to_owned(), text: "A".to_owned(), is_token: false };
        let at = |node, what| Event { at: 0, node, what, state: None };
        let events = vec![
            at(1, What::Timer("t".to_owned())),
            at(0, What::Timer("t".to_owned())),
            at(0, What::Sent { to: 1, letter: letter.clone() }),
            at(1, What::Got { from: 0, letter }),
        ];
        let lanes = vec!["0".to_owned(), "1".to_owned()];
        let story = Story { lanes, events, ..Story::default() };
        assert_eq!(Clocks::Vector.of(&story), ["0,1", "1,0", "2,0", "2,2"]);
        assert_eq!(Clocks::Lamport.of(&story), ["1", "1", "2", "3"]);
    }
}
