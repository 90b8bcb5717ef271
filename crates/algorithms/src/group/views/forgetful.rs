//! Views without stable storage: what a node is that has forgotten all, and how a group is founded
//! by such. Why it is right stands with [the whole](crate::group::virtual_synchrony).

use alloc::vec::Vec;

use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
use vorrang_protocol::{Effects, Group, GroupHealth, GroupView, NodeId, NodeSet};

use super::Views;
use super::voting::Voting;
use crate::group::decision::Decision;
use crate::group::founding::Founding;
use crate::group::message::{Install, Message};
use crate::group::shown::Shown;
use crate::group::view::{Member, View};

impl<B: Shown, I: Shown, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// A node without stable storage, which knows of no group: it comes in when it asks to. It has
    /// never been in a life of this number, nor of a larger one: of that its maker must be sure,
    /// and a clock will do. Of the [founders](Founding) one is to found the group, if there is
    /// none. See [the whole](crate::group::virtual_synchrony) for what it may not do that
    /// others may.
    pub fn forgetful(
        me: NodeId,
        universe: Group,
        incarnation: u64,
        founding: Option<Founding>,
    ) -> Self {
        Self {
            forgets: true,
            founding,
            incarnation,
            wants: false,
            last: Install::first(View::NONE),
            ..Self::new(me, universe, &[me])
        }
    }

    /// A node with stable storage that has never been in a group: as a
    /// [forgetful](Self::forgetful) one, it comes in when it asks to, but views name their
    /// [voters](crate::group::voters). The founders found the group once, and are its first voters.
    /// Whoever else is a member has no vote until it is given one, so that until then it does not
    /// matter whether its storage outlives it.
    pub fn remembering(me: NodeId, universe: Group, incarnation: u64, founding: Founding) -> Self {
        let node = Self::forgetful(me, universe, incarnation, Some(founding));
        let voting = Voting::default().in_directory(Some(incarnation));
        Self { forgets: false, voting, ..node }
    }

    /// The same, and it wants to be a member from the start.
    #[must_use]
    pub fn joining(self) -> Self {
        Self { wants: true, ..self }
    }

    /// The same without stable storage: a crash takes all along. The first view it knows all the
    /// same, in its first life.
    #[must_use]
    pub fn without_storage(self) -> Self {
        Self { forgets: true, ..self }
    }

    /// The same in this life. In a later one than the first it knows of no view: there may be
    /// others by now.
    pub(in crate::group) fn in_life(self, life: u64) -> Self {
        if life == 0 {
            return self;
        }
        Self { incarnation: life, last: Install::first(View::NONE), ..self }
    }

    /// The state of such a node after a crash: whether it wanted to be a member, which its
    /// application will repeat, and the time, which has gone on.
    pub(super) fn remains(&self, fresh: Self) -> Self {
        let incarnation = self.incarnation + 1;
        let founding =
            fresh.founding.map(|it| Founding { view: it.view + (incarnation << 32), ..it });
        let last = Install::first(View::NONE);
        Self { incarnation, wants: self.wants, founding, last, ..fresh }
    }

    /// Writes what is on stable storage.
    pub(super) fn stored<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { incarnation, wants, last, voting, decision, .. } = self;
        (incarnation, voting.since, wants, last, decision.votes()).serialize(serializer)
    }

    /// This fresh node with what was there before a crash.
    pub(super) fn with_stored<'de, R: Deserializer<'de>>(
        self,
        stored: R,
    ) -> Result<Self, R::Error> {
        let (incarnation, since, wants, last, votes) =
            <(u64, Option<u64>, bool, Install<B, I>, D::Votes)>::deserialize(stored)?;
        // A clock may say more, and never counts if it says less.
        let incarnation = self.incarnation.max(incarnation + 1);
        let decision = self.decision.with_votes(votes);
        let voting = self.voting.in_directory(since);
        Ok(Self { incarnation, wants, last, voting, decision, ..self })
    }

    /// The newest view, and whether it belongs to it.
    pub fn newest_view(&self) -> GroupView {
        let Install { view, founded, .. } = &self.last;
        let (founded, is_in) = (*founded, self.is_inside());
        let lives = view.members.iter().map(|it| it.incarnation).collect();
        GroupView { view: view.id, founded, is_in, members: view.nodes().collect(), lives }
    }

    /// Whether enough of those are there who vote on the successor of the newest view.
    pub fn health(&self) -> GroupHealth {
        let (view, voters) = (&self.last.view, self.voters());
        let is_lost = |node: &NodeId| {
            let incarnation = view.incarnation_of(*node);
            let member = incarnation.map(|incarnation| Member { node: *node, incarnation });
            let has_forgotten = member.is_some_and(|member| self.is_over(member));
            (self.forgets && has_forgotten) || self.is_replaced(*node)
        };
        let lost: NodeSet = voters.iter().copied().filter(is_lost).collect();
        let is_suspected = |node: &NodeId| self.suspects.contains(*node) && !lost.contains(*node);
        let known = view.nodes().chain(voters.iter().copied());
        let suspected: NodeSet = known.filter(is_suspected).collect();
        let left: NodeSet = voters.iter().copied().filter(|it| !lost.contains(*it)).collect();
        let is_heard = |it: &NodeId| !suspected.contains(*it);
        let apart: NodeSet = self.left_out().iter().filter(is_heard).collect();
        let here: NodeSet = left.iter().filter(|it| is_heard(it) && !apart.contains(*it)).collect();
        GroupHealth {
            has_majority: self.decision.suffices(&voters, &here),
            apart,
            may_recover: self.decision.suffices(&voters, &left),
            is_stable: !self.forgets,
            voters: voters.into_iter().collect(),
            suspected,
            lost,
        }
    }

    /// With every heartbeat: founds the group, if it has waited for long enough.
    pub(super) fn found_in_time(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(founding) = &mut self.founding {
            founding.patience = founding.patience.saturating_sub(1);
        }
        self.found(fx);
    }

    /// Founds the group, if this node is to, all founders are up, and no member is left of any
    /// other group that is known: all its members have begun other incarnations since. A first
    /// start and a restart look alike to a node that forgets: so the view begins as after a crash
    /// of members that may still be inside by their leases.
    pub(super) fn found(&mut self, fx: &mut impl Effects<Self>) {
        let is_ripe = |it: &&Founding| self.wants && it.patience == 0;
        let Some(Founding { view, founders, .. }) = self.founding.as_ref().filter(is_ripe) else {
            return;
        };
        let is_left = self.last.view.members.iter().any(|&it| !self.is_over(it));
        // With stable storage the successor of every view but the first is voted on.
        let is_founded = !self.forgets && self.last.view.id > 0;
        // Another is in a view that is not known here yet, and will tell.
        let is_in_one = |(_, it): &(NodeId, _)| matches!(it, Message::Status(_));
        let is_told = self.early.iter().any(is_in_one);
        if is_left
            || is_founded
            || is_told
            || *view <= self.last.view.id
            || founders.iter().min() != Some(&self.me)
        {
            return;
        }
        let others = founders.iter().filter(|&&it| it != self.me);
        let lives = others.map(|&node| {
            let peer = self.peers.get(&node).filter(|peer| !peer.wants_out)?;
            Some(Member { node, incarnation: peer.incarnation })
        });
        let Some(mut members) = lives.collect::<Option<Vec<Member>>>() else { return };
        members.push(self.itself());
        members.sort_unstable();
        let Some(voters) = self.as_voters(&members) else { return };
        let gone = founders.clone();
        let first = Install { voters, gone, ..Install::first(View { id: *view, members }) };
        let others = first.view.nodes().filter(|&node| node != self.me);
        fx.broadcast(others, Message::NewView(first.clone()));
        self.install(first, fx);
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use vorrang_protocol::{Digest, Effect, Outbox, Protocol};

    use super::*;
    use crate::group::Payload;
    use crate::group::input::Input;
    use crate::group::synod::Synod;
    use crate::group::views::{Ask, Told};

    type Node = Views<Payload, Digest, Synod<Install<Payload, Digest>>>;
    type Flight = Vec<(NodeId, NodeId, <Node as Protocol>::Message)>;

    /// Of five nodes the first three are to found a group.
    fn node(id: NodeId, patience: u32, makes: fn(NodeId, Group, u64, Founding) -> Node) -> Node {
        let founders = [0, 1, 2].map(NodeId).to_vec();
        makes(id, Group::of(5), 0, Founding { view: 1000, founders, patience }).joining()
    }

    fn beat(nodes: &mut [Node], flight: &mut Flight) {
        for node in nodes.iter_mut() {
            let beat = |node: &mut Node, fx: &mut _| node.on_command(Input::Beat, fx).unwrap();
            happens(node, flight, Box::new(beat));
        }
        while !flight.is_empty() {
            let (from, to, message) = flight.remove(0);
            let Some(node) = nodes.iter_mut().find(|it| it.me == to) else { continue };
            happens(node, flight, Box::new(move |node, fx| node.on_message(from, message, fx)));
        }
    }

    type Act<'a> = Box<dyn FnOnce(&mut Node, &mut Outbox<Node>) + 'a>;

    /// Its application blocks as soon as it is told to.
    fn happens(node: &mut Node, flight: &mut Flight, act: Act<'_>) {
        let mut fx = Outbox::default();
        act(node, &mut fx);
        for effect in fx.take() {
            match effect {
                Effect::Send { to, message } => flight.push((node.me, to, message)),
                Effect::Notify(Told::Block) => {
                    let ok = Input::Ask(Ask::BlockOk(Digest(0)));
                    let block = |node: &mut Node, fx: &mut _| node.on_command(ok, fx).unwrap();
                    happens(node, flight, Box::new(block));
                }
                Effect::Notify(Told::Deliver(_) | Told::Installed { .. } | Told::Out { .. }) => {}
                Effect::SetTimer { timer, .. } | Effect::CancelTimer(timer) => match timer {},
            }
        }
    }

    fn views(nodes: &[Node]) -> Vec<u64> {
        nodes.iter().map(|it| it.view().id).collect()
    }

    fn remembers(me: NodeId, of: Group, life: u64, founding: Founding) -> Node {
        Node::remembering(me, of, life, founding)
    }

    fn forgets(me: NodeId, of: Group, life: u64, founding: Founding) -> Node {
        Node::forgetful(me, of, life, Some(founding))
    }

    #[test]
    fn founders_wait_and_do_not_found_beside_a_group_that_is_there() {
        let mut nodes: Vec<Node> = (0..3).map(|id| node(NodeId(id), 4, forgets)).collect();
        let mut flight = Flight::new();
        for _ in 0..2 {
            beat(&mut nodes, &mut flight);
            assert_eq!(views(&nodes), [0, 0, 0], "they wait");
        }
        // One that they did not know is in a view.
        let mut fourth = node(NodeId(3), 0, forgets);
        fourth.last = Install::first(View { id: 7, members: [fourth.itself()].to_vec() });
        fourth.on_start(&mut Outbox::default());
        nodes.push(fourth);
        for _ in 0..4 {
            beat(&mut nodes, &mut flight);
        }
        let ids = views(&nodes);
        assert!(ids.iter().all(|&id| id == ids[0] && (8..100).contains(&id)), "{ids:?}");
    }

    /// Nodes 3 and 4 have gone on by themselves; they are a majority of their view and hear each
    /// other.
    fn older_group() -> Vec<Node> {
        let mut older = [3, 4].map(|id| node(NodeId(id), 0, forgets)).to_vec();
        let members: Vec<Member> = older.iter().map(Node::itself).collect();
        for node in &mut older {
            node.last = Install::first(View { id: 7, members: members.clone() });
            node.on_start(&mut Outbox::default());
        }
        older
    }

    #[test]
    fn of_two_groups_that_meet_the_older_one_joins_the_other() {
        let (mut flight, mut older) = (Flight::new(), older_group());
        let mut nodes: Vec<Node> = (0..3).map(|id| node(NodeId(id), 0, forgets)).collect();
        for _ in 0..3 {
            beat(&mut older, &mut flight);
            beat(&mut nodes, &mut flight);
        }
        assert_eq!((views(&older), views(&nodes)), ([7; 2].to_vec(), [1000; 3].to_vec()));
        assert!(older[0].has_majority());
        nodes.append(&mut older);
        for _ in 0..5 {
            beat(&mut nodes, &mut flight);
        }
        let ids = views(&nodes);
        assert!(ids.iter().all(|&id| id == ids[0] && (1001..1100).contains(&id)), "{ids:?}");
        assert!(nodes.iter().all(Node::is_inside), "all are members");
    }

    #[test]
    fn with_storage_a_group_is_founded_once_and_all_founders_vote_in_any_life() {
        let mut nodes: Vec<Node> = (0..3).map(|id| node(NodeId(id), 0, remembers)).collect();
        let mut flight = Flight::new();
        beat(&mut nodes, &mut flight);
        beat(&mut nodes, &mut flight);
        assert_eq!(views(&nodes), [1000; 3]);
        nodes.push(node(NodeId(3), 0, remembers));
        for _ in 0..3 {
            beat(&mut nodes, &mut flight);
        }
        assert!(nodes.iter().all(Node::is_inside), "{:?}", views(&nodes));
        assert_eq!(nodes[3].voters(), [0, 1, 2].map(NodeId), "who joins has no vote");
        let before = nodes[0].view().id;
        // All crash at once; what they are to found has a larger number by now.
        for node in &mut nodes {
            let founding = node.founding.clone().map(|it| Founding { view: 1_000_000, ..it });
            let fresh = remembers(node.me, node.universe, 0, founding.unwrap());
            let restored = node.after_crash(fresh);
            node.clone_from(&restored);
            node.on_restart(&mut Outbox::default());
        }
        for _ in 0..4 {
            beat(&mut nodes, &mut flight);
        }
        let ids = views(&nodes);
        assert!(nodes.iter().all(Node::is_inside), "{ids:?}");
        assert!((before + 1..before + 9).contains(&ids[0]), "the same group: {ids:?}");
    }

    /// Without stable storage its vote is needed all the same: it is a half of the group, and the
    /// lowest.
    #[test]
    fn the_lowest_of_two_is_evicted_by_the_other_and_comes_back() {
        let founding = || Some(Founding { view: 1000, founders: [NodeId(0)].into(), patience: 0 });
        let made = |id| Node::forgetful(NodeId(id), Group::of(2), 0, founding()).joining();
        let (mut nodes, mut flight) = ([0, 1].map(made).to_vec(), Flight::new());
        for _ in 0..3 {
            beat(&mut nodes, &mut flight);
        }
        let before = nodes[0].view().clone();
        assert_eq!(before.members.len(), 2, "{before}");
        let evict = Input::Ask(Ask::Evict(NodeId(0)));
        let act = |node: &mut Node, fx: &mut _| node.on_command(evict, fx).unwrap();
        happens(&mut nodes[1], &mut flight, Box::new(act));
        for _ in 0..3 {
            beat(&mut nodes, &mut flight);
        }
        assert!(nodes.iter().all(Node::is_inside), "{:?}", views(&nodes));
        let after = nodes[0].view();
        assert_eq!(after.incarnation_of(NodeId(0)), Some(1), "in another life");
        assert_eq!(after.id, before.id + 2, "out, and in again");
    }

    #[test]
    fn a_group_knows_whether_enough_are_left() {
        let mut nodes: Vec<Node> = (0..3).map(|id| node(NodeId(id), 0, forgets)).collect();
        let mut flight = Flight::new();
        beat(&mut nodes, &mut flight);
        beat(&mut nodes, &mut flight);
        let mut fx = Outbox::default();
        let set = |ids: &[u32]| ids.iter().copied().map(NodeId).collect::<NodeSet>();
        let well = nodes[2].health();
        assert!(well.has_majority && well.may_recover && well.voters == set(&[0, 1, 2]));
        nodes[2].on_command(Input::Suspect(NodeId(0)), &mut fx).unwrap();
        nodes[2].on_command(Input::Suspect(NodeId(3)), &mut fx).unwrap();
        assert!(nodes[2].health().has_majority);
        assert_eq!(nodes[2].health().suspected, set(&[0]), "nobody has the place of 3");
        nodes[2].on_command(Input::Suspect(NodeId(1)), &mut fx).unwrap();
        let cut_off = nodes[2].health();
        assert!(!cut_off.has_majority && cut_off.may_recover, "{cut_off:?}");
        for node in [0, 1].map(NodeId) {
            let peer = super::super::Peer { incarnation: 99, wants_out: false };
            nodes[2].peers.insert(node, peer);
        }
        let over = nodes[2].health();
        assert!(!over.has_majority && !over.may_recover && over.lost == set(&[0, 1]), "{over:?}");
    }
}
