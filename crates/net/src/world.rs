//! The links of a node.

use vorrang_protocol::NodeId;

use crate::config::Limits;
use crate::link::Link;
use crate::resident::Post;
use crate::wire::WireError;

pub(crate) struct World {
    pub(crate) me: NodeId,
    /// By node; none for ourselves.
    pub(crate) links: Vec<Option<Link>>,
    /// To whom the first message of this turn goes. It is written first: whoever is answered first
    /// is, in most algorithms, the one that the others wait for.
    pub(crate) first_receiver: Option<NodeId>,
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
            first_receiver: None,
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
            self.first_receiver.get_or_insert(to);
        } else if !was_gone {
            self.given_up.push(to);
        }
        Ok(seq)
    }
}
