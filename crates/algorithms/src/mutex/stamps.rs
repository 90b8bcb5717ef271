//! Fairness in the order of logical stamps (t, i): who asked at the lower time, of equal times the
//! node with the lower number, enters first (Lamport, CACM 21(7), 1978; Ricart and Agrawala, CACM
//! 24(1), 1981).
//!
//! It is more than [happened-before](super::spec::HappenedBefore), which leaves the order of
//! concurrent requests open, and it is about the stamps of the algorithm itself, which no monitor
//! sees. So nodes that are asked about it remember the stamp of their request from asking to
//! leaving, also where the algorithm has no more use for it, and an invariant compares them:
//! nobody is inside while an older request waits.
//!
//! | | entries in the order of stamps |
//! | --- | --- |
//! | Lamport, Ricart–Agrawala, total order by stamps | promised |
//! | Carvalho–Roucairol | no: who has all permissions enters again before an older one arrives |
//! | Maekawa, Sanders, Cao–Singhal, majority votes | no: the same, with locks |
//! | several inside together | no: a younger request may fit in while an older one waits |
//! | coordinator, tokens, other orders | requests have no stamps |

use alloc::format;
use alloc::string::String;

use vorrang_protocol::{
    DynEffects, Effects, Invariant, NodeId, NodeState, Protocol, Refused, Relay, Situation,
};

use super::carvalho_roucairol::CarvalhoRoucairol;
use super::handing_on::{self, CaoSinghal};
use super::lamport::Lamport;
use super::locking::{Locking, Phase, Structure};
use super::majority_votes::MajorityVotes;
use super::ricart_agrawala::RicartAgrawala;
use super::total_order::{self, TotalOrder};
use super::{Command, Notice};
use crate::clock::Stamp;
use crate::flaw::Flawed;
use crate::recipe::Recipe;
use crate::setup::{Ordering, Unfit};

/// The property.
pub const STAMP_ORDER: &str = "stamp order";

/// A node whose requests have logical stamps.
pub trait Stamping: Protocol<Command = Command, Notice = Notice> {
    /// The time of the request that it has just made.
    fn time(&self) -> u64;
    /// Whether its application is inside.
    fn is_inside(&self) -> bool;
    /// The time of the request that it waits with, where a node that comes up again may have it ask
    /// once more with a later one.
    fn waits_since(&self) -> Option<u64> {
        None
    }
}

impl Stamping for RicartAgrawala {
    fn time(&self) -> u64 {
        self.clock.now()
    }
    fn is_inside(&self) -> bool {
        self.is_inside()
    }
}

impl Stamping for Lamport {
    fn time(&self) -> u64 {
        // The send of the request is counted after it was stamped.
        self.clock.now() - 1
    }
    fn is_inside(&self) -> bool {
        self.is_inside()
    }
}

impl Stamping for CarvalhoRoucairol {
    fn time(&self) -> u64 {
        self.now()
    }
    fn is_inside(&self) -> bool {
        self.is_inside()
    }
}

impl<S: Structure> Stamping for Locking<S> {
    fn time(&self) -> u64 {
        self.clock.now()
    }
    fn is_inside(&self) -> bool {
        self.request.is_inside()
    }
}

impl Stamping for CaoSinghal {
    fn time(&self) -> u64 {
        self.waits_since().unwrap_or_else(|| self.clock.now())
    }
    fn is_inside(&self) -> bool {
        matches!(self.phase, handing_on::Phase::Inside(_))
    }
    fn waits_since(&self) -> Option<u64> {
        match self.phase {
            handing_on::Phase::Waiting { time, .. } => Some(time),
            handing_on::Phase::Outside | handing_on::Phase::Inside(_) => None,
        }
    }
}

impl Stamping for MajorityVotes {
    fn time(&self) -> u64 {
        self.clock.now()
    }
    fn is_inside(&self) -> bool {
        matches!(self.phase, Phase::Inside(_))
    }
    fn waits_since(&self) -> Option<u64> {
        match self.phase {
            Phase::Waiting(time) => Some(time),
            Phase::Outside | Phase::Inside(_) => None,
        }
    }
}

/// Of the orders that are the same for all, that by stamps alone gives requests any.
impl Stamping for TotalOrder {
    fn time(&self) -> u64 {
        self.order.last_stamp_of(self.me).unwrap_or(0)
    }
    fn is_inside(&self) -> bool {
        self.phase == total_order::Phase::Inside
    }
}

impl<P: Stamping> Stamping for Flawed<P> {
    fn time(&self) -> u64 {
        self.node().time()
    }
    fn is_inside(&self) -> bool {
        self.node().is_inside()
    }
    fn waits_since(&self) -> Option<u64> {
        self.node().waits_since()
    }
}

/// A node that remembers the stamp of its request until it has left.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Remembering<P> {
    node: P,
    me: NodeId,
    stamp: Option<Stamp>,
}

