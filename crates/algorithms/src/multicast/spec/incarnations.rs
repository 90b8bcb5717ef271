//! The specification where members come and go.
//!
//! An incarnation of a member begins when it starts, restarts, joins again or comes back after it
//! was removed, and ends when it crashes, leaves or is told that it was removed. Whoever is told
//! where it begins with an incarnation of another is owed whatever follows, and nothing before.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet, Obligation, Violation};

use super::{AGREEMENT, FIFO, INTEGRITY, ROOM, STARTS, VALIDITY};
use crate::multicast::{Command, Notice, Speaker, Text};

/// A message: whose, of which incarnation, and which of its messages, from 0.
type Name = (NodeId, u64, u64);

/// What is owed to members of which incarnation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Incarnations {
    nodes: u32,
    up: NodeSet,
    /// Those who have left.
    out: NodeSet,
    /// Those who were told that there is no room.
    full: NodeSet,
    /// The incarnation of each.
    lives: Vec<u64>,
    /// Those in a later incarnation than their first.
    later: BTreeSet<NodeId>,
    /// What each incarnation has said.
    sent: BTreeMap<(NodeId, u64), Sent>,
    /// Of each member, how far it has come with whom: the incarnation, and the next message. Who
    /// is not there has heard nothing yet of the first incarnation, if it is in its own first.
    had: Vec<BTreeMap<NodeId, (u64, u64)>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sent {
    /// How many everyone has delivered.
    first: u64,
    /// The rest, and how many have not delivered it.
    rest: VecDeque<(Text, u32)>,
}

impl Sent {
    fn count(&self) -> u64 {
        self.first + self.rest.len() as u64
    }
}

const fn broken(property: &'static str, what: alloc::string::String) -> Result<(), Violation> {
    Err(Violation { property, what })
}

impl Incarnations {
    pub(super) fn new(group: Group) -> Self {
        let nodes = group.size() as usize;
        Self {
            nodes: group.size(),
            up: group.members().collect(),
            out: NodeSet::EMPTY,
            full: NodeSet::EMPTY,
            lives: vec![0; nodes],
            later: BTreeSet::new(),
            sent: BTreeMap::new(),
            had: vec![BTreeMap::new(); nodes],
        }
    }

    /// Whether something is owed to it.
    fn is_there(&self, id: NodeId) -> bool {
        self.up.contains(id) && !self.out.contains(id)
    }

    /// Which incarnation of another is delivered here, and from which message on; none if it has
    /// not been told.
    fn had(&self, at: NodeId, from: NodeId) -> Option<(u64, u64)> {
        let had = self.had[at.index()].get(&from).copied();
        had.or_else(|| (!self.later.contains(&at)).then_some((0, 0)))
    }

    fn count(&self, from: NodeId, life: u64) -> u64 {
        self.sent.get(&(from, life)).map_or(0, Sent::count)
    }

    pub(super) fn on_command(&mut self, at: NodeId, command: &Command) {
        match command {
            Command::Cast(text) => {
                let sent = self.sent.entry((at, self.lives[at.index()])).or_default();
                sent.rest.push_back((text.clone(), self.nodes));
            }
            Command::Leave | Command::Join => {}
        }
    }

