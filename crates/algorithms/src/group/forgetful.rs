//! Views without stable storage: what a node is that has forgotten all, and how a group is founded
//! by such. Why it is right stands with [the whole](super::virtual_synchrony).

use alloc::vec::Vec;

use vorrang_protocol::{Data, Effects, Group, NodeId};

use super::decision::Decision;
use super::message::{Install, Message};
use super::view::{Member, View};
use super::views::Views;

/// A group to be founded: by the lowest of these nodes, when all others of them have reported that
/// they are in no group, and no node is known to be in one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Founding {
    /// The number of the first view: larger than that of any view of a group that these nodes may
    /// have had and forgotten.
    pub view: u64,
    /// The nodes.
    pub founders: Vec<NodeId>,
}

impl<B: Data, I: Data, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// A node without stable storage, which knows of no group: it comes in when it asks to. It has
    /// never been in a life of this number, nor of a larger one: of that its maker must be sure,
    /// and a clock will do. Of the [founders](Founding) one is to found the group, if there is
    /// none. See [the whole](super::virtual_synchrony) for what it may not do that others may.
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
    pub(super) fn in_life(self, life: u64) -> Self {
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

    /// Whether it may promise and vote: without stable storage only as the member that the view
    /// has, since an earlier life of this node may have voted.
    pub(super) fn may_vote(&self, number: u64) -> bool {
        let view = &self.last.view;
        !self.forgets || (number == view.id && view.has(self.itself()))
    }

    /// Founds the group, if this node is to, all founders are up, and no member is left of any
    /// other group that is known: all its members have begun other incarnations since.
    pub(super) fn found(&mut self, fx: &mut impl Effects<Self>) {
        let Some(Founding { view, founders }) = self.founding.as_ref().filter(|_| self.wants)
        else {
            return;
        };
        let is_left = self.last.view.members.iter().any(|&it| !self.is_over(it));
        if is_left || *view <= self.last.view.id || founders.iter().min() != Some(&self.me) {
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
        let first = Install::first(View { id: *view, members });
        let others = first.view.nodes().filter(|&node| node != self.me);
        fx.broadcast(others, Message::NewView(first.clone()));
        self.install(first, fx);
    }
}
