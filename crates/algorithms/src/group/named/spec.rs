//! The specification of named locks, independent of the algorithm inside.
//!
//! | property | says, of every name |
//! | --- | --- |
//! | `asked` | nobody is granted what it does not wait for |
//! | `exclusion` | nobody has a lock beside another that conflicts, at a member that is up |
//! | `permits` | there are never more holders of a semaphore than permits, and all mean as many |
//! | `fencing` | the token of an exclusive hold is larger than all before it, that of a shared |
//! | | one larger than those of all exclusive ones; of a semaphore only views are compared |
//! | `progress` | whoever waits gets it, if nobody has it, enough are up and suspicions are right |
//! | `batches` | a member that was told that another waits lets so many of its own clients in |
//! | | at most before that one |
//!
//! As with [one lock](crate::group::locks::spec), where a member may be suspected wrongly and there
//! are no leases, exclusion cannot hold between it and those that have gone on, and
//! [fencing](NamedLocked::fenced) takes its place.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Group, Monitor, NodeId, NodeSet, Obligation, Violation};

use super::command::{Client, Command, Notice, Refusal, Want};
use super::name::Key;
use crate::group::reach::Reach;
use crate::group::with_suspicions::{self, Suspecting};
use crate::mutex::FencingToken;

const ASKED: &str = "asked";
const EXCLUSION: &str = "exclusion";
const PERMITS: &str = "permits";
const FENCING: &str = "fencing";
const PROGRESS: &str = "progress";
const BATCHES: &str = "batches";

/// All properties.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NamedLocked {
    names: BTreeMap<Key, Seen>,
    reach: Reach,
    /// Whether the detector may be wrong about a member that has something.
    is_fenced: bool,
    /// How many clients a member may let in while it knows that another waits, if that is asked.
    batch: Option<u32>,
}

/// The history of a name that matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Seen {
    waiting: BTreeMap<(NodeId, Client), Want>,
    inside: BTreeMap<(NodeId, Client), Want>,
    /// For every view the clock of the last exclusive entry, and of the last one.
    clocks: BTreeMap<u64, (u64, u64)>,
    /// How many clients a member has let in since it was told that another waits.
    passed: BTreeMap<(NodeId, NodeId), u32>,
}

impl Want {
    const fn is_exclusive(&self) -> bool {
        matches!(self, Self::Exclusive | Self::Lead(_))
    }
}

impl Seen {
    /// What keeps another from having it too, at a member that is up.
    fn obstacle(&self, want: &Want, reach: &Reach) -> Option<(&'static str, String)> {
        let inside = || self.inside.iter().filter(|it| reach.is_up(it.0.0));
        if let Want::PermitOf(permits) = want {
            if inside().count() >= *permits as usize {
                return Some((PERMITS, format!("{permits} others have one already")));
            }
            let other = inside().find(|it| it.1 != want)?;
            return Some((PERMITS, format!("{:?} means another number", other.0)));
        }
        let other = inside().find(|it| want.is_exclusive() || it.1.is_exclusive())?;
        let ((node, client), _) = other;
        Some((EXCLUSION, format!("client {client} of node {node} has it")))
    }

    /// What is wrong with a token.
    fn objection(&mut self, want: &Want, token: FencingToken, is_fenced: bool) -> bool {
        let newest = self.clocks.keys().next_back().copied();
        let is_left_behind = newest.is_some_and(|it| token.view < it) && !is_fenced;
        let (exclusive, last) = self.clocks.entry(token.view).or_default();
        let is_late = match want {
            Want::PermitOf(_) => false,
            Want::Shared => token.clock <= *exclusive,
            Want::Exclusive | Want::Lead(_) => token.clock <= *last,
        };
        *last = token.clock.max(*last);
        if want.is_exclusive() {
            *exclusive = token.clock.max(*exclusive);
        }
        if newest.is_none_or(|it| token.view >= it) && !is_fenced {
            // No older one counts any more.
            self.clocks = self.clocks.split_off(&token.view);
        }
        is_late || is_left_behind
    }

