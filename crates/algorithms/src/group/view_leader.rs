//! A leader read off the view: after Kenneth P. Birman and Thomas A. Joseph, "Exploiting virtual
//! synchrony in distributed systems", SOSP 1987, where the members of a group derive who does what
//! from the list of members that all of them have.
//!
//! The members of a group agree on one view after the other ([virtual
//! synchrony](super::virtual_synchrony)). Whoever has the view knows the leader: its highest
//! member. Nobody is asked, nobody votes for anybody, and no message is about the election: what it
//! takes to agree has been done when the view begins. A leader that crashes is missing in the next
//! view, and a node that comes back is in the next but one.
//!
//! **Use it** where a group agrees on its members anyway, and a leader must never be mistaken for
//! that of a later view.
//!
//! ```text
//!         view 1 {0, 1, 2}: 2 leads            :  view 2 {0, 1}: 1 leads
//!   0  ──STATUS──────[ suspects 2 ]──FLUSH─┐ ▲──ACCEPT─┐ ▲─NEWVIEW─┐──[ 1 leads ]──►
//!                                          │ │FLUSH_OK │ │ACCEPTED │
//!   1  ──STATUS──────[ suspects 2 ]────────▼─┴─────────▼─┴─────────▼──[ 1 leads ]──►
//!   2  ──STATUS──✗  (down)                 :
//! ```
//!
//! | M of N nodes are up | cost |
//! | --- | --- |
//! | messages | N(N − 1) heartbeats in every period; after a crash 3(M − 1) + 2(N − 1), and a few |
//! | duration | a period and 2T at most until it is noticed, then 5T, or 7T if node 0 is down |
//!
//! More is said if a period is shorter than a view change, 5T, or messages are not in step.
//!
//! **Assumes** that a message takes no longer than a known time, and that none is lost or doubled;
//! nodes may crash and come up again, as long as a majority is up. Then nobody is suspected
//! wrongly. Where messages are late a leader may be excluded that is up: it learns that when it
//! hears of the next view, and until then there are two. But never two of one view: whoever acts
//! for the group names the view, and what comes from a leader of an earlier one is refused, as with
//! [fencing tokens](super::locks).
//!
//! **Why it is safe.** Views are unique (`virtual-synchrony` says why): members of the same view
//! have the same list and so the same leader. A node that is not suspected is in the view; so with
//! suspicions that are right, no node leads while a higher one has been up all along. It is not
//! enough to know a view: the leader is that of the view that begins, and not of the one that has
//! just ended (`stale-view`).
//!
//! **Why it goes on.** The group installs a view without those that are down, and with those that
//! are up, as long as a majority of all nodes is up and suspicions are right in the end.
//!
//! **Compared** with [bully](crate::election::bully) and
//! [the ring](crate::election::ring_election): those elect among whoever is up, be it one node of
//! five, and each side of a partition has its leader. Here a minority has none: it cannot agree on
//! a view. The price is heartbeats between all nodes and not from the leader alone, as
//! `watching-bully` has them.
//!
//! **Where we depart from the paper.** It has the oldest member lead. Here the highest does, as in
//! the other elections: so all are compared and checked alike, and what is needed is in the view.

use alloc::vec::Vec;
use core::time::Duration;

use vorrang_protocol::{
    Effects, GroupHealth, GroupView, Lift, NodeId, NodeState, Protocol, Refused,
};

use super::Notice as Told;
use super::virtual_synchrony::{self, VirtualSynchrony};
use crate::card::{Assumes, Span};
use crate::election::card::{COUNTED, Card, DURATION, Demonstration, Flaw, Setting, Terms};
use crate::election::{Command, Notice};
use crate::setup::{Parameter, Setup};

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ViewLeader {
    group: VirtualSynchrony,
    /// The highest member of the view that this node is in; none while it is in none.
    pub(super) leader: Option<NodeId>,
    /// Whether the application has asked and was not answered.
    is_asked: bool,
}

impl ViewLeader {
    /// A node that is set up like this.
    pub fn of(me: NodeId, setup: &Setup) -> Self {
        let group = virtual_synchrony::of(me, &timely(setup));
        Self { group, leader: None, is_asked: false }
    }

