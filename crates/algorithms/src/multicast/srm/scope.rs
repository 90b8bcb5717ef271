//! How far a request and its repair go: section VIII of the paper, recovery by hop counts.

use alloc::sync::Arc;

use vorrang_protocol::NodeId;

use crate::multicast::ordered::carrier::links;
use crate::setup::Setup;

/// How far the first request for a message goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::multicast) struct Scope(Option<Neighbourhood>);

/// Those who are so few links away, if others are farther.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Neighbourhood {
    hops: u32,
    farthest: u32,
    links: Arc<[u32]>,
}

impl Scope {
    pub(in crate::multicast) fn of(me: NodeId, setup: &Setup) -> Self {
        let near = setup.scope.zip(links(me, setup)).map(|(hops, links)| {
            let farthest = links.iter().copied().max().unwrap_or(0);
            Neighbourhood { hops: hops.get(), farthest, links }
        });
        Self(near)
    }

    /// How many links a request of this member goes, if not to all: the first for a message.
    pub(in crate::multicast) fn of_request(&self, is_first: bool) -> Option<u32> {
        let near = self.0.as_ref().filter(|near| is_first && near.hops < near.farthest)?;
        Some(near.hops)
    }

    /// How many links a repair goes for this member, if not to all. A request that went h links
    /// has been heard no farther than h from there, so h and the way there are enough for all
    /// who have backed off on account of it.
    pub(in crate::multicast) fn reach(&self, by: NodeId, is_local: bool) -> Option<u32> {
        let near = self.0.as_ref().filter(|_| is_local)?;
        let reach = near.hops.saturating_add(near.links[by.index()]);
        (reach < near.farthest).then_some(reach)
    }

    /// Whether a member is no more than so many links away.
    pub(in crate::multicast) fn has(&self, other: NodeId, reach: u32) -> bool {
        self.0.as_ref().is_none_or(|near| near.links[other.index()] <= reach)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use vorrang_protocol::Group;

    use super::*;
    use crate::setup::Parameter;

    #[test]
    fn a_request_goes_so_many_links_and_its_repair_to_all_who_may_have_heard_it() {
        let mut setup = Setup::new(Group::of(7));
        setup.set(Parameter::Topology, "line").unwrap();
        setup.set(Parameter::Scope, "2").unwrap();
        let scope = Scope::of(NodeId(1), &setup);
        assert_eq!(scope.of_request(true), Some(2));
        assert_eq!(scope.of_request(false), None, "the next goes to all");
        let heard = |reach| (0..7).filter(move |&id| scope.has(NodeId(id), reach));
        assert_eq!(heard.clone()(2).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let scope = Scope::of(NodeId(1), &setup);
        assert_eq!(scope.reach(NodeId(3), true), Some(4), "3 was heard by 5, which is 4 away");
        assert_eq!(scope.reach(NodeId(4), true), None, "all are within 5");
        assert_eq!(scope.reach(NodeId(3), false), None, "who asks all is answered to all");
    }

    #[test]
    fn where_all_are_near_there_is_nothing_to_limit() {
        let mut setup = Setup::new(Group::of(5));
        setup.set(Parameter::Scope, "1").unwrap();
        assert_eq!(Scope::of(NodeId(0), &setup).of_request(true), None, "all are linked");
        setup.set(Parameter::Topology, "star").unwrap();
        assert_eq!(Scope::of(NodeId(0), &setup).of_request(true), None, "the hub");
        assert_eq!(Scope::of(NodeId(1), &setup).of_request(true), Some(1), "a leaf");
    }
}
