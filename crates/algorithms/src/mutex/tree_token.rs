//! A token on a tree whose edges point to it: what Raymond's algorithm and Lift have in common.
//!
//! Both pass the token from neighbour to neighbour, turn the edges as it passes, and remember one
//! request a direction. They differ only in which request a node serves next, so that is a type
//! parameter: [`raymond`](super::raymond) serves in the order of arrival, [`lift`](super::lift)
//! round robin. The files of these two explain the algorithms; this one implements them.
//!
//! **Departs from the paper**: a token that does not come from where the edge points is not taken.
//! Between correct nodes there is none; over a network, a second one cannot be brought from
//! anywhere else. Neighbours are not looked up: a node of the group that asks is taken for one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
use core::hash::Hash;

use serde::{Deserialize, Serialize};
use vorrang_protocol::{
    Effects, Message as _, Never, NodeId, NodeSet, NodeState, Protocol, Refused, Situation,
    StateValue,
};

use super::{ALREADY_INSIDE, ALREADY_WAITING, Claim, Command, EXCLUSIVE_ONLY, NOT_INSIDE, Notice};

/// The messages between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A node on my side of the edge wants to enter.
    Request,
    /// Here it is.
    Token,
}

impl vorrang_protocol::Message for Message {
    const KINDS: &'static [&'static str] = &["REQUEST", "TOKEN"];
    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Token => 1,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())
    }
}

/// Those that a node must serve, each once: neighbours on behalf of all beyond them, and itself.
pub trait Clients: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// One more, unless it is there already.
    fn remember(&mut self, who: NodeId);
    /// Takes out the request that `me` serves next, after having served `last`.
    fn next(&mut self, me: NodeId, last: NodeId) -> Option<NodeId>;
    /// Whether it is empty.
    fn is_empty(&self) -> bool;
    /// They, under their name.
    fn state(&self) -> NodeState;
}

/// The state of a node's application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Nothing that matters here.
    Outside,
    /// Waits for the token.
    Waiting,
    /// Is inside.
    Inside,
}

/// One node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TreeToken<C> {
    me: NodeId,
    /// The neighbour towards the token, or this node if it has it.
    pub(super) holder: NodeId,
    /// Whether that neighbour was asked.
    pub(super) asked: bool,
    pub(super) phase: Phase,
    pub(super) clients: C,
}

impl<C: Clients> TreeToken<C> {
    /// A node from which the way to the token leads to `holder`, which is itself for the one that
    /// has it.
    pub const fn new(me: NodeId, holder: NodeId, clients: C) -> Self {
        Self { me, holder, asked: false, phase: Phase::Outside, clients }
    }

    pub(super) const fn has_token(&self) -> bool {
        self.me.0 == self.holder.0
    }

    /// The token is here.
    pub(super) const fn take(&mut self) {
        self.holder = self.me;
    }

    /// Serves the next after `last`, if there is a token to serve anyone with.
    pub(super) fn assign(&mut self, last: NodeId, fx: &mut impl Effects<Self>) {
        if !self.has_token() || self.phase == Phase::Inside {
            return;
        }
        let Some(next) = self.clients.next(self.me, last) else { return };
        self.asked = false;
        if next == self.me {
            self.phase = Phase::Inside;
            fx.notify(Notice::Entered);
        } else {
            self.holder = next;
            fx.send(next, Message::Token);
        }
    }

    /// Asks for the token, once, for all requests in the queue.
    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        if !self.has_token() && !self.clients.is_empty() && !self.asked {
            self.asked = true;
            fx.send(self.holder, Message::Request);
        }
    }
}

