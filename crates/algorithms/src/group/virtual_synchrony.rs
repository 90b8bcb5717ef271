//! Virtual synchrony with a primary component: after Kenneth P. Birman and Thomas A. Joseph,
//! "Exploiting virtual synchrony in distributed systems", SOSP 1987, with agreement on views as in
//! Rachid Guerraoui and André Schiper, "The generic consensus service", IEEE TSE 27(1), 2001.
//!
//! A group has a *view*: a number, and its members. All members deliver the same messages in the
//! same order, until the view ends; then those that go on have delivered the same, and begin the
//! next view together. So a view is a barrier: decisions that depend on the messages before it are
//! the same at all members.
//!
//! **Use it** to keep copies of the same state at nodes that come and go: all who go on have seen
//! the same messages in the same order.
//!
//! It is a stack, and each layer knows only the one below:
//!
//! | layer | does |
//! | --- | --- |
//! | [`Replica`] | keeps the application's state, and hands it over |
//! | [`Views`] | messages in one order; the flush at the end |
//! | [`Synod`] | one next view for every view: propose, learn |
//! | [`Detecting`] | who seems to be down |
//!
//! ```text
//!         view 1 {0, 1, 2}          : flush         decision       : view 2 {0, 1}
//!   0  ──ORDER(0: a)────[ suspects ]──FLUSH─┐ ▲────ACCEPT─┐ ▲─NEWVIEW─┐──────────────►
//!            │  x           2             :  │ │FLUSH_OK  │ │ACCEPTED │
//!   1  ──────┼──────────────────────────────[ blocked ]───▼─┴─────────▼─[ a ]────────►
//!   2  ──────▼──[ a ]──✗                  :                        :
//! ```
//!
//! | N members | cost |
//! | --- | --- |
//! | messages | N − 1 for a multicast of the sequencer, N for one of another member |
//! | copies besides | up to N − 1, for each that a heartbeat crosses |
//! | heartbeats besides | one from each node to each other in every period |
//! | delay | T to all others if the sequencer multicasts; else T to it and 2T to the rest |
//! | a view change | 5(N − 1) messages and 5T from the suspicion, 7T if the lowest member is gone |
//!
//! **Assumes** nothing for its safety: links may lose, double and reorder, nodes may crash and come
//! up again, and suspicions may be wrong. That it goes on takes a primary set of all nodes that can
//! hear each other, one of them with what was known in the newest view, and suspicions that are
//! right in the end.
//!
//! **How a view ends.** The *coordinator* is the lowest member that is not suspected. If a member
//! is suspected, or a node wants to join or to leave, it sends FLUSH to all members that are not
//! suspected. A member that gets one stops: its application is told to block, and from then on it
//! delivers and sends nothing in this view. It answers with its messages: `FLUSH_OK`. When all that
//! are not suspected have answered, the coordinator proposes the next view, with its members, all
//! messages that any of them has, and the states of their applications. Members and all others vote
//! on it, and a [primary set](super::view::is_primary) of all decides: more than half of them, or
//! half with the lowest member. The decision (perhaps the proposal of another node) is sent to all
//! as NEWVIEW; a member that goes on delivers the messages of the old view that it lacks, and
//! begins the new one. A node that finds itself excluded begins a new incarnation and asks to join
//! again. If a coordinator cannot finish, the next one begins anew, with the members that have
//! stopped.
//!
//! **Broken links.** Members that cannot hear each other, though the coordinator hears both, would
//! stall what the group does. Heartbeats say whom their sender misses, and the coordinator leaves
//! out the fewest members such that all that stay hear each other; how, and why that takes no
//! longer than three detection times, is in the module `left_out`. A crash costs nothing more by
//! that, but for one heartbeat out of turn of each member that notices it.
//!
//! **Incarnations.** A member is a node in one of its incarnations. An incarnation ends with a
//! crash, or when the node leaves or is excluded. Messages of an earlier incarnation do not count:
//! so a node that has lost its state is not taken for the one that it was. On stable storage lie
//! the number of the incarnation, the newest view known, and [promises and votes](super::synod): so
//! a restarted node votes on the successor of a view, though it has no state of it. If *all*
//! members of a view have restarted without state, the lowest node proposes a view of all that want
//! to be members, with no state; before that, some member might still have it. Where there is [no
//! state](super::views::Views::without_state), as with locks, it does so as soon as all members are
//! suspected: a majority that is cut off from all members of a small view takes the group away from
//! them.
//!
//! **Voters.** All nodes vote, members of the view or not: so the group goes on as long as a
//! majority is up, however small suspicions have made the view meanwhile. The other rule in use
//! (*dynamic voting*) lets only members vote, and a view of few members then depends on those for
//! good: if false suspicions have left a view of 0 and 1, and 0 is lost, no node can go on, though
//! all others are up. In turn dynamic voting tolerates the loss of members one after the other,
//! down to the last; this rule does not.
//!
//! **Without stable storage**, as processes over a network are
//! ([`forgetful`](super::views::Views::forgetful)), a restarted node has nothing but an incarnation
//! number that is larger than all before, from a clock. Then voting is dynamic: *a node promises
//! and votes on the successor of view v only if it is a member of v in this incarnation*, and only
//! these are asked. So the voters of a decision are incarnations, each with all of its memory until
//! it ends for good, and to the synod a crash is a voter that never comes back, which it tolerates.
//! A member of v that restarts knows no view, votes on nothing, and joins by the next view that has
//! its new incarnation; others had to be enough to decide on that. The price: if so many members of
//! a view crash before there is another that the rest is no primary set, the group ends, and can
//! only be founded anew when the rest has been restarted as well. *Founding*: the lowest founder
//! makes the first view once it has heard all others, and all members of every view that it knows
//! have begun other incarnations. It may be wrong, if a member of a later view cannot be heard;
//! therefore the first view has a number by the clock as well (milliseconds, of which there are
//! more than views), so that view numbers and fencing tokens grow even then, and a member that has
//! outlived its group recognises the larger number and joins there. The checker goes through it in
//! every order, and shows what happens without the rule (`votes-forgotten`).
//!
//! *Waiting*: a founder that starts for the first time and one that comes back look alike, so the
//! lowest founder waits for some heartbeats before, in which members of a group that is still there
//! can find it. *With stable storage* ([`remembering`](super::views::Views::remembering)) a group
//! is founded once: the lowest founder stores its view before it tells anyone, and having one never
//! founds again; every other view is voted on. Each view [names its voters](super::voters), to
//! begin with the founders, which vote in every incarnation, members or not. Whoever joins later
//! may propose, and does not vote before a view says so. Voters are added, replaced and removed,
//! and members evicted, by the next view; if a majority of voters is lost, one is made the only one
//! [by force](super::views::recovery).
//!
//! **Links** may lose, double and reorder. There is no layer of reliable channels below: what it
//! would need is here anyway. Messages are kept until all have them, since a view may end; every
//! heartbeat carries the view of a node and how far it has delivered, so that messages can be
//! discarded; and a request (stop, vote, join) is a state that lasts until it is answered and is
//! repeated with every heartbeat, not a message that must arrive. Channels would queue up messages
//! that are obsolete once the view has changed, and need incarnations of their own.
//!
//! **Why it is safe.**
//!
//! 1. *At most one view follows a view.* The next view of view v is decided under the number v, by
//!    the same voters for every proposer. [The decision](super::synod) is unique. So there is one
//!    chain of views, whatever is suspected: two sides of a partition cannot both go on.
//! 2. *A member that goes on from v to v + 1 has delivered in v exactly the log that was decided.*
//!    A member is taken over into v + 1 only with its report, and after a report a node delivers
//!    nothing in v. All that have places know the same at the same place, since one sequencer gives
//!    them, once, and its places end when the view does. So what each has delivered is a beginning
//!    of the longest sequence known to any of them, and the log begins with that one. A message
//!    without a place has been delivered by no member that goes on. A member that goes on delivers
//!    the rest of the log. So all have the same, in the same order: *virtual synchrony* and *total
//!    order*.
//! 3. *A message is delivered in the view in which it was sent*, since it carries its number, and
//!    what is sent while a view ends is sent in the next. It is delivered to its sender, if that
//!    goes on: it is in the sender's report, if not in the log before.
//! 4. *A joining member begins with the state of those that go on*, as of the end of the log: it is
//!    part of the decision.
//!
//! **Why it goes on.** Say that from some time on suspicions are right, and a primary set of all
//! nodes is up and can hear each other; and one of them still has the state of the newest view, or
//! all its members have restarted. Then all that are behind get NEWVIEW, since their heartbeats say
//! where they are. One coordinator is left, as the lowest that is up is the same for all; those
//! that wait for another coordinator to finish tell it by their heartbeats that they have stopped,
//! so that it ends the view even if no node joins or leaves. All that it waits for answer. Others
//! propose no more, so its ballot gets through after one more try; and the view that is decided
//! either has the members that it should, or is followed by one that has.
//!
//! **Limits.** Delivery is not uniform: a member that does not go on may have delivered messages
//! that no other ever will. While views change faster than 5T nothing is delivered. Every suspicion
//! changes the view, right or wrong; but the [detector](crate::detection::heartbeat)'s time-outs
//! grow with every mistake, up to a cap, and shrink again when it has made none for a while.
//!
//! **Departures.** The literature has the coordinator install the view itself, and a second phase
//! only sometimes; without it, a coordinator that crashes while it installs a view leaves two (the
//! checker shows it: [`flaws`](super::flaws)). Ranks are the nodes' numbers, not their age in the
//! group. The last member cannot leave a group before another has joined: no node could join any
//! more.