    pub(super) fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Delivered { from, incarnation, number, text } => {
                self.on_delivery(at, (*from, *incarnation, *number), text)
            }
            Notice::Missed { from, first, .. } => {
                broken(VALIDITY, format!("node {at} gives up {from}/{first}"))
            }
            Notice::Begins { from, incarnation, number } if *from == at => {
                self.ends(at);
                self.lives[at.index()] = *incarnation;
                self.later.insert(at);
                self.out.remove(at);
                self.had[at.index()].insert(at, (*incarnation, *number));
                Ok(())
            }
            Notice::Begins { from, incarnation, number } => {
                self.on_beginning(at, (*from, *incarnation, *number))
            }
            Notice::Removed => {
                self.ends(at);
                Ok(())
            }
            Notice::Left => self.on_left(at),
            Notice::Full => {
                self.full.insert(at);
                Ok(())
            }
            Notice::Room => {
                self.full.remove(at);
                Ok(())
            }
        }
    }

    fn on_delivery(&mut self, at: NodeId, name: Name, text: &Text) -> Result<(), Violation> {
        let (from, life, number) = name;
        let id = format!("{}/{number}", Speaker(from, life));
        if number >= self.count(from, life) {
            return broken(INTEGRITY, format!("node {at} delivers {id}, which nobody has sent"));
        }
        let next = match self.had(at, from) {
            Some((heard, next)) if heard == life => next,
            Some(_) | None => {
                let what = format!("node {at} delivers {id} and was not told that it begins there");
                return broken(STARTS, what);
            }
        };
        if number < next {
            return broken(INTEGRITY, format!("node {at} delivers {id} once more"));
        }
        if number > next {
            let missing = format!("{}/{next}", Speaker(from, life));
            return broken(FIFO, format!("node {at} delivers {id} before {missing}"));
        }
        self.had[at.index()].insert(from, (life, number + 1));
        let is_later = self.later.contains(&at);
        let sent = self.sent.get_mut(&(from, life)).expect("it was sent");
        // A later incarnation may begin with something that all former ones had.
        let place = number.checked_sub(sent.first).map(|place| place as usize);
        let Some((was, left)) = place.and_then(|place| sent.rest.get_mut(place)) else {
            return Ok(());
        };
        if was != text {
            let what = format!("node {at} delivers {id} as '{text}', sent as '{was}'");
            return broken(INTEGRITY, what);
        }
        *left -= u32::from(!is_later);
        while sent.rest.front().is_some_and(|(_, left)| *left == 0) {
            sent.rest.pop_front();
            sent.first += 1;
        }
        Ok(())
    }

    /// A member is told where it begins: with each incarnation once, and with nothing that is yet
    /// to be sent.
    fn on_beginning(&mut self, at: NodeId, name: Name) -> Result<(), Violation> {
        let (from, life, number) = name;
        let id = format!("{}/{number}", Speaker(from, life));
        if self.had(at, from).is_some_and(|(heard, _)| heard >= life) {
            return broken(STARTS, format!("node {at} begins with {id} once more"));
        }
        if number > self.count(from, life) {
            let what = format!("node {at} begins with {id}, before which some are not sent yet");
            return broken(STARTS, what);
        }
        self.had[at.index()].insert(from, (life, number));
        Ok(())
    }

    /// Who leaves has told all what it had to say.
    fn on_left(&mut self, at: NodeId) -> Result<(), Violation> {
        let life = self.lives[at.index()];
        for other in self.up.iter().filter(|&other| other != at && self.is_there(other)) {
            if let Some((_, next)) = self.had(other, at).filter(|&(heard, _)| heard == life)
                && next < self.count(at, life)
            {
                let what = format!("node {at} leaves before node {other} has {at}/{next}");
                return broken(VALIDITY, what);
            }
        }
        self.ends(at);
        self.out.insert(at);
        Ok(())
    }

    fn ends(&mut self, at: NodeId) {
        self.full.remove(at);
        self.had[at.index()].clear();
        self.later.insert(at);
    }

    pub(super) fn on_crash(&mut self, at: NodeId) {
        self.up.remove(at);
        self.out.remove(at);
        self.full.remove(at);
        self.had[at.index()].clear();
    }

    pub(super) fn on_restart(&mut self, at: NodeId) {
        self.up.insert(at);
        self.ends(at);
    }

    /// What a member misses, and why that is wrong.
    fn misses(&self, at: NodeId) -> impl Iterator<Item = (NodeId, u64, &'static str)> + '_ {
        let said = self.sent.keys().filter(|&&(from, life)| self.lives[from.index()] == life);
        let late = said.filter_map(move |&(from, life)| {
            let (heard, next) = self.had(at, from)?;
            if heard != life {
                return None;
            }
            if self.up.contains(from) {
                return (next < self.count(from, life)).then_some((from, next, VALIDITY));
            }
            let others = self.up.iter().filter(|&other| self.is_there(other));
            let most = others
                .filter_map(|other| self.had(other, from).filter(|&(heard, _)| heard == life))
                .map(|(_, next)| next)
                .max();
            most.filter(|&most| next < most).map(|_| (from, next, AGREEMENT))
        });
        let is_later = self.later.contains(&at);
        let later = self.later.iter().copied().filter(move |_| !is_later);
        let all = (0..self.nodes).map(NodeId).filter(move |_| is_later);
        let strange = later.chain(all).filter(move |&from| {
            let life = self.lives[from.index()];
            from != at && self.is_there(from) && self.had(at, from).map(|it| it.0) != Some(life)
        });
        late.chain(strange.map(|from| (from, 0, STARTS)))
    }

    fn there(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.up.iter().filter(|&id| self.is_there(id))
    }

    pub(super) fn at_rest(&self) -> Result<(), Violation> {
        for at in self.there() {
            if let Some((from, number, property)) = self.misses(at).next() {
                let id = format!("{}/{number}", Speaker(from, self.lives[from.index()]));
                let what = match property {
                    VALIDITY => format!("node {at} never delivers {id}"),
                    STARTS => format!("node {at} is never told where it begins with node {from}"),
                    _ => format!("node {at} never delivers {id}, and others have"),
                };
                return broken(property, what);
            }
        }
        match self.full.iter().next() {
            Some(at) => broken(ROOM, format!("node {at} never has room again")),
            None => Ok(()),
        }
    }

    pub(super) fn obligations(&self) -> Vec<Obligation> {
        let debts =
            |to: NodeId| self.misses(to).map(move |(_, _, property)| Obligation { to, property });
        let mut owed: Vec<Obligation> = self.there().flat_map(debts).collect();
        owed.extend(self.full.iter().map(|to| Obligation { to, property: ROOM }));
        owed.sort_unstable();
        owed.dedup();
        owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: NodeId = NodeId(1);

    fn of_two() -> Incarnations {
        let mut judge = Incarnations::new(Group::of(2));
        for _ in 0..2 {
            judge.on_command(NodeId(0), &Command::Cast(Text::default()));
        }
        judge
    }

    fn told(judge: &mut Incarnations, notice: &Notice) -> Result<(), &'static str> {
        judge.on_notice(ONE, notice).map_err(|violation| violation.property)
    }

    fn delivers(from: u32, incarnation: u64, number: u64) -> Notice {
        Notice::Delivered { from: NodeId(from), incarnation, number, text: Text::default() }
    }

    fn begins(from: u32, incarnation: u64, number: u64) -> Notice {
        Notice::Begins { from: NodeId(from), incarnation, number }
    }

    fn restarted() -> Incarnations {
        let mut judge = of_two();
        (0..2).for_each(|number| {
            judge.on_notice(NodeId(0), &delivers(0, 0, number)).unwrap();
        });
        judge.on_crash(ONE);
        judge.at_rest().expect("who is down is owed nothing");
        judge.on_restart(ONE);
        told(&mut judge, &begins(1, 7, 0)).unwrap();
        judge
    }

    #[test]
    fn in_the_first_incarnation_all_is_as_without() {
        let mut judge = of_two();
        assert_eq!(told(&mut judge.clone(), &delivers(0, 0, 1)), Err(FIFO));
        assert_eq!(told(&mut judge.clone(), &delivers(0, 0, 2)), Err(INTEGRITY));
        told(&mut judge, &delivers(0, 0, 0)).unwrap();
        assert_eq!(told(&mut judge.clone(), &delivers(0, 0, 0)), Err(INTEGRITY));
        let other =
            Notice::Delivered { from: NodeId(0), incarnation: 0, number: 1, text: "other".into() };
        assert_eq!(told(&mut judge.clone(), &other), Err(INTEGRITY));
        assert_eq!(
            told(&mut judge, &Notice::Missed { from: ONE, first: 0, below: 1 }),
            Err(VALIDITY)
        );
    }

    #[test]
    fn who_comes_back_is_told_where_it_begins_and_owed_all_from_there_on() {
        let mut judge = restarted();
        assert_eq!(judge.at_rest().unwrap_err().property, STARTS, "neither was told");
        assert_eq!(told(&mut judge.clone(), &delivers(0, 0, 1)), Err(STARTS));
        assert_eq!(told(&mut judge.clone(), &begins(0, 0, 3)), Err(STARTS), "two were sent");
        judge.on_notice(NodeId(0), &begins(1, 7, 0)).unwrap();
        told(&mut judge, &begins(0, 0, 1)).unwrap();
        assert_eq!(told(&mut judge.clone(), &begins(0, 0, 2)), Err(STARTS), "once more");
        assert_eq!(judge.at_rest().unwrap_err().what, "node 1 never delivers 0/1");
        assert_eq!(judge.obligations(), [Obligation { to: ONE, property: VALIDITY }]);
        assert_eq!(told(&mut judge.clone(), &delivers(0, 0, 0)), Err(INTEGRITY), "before it began");
        told(&mut judge, &delivers(0, 0, 1)).unwrap();
        judge.at_rest().unwrap();
    }

    #[test]
    fn who_leaves_has_told_all() {
        let mut judge = of_two();
        let left = judge.on_notice(NodeId(0), &Notice::Left).unwrap_err();
        assert_eq!(left.what, "node 0 leaves before node 1 has 0/0");
        let mut judge = of_two();
        (0..2).for_each(|number| told(&mut judge, &delivers(0, 0, number)).unwrap());
        judge.on_notice(NodeId(0), &Notice::Left).unwrap();
        judge.at_rest().unwrap();
    }

    #[test]
    fn what_one_has_all_get_if_its_sender_stays_down() {
        let mut judge = Incarnations::new(Group::of(3));
        judge.on_command(NodeId(0), &Command::Cast(Text::default()));
        told(&mut judge, &delivers(0, 0, 0)).unwrap();
        judge.on_crash(NodeId(0));
        assert_eq!(judge.at_rest().unwrap_err().property, AGREEMENT);
    }
}