    /// Lets the group act, and reads the leader off every view.
    fn on_group<E: Effects<Self>>(
        &mut self,
        fx: &mut E,
        act: impl FnOnce(&mut VirtualSynchrony, &mut Lift<'_, VirtualSynchrony, Self, E>),
    ) {
        let mut told = Vec::new();
        act(&mut self.group, &mut Lift::new(fx, &mut told));
        for notice in told {
            match notice {
                Told::View { view, .. } => {
                    let leader = view.nodes().next_back();
                    if leader != self.leader || self.is_asked {
                        self.leader = leader;
                        self.tell(fx);
                    }
                }
                // Not a member any more: it comes back by itself.
                Told::Out => self.leader = None,
                Told::Delivered { .. } | Told::Blocked => {}
            }
        }
    }

    /// Tells the application who leads, if that is known.
    fn tell(&mut self, fx: &mut impl Effects<Self>) {
        self.is_asked = self.leader.is_none();
        if let Some(leader) = self.leader {
            fx.notify(Notice::Leader(leader));
        }
    }
}

/// A heartbeat may be late by as much as a message may take: then nobody is suspected wrongly, and
/// nothing that was learned need be forgotten.
fn timely(setup: &Setup) -> Setup {
    Setup { margin: setup.within, margin_halves_after: None, ..setup.clone() }
}

impl Protocol for ViewLeader {
    type Message = <VirtualSynchrony as Protocol>::Message;
    type Timer = <VirtualSynchrony as Protocol>::Timer;
    type Command = Command;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.on_group(fx, |group, lift| group.on_start(lift));
    }

    /// Whoever asks is told what the view says, now or when there is one. If the leader is down,
    /// the next view will say so.
    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        command.only_elect()?;
        self.tell(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.on_group(fx, |group, lift| group.on_message(from, message, lift));
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.on_group(fx, |group, lift| group.on_timer(timer, lift));
    }

    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.on_group(fx, |group, lift| group.on_restart(lift));
    }

    fn state(&self) -> NodeState {
        NodeState::new()
            .with("leader", self.leader)
            .with("asked", self.is_asked)
            .beneath("group", self.group.state())
    }

    fn group_view(&self) -> Option<GroupView> {
        self.group.group_view()
    }

    fn group_health(&self) -> Option<GroupHealth> {
        self.group.group_health()
    }

    fn after_crash(&self, fresh: Self) -> Self {
        Self { group: self.group.after_crash(fresh.group), ..fresh }
    }

    fn without_memory(self, life: u64) -> Option<Self> {
        Some(Self { group: self.group.without_memory(life)?, ..self })
    }
}

/// The card of the algorithm.
pub static CARD: Card = Card {
    name: "view-leader",
    title: "Leader of the view",
    solves: "election",
    citation: "after Birman and Joseph, SOSP 1987",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Late, Parameter::Beat],
    terms: Terms { majority: true, receipts: &["STATUS"], settles: Some(settling), ..Terms::PLAIN },
    theory: &[COUNTED.costs(messages), DURATION.costs(duration)],
    flaws: FLAWS,
    page: page!("view_leader.rs"),
};

fn settling(setup: &Setup) -> Duration {
    virtual_synchrony::settles(&timely(setup))
}

/// Nothing without a crash: all begin with a view. After one: FLUSH and `FLUSH_OK` between those
/// that are up, ACCEPT to all and ACCEPTED, NEWVIEW to all; and once more to each whose heartbeat
/// crosses that. Of these each sends one at most if no two heartbeats of a node fall into the 5T
/// that a view change takes; if they do, or messages take less than the time that a node reckons
/// with, or `--late` has it wait, more may be said again, and there is no bound here.
fn messages(at: &Setting) -> Span {
    let is_quick = at.setup.beat >= at.setup.within.saturating_mul(5);
    let as_reckoned = at.lockstep && at.setup.late.is_zero() && is_quick;
    let (others, up) = (f64::from(at.nodes() - 1), f64::from(at.alive()) - 1.0);
    match at.dead.len() {
        0 => Span::exactly(0.0),
        1 if at.nodes() > 2 && at.is_up(LOWEST) && as_reckoned => {
            let least = 3.0 * up + 2.0 * others;
            Span::between(least, least + up)
        }
        _ => Span::between(0.0, f64::INFINITY),
    }
}

