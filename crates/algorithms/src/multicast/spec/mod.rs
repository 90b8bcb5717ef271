//! The specification, independent of the algorithm, after Hadzilacos and Toueg, "Fault-tolerant
//! broadcasts and related problems", in Mullender (ed.), Distributed Systems, 1993.
//!
//! | property | says |
//! | --- | --- |
//! | `integrity` | a message is delivered at most once, and only as it was sent |
//! | `validity` | what a member sends that stays up, every member that stays up delivers |
//! | `agreement` | what one that stays up delivers, every member that stays up delivers |
//! | `fifo order` | the messages of one sender are delivered as it sent them |
//! | `causal order` | none is delivered before one that its sender had delivered or sent before |
//! | `total order` | all members deliver in one order: each a beginning of it |
//! | `reported gaps` | whoever skips a message says so, and only if its sender need not have it |
//!
//! Where members come and go (`--tries`), all this is said of incarnations, and there are two
//! more:
//!
//! | property | says |
//! | --- | --- |
//! | `room` | whoever stays and has no room is told of room again, whoever crashes |
//! | `beginnings` | whoever stays is told once where it begins with each other that stays |
//!
//! Who leaves has told all others what it had to say. Who crashes, leaves or is removed is owed
//! nothing more; its next incarnation is owed whatever comes from where it begins.
//!
//! Where a sender keeps only its last messages (`--history`), a message that is reported as missing
//! counts as delivered for all but `integrity`: a member delivers or reports whatever comes next,
//! and reports none that is among the last so many of its sender.
//!
//! The last two only where they are [promised](Ordering). Without `--tries`, of a member that was
//! down and came up again nothing is demanded: it has forgotten which of its numbers it has used.
//! Members between which the network is cut
//! owe each other what they miss when it is whole again.

mod incarnations;

use alloc::collections::VecDeque;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use vorrang_protocol::{Group, Monitor, NodeId, NodeSet, Obligation, Violation};

use self::incarnations::Incarnations;
use super::body::Id;
use super::{Command, Notice, Text};
use crate::setup::Ordering;

const INTEGRITY: &str = "integrity";
const VALIDITY: &str = "validity";
const AGREEMENT: &str = "agreement";
const FIFO: &str = "fifo order";
const CAUSAL: &str = "causal order";
const TOTAL: &str = "total order";
const GAPS: &str = "reported gaps";
const ROOM: &str = "room";
const STARTS: &str = "beginnings";

/// All properties.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Deliveries {
    ordering: Ordering,
    /// How many of its last messages a sender keeps, if it may drop others.
    history: Option<NonZeroU32>,
    /// Who judges instead, where members come and go.
    incarnations: Option<Incarnations>,
    up: NodeSet,
    /// Those who were down and came up again.
    reborn: NodeSet,
    nodes: u32,
    /// Those who have sent something, in the order in which they began.
    senders: Vec<NodeId>,
    /// For each node, where it is among those.
    places: Vec<Option<u32>>,
    /// The messages of each sender.
    sent: Vec<Sent>,
    /// For each node, how many of each of those it has delivered.
    had: Vec<Vec<u64>>,
    total: Option<Total>,
}

/// The messages of one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sent {
    /// How many everyone has delivered.
    first: u64,
    /// The rest, oldest first.
    rest: VecDeque<Message>,
}

impl Sent {
    fn count(&self) -> u64 {
        self.first + self.rest.len() as u64
    }

