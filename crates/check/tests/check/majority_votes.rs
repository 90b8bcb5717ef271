//! A majority of exclusive votes, where nodes crash: exclusion in any case, and progress as long as
//! those who crash neither wait nor are inside, or come up again.

use crate::support;

use support::{explore_all, group, mutex};
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::mutex::flaws::majority_votes::Amnesia;
use vorrang_algorithms::mutex::lemmas::majority_votes::INVARIANTS;
use vorrang_algorithms::mutex::majority_votes::MajorityVotes;
use vorrang_algorithms::mutex::spec::Exclusion;
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_check::{Faults, Order, Outcome, System};
use vorrang_protocol::{Monitor, NodeId, NodeSet, Protocol, Violation};

/// Exclusion, and progress unless somebody is down who waited or was inside when it crashed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Promised {
    exclusion: Exclusion,
    /// Who waits or is inside.
    busy: NodeSet,
    /// Who was when it crashed, and has not come up again.
    lost: NodeSet,
}

impl Monitor for Promised {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        match command {
            Command::Acquire(_) => self.busy.insert(at),
            Command::Release => self.busy.remove(at),
        };
        self.exclusion.on_command(at, command)
    }
    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        self.exclusion.on_notice(at, notice)
    }
    fn at_rest(&self) -> Result<(), Violation> {
        if self.lost == NodeSet::EMPTY { self.exclusion.at_rest() } else { Ok(()) }
    }
    fn on_crash(&mut self, at: NodeId) {
        if self.busy.remove(at) {
            self.lost.insert(at);
        }
        self.exclusion.on_crash(at);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.lost.remove(at);
        self.exclusion.on_restart(at);
    }
}

fn promised(entries: &[u32], order: Order, faults: Faults) -> System<MajorityVotes, Promised> {
    let group = group(entries);
    let mut system = mutex(entries, order, Promised::default(), |id| MajorityVotes::new(id, group));
    system.faults = faults;
    // Whoever comes up again has missed what it was told meanwhile, and the last does not hold.
    let all = if faults.restarts > 0 { &INVARIANTS[..2] } else { INVARIANTS };
    system.demands.invariants = all.iter().map(Into::into).collect();
    system
}

/// The states of a system that is verified, or the property broken and the run to it.
fn explored<P, M>(system: &System<P, M>) -> Result<u64, (&'static str, Vec<String>)>
where
    P: Protocol<Command = Command, Notice = Notice>,
    M: Monitor<Command = Command, Notice = Notice>,
{
    let report = explore_all(system);
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            Err((violation.property, run.moves.iter().map(ToString::to_string).collect()))
        }
        Outcome::Bounded { by } => panic!("there were no bounds, but {by:?}"),
    }
}

const CRASH: Faults = Faults::NONE.crashes(1);

#[test]
fn a_minority_of_idle_nodes_may_crash_and_everyone_else_is_served() {
    for (entries, order, faults) in [
        (&[1, 1, 0][..], Order::Any, CRASH),
        (&[2, 1, 0], Order::Any, CRASH),
        (&[1, 1, 1], Order::Fifo, CRASH),
        (&[1, 1, 0, 0], Order::Fifo, CRASH),
        (&[1, 0, 0, 0, 0], Order::Any, CRASH.crashes(2)),
    ] {
        let states = explored(&promised(entries, order, faults));
        assert!(states.is_ok(), "{entries:?} {order:?} {faults:?}: {states:?}");
    }
}

#[test]
fn half_of_the_nodes_are_too_many_to_lose() {
    for (entries, crashes) in [(&[1, 0][..], 1), (&[1, 0, 0], 2), (&[1, 0, 0, 0], 2)] {
        let system = promised(entries, Order::Fifo, CRASH.crashes(crashes));
        let (property, run) = explored(&system).unwrap_err();
        assert_eq!(property, "progress", "{entries:?}: {run:?}");
        let dead = run.iter().filter(|it| it.starts_with("crash ")).count();
        assert_eq!(dead, usize::from(crashes), "{run:?}");
    }
}

#[test]
fn who_crashes_with_votes_takes_them_along_until_it_comes_up_again() {
    let entries = [1, 1, 0];
    let new = |id| MajorityVotes::new(id, group(&entries));
    let strict = mutex(&entries, Order::Fifo, Exclusion::default(), new);
    let (property, run) = explored(&System { faults: CRASH, ..strict }).unwrap_err();
    assert_eq!(property, "progress", "{run:?}");
    for (entries, order) in [(&[1, 1, 0][..], Order::Any), (&[2, 1, 0], Order::Fifo)] {
        let states = explored(&promised(entries, order, CRASH.restarts(1)));
        assert!(states.is_ok(), "{entries:?} {order:?}: {states:?}");
    }
}

#[test]
fn a_vote_that_is_forgotten_is_given_twice() {
    let entries = [1, 1, 0];
    let new = |id| Flawed::new(MajorityVotes::new(id, group(&entries)), &Amnesia);
    let system = mutex(&entries, Order::Any, Promised::default(), new);
    let system = System { faults: CRASH.restarts(1), ..system };
    let (property, run) = explored(&system).unwrap_err();
    assert_eq!((property, run.len()), ("exclusion", 8), "{run:?}");
}

/// What is lost makes one arbiter useless at most.
#[test]
fn a_single_message_may_be_lost_and_none_be_doubled() {
    for (entries, order) in [(&[1, 1, 0][..], Order::Any), (&[1, 1, 1], Order::Fifo)] {
        let mut system = promised(entries, order, Faults::NONE.losses(1));
        system.demands.invariants.truncate(2);
        let states = explored(&system);
        assert!(states.is_ok(), "{entries:?} {order:?}: {states:?}");
    }
    let two = explored(&promised(&[1, 0, 0], Order::Fifo, Faults::NONE.losses(2)));
    assert_eq!(two.map_err(|(property, _)| property), Err("progress"), "but not two");
    // A vote that comes once more when it has been given back.
    let doubled = explored(&promised(&[1, 1, 0], Order::Any, Faults::NONE.duplicates(1)));
    assert_eq!(doubled.map_err(|(property, _)| property), Err("one vote an arbiter"));
}