/// Until the silence of those that are down is noticed, and then as long as a view change takes; no
/// time at all if the leader is up.
fn duration(at: &Setting) -> Span {
    let noticed = at.in_units(at.setup.beat.saturating_add(at.setup.within));
    if at.is_up(NodeId(at.nodes() - 1)) {
        Span::exactly(0.0)
    } else if at.setup.late.is_zero() && at.nodes() > 2 && 2 * at.alive() > at.nodes() {
        Span::exactly(noticed + if at.is_up(LOWEST) { 5.0 } else { 7.0 })
    } else {
        Span::between(0.0, f64::INFINITY)
    }
}

/// The coordinator of a view change, if it is up.
const LOWEST: NodeId = NodeId(0);

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "stale-view",
    what: "the leader is read off the view that has just ended: all follow a crashed one for ever",
    breaks: "agreement",
    shown_by: Demonstration::of(2, &[0]).crashing(1, 0),
}];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, NodeSet, Outbox};

    use super::*;

    const THREE: Group = Group::of(3);

    fn node(me: u32) -> (ViewLeader, Outbox<ViewLeader>) {
        (ViewLeader::of(NodeId(me), &Setup::new(THREE)), Outbox::default())
    }

    fn told(fx: &mut Outbox<ViewLeader>) -> Vec<u32> {
        let leader = |effect| match effect {
            Effect::Notify(Notice::Leader(leader)) => Some(leader.0),
            Effect::Notify(Notice::Reset(_))
            | Effect::Send { .. }
            | Effect::SetTimer { .. }
            | Effect::CancelTimer(_) => None,
        };
        fx.take().into_iter().filter_map(leader).collect()
    }

    #[test]
    fn the_highest_of_the_first_view_leads_without_a_message_about_it() {
        let (mut node, mut fx) = node(0);
        node.on_start(&mut fx);
        assert_eq!(told(&mut fx), [2]);
        node.on_command(Command::Elect, &mut fx).unwrap();
        assert_eq!(told(&mut fx), [2], "whoever asks is told");
    }

    #[test]
    fn who_is_in_no_view_is_told_when_it_is_in_one() {
        let (node, mut fx) = node(1);
        let mut forgetful = node.without_memory(7).expect("it needs no memory");
        forgetful.on_start(&mut fx);
        forgetful.on_command(Command::Elect, &mut fx).unwrap();
        assert_eq!(told(&mut fx), [0; 0], "the group is not founded yet");
        assert!(forgetful.is_asked);
    }

    /// A heartbeat that takes as long as a message may is no reason to suspect its sender.
    #[test]
    fn nobody_is_suspected_while_messages_are_timely() {
        let setup = Setup { within: Duration::from_millis(40), ..Setup::new(THREE) };
        assert_eq!(timely(&setup).margin, setup.within);
    }

    #[test]
    fn costs_are_those_of_a_view_change() {
        let at = |nodes: u32, dead: &[u32]| Setting {
            setup: Setup::new(Group::of(nodes)),
            initiators: [NodeId(1)].to_vec(),
            dead: dead.iter().copied().map(NodeId).collect::<NodeSet>(),
            lockstep: true,
        };
        assert_eq!(messages(&at(5, &[])), Span::exactly(0.0));
        assert_eq!(messages(&at(5, &[4])), Span::between(17.0, 20.0));
        let changed = |change: fn(&mut Setting)| {
            let mut at = at(5, &[4]);
            change(&mut at);
            messages(&at)
        };
        // Each of these has been seen to take more than 20.
        let short = changed(|at| at.setup.beat = at.setup.within * 4);
        let late = changed(|at| at.setup.late = at.setup.within);
        let apart = changed(|at| at.lockstep = false);
        assert_eq!([short, late, apart], [Span::between(0.0, f64::INFINITY); 3]);
        assert_eq!(changed(|at| at.setup.beat *= 4), Span::between(17.0, 20.0));
        assert_eq!(duration(&at(5, &[4])), Span::exactly(11.0));
        assert_eq!(duration(&at(5, &[0, 4])), Span::exactly(13.0));
        assert_eq!(duration(&at(5, &[0])), Span::exactly(0.0), "the leader is up");
        assert!(duration(&at(5, &[2, 3, 4])).high.is_infinite(), "there is no majority");
    }
}
