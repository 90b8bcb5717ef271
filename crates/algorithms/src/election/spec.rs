//! The specification, independent of the algorithm.
//!
//! | property | says |
//! | --- | --- |
//! | `one leader` | no node takes the lead beside a leader that has been up all along |
//! | `legitimacy` | no node takes the lead while a higher node has been up all along |
//! | `termination` | when nothing more is bound to happen, everyone up who asked has been told |
//! | `agreement` | then all follow one leader, and that is the highest that is up |
//!
//! A [`Promise`] says which of these an algorithm keeps: where the highest is to lead, it may take
//! the lead from a lower one; where just one is to lead, nothing is said of the highest.
//!
//! A node that follows a crashed leader has not detected the crash yet: that is left to its
//! application, which then calls, unless nodes watch their leader themselves. A restarted node may
//! already lead while a lower one, which cannot know of it yet, still takes the lead; which of the
//! two wins, `agreement` checks.
//!
//! The same goes for nodes between which the network was cut: each side may have its leader, and
//! when it has healed, one of them may still find out that it leads. As long as it is cut, each
//! side must agree by itself, and who follows a node of another side has not noticed yet.
//!
//! Where nodes are linked by cables that come and go ([`Cables`]), every node is told of bus
//! resets, by their generations. `one leader` is judged by generation and component: two nodes do
//! not lead in one generation if a path of cables joins them whose nodes are all in that
//! generation. (Where a cable has just been plugged in between two groups, each has its leader,
//! until the reset reaches them.) When nothing more is bound to happen and both ends have noticed
//! every cable, all nodes of a component must be in one generation and follow one of themselves.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use vorrang_protocol::{Graph, Group, Monitor, NodeId, NodeSet, Obligation, Violation};

use super::cables::Cables;
use super::{Command, Notice};
use crate::partition::Cuts;

/// Which node is to lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Promise {
    /// The highest live node, and no other.
    Highest,
    /// The same in the end. Where messages may be late no node can know which others are up, so a
    /// lower one may lead until the highest is heard of.
    HighestAtLast,
    /// Any node, but only one.
    One,
}

/// All properties of an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leadership {
    promise: Promise,
    up: NodeSet,
    /// Up since the beginning.
    steady: NodeSet,
    /// Up, asked or came up again, and not yet told.
    owed: NodeSet,
    /// The leader that each node follows.
    follows: Vec<Option<NodeId>>,
    /// How often each has called, where an election is none before all have.
    calls: Option<Vec<u32>>,
    /// Where the network was ever cut.
    cuts: Cuts,
    /// Whether nodes find out by themselves that their leader is down.
    watches: bool,
    /// The cables, where these come and go.
    cables: Option<Cables>,
}

impl Leadership {
    /// All nodes are up and there is no leader.
    pub fn new(group: Group, promise: Promise) -> Self {
        let up: NodeSet = group.members().collect();
        let follows = vec![None; group.size() as usize];
        Self {
            promise,
            steady: up.clone(),
            up,
            owed: NodeSet::EMPTY,
            follows,
            calls: None,
            cuts: Cuts::NONE,
            watches: false,
            cables: None,
        }
    }

    /// The same, for an election that starts at all nodes: there is no obligation before the last
    /// has called as well.
    #[must_use]
    pub fn once_all_call(self) -> Self {
        Self { calls: Some(vec![0; self.follows.len()]), ..self }
    }

    /// The same, for nodes that watch their leader: a node that follows a crashed leader must
    /// detect it, and at any time all must agree eventually.
    #[must_use]
    pub fn watching(self) -> Self {
        Self { watches: true, ..self }
    }

    /// The same, for nodes that are linked by cables, plugged in along this tree.
    #[must_use]
    pub fn on_cables(self, tree: &Graph) -> Self {
        Self { cables: Some(Cables::new(tree)), ..self }
    }

    /// Whether two nodes can hear each other now.
    fn can_hear(&self, one: NodeId, other: NodeId) -> bool {
        self.cuts.is_on_one_side(one, other)
            && self.cables.as_ref().is_none_or(|cables| cables.are_joined(one, other))
    }

    /// Whether all have called who are up, as often as each other, and what happened to a cable was
    /// noticed at both ends.
    fn has_begun(&self) -> bool {
        self.cables.as_ref().is_none_or(Cables::are_noticed)
            && self.calls.as_ref().is_none_or(|calls| {
                let mut of_all = self.up.iter().map(|id| calls[id.index()]);
                let first = of_all.next();
                of_all.all(|often| Some(often) == first)
            })
    }

