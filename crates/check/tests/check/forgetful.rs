//! Elections whose nodes lose all memory in a crash, as processes without stable storage do. Three
//! nodes of bully of which two crash and restart have 1,973,630 states when the lowest calls, which
//! is too many to be looked at every time; that was verified as well.

use std::num::NonZeroUsize;

use vorrang_algorithms::election::bully::Bully;
use vorrang_algorithms::election::spec::Leadership;
use vorrang_algorithms::election::{Command, Election, Notice};
use vorrang_algorithms::flaw::Flawed;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{NodeOf, find};
use vorrang_check::{Ask, Bounds, Faults, Links, Outcome, Plan, System, explore};
use vorrang_protocol::{Effects, NodeId, Protocol, Refused, Relay};

type Any = NodeOf<Election>;

/// A node that has nothing after a crash but the time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Forgetful {
    node: Any,
}

impl Protocol for Forgetful {
    type Message = <Any as Protocol>::Message;
    type Timer = <Any as Protocol>::Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_start(&mut Relay::new(fx));
    }
    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        self.node.on_command(command, &mut Relay::new(fx))
    }
    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.node.on_message(from, message, &mut Relay::new(fx));
    }
    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.node.on_timer(timer, &mut Relay::new(fx));
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.node.on_restart(&mut Relay::new(fx));
    }
    fn after_crash(&self, fresh: Self) -> Self {
        let life = goes_on(&self.node);
        Self { node: fresh.node.without_memory(life).expect("it stands that") }
    }
}

/// The time, which is beyond all that the node has known.
fn goes_on(node: &Any) -> u64 {
    const LEAP: u64 = 1_000;
    let number = node.downcast_ref::<Flawed<Bully>>().map_or(0, |it| it.node().number());
    (number / LEAP + 1) * LEAP
}

/// The states of an election that is right, or the property broken and the length of the run.
fn explored(of: &str, initiators: &[u32], faults: Faults) -> Result<u64, String> {
    let (name, rest) = of.split_once(' ').expect("a name and a set-up");
    let entry = find::<Election>(name, None).expect(name);
    let setup = &Setup::read(rest, entry.card.takes).expect(rest);
    let nodes = entry.nodes(setup).unwrap().into_iter();
    let asks = |id: NodeId| {
        let calls = initiators.contains(&id.0).then(|| Ask::then_wait(Command::Elect));
        calls.into_iter().collect()
    };
    let system: System<Forgetful, Leadership> = System {
        links: Links::from(entry.card.assumes.order).within(Some(setup.within)),
        faults,
        ..System::new(
            nodes.map(|node| Forgetful { node }).collect(),
            Plan::PerNode(setup.group.members().map(asks).collect()),
            entry.card.watch(setup, true),
        )
    };
    let bounds = Bounds::default().memory_bytes(4 << 30);
    let report = explore(&system, &bounds, NonZeroUsize::MIN, |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            let steps: Vec<_> = run.moves.iter().map(ToString::to_string).collect();
            Err(format!("{} after {}: {steps:#?}", violation.property, steps.len()))
        }
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

fn crashes(crashes: u8, restarts: u8) -> Faults {
    Faults::NONE.crashes(crashes).restarts(restarts)
}

#[test]
fn an_election_goes_on_though_those_who_come_back_have_lost_their_memory() {
    for (of, initiators, faults) in [
        ("bully --nodes 2", &[0, 1][..], crashes(2, 2)),
        ("bully --nodes 3", &[0], crashes(1, 1)),
        ("bully --nodes 3", &[2], crashes(2, 2)),
        ("ring-election --nodes 2", &[0], crashes(1, 1)),
        ("ring-election --nodes 3", &[0], crashes(1, 1)),
    ] {
        let found = explored(of, initiators, faults);
        assert!(found.is_ok(), "{of}, {initiators:?}, {faults:?}: {found:?}");
    }
}

/// The same question has another answer where a message may be lost.
#[test]
fn a_lost_message_is_too_much_for_them() {
    let faults = crashes(1, 1).losses(1);
    let broken = explored("bully --nodes 2", &[0], faults).unwrap_err();
    assert!(broken.starts_with("legitimacy after "), "{broken}");
}
