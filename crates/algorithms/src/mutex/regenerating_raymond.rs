//! Raymond's tree, where a lost token is made anew.
//!
//! The token moves on [Raymond's tree](super::raymond), a balanced one of the live nodes. Around it
//! is [a layer](super::regenerating) that detects when the token is lost, with a crashed node or on
//! a link. A node that has waited for long asks which node uses the token. If none does, an elected
//! leader takes a census of the live nodes, and all start anew, in a new generation, with one
//! token. The module of the layer says why that is safe and live.
//!
//! **Use it** where nodes may crash, messages take no longer than a known time, and nodes are many:
//! an entry takes few messages.
//!
//! ```text
//!   0  ──[ waits ]──ASK─┬────────(no HAVE)──ELECTION─┬───────▲─QUERY▼──▲───INSTALL─▼──[ inside ]─►
//!                       │                            │       │      │  │           │
//!   1  ─────────────────▼────────────────────────────▼──COORDINATOR─┴STATUS────────┴────────────►
//!   2  ──[ token ]──✗  (down)
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | as Raymond's on a balanced tree; N whenever a node has waited for 4N T |
//! | a lost token besides | an election, then up to 3(N−1) |
//! | synchronisation delay | as Raymond's; after a crash 4N T, 2T, the election and 5T |
//!
//! **Assumes** that a message takes no longer than a known time T, that none is doubled, and that
//! of the census, QUERY and STATUS, no two in a row between two nodes are lost; all others may be.
//! Nodes may crash and come up again, having forgotten everything but the generation.
//!
//! **Safe**: at most one node has the token, and in every generation there is one. **Live**: a
//! waiting node repeats its request until there is a token.

use vorrang_protocol::{Group, NodeId};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, NOBODY, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::raymond::{self, Queue, Raymond};
use super::regenerating::{Inner, Renewable, flaws, kinds};
use super::theory::like;
use super::tree_token::{self, TreeToken};
use crate::card::Assumes;
use crate::setup::{Parameter, Setup};
use crate::topology::Topology;
use crate::topology::measure::towards;

impl Inner for tree_token::Message {
    const ALL_KINDS: &'static [&'static str] = kinds!("REQUEST", "TOKEN");
}

impl Renewable for Raymond {
    const GOES_ROUND: bool = false;
    type Settings = ();

    fn settings(_: &Setup) {}
    fn anew(me: NodeId, group: Group, holder: NodeId, (): ()) -> Self {
        let tree = TREE.tree(group).expect("there is a tree of every size");
        let way = towards(&tree, holder)[me.index()].unwrap_or(me);
        TreeToken::new(me, way, Queue::default())
    }
    fn has_token(&self) -> bool {
        TreeToken::has_token(self)
    }
    fn is_token(message: &tree_token::Message) -> bool {
        *message == tree_token::Message::Token
    }
}

const TREE: Topology = Topology::Tree(2);

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "regenerating-raymond",
    title: "Raymond's tree, lost tokens made anew",
    solves: "mutual exclusion",
    citation: "after Le Lann, 1977, and Garcia-Molina, 1982",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Holder],
    terms: Terms { tokens: &["TOKEN"], needs: NOBODY, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| like(&raymond::CARD, MESSAGES, at, on_a_tree(at))),
        SYNC_DELAY.costs(|at| like(&raymond::CARD, SYNC_DELAY, at, on_a_tree(at))),
        RESPONSE.costs(|at| like(&raymond::CARD, RESPONSE, at, on_a_tree(at))),
        BUSIEST.costs(|at| like(&raymond::CARD, BUSIEST, at, on_a_tree(at))),
    ],
    flaws: FLAWS,
    page: page!("regenerating_raymond.rs"),
};

const FLAWS: &[Flaw] =
    &flaws(Demonstration::of(&[0, 1, 1]).losing(1), Demonstration::of(&[1, 1]).losing(2).fifo());

fn on_a_tree(at: &Setting) -> Setup {
    Setup { topology: TREE, ..at.setup.clone() }
}