use alloc::vec::Vec;

use vorrang_protocol::{Digest, Group, NodeId};

use super::Payload;
use super::card::{CHANGE, Card, Demonstration, Flaw, LATENCY, MESSAGES, Setting, Terms};
use super::detecting::Detecting;
use super::founding::Founding;
use super::informed::Informed;
use super::message::{Beat, Install};
use super::replica::{HasViews, Replica};
use super::synod::Synod;
use super::views::Views;
use crate::card::{Assumes, Span};
use crate::recipe::Recipe;
use crate::setup::{Parameter, Setup};

/// The machine without its failure detector: what suspicions, right or wrong, are fed to.
pub type Core = Replica<Views<Payload, Digest, Synod<Install<Payload, Digest>>>>;

/// One node.
pub type VirtualSynchrony = Detecting<Core>;

/// A node of a group that all nodes have founded.
pub fn of(me: NodeId, setup: &Setup) -> VirtualSynchrony {
    let founders: Vec<NodeId> = setup.group.members().collect();
    founded_by(&founders, me, setup)
}

/// A node of a group that these have founded. All others come in when they ask to.
///
/// # Panics
///
/// If these are none, or not nodes.
pub fn founded_by(founders: &[NodeId], me: NodeId, setup: &Setup) -> VirtualSynchrony {
    Detecting::new(me, setup, Replica::new(Views::new(me, setup.group, founders)))
}