    fn forget(&mut self, at: NodeId) {
        self.waiting.retain(|it, _| it.0 != at);
        self.inside.retain(|it, _| it.0 != at);
        self.passed.retain(|it, _| it.0 != at && it.1 != at);
    }
}

impl NamedLocked {
    /// No request yet. All nodes have founded the group.
    pub fn new(group: Group) -> Self {
        let (names, reach) = (BTreeMap::new(), Reach::new(group));
        Self { names, reach, is_fenced: false, batch: None }
    }

    /// The same, where a member may be suspected wrongly: only a resource that checks fencing
    /// tokens need be safe.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self { is_fenced: true, ..self }
    }

    /// The same, and a member lets so many of its clients in at most while it knows that another
    /// waits: on links that keep their order, in a view that lasts.
    #[must_use]
    pub fn in_batches_of(self, clients: u32) -> Self {
        Self { batch: Some(clients), ..self }
    }

    fn on_granted(
        &mut self,
        (at, client): (NodeId, Client),
        key: &Key,
        token: FencingToken,
    ) -> Result<(), Violation> {
        let violation = |property, what: &str| {
            let what = format!("client {client} of node {at} gets {key} with {token}: {what}");
            Err(Violation { property, what })
        };
        let seen = self.names.entry(key.clone()).or_default();
        let Some(want) = seen.waiting.remove(&(at, client)) else {
            return violation(ASKED, "it does not wait for that");
        };
        if seen.objection(&want, token, self.is_fenced) {
            return violation(FENCING, "that is not the highest token so far");
        }
        let obstacle = seen.obstacle(&want, &self.reach).filter(|_| !self.is_fenced);
        if let Some((property, what)) = obstacle {
            return violation(property, &what);
        }
        seen.inside.insert((at, client), want);
        seen.passed.retain(|it, _| it.1 != at);
        let waits: BTreeSet<NodeId> = seen.waiting.keys().map(|it| it.0).collect();
        for (_, passed) in
            seen.passed.iter_mut().filter(|it| it.0.0 == at && waits.contains(&it.0.1))
        {
            *passed += 1;
            if self.batch.is_some_and(|most| *passed > most) {
                return violation(BATCHES, "another member waits, as it was told");
            }
        }
        Ok(())
    }

    /// The clients that wait for something that nobody has, unless too few members are up.
    fn waiting(&self) -> Vec<(NodeId, Client, &Key)> {
        let served = self.reach.served().unwrap_or_default();
        let mut waiting = Vec::new();
        for (key, seen) in &self.names {
            let inside = seen.inside.keys().filter(|it| self.reach.is_up(it.0)).count();
            let waits = seen.waiting.iter().filter(|((at, _), want)| {
                let room = match want {
                    Want::PermitOf(permits) => *permits as usize,
                    Want::Exclusive | Want::Shared | Want::Lead(_) => 1,
                };
                inside < room && served.contains(*at)
            });
            waiting.extend(waits.map(|((at, client), _)| (*at, *client, key)));
        }
        waiting
    }
}