impl<C: Clients> Protocol for TreeToken<C> {
    type Message = Message;
    type Timer = Never;
    type Command = Command;
    type Notice = Notice;

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        match (command, self.phase) {
            (Command::Acquire(Claim::Exclusive), Phase::Outside) => {
                self.phase = Phase::Waiting;
                self.clients.remember(self.me);
            }
            (Command::Acquire(Claim::Exclusive), Phase::Waiting) => return Err(ALREADY_WAITING),
            (Command::Acquire(Claim::Exclusive), Phase::Inside) => return Err(ALREADY_INSIDE),
            (Command::Acquire(Claim::Shared | Claim::Group(_) | Claim::Of(_)), _) => {
                return Err(EXCLUSIVE_ONLY);
            }
            (Command::Release, Phase::Inside) => self.phase = Phase::Outside,
            (Command::Release, Phase::Outside | Phase::Waiting) => return Err(NOT_INSIDE),
        }
        self.assign(self.me, fx);
        self.ask(fx);
        Ok(())
    }

    fn on_message(&mut self, from: NodeId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request if from != self.me => self.clients.remember(from),
            Message::Token if from == self.holder => self.take(),
            Message::Request | Message::Token => return,
        }
        // The token comes back from where it was sent, so that direction was served last. An idle
        // token here has served this node, or none yet.
        let last = if message == Message::Token { from } else { self.me };
        self.assign(last, fx);
        self.ask(fx);
    }

    /// HOLDER, ASKED and whoever waits: Raymond's variables.
    fn state(&self) -> NodeState {
        let phase = match self.phase {
            Phase::Outside => "outside",
            Phase::Waiting => "waiting",
            Phase::Inside => "inside",
        };
        let is_here = self.holder == self.me;
        let holder: StateValue = if is_here { "self".into() } else { self.holder.into() };
        NodeState::new()
            .with("phase", phase)
            .with("holder", holder)
            .and(self.clients.state())
            .with("asked", self.asked)
    }
}

/// There is one token: one node has it, or it is under way.
pub(super) fn one_token<C: Clients>(at: &Situation<'_, TreeToken<C>>) -> Result<(), String> {
    let kept = at.up().filter(|(_, node)| node.has_token()).count();
    let under_way = at.messages().filter(|(.., message)| **message == Message::Token).count();
    match kept + under_way {
        1 => Ok(()),
        _ => Err(format!("{kept} nodes have a token, and {under_way} tokens are under way")),
    }
}

/// From every node the edges lead to the token, or to the edge that it is on.
pub(super) fn edges_lead_to_it<C: Clients>(at: &Situation<'_, TreeToken<C>>) -> Result<(), String> {
    let token = at.messages().find(|(.., message)| **message == Message::Token);
    let token = token.map(|(from, to, _)| (from, to));
    all_lead_to_it(at.up().map(|(id, _)| id), token, |id| Some(at.node(id).holder))
}

/// Whether from each of these the edges lead to the token, which may be on its way from one node to
/// another; `holder` is where a node's edge points, if it has one.
pub(super) fn all_lead_to_it(
    starts: impl Iterator<Item = NodeId>,
    token: Option<(NodeId, NodeId)>,
    holder: impl Fn(NodeId) -> Option<NodeId>,
) -> Result<(), String> {
    let is_on = |edge: (NodeId, NodeId)| token == Some(edge) || token == Some((edge.1, edge.0));
    let (mut arrive, mut way) = (NodeSet::EMPTY, Vec::new());
    for start in starts {
        let mut here = start;
        loop {
            let next = holder(here).filter(|_| !way.contains(&here));
            way.push(here);
            match next {
                Some(next) if next == here || is_on((here, next)) || arrive.contains(next) => break,
                Some(next) => here = next,
                None => {
                    return Err(format!("from node {start} the edges do not lead to the token"));
                }
            }
        }
        for id in way.drain(..) {
            arrive.insert(id);
        }
    }
    Ok(())
}