/// How nodes are made of a machine that has views: informed, and founders or not, as the set-up
/// says.
pub fn recipe<C>(
    views: impl Fn(NodeId, Group, &[NodeId]) -> C + Clone + Send + Sync + 'static,
) -> Recipe<Informed<Replica<C>>>
where
    C: HasViews<Message: Beat>,
{
    Recipe::new(move |setup| {
        let (setup, views) = (setup.clone(), views.clone());
        let founders: Vec<NodeId> = (0..setup.founders).map(NodeId).collect();
        Ok(move |me| Informed::new(me, &setup, Replica::new(views(me, setup.group, &founders))))
    })
}

/// A node without stable storage of a group that others may join, in this incarnation: it knows no
/// view yet, and wants to be a member. See [`Views::forgetful`].
pub fn open(
    me: NodeId,
    setup: &Setup,
    (incarnation, founding): (u64, Option<Founding>),
) -> Informed<Core> {
    let views = Views::forgetful(me, setup.group, incarnation, founding).joining();
    Informed::new(me, setup, Replica::new(views))
}

/// The nodes as they should be.
pub fn correct() -> Recipe<Informed<Core>> {
    recipe(Views::new)
}

/// The card of the algorithm.
pub static CARD: Card = Card {
    name: "virtual-synchrony",
    title: "Virtual synchrony",
    solves: "group communication",
    citation: "Birman and Joseph, SOSP 1987; Guerraoui and Schiper, IEEE TSE 27(1), 2001",
    assumes: Assumes { reliable: false, ..Assumes::ANY_ORDER },
    takes: &[
        Parameter::Founders,
        Parameter::Detector,
        Parameter::Beat,
        Parameter::Margin,
        Parameter::MarginCap,
        Parameter::MarginHalvesAfter,
        Parameter::Late,
    ],
    terms: Terms { settles, beats: &["STATUS"] },
    theory: &[MESSAGES.costs(messages), LATENCY.costs(latency), CHANGE.costs(change)],
    flaws: FLAWS,
    page: page!("virtual_synchrony.rs"),
};