impl Monitor for NamedLocked {
    type Command = Command;
    type Notice = Notice;
    /// The sender, and the names that its clients wait for, if that is asked.
    type Tag = Option<(NodeId, BTreeSet<Key>)>;

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire { name, client, want } => {
                let key = Key { kind: want.kind(), name: name.clone() };
                let seen = self.names.entry(key).or_default();
                seen.waiting.insert((at, *client), want.clone());
            }
            Command::Release { key, client } | Command::Withdraw { key, client } => {
                let seen = self.names.entry(key.clone()).or_default();
                seen.inside.remove(&(at, *client));
                seen.waiting.remove(&(at, *client));
                if seen.waiting.keys().all(|it| it.0 != at) {
                    seen.passed.retain(|it, _| it.1 != at);
                }
            }
            Command::Observe(_)
            | Command::Ignore(_)
            | Command::Renew
            | Command::Leave
            | Command::Evict(_)
            | Command::AddVoter(_)
            | Command::RemoveVoter(_) => {}
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Granted { key, client, token } => self.on_granted((at, *client), key, *token),
            Notice::Lost { key, client, .. } => {
                self.names.entry(key.clone()).or_default().inside.remove(&(at, *client));
                Ok(())
            }
            Notice::Refused { key, client, why: Refusal::Permits { asked, bound } } => {
                let seen = self.names.entry(key.clone()).or_default();
                let wanted = seen.waiting.remove(&(at, *client));
                if asked == bound || wanted != Some(Want::PermitOf(*asked)) {
                    let what = format!("client {client} of node {at} is refused {key}");
                    return Err(Violation { property: ASKED, what });
                }
                Ok(())
            }
            Notice::AtRisk
            | Notice::Safe
            | Notice::Leader { .. }
            | Notice::View { .. }
            | Notice::Removed { .. } => Ok(()),
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        match self.waiting().first() {
            Some((at, client, key)) => {
                let what = format!("client {client} of node {at} waits for {key} for ever");
                Err(Violation { property: PROGRESS, what })
            }
            None => Ok(()),
        }
    }

    fn obligations(&self) -> Vec<Obligation> {
        let waiting: NodeSet = self.waiting().iter().map(|it| it.0).collect();
        waiting.iter().map(|to| Obligation { to, property: PROGRESS }).collect()
    }

    fn on_crash(&mut self, at: NodeId) {
        self.reach.on_crash(at);
        self.names.values_mut().for_each(|it| it.forget(at));
    }
    fn on_restart(&mut self, at: NodeId) {
        self.reach.on_restart(at);
    }
    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.reach.cuts.on_cut(sides);
    }
    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.reach.cuts.on_heal(sides);
    }
    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.reach.cuts.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.reach.cuts.on_link_mended(from, to);
    }

    fn on_send(&self, at: NodeId) -> Self::Tag {
        self.batch?;
        let waits = |seen: &Seen| seen.waiting.keys().any(|it| it.0 == at);
        let names = self.names.iter().filter(|it| waits(it.1)).map(|it| it.0.clone());
        Some((at, names.collect()))
    }
    fn on_receive(&mut self, at: NodeId, tag: &Self::Tag) {
        let Some((from, names)) = tag else { return };
        for key in names {
            if let Some(seen) = self.names.get_mut(key)
                && seen.waiting.keys().any(|it| it.0 == *from)
            {
                seen.passed.entry((at, *from)).or_default();
            }
        }
    }
}

/// The same, for machines that are fed by a failure detector.
pub type WithSuspicions = with_suspicions::WithSuspicions<NamedLocked>;

impl WithSuspicions {
    /// The monitor sees suspicions.
    pub fn of(locked: NamedLocked) -> Self {
        with_suspicions::WithSuspicions(NamedLocked { reach: locked.reach.told(), ..locked })
    }
}

impl Suspecting for NamedLocked {
    fn suspects(&mut self, at: NodeId) -> &mut NodeSet {
        self.reach.suspects(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::input::Input;
    use crate::group::named::{Kind, Name, Value};

    const X: Want = Want::Exclusive;

    fn key(want: &Want) -> Key {
        Key { kind: want.kind(), name: Name::new("a").unwrap() }
    }

    fn asks(monitor: &mut NamedLocked, at: u32, client: Client, want: &Want) {
        let (name, want) = (key(want).name, want.clone());
        monitor.on_command(NodeId(at), &Command::Acquire { name, client, want }).unwrap();
    }

    fn gets(
        monitor: &mut NamedLocked,
        (at, client): (u32, Client),
        want: &Want,
        (view, clock): (u64, u64),
    ) -> Result<(), &'static str> {
        let token = FencingToken { view, clock };
        let granted = Notice::Granted { key: key(want), client, token };
        monitor.on_notice(NodeId(at), &granted).map_err(|it| it.property)
    }

    /// Asks and gets it.
    fn has(
        monitor: &mut NamedLocked,
        who: (u32, Client),
        want: &Want,
        token: (u64, u64),
    ) -> Result<(), &'static str> {
        asks(monitor, who.0, who.1, want);
        gets(monitor, who, want, token)
    }

