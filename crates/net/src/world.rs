//! The links of a node.

use std::collections::VecDeque;

use vorrang_protocol::NodeId;

use crate::config::Limits;
use crate::link::Link;
use crate::resident::Post;
use crate::wire::WireError;

pub(crate) struct World {
    pub(crate) me: NodeId,
    /// By node; none for ourselves.
    pub(crate) links: Vec<Option<Link>>,
    /// Those with something to write, in the order in which that came about: whoever is answered
    /// first is, in most algorithms, the one that the others wait for.
    touched: VecDeque<NodeId>,
    limits: Limits,
    /// Those for whom too much waited, and nobody has said so yet.
    pub(crate) given_up: Vec<NodeId>,
}

impl World {
    pub(crate) fn new(me: NodeId, peers: &[String], limits: Limits) -> Self {
        let link = |(id, address): (u32, &String)| {
            let peer = NodeId(id);
            (peer != me).then(|| Link::new(peer, address.clone()))
        };
        Self {
            me,
            links: (0..).zip(peers).map(link).collect(),
            touched: VecDeque::new(),
            limits,
            given_up: Vec::new(),
        }
    }

    /// The links to all others.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().flatten()
    }

    pub(crate) fn others_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut().flatten()
    }

    /// There may be something to write to it.
    pub(crate) fn touch(&mut self, peer: NodeId) {
        if !std::mem::replace(&mut self.link(peer).is_touched, true) {
            self.touched.push_back(peer);
        }
    }

    pub(crate) fn touch_all(&mut self) {
        for link in self.links.iter_mut().flatten() {
            if !std::mem::replace(&mut link.is_touched, true) {
                self.touched.push_back(link.peer);
            }
        }
    }

    /// The next one with something to write.
    pub(crate) fn next_touched(&mut self) -> Option<NodeId> {
        let peer = self.touched.pop_front()?;
        self.link(peer).is_touched = false;
        Some(peer)
    }

    pub(crate) fn link(&mut self, peer: NodeId) -> &mut Link {
        self.links[peer.index()].as_mut().expect("a peer is never ourselves")
    }
}

impl Post for World {
    fn send(&mut self, to: NodeId, message: &[u8]) -> Result<Option<u64>, WireError> {
        let limits = self.limits;
        let link = self.link(to);
        let was_gone = link.is_gone();
        let seq = link.send(message, &limits)?;
        if seq.is_some() {
            self.touch(to);
        } else if !was_gone {
            self.given_up.push(to);
        }
        Ok(seq)
    }
}