    fn forget(&mut self) {
        while self.rest.front().is_some_and(|message| message.left == 0) {
            self.rest.pop_front();
            self.first += 1;
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Message {
    text: Text,
    /// How many of each sender its own had delivered, where that counts.
    past: Option<Arc<[u64]>>,
    /// How many members have not delivered it.
    left: u32,
}

/// The one order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Total {
    /// How far each member has come.
    places: Vec<u64>,
    /// The place of the first that not everyone has delivered.
    first: u64,
    /// From there on, what was delivered there, and by how many not yet.
    order: VecDeque<(Id, u32)>,
}

impl Deliveries {
    /// No message was multicast yet.
    pub fn new(group: Group, ordering: Ordering) -> Self {
        let nodes = group.size() as usize;
        let total = || Total { places: vec![0; nodes], first: 0, order: VecDeque::new() };
        Self {
            ordering,
            history: None,
            incarnations: None,
            up: group.members().collect(),
            reborn: NodeSet::EMPTY,
            nodes: group.size(),
            senders: Vec::new(),
            places: vec![None; nodes],
            sent: Vec::new(),
            had: vec![Vec::new(); nodes],
            total: ordering.is_total().then(total),
        }
    }

    /// The same, where senders keep so many of their messages and no more.
    #[must_use]
    pub fn keeping(self, history: Option<NonZeroU32>) -> Self {
        Self { history, ..self }
    }

    /// The same, where members come and go, and nobody may wait for room for ever.
    #[must_use]
    pub fn of_incarnations(self, come_and_go: bool) -> Self {
        let group = Group::of(self.nodes);
        Self { incarnations: come_and_go.then(|| Incarnations::new(group)), ..self }
    }

    /// The names of what must hold.
    pub fn properties(&self) -> Vec<&'static str> {
        let ordering = self.ordering;
        let mut names = vec![INTEGRITY, VALIDITY, AGREEMENT, FIFO];
        names.extend(ordering.is_causal().then_some(CAUSAL));
        names.extend(ordering.is_total().then_some(TOTAL));
        names.extend(self.history.map(|_| GAPS));
        names.extend(self.incarnations.iter().flat_map(|_| [ROOM, STARTS]));
        names
    }

    fn had(&self, at: NodeId, place: usize) -> u64 {
        self.had[at.index()].get(place).copied().unwrap_or(0)
    }

    fn is_judged(&self, id: NodeId) -> bool {
        !self.reborn.contains(id)
    }

    fn on_cast(&mut self, at: NodeId, text: &Text) {
        let place = *self.places[at.index()].get_or_insert_with(|| {
            self.senders.push(at);
            self.sent.push(Sent::default());
            self.sent.len() as u32 - 1
        }) as usize;
        let past = self.ordering.is_causal().then(|| self.had[at.index()].as_slice().into());
        let message = Message { text: text.clone(), past, left: self.nodes };
        self.sent[place].rest.push_back(message);
    }

    fn on_delivery(&mut self, at: NodeId, id: Id, text: &Text) -> Result<(), Violation> {
        let broken = |property, what| Err(Violation { property, what });
        let sent = self.places[id.from.index()].map(|place| place as usize);
        let Some(place) = sent.filter(|&place| id.number < self.sent[place].count()) else {
            return broken(INTEGRITY, format!("node {at} delivers {id}, which nobody has sent"));
        };
        let had = self.had(at, place);
        if id.number < had {
            return broken(INTEGRITY, format!("node {at} delivers {id} once more"));
        }
        let sent = &mut self.sent[place];
        let behind = (id.number - sent.first) as usize;
        let message = &mut sent.rest[behind];
        if message.text != *text {
            let (is, was) = (text, &message.text);
            return broken(
                INTEGRITY,
                format!("node {at} delivers {id} as '{is}', sent as '{was}'"),
            );
        }
        message.left -= 1;
        let past = message.past.clone();
        sent.forget();
        self.reach(at, place, id.number + 1);
        if id.number > had {
            let missing = Id { number: had, ..id };
            if self.history.is_some() {
                let what =
                    format!("node {at} delivers {id} and never says that it skips {missing}");
                return broken(GAPS, what);
            }
            return broken(FIFO, format!("node {at} delivers {id} before {missing}"));
        }
        if let Some(past) = past {
            let all = &self.had[at.index()];
            let count = |place: usize| all.get(place).copied().unwrap_or(0);
            let is_missing = |place: &usize| {
                count(*place) < past[*place] && self.is_judged(self.senders[*place])
            };
            if let Some(place) = (0..past.len()).find(is_missing) {
                let cause = Id { from: self.senders[place], number: count(place) };
                let what = format!("node {at} delivers {id} before {cause}, which it follows from");
                return broken(CAUSAL, what);
            }
        }
        self.total.as_mut().map_or(Ok(()), |total| total.on_delivery(at, id, self.nodes))
    }

    /// A member has come so far with the messages of a sender.
    fn reach(&mut self, at: NodeId, place: usize, next: u64) {
        let all = &mut self.had[at.index()];
        if all.len() <= place {
            all.resize(place + 1, 0);
        }
        all[place] = next;
    }

    /// A member says that it will never deliver these: the next ones, and none that their sender
    /// must still have.
    fn on_missed(
        &mut self,
        at: NodeId,
        from: NodeId,
        (first, below): (u64, u64),
    ) -> Result<(), Violation> {
        let id = Id { from, number: first };
        let broken = |property, what| Err(Violation { property, what });
        let Some(history) = self.history else {
            return broken(VALIDITY, format!("node {at} gives up {id}"));
        };
        let place = self.places[from.index()].map(|place| place as usize);
        let sent = place.map_or(0, |place| self.sent[place].count());
        let kept = sent.saturating_sub(history.get().into());
        let had = place.map_or(0, |place| self.had(at, place));
        let Some(place) = place.filter(|_| first == had && first < below) else {
            let next = Id { from, number: had };
            return broken(GAPS, format!("node {at} reports {id}, and {next} is its next"));
        };
        if below > kept {
            let kept = Id { from, number: kept.max(first) };
            return broken(GAPS, format!("node {at} gives up {kept}, which node {from} still has"));
        }
        for number in first..below {
            let behind = (number - self.sent[place].first) as usize;
            self.sent[place].rest[behind].left -= 1;
        }
        self.sent[place].forget();
        self.reach(at, place, below);
        Ok(())
    }

    /// The sender whose message a member misses, and the property that is violated.
    fn misses(&self, at: NodeId) -> impl Iterator<Item = (Id, &'static str)> {
        let is_judged = self.up.contains(at) && self.is_judged(at);
        let senders = self.senders.iter().enumerate().filter(move |_| is_judged);
        senders.filter_map(move |(place, &from)| {
            let had = self.had(at, place);
            let id = Id { from, number: had };
            if !self.is_judged(from) {
                return None;
            }
            if self.up.contains(from) {
                return (had < self.sent[place].count()).then_some((id, VALIDITY));
            }
            let others = self.up.iter().filter(|&id| self.is_judged(id));
            let most = others.map(|other| self.had(other, place)).max();
            most.filter(|&most| had < most).map(|_| (id, AGREEMENT))
        })
    }
}

impl Total {
    fn on_delivery(&mut self, at: NodeId, id: Id, nodes: u32) -> Result<(), Violation> {
        let place = self.places[at.index()];
        self.places[at.index()] += 1;
        let behind = (place - self.first) as usize;
        let Some((next, left)) = self.order.get_mut(behind) else {
            self.order.push_back((id, nodes - 1));
            self.forget();
            return Ok(());
        };
        *left -= 1;
        if *next != id {
            let what = format!("node {at} delivers {id} where others deliver {next}");
            return Err(Violation { property: TOTAL, what });
        }
        self.forget();
        Ok(())
    }