    fn gives_back(monitor: &mut NamedLocked, at: u32, client: Client, want: &Want) {
        let release = Command::Release { key: key(want), client };
        monitor.on_command(NodeId(at), &release).unwrap();
    }

    fn three() -> NamedLocked {
        NamedLocked::new(Group::of(3))
    }

    #[test]
    fn nobody_gets_what_it_has_not_asked_for_or_wants_no_more() {
        assert_eq!(gets(&mut three(), (0, 1), &X, (1, 1)), Err(ASKED));
        let mut monitor = three();
        asks(&mut monitor, 0, 1, &X);
        assert_eq!(gets(&mut monitor.clone(), (0, 2), &X, (1, 1)), Err(ASKED));
        let withdraw = Command::Withdraw { key: key(&X), client: 1 };
        monitor.on_command(NodeId(0), &withdraw).unwrap();
        assert_eq!(gets(&mut monitor, (0, 1), &X, (1, 1)), Err(ASKED));
    }

    #[test]
    fn those_who_conflict_are_not_inside_together_also_at_one_member() {
        let lead = Want::Lead(Value::new("x").unwrap());
        for want in [&X, &lead] {
            let mut monitor = three();
            has(&mut monitor, (0, 1), want, (1, 1)).unwrap();
            assert_eq!(has(&mut monitor.clone(), (0, 2), want, (1, 2)), Err(EXCLUSION));
            assert_eq!(has(&mut monitor.clone(), (1, 1), want, (1, 2)), Err(EXCLUSION));
            assert_eq!(has(&mut monitor.clone().fenced(), (1, 1), want, (1, 2)), Ok(()));
            monitor.on_crash(NodeId(0));
            assert_eq!(has(&mut monitor, (1, 1), want, (2, 1)), Ok(()));
        }
        let mut shared = three();
        has(&mut shared, (0, 1), &Want::Shared, (1, 1)).unwrap();
        has(&mut shared, (0, 2), &Want::Shared, (1, 2)).unwrap();
        assert_eq!(has(&mut shared.clone(), (1, 1), &X, (1, 3)), Err(EXCLUSION));
        let lost =
            |client| Notice::Lost { key: key(&X), client, why: crate::group::named::Loss::Evicted };
        shared.on_notice(NodeId(0), &lost(1)).unwrap();
        shared.on_notice(NodeId(0), &lost(2)).unwrap();
        assert_eq!(has(&mut shared, (1, 1), &X, (1, 3)), Ok(()));
    }

    #[test]
    fn there_are_no_more_holders_than_permits_and_all_mean_as_many() {
        let of = Want::PermitOf;
        let mut monitor = three();
        has(&mut monitor, (0, 1), &of(2), (1, 7)).unwrap();
        assert_eq!(has(&mut monitor.clone(), (1, 1), &of(3), (1, 1)), Err(PERMITS));
        has(&mut monitor, (0, 2), &of(2), (1, 5)).expect("tokens are in no order");
        assert_eq!(has(&mut monitor.clone(), (1, 1), &of(2), (1, 9)), Err(PERMITS));
        let why = |asked, bound| Refusal::Permits { asked, bound };
        let refused = |why| Notice::Refused { key: key(&of(2)), client: 1, why };
        asks(&mut monitor, 1, 1, &of(3));
        assert!(monitor.clone().on_notice(NodeId(1), &refused(why(3, 2))).is_ok());
        assert!(monitor.clone().on_notice(NodeId(1), &refused(why(3, 3))).is_err());
        assert!(monitor.clone().on_notice(NodeId(1), &refused(why(2, 3))).is_err());
    }