/// The same nodes, each of which remembers, and what must hold of their stamps.
pub fn remembering<P: Stamping>(recipe: Recipe<P>) -> Recipe<Remembering<P>> {
    let recipe = Recipe::new(move |setup| {
        let node = recipe.nodes(setup)?;
        Ok(move |me| Remembering { node: node(me), me, stamp: None })
    });
    recipe.guarded(Remembering::IN_ORDER)
}

/// Those of totally ordered multicast, if its order gives every request a stamp.
pub(crate) fn total_order() -> Recipe<TotalOrder> {
    Recipe::new(|setup| {
        let nodes = total_order::recipe().nodes(setup)?;
        if setup.ordering != Ordering::Lamport {
            return Err(Unfit(format!(
                "--ordering {}: requests have stamps (t, i) only with --ordering {}",
                setup.ordering.name(),
                Ordering::Lamport.name()
            )));
        }
        Ok(move |id| nodes(id))
    })
}

impl<P: Stamping> Remembering<P> {
    const IN_ORDER: &'static [Invariant<Self>] =
        &[Invariant { name: STAMP_ORDER, holds: in_order }];
}

/// Nobody is inside while an older request waits.
fn in_order<P: Stamping>(at: &Situation<'_, Remembering<P>>) -> Result<(), String> {
    let asking = || at.up().filter_map(|(id, it)| it.stamp.map(|stamp| (id, it, stamp)));
    for (one, _, ours) in asking().filter(|(_, it, _)| it.node.is_inside()) {
        let mut waiting = asking().filter(|(_, it, _)| !it.node.is_inside());
        if let Some((other, _, theirs)) = waiting.find(|(_, _, theirs)| *theirs < ours) {
            return Err(format!(
                "node {one} is inside with the stamp ({}, {one}), and node {other} waits with the \
                 older one ({}, {other})",
                ours.time, theirs.time
            ));
        }
    }
    Ok(())
}

impl<P: Stamping> Remembering<P> {
    /// It may have asked once more.
    fn look(&mut self) {
        if let (Some(stamp), Some(time)) = (&mut self.stamp, self.node.waits_since()) {
            stamp.time = time;
        }
    }
}

impl<P: Stamping> Protocol for Remembering<P> {
    type Message = P::Message;
    type Timer = P::Timer;
    type Command = P::Command;
    type Notice = P::Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_start(&mut DynEffects(fx));
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_command(command, &mut DynEffects(fx))?;
        self.stamp = match command {
            Command::Acquire(_) => Some(Stamp::new(self.node.time(), self.me)),
            Command::Release => None,
        };
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: P::Message, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_message(from, message, &mut DynEffects(fx));
        self.look();
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_timer(timer, &mut DynEffects(fx));
        self.look();
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        let fx = &mut Relay::<Self, _, _>::new(fx);
        self.node.on_restart(&mut DynEffects(fx));
    }

    fn state(&self) -> NodeState {
        self.node.state().with("stamp", self.stamp)
    }

    fn buffered(&self) -> usize {
        self.node.buffered()
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { node: self.node.after_crash(fresh.node), ..fresh }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Group, NodeSet, Outbox};

    use super::*;
    use crate::mutex::{Claim, ricart_agrawala};

    fn node(me: u32) -> Remembering<RicartAgrawala> {
        let me = NodeId(me);
        Remembering { node: RicartAgrawala::new(me, Group::of(2)), me, stamp: None }
    }

    #[test]
    fn an_older_request_must_not_wait_while_a_younger_one_is_inside() {
        let ask = Command::Acquire(Claim::Exclusive);
        let (mut zero, mut one, mut fx) = (node(0), node(1), Outbox::default());
        zero.on_command(ask, &mut fx).unwrap();
        one.on_command(ask, &mut fx).unwrap();
        let reply = ricart_agrawala::Message::Reply { time: 1, clock: 1 };
        let judge = |zero: &Remembering<RicartAgrawala>, one: &Remembering<RicartAgrawala>| {
            in_order(&Situation::new([zero, one].to_vec(), NodeSet::EMPTY, [].to_vec()))
        };
        judge(&zero, &one).expect("both wait");
        let mut overtaking = one.clone();
        overtaking.on_message(NodeId(0), reply, &mut fx);
        let wrong = judge(&zero, &overtaking).unwrap_err();
        assert!(wrong.contains("inside with the stamp (1, 1)"), "{wrong}");
        assert!(wrong.ends_with("node 0 waits with the older one (1, 0)"), "{wrong}");
        zero.on_message(NodeId(1), reply, &mut fx);
        judge(&zero, &one).expect("the older is inside");
        zero.on_command(Command::Release, &mut fx).unwrap();
        judge(&zero, &overtaking).expect("it has left");
    }
}