    /// The messages of this member do not count any more.
    fn leave_out(&mut self, from: NodeId) {
        for behind in (0..self.order.len())
            .rev()
            .filter(|&it| self.order[it].0.from == from)
            .collect::<Vec<_>>()
        {
            self.order.remove(behind);
            let place = self.first + behind as u64;
            for reached in self.places.iter_mut().filter(|reached| **reached > place) {
                *reached -= 1;
            }
        }
        self.forget();
    }

    fn forget(&mut self) {
        while self.order.front().is_some_and(|(_, left)| *left == 0) {
            self.order.pop_front();
            self.first += 1;
        }
    }
}

impl Monitor for Deliveries {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        if let Some(incarnations) = &mut self.incarnations {
            incarnations.on_command(at, command);
            return Ok(());
        }
        match command {
            Command::Cast(text) if self.is_judged(at) => self.on_cast(at, text),
            Command::Cast(_) | Command::Leave | Command::Join => {}
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        if let Some(incarnations) = &mut self.incarnations {
            return incarnations.on_notice(at, notice);
        }
        match notice {
            Notice::Delivered { from, number, text, .. } => {
                if !self.is_judged(at) || !self.is_judged(*from) {
                    return Ok(());
                }
                self.on_delivery(at, Id { from: *from, number: *number }, text)
            }
            Notice::Missed { from, first, below } => {
                if !self.is_judged(at) || !self.is_judged(*from) {
                    return Ok(());
                }
                self.on_missed(at, *from, (*first, *below))
            }
            Notice::Full
            | Notice::Room
            | Notice::Begins { .. }
            | Notice::Removed
            | Notice::Left => Ok(()),
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        if let Some(incarnations) = &self.incarnations {
            return incarnations.at_rest();
        }
        for at in self.up.iter() {
            if let Some((id, property)) = self.misses(at).next() {
                let what = match property {
                    VALIDITY => format!("node {at} never delivers {id}"),
                    _ => format!("node {at} never delivers {id}, and others have"),
                };
                return Err(Violation { property, what });
            }
        }
        Ok(())
    }

    fn obligations(&self) -> Vec<Obligation> {
        if let Some(incarnations) = &self.incarnations {
            return incarnations.obligations();
        }
        let debts =
            |to: NodeId| self.misses(to).map(move |(_, property)| Obligation { to, property });
        let mut owed: Vec<Obligation> = self.up.iter().flat_map(debts).collect();
        owed.sort_unstable();
        owed.dedup();
        owed
    }

    fn on_crash(&mut self, at: NodeId) {
        self.up.remove(at);
        if let Some(incarnations) = &mut self.incarnations {
            incarnations.on_crash(at);
        }
    }

    fn on_restart(&mut self, at: NodeId) {
        if let Some(incarnations) = &mut self.incarnations {
            incarnations.on_restart(at);
        }
        self.up.insert(at);
        self.reborn.insert(at);
        if let Some(total) = &mut self.total {
            total.leave_out(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(ordering: Ordering) -> Deliveries {
        Deliveries::new(Group::of(3), ordering)
    }

    fn cast(monitor: &mut Deliveries, at: u32) {
        monitor.on_command(NodeId(at), &Command::Cast(Text::default())).unwrap();
    }

    fn told(monitor: &mut Deliveries, at: u32, from: u32, number: u64) -> Result<(), &'static str> {
        let text = Text::default();
        let notice = Notice::Delivered { from: NodeId(from), incarnation: 0, number, text };
        monitor.on_notice(NodeId(at), &notice).map_err(|violation| violation.property)
    }

    fn all_told(monitor: &mut Deliveries, from: u32, number: u64) {
        for at in 0..3 {
            told(monitor, at, from, number).unwrap();
        }
    }

    #[test]
    fn a_message_is_delivered_once_and_as_it_was_sent() {
        let mut monitor = watch(Ordering::Fifo);
        assert_eq!(told(&mut monitor, 1, 0, 0), Err(INTEGRITY), "nobody has sent it");
        cast(&mut monitor, 0);
        assert_eq!(told(&mut monitor, 1, 0, 1), Err(INTEGRITY), "nor this");
        let other = || "other".into();
        let other = Notice::Delivered { from: NodeId(0), incarnation: 0, number: 0, text: other() };
        assert_eq!(monitor.on_notice(NodeId(2), &other).unwrap_err().property, INTEGRITY);
        all_told(&mut monitor, 0, 0);
        assert_eq!(told(&mut monitor, 1, 0, 0), Err(INTEGRITY), "once more");
        assert_eq!(monitor.sent[0].rest.len(), 0, "what all have is forgotten");
    }

    #[test]
    fn everyone_must_deliver_what_a_member_sends_that_is_up() {
        let mut monitor = watch(Ordering::Fifo);
        cast(&mut monitor, 0);
        told(&mut monitor, 0, 0, 0).unwrap();
        told(&mut monitor, 1, 0, 0).unwrap();
        assert_eq!(monitor.obligations(), [Obligation { to: NodeId(2), property: VALIDITY }]);
        assert_eq!(monitor.at_rest().unwrap_err().what, "node 2 never delivers 0/0");
        told(&mut monitor, 2, 0, 0).unwrap();
        monitor.at_rest().unwrap();
    }

    #[test]
    fn what_one_delivers_all_must_also_if_its_sender_is_gone() {
        let mut monitor = watch(Ordering::Fifo);
        cast(&mut monitor, 0);
        told(&mut monitor, 0, 0, 0).unwrap();
        monitor.on_crash(NodeId(0));
        monitor.at_rest().expect("nobody who is up has it");
        told(&mut monitor, 1, 0, 0).unwrap();
        assert_eq!(monitor.obligations(), [Obligation { to: NodeId(2), property: AGREEMENT }]);
        assert_eq!(monitor.at_rest().unwrap_err().property, AGREEMENT);
        let mut reborn = monitor.clone();
        told(&mut monitor, 2, 0, 0).unwrap();
        monitor.at_rest().unwrap();
        reborn.on_restart(NodeId(0));
        reborn.at_rest().expect("which it has forgotten");
        cast(&mut reborn, 0);
        told(&mut reborn, 1, 0, 0).expect("another of the same number");
        reborn.at_rest().expect("nothing is demanded of it");
    }

    #[test]
    fn the_messages_of_one_sender_keep_their_order() {
        let mut monitor = watch(Ordering::Fifo);
        cast(&mut monitor, 0);
        cast(&mut monitor, 0);
        told(&mut monitor, 1, 0, 0).unwrap();
        assert_eq!(told(&mut monitor, 2, 0, 1), Err(FIFO));
    }

    #[test]
    fn whoever_has_no_room_is_owed_some_unless_it_crashes() {
        let say = |monitor: &mut Deliveries, notice| monitor.on_notice(NodeId(0), &notice).unwrap();
        let mut monitor = watch(Ordering::Fifo);
        say(&mut monitor, Notice::Full);
        monitor.at_rest().expect("that was not promised");
        let mut monitor = monitor.of_incarnations(true);
        say(&mut monitor, Notice::Full);
        assert_eq!(monitor.obligations(), [Obligation { to: NodeId(0), property: ROOM }]);
        assert_eq!(monitor.at_rest().unwrap_err().what, "node 0 never has room again");
        let mut crashed = monitor.clone();
        crashed.on_crash(NodeId(0));
        crashed.at_rest().unwrap();
        say(&mut monitor, Notice::Room);
        monitor.at_rest().unwrap();
    }

    #[test]
    fn a_gap_is_reported_in_its_place_and_only_if_its_sender_need_not_have_it() {
        let of_four = |history| {
            let mut monitor = watch(Ordering::Fifo).keeping(NonZeroU32::new(history));
            for _ in 0..4 {
                cast(&mut monitor, 0);
            }
            monitor
        };
        let misses = |monitor: &mut Deliveries, first, below| {
            let notice = Notice::Missed { from: NodeId(0), first, below };
            monitor.on_notice(NodeId(1), &notice).map_err(|violation| violation.property)
        };
        assert_eq!(misses(&mut of_four(0), 0, 1), Err(VALIDITY), "all was promised");
        let mut monitor = of_four(2);
        assert_eq!(told(&mut monitor.clone(), 1, 0, 1), Err(GAPS), "0 is skipped in silence");
        assert_eq!(misses(&mut monitor.clone(), 1, 2), Err(GAPS), "it skips 0 and reports 1");
        assert_eq!(misses(&mut monitor.clone(), 0, 3), Err(GAPS), "two are still there");
        assert_eq!(misses(&mut monitor.clone(), 0, 0), Err(GAPS), "nothing");
        misses(&mut monitor, 0, 2).unwrap();
        assert_eq!(misses(&mut monitor.clone(), 0, 2), Err(GAPS), "once more");
        assert_eq!(told(&mut monitor.clone(), 1, 0, 1), Err(INTEGRITY), "what was given up");
        assert_eq!(told(&mut monitor.clone(), 1, 0, 3), Err(GAPS));
        told(&mut monitor, 1, 0, 2).unwrap();
        told(&mut monitor, 1, 0, 3).unwrap();
        for at in [0, 2] {
            (0..4).for_each(|number| told(&mut monitor, at, 0, number).unwrap());
        }
        monitor.at_rest().unwrap();
        assert_eq!(monitor.sent[0].rest.len(), 0, "what all have or miss is forgotten");
        let nobody = Notice::Missed { from: NodeId(2), first: 0, below: 1 };
        assert_eq!(monitor.on_notice(NodeId(1), &nobody).unwrap_err().property, GAPS);
    }

    #[test]
    fn what_follows_from_another_comes_after_it() {
        for (ordering, verdict) in [(Ordering::Causal, Err(CAUSAL)), (Ordering::Fifo, Ok(()))] {
            let mut monitor = watch(ordering);
            cast(&mut monitor, 0);
            told(&mut monitor, 1, 0, 0).unwrap();
            cast(&mut monitor, 1);
            assert_eq!(told(&mut monitor.clone(), 2, 1, 0), verdict, "{ordering:?}");
            told(&mut monitor, 2, 0, 0).unwrap();
            assert_eq!(told(&mut monitor, 2, 1, 0), Ok(()));
        }
        let mut monitor = watch(Ordering::Causal);
        cast(&mut monitor, 0);
        cast(&mut monitor, 1);
        told(&mut monitor, 2, 1, 0).expect("it did not know of the other");
    }

    #[test]
    fn what_somebody_said_who_came_up_again_has_no_place_in_the_order() {
        let mut monitor = watch(Ordering::Sequencer);
        cast(&mut monitor, 0);
        cast(&mut monitor, 1);
        told(&mut monitor, 1, 0, 0).unwrap();
        told(&mut monitor, 1, 1, 0).unwrap();
        monitor.on_crash(NodeId(0));
        monitor.on_restart(NodeId(0));
        told(&mut monitor, 2, 1, 0).expect("what came before it does not count");
    }

    #[test]
    fn all_deliver_in_one_order() {
        for (ordering, verdict) in [(Ordering::Skeen, Err(TOTAL)), (Ordering::Causal, Ok(()))] {
            let mut monitor = watch(ordering);
            cast(&mut monitor, 0);
            cast(&mut monitor, 1);
            told(&mut monitor, 2, 1, 0).unwrap();
            told(&mut monitor, 2, 0, 0).unwrap();
            told(&mut monitor, 0, 1, 0).expect("a beginning of it");
            assert_eq!(told(&mut monitor, 1, 0, 0), verdict, "{ordering:?}");
        }
        let mut monitor = watch(Ordering::Token);
        cast(&mut monitor, 0);
        all_told(&mut monitor, 0, 0);
        let total = monitor.total.as_ref().unwrap();
        assert!(total.order.is_empty() && total.first == 1, "what all have is forgotten");
    }

    #[test]
    fn what_is_left_out_of_the_order_moves_only_those_who_had_it() {
        let mut monitor = watch(Ordering::Sequencer);
        for sender in [1, 0, 1] {
            cast(&mut monitor, sender);
        }
        for (from, number) in [(1, 0), (0, 0), (1, 1)] {
            told(&mut monitor, 1, from, number).unwrap();
        }
        told(&mut monitor, 2, 1, 0).unwrap();
        monitor.on_crash(NodeId(0));
        monitor.on_restart(NodeId(0));
        told(&mut monitor, 2, 1, 1).expect("the next of those that are left");
    }

    #[test]
    fn nobody_has_to_wait_for_what_somebody_said_who_came_up_again() {
        let mut monitor = watch(Ordering::Causal);
        cast(&mut monitor, 0);
        told(&mut monitor, 1, 0, 0).unwrap();
        cast(&mut monitor, 1);
        assert_eq!(told(&mut monitor.clone(), 2, 1, 0), Err(CAUSAL));
        monitor.on_crash(NodeId(0));
        monitor.on_restart(NodeId(0));
        told(&mut monitor, 2, 1, 0).unwrap();
    }
}