    fn leads(&self, id: NodeId) -> bool {
        self.follows[id.index()] == Some(id)
    }

    /// A node takes the lead: who says that it must not?
    fn on_lead(&self, at: NodeId) -> Result<(), Violation> {
        let steady = || self.steady.iter().filter(|&other| self.cuts.could_hear(at, other));
        let is_beaten = |other: NodeId| other > at || self.promise == Promise::One;
        let is_rival = |other: NodeId| {
            let cables = self.cables.as_ref();
            cables.is_none_or(|cables| cables.share_generation(at, other))
        };
        let beside =
            |other: NodeId| other != at && is_beaten(other) && self.leads(other) && is_rival(other);
        if let Some(other) = steady().find(|&other| beside(other)) {
            let what = format!("node {at} took the lead, and so has node {other}");
            return Err(Violation { property: "one leader", what });
        }
        match steady().find(|&other| other > at) {
            Some(higher) if self.promise == Promise::Highest => {
                let what = format!("node {at} took the lead, but node {higher} was up all along");
                Err(Violation { property: "legitimacy", what })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Nodes that follow a wrong leader, or none, each with the violation.
    fn divided(&self) -> Vec<(NodeId, String)> {
        let mut rest: Vec<NodeId> = self.up.iter().collect();
        let mut all = Vec::new();
        while let Some(&first) = rest.first() {
            let (side, others): (Vec<NodeId>, Vec<NodeId>) =
                rest.into_iter().partition(|&node| self.can_hear(first, node));
            rest = others;
            let follows = |node: &NodeId| self.follows[node.index()];
            let leader = side.iter().filter_map(follows).find(|leader| side.contains(leader));
            let objects = |&node: &NodeId| {
                let is_behind = || self.cables.as_ref()?.lags(node);
                Some((node, self.objection(node, leader).or_else(is_behind)?))
            };
            all.extend(side.iter().filter_map(objects));
        }
        all
    }

    /// What is wrong with the leader that a node follows in the end, if this one leads.
    fn objection(&self, node: NodeId, leader: Option<NodeId>) -> Option<String> {
        let follows = self.follows[node.index()];
        let is_lost = |other: &NodeId| !self.up.contains(*other) || !self.can_hear(node, *other);
        let must_notice = self.watches || self.cables.is_some();
        match (follows, leader) {
            (None, Some(leader)) => {
                Some(format!("node {node} was not told that node {leader} leads"))
            }
            (Some(other), _) if is_lost(&other) => must_notice.then(|| {
                format!("node {node} follows node {other}, which is down or cannot be heard")
            }),
            (Some(other), Some(leader)) if other != leader => {
                Some(format!("node {node} follows node {other}, others follow node {leader}"))
            }
            (Some(_), Some(leader)) if node > leader && self.promise != Promise::One => {
                Some(format!("node {node} is up and higher than its leader {leader}"))
            }
            (None | Some(_), None) | (Some(_), Some(_)) => None,
        }
    }
}

impl Monitor for Leadership {
    type Command = Command;
    type Notice = Notice;
    type Tag = ();

    /// A caller believes that there is no leader, itself included; and so does one that notices a
    /// cable.
    fn on_command(&mut self, at: NodeId, command: &Command) -> Result<(), Violation> {
        self.owed.insert(at);
        self.follows[at.index()] = None;
        match (command, &mut self.calls, &mut self.cables) {
            (Command::Elect, Some(calls), _) => calls[at.index()] += 1,
            (Command::Plug(peer), _, Some(cables)) => cables.plug(at, *peer),
            (Command::Unplug(peer), _, Some(cables)) => cables.unplug(at, *peer),
            (Command::Elect | Command::Plug(_) | Command::Unplug(_), _, _) => {}
        }
        Ok(())
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) -> Result<(), Violation> {
        match notice {
            Notice::Leader(leader) => {
                self.owed.remove(at);
                self.follows[at.index()] = Some(*leader);
                if *leader == at { self.on_lead(at) } else { Ok(()) }
            }
            Notice::Reset(generation) => {
                self.owed.insert(at);
                self.follows[at.index()] = None;
                if let Some(cables) = &mut self.cables {
                    cables.enter(at, *generation);
                }
                Ok(())
            }
        }
    }

    fn at_rest(&self) -> Result<(), Violation> {
        if !self.has_begun() {
            return Ok(());
        }
        if let Some(node) = self.owed.iter().next() {
            let what = format!("node {node} was never told who leads");
            return Err(Violation { property: "termination", what });
        }
        match self.divided().into_iter().next() {
            Some((_, what)) => Err(Violation { property: "agreement", what }),
            None => Ok(()),
        }
    }

    fn obligations(&self) -> Vec<Obligation> {
        if !self.has_begun() {
            return Vec::new();
        }
        let debt = |property| move |to| Obligation { to, property };
        let mut owed: Vec<Obligation> = self.owed.iter().map(debt("termination")).collect();
        // Others come to rest, and are judged then.
        if self.watches {
            owed.extend(self.divided().into_iter().map(|(to, _)| to).map(debt("agreement")));
        }
        owed
    }

    fn on_crash(&mut self, at: NodeId) {
        self.up.remove(at);
        self.steady.remove(at);
        self.owed.remove(at);
        self.follows[at.index()] = None;
    }

    fn on_restart(&mut self, at: NodeId) {
        self.up.insert(at);
        self.owed.insert(at);
    }

    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.cuts.on_cut(sides);
    }

    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.cuts.on_heal(sides);
    }

    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.cuts.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.cuts.on_link_mended(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(monitor: &mut Leadership, at: u32, leader: u32) -> Result<(), Violation> {
        monitor.on_notice(NodeId(at), &Notice::Leader(NodeId(leader)))
    }

    fn three() -> Leadership {
        Leadership::new(Group::of(3), Promise::Highest)
    }

    #[test]
    fn the_highest_that_is_up_may_lead() {
        let mut monitor = three();
        monitor.on_crash(NodeId(2));
        monitor.on_command(NodeId(0), &Command::Elect).unwrap();
        told(&mut monitor, 1, 1).unwrap();
        told(&mut monitor, 0, 1).unwrap();
        monitor.at_rest().unwrap();
    }

    #[test]
    fn nobody_leads_below_one_that_was_up_all_along() {
        let violation = told(&mut three(), 1, 1).unwrap_err();
        assert_eq!(violation.property, "legitimacy");
        assert!(violation.what.contains("node 2 was up all along"));
        let mut monitor = three();
        monitor.on_crash(NodeId(2));
        monitor.on_restart(NodeId(2));
        told(&mut monitor, 1, 1).expect("node 2 was down for a while");
        let mut late = Leadership::new(Group::of(3), Promise::HighestAtLast);
        told(&mut late, 1, 1).expect("nobody can know that node 2 is up");
    }

    #[test]
    fn two_do_not_lead_at_a_time() {
        for promise in [Promise::Highest, Promise::HighestAtLast, Promise::One] {
            let mut monitor = Leadership::new(Group::of(3), promise);
            told(&mut monitor, 2, 2).unwrap();
            told(&mut monitor, 2, 2).expect("it is told again");
            let mut apart = monitor.clone();
            let violation = told(&mut monitor, 1, 1).unwrap_err();
            assert_eq!(violation.property, "one leader");
            assert_eq!(violation.what, "node 1 took the lead, and so has node 2");
            apart.on_crash(NodeId(2));
            told(&mut apart, 1, 1).expect("the other is down");
        }
    }

    #[test]
    fn a_higher_one_takes_the_lead_only_where_the_highest_is_to_lead() {
        let mut late = Leadership::new(Group::of(3), Promise::HighestAtLast);
        told(&mut late, 0, 0).unwrap();
        told(&mut late, 1, 1).expect("that is what the highest does");
        let mut once = Leadership::new(Group::of(3), Promise::One);
        told(&mut once, 0, 0).expect("it need not be the highest");
        assert_eq!(told(&mut once, 1, 1).unwrap_err().property, "one leader");
    }

    #[test]
    fn whoever_calls_gives_up_the_lead() {
        let mut monitor = Leadership::new(Group::of(3), Promise::One);
        told(&mut monitor, 0, 0).unwrap();
        monitor.on_command(NodeId(0), &Command::Elect).unwrap();
        told(&mut monitor, 1, 1).expect("nobody leads");
    }

    #[test]
    fn whoever_asked_or_came_up_again_must_be_told() {
        let mut monitor = three();
        monitor.on_command(NodeId(0), &Command::Elect).unwrap();
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
        monitor.on_crash(NodeId(0));
        monitor.at_rest().expect("nobody is owed anything who is down");
        monitor.on_restart(NodeId(0));
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
    }

    #[test]
    fn nobody_is_owed_anything_before_all_have_called_where_all_must() {
        let mut monitor = Leadership::new(Group::of(2), Promise::One).once_all_call();
        let call = |monitor: &mut Leadership, node| {
            monitor.on_command(NodeId(node), &Command::Elect).unwrap();
        };
        call(&mut monitor, 0);
        monitor.at_rest().expect("node 1 has not noticed yet");
        assert!(monitor.obligations().is_empty());
        call(&mut monitor, 1);
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
        assert_eq!(monitor.obligations().len(), 2);
        told(&mut monitor, 0, 0).unwrap();
        told(&mut monitor, 1, 0).unwrap();
        call(&mut monitor, 1);
        monitor.at_rest().expect("node 0 has not noticed yet");
        call(&mut monitor, 0);
        told(&mut monitor, 1, 1).unwrap();
        assert_eq!(monitor.obligations(), [Obligation { to: NodeId(0), property: "termination" }]);
        call(&mut monitor, 0);
        monitor.at_rest().expect("node 1 has not noticed this");
        monitor.on_crash(NodeId(1));
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination", "nor ever will");
    }

    #[test]
    fn all_follow_the_same_and_that_is_the_highest() {
        let mut divided = three();
        told(&mut divided, 2, 2).unwrap();
        told(&mut divided, 1, 2).unwrap();
        let violation = divided.at_rest().unwrap_err();
        assert_eq!(violation.property, "agreement");
        assert_eq!(violation.what, "node 0 was not told that node 2 leads");
        told(&mut divided, 0, 1).unwrap();
        assert!(divided.at_rest().unwrap_err().what.contains("follow"), "one follows another");
        told(&mut divided, 0, 2).unwrap();
        divided.at_rest().unwrap();
        let mut lower = Leadership::new(Group::of(3), Promise::HighestAtLast);
        let mut anybody = Leadership::new(Group::of(3), Promise::One);
        for node in 0..3 {
            told(&mut lower, node, 1).unwrap();
            told(&mut anybody, node, 1).unwrap();
        }
        let violation = lower.at_rest().unwrap_err();
        assert_eq!(violation.what, "node 2 is up and higher than its leader 1");
        anybody.at_rest().expect("one is as good as another");
    }

    #[test]
    fn each_side_of_a_network_that_is_cut_has_its_leader_and_in_the_end_there_is_one() {
        let ids = |nodes: &[u32]| nodes.iter().copied().map(NodeId).collect::<Vec<_>>();
        let mut monitor = Leadership::new(Group::of(5), Promise::Highest);
        let sides = [ids(&[0, 1])];
        monitor.on_cut(&sides);
        told(&mut monitor.clone(), 0, 0).expect_err("node 1 is on the same side");
        told(&mut monitor.clone(), 3, 3).expect_err("node 4 is, too: they are named on none");
        for node in 0..5 {
            told(&mut monitor, node, if node < 2 { 1 } else { 4 }).unwrap();
        }
        monitor.at_rest().expect("each side agrees");
        let mut divided = monitor.clone();
        told(&mut divided, 3, 2).unwrap();
        assert_eq!(divided.at_rest().unwrap_err().property, "agreement", "within a side");
        let mut unaware = monitor.clone();
        told(&mut unaware, 0, 4).unwrap();
        unaware.at_rest().expect("node 0 has yet to notice that node 4 is cut off");
        monitor.on_heal(&[ids(&[0])]);
        monitor.at_rest().expect("that was another cut");
        monitor.on_heal(&sides);
        assert_eq!(monitor.at_rest().unwrap_err().property, "agreement", "they hear each other");
        told(&mut monitor, 1, 1).expect("its time-out may have begun before");
        for node in 0..2 {
            told(&mut monitor, node, 4).unwrap();
        }
        monitor.at_rest().unwrap();
    }

    /// Four in a line, all in the same generation.
    fn cabled() -> Leadership {
        let line = Graph::new(Group::of(4), [(0, 1), (1, 2), (2, 3)].map(pair));
        let mut monitor = Leadership::new(Group::of(4), Promise::One).on_cables(&line);
        for node in 0..4 {
            reset(&mut monitor, node, 1);
        }
        monitor
    }

    fn pair((one, other): (u32, u32)) -> (NodeId, NodeId) {
        (NodeId(one), NodeId(other))
    }

    fn reset(monitor: &mut Leadership, node: u32, generation: u32) {
        monitor.on_notice(NodeId(node), &Notice::Reset(generation)).unwrap();
    }

    fn unplug(monitor: &mut Leadership, node: u32, peer: u32, generation: u32) {
        monitor.on_command(NodeId(node), &Command::Unplug(NodeId(peer))).unwrap();
        reset(monitor, node, generation);
    }

    #[test]
    fn whoever_was_told_of_a_bus_reset_must_be_told_who_leads() {
        let mut monitor = cabled();
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
        for node in 0..4 {
            told(&mut monitor, node, 2).unwrap();
        }
        monitor.at_rest().unwrap();
        reset(&mut monitor, 0, 2);
        assert_eq!(monitor.at_rest().unwrap_err().what, "node 0 was never told who leads");
        told(&mut monitor, 0, 2).unwrap();
        let behind = monitor.at_rest().unwrap_err();
        assert_eq!(behind.property, "agreement");
        assert_eq!(behind.what, "node 1 is in generation 1, and node 0 in 2");
    }

    #[test]
    fn two_lead_only_in_different_components_or_generations() {
        let mut monitor = cabled();
        told(&mut monitor, 0, 0).unwrap();
        told(&mut monitor.clone(), 3, 3).expect_err("the same generation, the same cables");
        let mut later = monitor.clone();
        reset(&mut later, 3, 2);
        told(&mut later, 3, 3).expect("the news of the reset has not reached node 0");
        let mut apart = monitor.clone();
        unplug(&mut apart, 1, 2, 2);
        unplug(&mut apart, 2, 1, 2);
        reset(&mut apart, 3, 2);
        reset(&mut apart, 0, 2);
        told(&mut apart, 3, 3).unwrap();
        told(&mut apart, 0, 0).expect("another component");
        told(&mut apart.clone(), 1, 1).expect_err("the same component");
        told(&mut apart, 2, 3).unwrap();
        told(&mut apart, 1, 0).unwrap();
        apart.at_rest().unwrap();
        told(&mut apart, 1, 3).unwrap();
        let lost = apart.at_rest().unwrap_err();
        assert_eq!(lost.what, "node 1 follows node 3, which is down or cannot be heard");
    }

    #[test]
    fn nothing_is_judged_before_both_ends_have_noticed_a_cable() {
        let mut monitor = cabled();
        unplug(&mut monitor, 1, 2, 2);
        monitor.at_rest().expect("node 2 has yet to notice");
        assert!(monitor.obligations().is_empty());
        unplug(&mut monitor, 2, 1, 2);
        assert_eq!(monitor.at_rest().unwrap_err().property, "termination");
    }

    #[test]
    fn whoever_watches_its_leader_is_owed_another_when_that_is_down() {
        let mut monitor = three().watching();
        assert!(monitor.obligations().is_empty(), "nobody has called");
        for node in 0..3 {
            told(&mut monitor, node, 2).unwrap();
        }
        assert!(monitor.obligations().is_empty());
        monitor.on_crash(NodeId(2));
        let agreement = |to| Obligation { to: NodeId(to), property: "agreement" };
        assert_eq!(monitor.obligations(), [agreement(0), agreement(1)]);
        let what = monitor.at_rest().unwrap_err().what;
        assert_eq!(what, "node 0 follows node 2, which is down or cannot be heard");
        told(&mut monitor, 1, 1).unwrap();
        assert_eq!(monitor.obligations(), [agreement(0)]);
        told(&mut monitor, 0, 1).unwrap();
        monitor.at_rest().unwrap();
        monitor.on_restart(NodeId(2));
        let owed = monitor.obligations();
        assert_eq!(owed[0], Obligation { to: NodeId(2), property: "termination" });
        assert_eq!(owed[1], agreement(2), "and it is to be told");
    }

    #[test]
    fn a_leader_that_is_down_is_followed_until_somebody_asks() {
        let mut monitor = three();
        for node in 0..3 {
            told(&mut monitor, node, 2).unwrap();
        }
        monitor.on_crash(NodeId(2));
        monitor.at_rest().expect("nobody has noticed yet");
        monitor.on_restart(NodeId(2));
        told(&mut monitor, 2, 2).unwrap();
        monitor.at_rest().expect("the others follow it still");
        monitor.on_crash(NodeId(2));
        told(&mut monitor, 1, 1).unwrap();
        monitor.at_rest().expect("node 0 has yet to notice that node 2 is down");
    }
}