/// A heartbeat for each of these, as any may be lost just before: to learn of the newest view, to
/// be trusted, to ask to be let in, to end the view, to try once more with a higher ballot; and
/// once more for those who have stopped meanwhile.
pub(crate) fn settles(setup: &Setup) -> core::time::Duration {
    setup.beat.saturating_add(setup.late).saturating_add(setup.margin).saturating_mul(20)
}

fn messages(at: &Setting) -> Span {
    let nodes = f64::from(at.setup.group.size());
    let by_others = if at.setup.group.size() > 1 { nodes } else { 0.0 };
    Span::exactly(f64::from(at.by_sequencer) * (nodes - 1.0) + f64::from(at.by_others) * by_others)
}

/// Elsewhere than at the sender.
fn latency(at: &Setting) -> Span {
    let others = f64::from(at.setup.group.size()) - 1.0;
    let (first, rest) = (f64::from(at.by_sequencer), f64::from(at.by_others));
    if others < 1.0 || first + rest < 1.0 {
        return Span::between(0.0, f64::INFINITY);
    }
    // From the sequencer to each; or to the sequencer, and from there to all but the sender.
    let sum = first * others + rest * (1.0 + 2.0 * (others - 1.0));
    Span::exactly(sum / ((first + rest) * others))
}

/// FLUSH, `FLUSH_OK`, ACCEPT, ACCEPTED, NEWVIEW; another proposer than the lowest must ask for
/// promises first. With two nodes, the one that is left need not ask.
fn change(at: &Setting) -> Span {
    match (at.setup.group.size(), at.lowest_goes) {
        (1 | 2, _) => Span::between(0.0, 7.0),
        (_, true) => Span::exactly(7.0),
        (_, false) => Span::exactly(5.0),
    }
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "no-second-phase",
        what: "the coordinator installs the next view as soon as all have stopped; if it is \
               suspected meanwhile, another next view follows",
        breaks: "view agreement",
        shown_by: Demonstration::of(3, "suspect:2/suspect:0/suspect:0"),
    },
    Flaw {
        name: "minority-goes-on",
        what: "those that are left go on, however few: two sides of a partition go on",
        breaks: "view agreement",
        shown_by: Demonstration::of(2, "suspect:1/suspect:0"),
    },
    Flaw {
        name: "no-freeze",
        what: "a member that has reported its messages goes on delivering: more than it has \
               reported",
        breaks: "virtual synchrony",
        shown_by: Demonstration::of(3, "multicast:1/suspect:0/"),
    },
    Flaw {
        name: "orphans-dropped",
        what: "messages of members that are gone are dropped, though some have delivered them",
        breaks: "virtual synchrony",
        shown_by: Demonstration::of(3, "suspect:2//multicast:7").crashing(1, 0),
    },
    Flaw {
        name: "across-the-barrier",
        what: "a message that comes late is delivered in the view that it comes in",
        breaks: "sending view delivery",
        shown_by: Demonstration::of(3, "multicast:1,suspect:2//"),
    },
    Flaw {
        name: "nothing-handed-over",
        what: "a joining member begins with an empty state",
        breaks: "state transfer",
        shown_by: Demonstration::of(1, "multicast:7/join"),
    },
    Flaw {
        name: "votes-forgotten",
        what: "votes do not survive a crash: a member that has voted and restarts votes for \
               another view",
        breaks: "view agreement",
        shown_by: Demonstration::of(3, "suspect:1/suspect:0/").crashing(1, 1).in_order(),
    },
];

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use vorrang_protocol::{Effect, Group, Outbox, Protocol};

    use super::*;
    use crate::group::input::Input;
    use crate::group::{Command, Notice};

    /// Members, and what is under way between them.
    struct Stage {
        nodes: Vec<Core>,
        make: fn(NodeId) -> Core,
        flight: Vec<(NodeId, NodeId, <Core as Protocol>::Message)>,
        told: Vec<String>,
    }

    impl Stage {
        fn new() -> Self {
            Self::of(3, |id| Replica::new(Views::new(id, Group::of(3), &[0, 1, 2].map(NodeId))))
        }

        fn of(size: u32, make: fn(NodeId) -> Core) -> Self {
            let nodes = Group::of(size).members().map(make).collect();
            let mut stage = Self { nodes, make, flight: Vec::new(), told: Vec::new() };
            for at in 0..size {
                stage.happens(at, Protocol::on_start);
            }
            stage.told.clear();
            stage
        }

        /// A node crashes and comes up again.
        fn restart(&mut self, at: u32) {
            let node = &mut self.nodes[at as usize];
            *node = node.after_crash((self.make)(NodeId(at)));
            self.happens(at, Protocol::on_restart);
        }

        fn suspect(&mut self, at: &[u32], of: &[u32]) {
            for &at in at {
                for &of in of {
                    self.command(at, Input::Suspect(NodeId(of)));
                }
            }
        }

        fn happens(&mut self, at: u32, act: impl FnOnce(&mut Core, &mut Outbox<Core>)) {
            let mut fx = Outbox::default();
            act(&mut self.nodes[at as usize], &mut fx);
            for effect in fx.take() {
                match effect {
                    Effect::Send { to, message } => self.flight.push((NodeId(at), to, message)),
                    Effect::Notify(Notice::Blocked) => {}
                    Effect::Notify(notice) => self.told.push(format!("{at}: {notice}")),
                    Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
                }
            }
        }

        fn command(&mut self, at: u32, command: Input<Command>) {
            self.happens(at, |node, fx| node.on_command(command, fx).unwrap());
        }

        /// Delivers all between these nodes, the first first; what goes elsewhere is lost.
        fn deliver_among(&mut self, nodes: &[u32]) {
            while !self.flight.is_empty() {
                let (from, to, message) = self.flight.remove(0);
                if nodes.contains(&from.0) && nodes.contains(&to.0) {
                    self.happens(to.0, |node, fx| node.on_message(from, message, fx));
                }
            }
        }
    }

    /// A multicast of the highest reaches the lowest only, and both others are told to go on
    /// without the sender: what one of them has, both deliver, in the old view.
    #[test]
    fn what_one_of_those_has_who_go_on_all_of_them_deliver() {
        let mut stage = Stage::new();
        stage.command(2, Input::Ask(Command::Multicast(7.into())));
        stage.deliver_among(&[0, 2]);
        stage.told.clear();
        stage.command(0, Input::Suspect(NodeId(2)));
        stage.deliver_among(&[0, 1]);
        assert_eq!(stage.told, ["0: view 2 {0, 1}", "1: delivers 2/0: 7", "1: view 2 {0, 1}"]);
    }

    #[test]
    fn what_has_reached_nobody_nobody_delivers() {
        let mut stage = Stage::new();
        stage.command(2, Input::Ask(Command::Multicast(7.into())));
        stage.flight.clear();
        stage.command(0, Input::Suspect(NodeId(2)));
        stage.deliver_among(&[0, 1]);
        assert_eq!(stage.told, ["0: view 2 {0, 1}", "1: view 2 {0, 1}"]);
    }

    /// The lowest suspects both others, and they suspect it: it is alone and waits, they go on.
    #[test]
    fn one_of_three_waits_and_two_go_on() {
        let mut stage = Stage::new();
        for (at, of) in [(0, 1), (0, 2), (1, 0), (2, 0)] {
            stage.command(at, Input::Suspect(NodeId(of)));
        }
        stage.command(0, Input::Ask(Command::Multicast(7.into())));
        stage.deliver_among(&[1, 2]);
        assert_eq!(stage.told, ["1: view 2 {1, 2}", "2: view 2 {1, 2}"]);
        for at in 0..3 {
            for of in (0..3).filter(|&of| of != at) {
                stage.command(at, Input::Trust(NodeId(of)));
            }
        }
        stage.told.clear();
        stage.command(0, Input::Beat);
        stage.deliver_among(&[0, 1, 2]);
        stage.told.sort();
        let back = [
            "0: delivers 0/0: 7",
            "0: out of the group",
            "0: view 3 {0'1, 1, 2}",
            "1: delivers 0/0: 7",
            "1: view 3 {0'1, 1, 2}",
            "2: delivers 0/0: 7",
            "2: view 3 {0'1, 1, 2}",
        ];
        assert_eq!(stage.told, back, "what it multicast while it was blocked is not lost");
    }

    /// The lowest suspects the highest, wrongly, and then it dies: most nodes are there, though not
    /// most of the members.
    #[test]
    fn most_nodes_go_on_however_small_the_view_has_become() {
        let mut stage = Stage::new();
        stage.suspect(&[0], &[2]);
        stage.deliver_among(&[0, 1, 2]);
        assert_eq!(stage.told, ["0: view 2 {0, 1}", "2: out of the group", "1: view 2 {0, 1}"]);
        stage.told.clear();
        stage.suspect(&[1, 2], &[0]);
        stage.deliver_among(&[1, 2]);
        assert_eq!(stage.told, ["1: view 3 {1, 2'1}", "2: view 3 {1, 2'1}"]);
    }

    /// Of a view of three of five two die and one comes back: nobody has what they knew. If that
    /// matters to nobody, the others go on with the one.
    #[test]
    fn without_state_others_go_on_when_no_member_is_there() {
        const FIVE: [NodeId; 5] = [NodeId(0), NodeId(1), NodeId(2), NodeId(3), NodeId(4)];
        let with_state: fn(NodeId) -> Core = |id| Replica::new(Views::new(id, Group::of(5), &FIVE));
        let without: fn(NodeId) -> Core =
            |id| Replica::new(Views::new(id, Group::of(5), &FIVE).without_state());
        for (make, views) in [(with_state, 0), (without, 3)] {
            let mut stage = Stage::of(5, make);
            stage.suspect(&[0], &[3, 4]);
            stage.deliver_among(&[0, 1, 2, 3, 4]);
            // Node 0 misses two: it makes sure that it is not the one that is cut off.
            for at in [1, 2, 1, 2] {
                stage.command(at, Input::Beat);
                stage.deliver_among(&[0, 1, 2, 3, 4]);
            }
            assert!(stage.told.contains(&"2: view 2 {0, 1, 2}".to_owned()), "{:?}", stage.told);
            stage.told.clear();
            stage.restart(2);
            stage.suspect(&[2, 3, 4], &[0, 1]);
            stage.deliver_among(&[2, 3, 4]);
            for at in [3, 4] {
                stage.command(at, Input::Beat);
                stage.deliver_among(&[2, 3, 4]);
            }
            let next = stage.told.iter().filter(|it| it.ends_with(" {2'1, 3'1, 4'1}"));
            assert_eq!(next.count(), views, "{:?}", stage.told);
        }
    }

    /// Whoever leaves has reported; whoever is replaced has not, though its next life is a member.
    #[test]
    fn a_member_is_gone_unless_it_has_reported_in_the_life_that_the_view_has() {
        let gone = |stage: &Stage| stage.nodes[0].views().gone().to_vec();
        let mut left = Stage::new();
        left.command(2, Input::Ask(Command::Leave));
        left.deliver_among(&[0, 1, 2]);
        assert_eq!(left.told[0], "0: view 2 {0, 1}");
        assert_eq!(gone(&left), []);
        let mut replaced = Stage::new();
        replaced.restart(2);
        replaced.deliver_among(&[0, 1, 2]);
        assert_eq!(replaced.told[0], "0: view 2 {0, 1, 2'1}");
        assert_eq!(gone(&replaced), [NodeId(2)]);
    }

    /// Five nodes of which each misses these; all tell all that hear them, again and again.
    fn missing(missed: [&[u32]; 5]) -> Stage {
        const FIVE: [NodeId; 5] = [NodeId(0), NodeId(1), NodeId(2), NodeId(3), NodeId(4)];
        let mut stage =
            Stage::of(5, |id| Replica::new(Views::new(id, Group::of(5), &FIVE).without_state()));
        for (at, of) in missed.iter().enumerate() {
            stage.suspect(&[at as u32], of);
        }
        for at in (0..4).flat_map(|_| 0..5) {
            stage.command(at, Input::Beat);
            while !stage.flight.is_empty() {
                let (from, to, message) = stage.flight.remove(0);
                if !missed[to.index()].contains(&from.0) {
                    stage.happens(to.0, |node, fx| node.on_message(from, message, fx));
                }
            }
        }
        stage
    }

    #[test]
    fn every_member_knows_whether_most_hear_each_other() {
        let know = |stage: &Stage| -> Vec<bool> {
            stage.nodes.iter().map(|it| it.views().has_majority()).collect()
        };
        let say = |stage: &Stage| -> Vec<bool> {
            stage.nodes.iter().map(|it| it.views().health().has_majority).collect()
        };
        let one_link = missing([&[], &[2], &[1], &[], &[]]);
        assert!(one_link.told.contains(&"0: view 2 {0, 1, 3, 4}".to_owned()));
        assert_eq!(know(&one_link), [true; 5].to_vec());
        // Each hears two others, and no three hear each other.
        let ring = missing([&[2, 3], &[3, 4], &[0, 4], &[0, 1], &[1, 2]]);
        assert_eq!(ring.told, [""; 0], "no view follows");
        assert_eq!(know(&ring), [false; 5].to_vec());
        assert_eq!(say(&ring), [false; 5].to_vec());
        assert!(ring.nodes.iter().all(|it| !it.views().health().apart.is_empty()));
    }

    #[test]
    fn the_last_member_stays_until_another_comes() {
        let mut stage = Stage::new();
        for at in 0..3 {
            stage.command(at, Input::Ask(Command::Leave));
        }
        stage.deliver_among(&[0, 1, 2]);
        assert_eq!(stage.told, ["0: view 2 {0}", "1: out of the group", "2: out of the group"]);
        stage.told.clear();
        stage.command(1, Input::Ask(Command::Join));
        stage.deliver_among(&[0, 1, 2]);
        let last = stage.told.last().map(String::as_str);
        assert_eq!(last, Some("1: view 3 {1'2}"), "{:?}", stage.told);
        assert!(
            stage.nodes[1].on_command(Input::Ask(Command::Join), &mut Outbox::default()).is_err()
        );
        assert!(
            stage.nodes[0].on_command(Input::Ask(Command::Leave), &mut Outbox::default()).is_err()
        );
    }
}