/// No neighbour is asked twice before it has sent the token.
pub(super) fn one_request_an_edge<C: Clients>(
    at: &Situation<'_, TreeToken<C>>,
) -> Result<(), String> {
    let mut edges: Vec<(NodeId, NodeId)> = at
        .messages()
        .filter(|(.., message)| **message == Message::Request)
        .map(|(from, to, _)| (from, to))
        .collect();
    edges.sort_unstable();
    match edges.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let (from, to) = pair[0];
            Err(format!("two requests of node {from} to node {to} are under way"))
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Outbox};

    use super::Message::{Request, Token};
    use super::*;
    use crate::mutex::raymond::Queue;

    type Node = TreeToken<Queue>;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const ENTERED: Effect<Node> = Effect::Notify(Notice::Entered);

    /// Node 1 of a tree in which it has the neighbours 0, 3 and 4; the token is towards `holder`.
    fn node(holder: u32) -> (Node, Outbox<Node>) {
        (TreeToken::new(NodeId(1), NodeId(holder), Queue::default()), Outbox::default())
    }
    fn send(to: u32, message: Message) -> Effect<Node> {
        Effect::Send { to: NodeId(to), message }
    }

    #[test]
    fn who_has_the_token_enters_without_a_message() {
        let (mut node, mut fx) = node(1);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(fx.take(), [ENTERED]);
        node.on_message(NodeId(3), Message::Request, &mut fx);
        assert_eq!(fx.take(), [], "not from inside");
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(3, Message::Token)]);
        assert_eq!(node.holder, NodeId(3), "the edge has turned");
    }

    #[test]
    fn however_many_want_it_the_token_is_asked_for_once() {
        let (mut node, mut fx) = node(0);
        node.on_message(NodeId(3), Message::Request, &mut fx);
        assert_eq!(fx.take(), [send(0, Message::Request)]);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        node.on_message(NodeId(4), Message::Request, &mut fx);
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn a_token_that_is_sent_away_is_asked_for_again_if_somebody_waits() {
        let (mut node, mut fx) = node(0);
        node.on_message(NodeId(3), Message::Request, &mut fx);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(0), Message::Token, &mut fx);
        assert_eq!(fx.take(), [send(3, Message::Token), send(3, Message::Request)]);
        node.on_message(NodeId(3), Message::Token, &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [], "nobody else: the token stays");
    }

    #[test]
    fn a_request_that_overtakes_the_token_waits_for_it() {
        let (mut node, mut fx) = node(0);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        node.on_message(NodeId(0), Message::Request, &mut fx);
        assert_eq!(fx.take(), []);
        node.on_message(NodeId(0), Message::Token, &mut fx);
        assert_eq!(fx.take(), [ENTERED]);
        node.on_command(Command::Release, &mut fx).unwrap();
        assert_eq!(fx.take(), [send(0, Message::Token)]);
    }

    #[test]
    fn a_token_from_elsewhere_and_a_doubled_request_change_nothing() {
        let (mut node, mut fx) = node(0);
        node.on_command(ACQUIRE, &mut fx).unwrap();
        fx.take();
        let before = node.clone();
        node.on_message(NodeId(3), Message::Token, &mut fx);
        assert_eq!((&node, fx.take()), (&before, alloc::vec![]));
        node.on_message(NodeId(3), Message::Request, &mut fx);
        let before = node.clone();
        node.on_message(NodeId(3), Message::Request, &mut fx);
        assert_eq!((node, fx.take()), (before, alloc::vec![]));
    }

    #[test]
    fn commands_at_the_wrong_moment_are_refused() {
        let (mut node, mut fx) = node(0);
        assert_eq!(node.on_command(Command::Release, &mut fx), Err(NOT_INSIDE));
        let shared = Command::Acquire(Claim::Shared);
        assert_eq!(node.on_command(shared, &mut fx), Err(EXCLUSIVE_ONLY));
        node.on_command(ACQUIRE, &mut fx).unwrap();
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_WAITING));
        node.on_message(NodeId(0), Message::Token, &mut fx);
        assert_eq!(node.on_command(ACQUIRE, &mut fx), Err(ALREADY_INSIDE));
    }

    #[test]
    fn what_the_proof_rests_on_is_seen_to_fail() {
        let at = |holders: [u32; 3], flight: &[(u32, u32, Message)]| {
            let node = |(id, holder)| TreeToken::new(NodeId(id), NodeId(holder), Queue::default());
            let nodes: alloc::vec::Vec<Node> = (0..).zip(holders).map(node).collect();
            let flight = flight.iter().map(|(a, b, it)| (NodeId(*a), NodeId(*b), it)).collect();
            let situation = Situation::new(nodes.iter().collect(), NodeSet::EMPTY, flight);
            [one_token, edges_lead_to_it, one_request_an_edge].map(|it| it(&situation).is_ok())
        };
        assert_eq!(at([0, 0, 0], &[]), [true; 3]);
        assert_eq!(at([1, 0, 0], &[(0, 1, Token)]), [true; 3]);
        assert_eq!(at([1, 0, 0], &[]), [false, false, true]);
        assert_eq!(at([0, 0, 0], &[(0, 1, Token)]), [false, true, true]);
        assert_eq!(at([0, 2, 1], &[]), [true, false, true]);
        assert_eq!(at([0, 0, 0], &[(1, 0, Request), (2, 0, Request)]), [true; 3]);
        assert_eq!(at([0, 0, 0], &[(1, 0, Request), (1, 0, Request)]), [true, true, false]);
    }
}