    #[test]
    fn tokens_grow_from_one_exclusive_hold_to_the_next_of_the_same_name() {
        let mut monitor = three();
        has(&mut monitor, (0, 1), &X, (1, 4)).unwrap();
        gives_back(&mut monitor, 0, 1, &X);
        for (want, token, fine) in [
            (&X, (1, 4), false),
            (&X, (1, 5), true),
            (&X, (2, 1), true),
            (&Want::Shared, (1, 4), false),
            (&Want::Shared, (1, 5), true),
            (&Want::PermitOf(1), (1, 1), true),
        ] {
            let found = has(&mut monitor.clone(), (1, 1), want, token);
            assert_eq!(found, if fine { Ok(()) } else { Err(FENCING) }, "{want:?} {token:?}");
        }
        has(&mut monitor, (1, 1), &Want::Shared, (1, 9)).unwrap();
        has(&mut monitor, (2, 1), &Want::Shared, (1, 5))
            .expect("no later than another that shares");
        gives_back(&mut monitor, 1, 1, &X);
        gives_back(&mut monitor, 2, 1, &X);
        assert_eq!(has(&mut monitor.clone(), (0, 1), &X, (1, 9)), Err(FENCING));
        has(&mut monitor, (0, 1), &X, (2, 1)).unwrap();
        gives_back(&mut monitor, 0, 1, &X);
        assert_eq!(has(&mut monitor.clone(), (1, 1), &X, (1, 99)), Err(FENCING));
        let mut fenced = three().fenced();
        has(&mut fenced, (0, 1), &X, (2, 1)).unwrap();
        assert_eq!(has(&mut fenced, (1, 1), &X, (1, 9)), Ok(()), "the resource refuses it");
    }

    #[test]
    fn whoever_waits_gets_it_unless_somebody_has_it_or_too_few_are_up() {
        let mut monitor = three();
        asks(&mut monitor, 1, 1, &X);
        assert_eq!(monitor.at_rest().unwrap_err().property, PROGRESS);
        assert_eq!(monitor.obligations().len(), 1);
        let mut other = monitor.clone();
        has(&mut other, (0, 1), &Want::PermitOf(1), (1, 1)).unwrap();
        assert!(other.at_rest().is_err(), "another name");
        let mut taken = monitor.clone();
        has(&mut taken, (0, 1), &X, (1, 1)).unwrap();
        taken.at_rest().unwrap();
        let mut fed = WithSuspicions::of(monitor.clone());
        monitor.on_crash(NodeId(0));
        assert!(monitor.at_rest().is_err());
        monitor.on_crash(NodeId(2));
        monitor.at_rest().expect("one of three");
        fed.on_crash(NodeId(0));
        fed.at_rest().expect("nobody knows");
        for at in [1, 2] {
            fed.on_command(NodeId(at), &Input::Suspect(NodeId(0))).unwrap();
        }
        assert!(fed.at_rest().is_err());
        let of = Want::PermitOf(2);
        let mut permits = three();
        has(&mut permits, (0, 1), &of, (1, 1)).unwrap();
        asks(&mut permits, 1, 1, &of);
        assert!(permits.at_rest().is_err(), "there is another one");
    }

    #[test]
    fn a_member_that_knows_that_another_waits_lets_so_many_pass_and_no_more() {
        let mut monitor = three().in_batches_of(2);
        asks(&mut monitor, 1, 9, &X);
        let tag = monitor.on_send(NodeId(1));
        for client in 1..=3 {
            has(&mut monitor, (0, client), &X, (1, client)).expect("it has not been told");
            gives_back(&mut monitor, 0, client, &X);
        }
        monitor.on_receive(NodeId(0), &tag);
        for client in 4..=5 {
            has(&mut monitor, (0, client), &X, (1, client)).unwrap();
            gives_back(&mut monitor, 0, client, &X);
        }
        assert_eq!(has(&mut monitor.clone(), (0, 6), &X, (1, 6)), Err(BATCHES));
        gets(&mut monitor, (1, 9), &X, (1, 6)).unwrap();
        gives_back(&mut monitor, 1, 9, &X);
        has(&mut monitor, (0, 6), &X, (1, 7)).unwrap();
        assert_eq!(three().on_send(NodeId(1)), None, "nobody asks");
        assert_eq!(key(&X).kind, Kind::Lock);
    }
}
