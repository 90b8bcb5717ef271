//! The token ring, where a lost token is made anew.
//!
//! The token goes round [the ring](super::token_ring), among the live nodes. Around it is [a
//! layer](super::regenerating) that detects when the token is lost, with a crashed node or on a
//! link. A node that has waited for long asks which node uses the token. If none does, an elected
//! leader takes a census of the live nodes, and all start anew, in a new generation, with one
//! token. The module of the layer says why that is safe and live.
//!
//! **Use it** where nodes may crash, messages take no longer than a known time, and most nodes want
//! in most of the time.
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
//! | messages | as the ring; N whenever a node has waited for 4N T |
//! | a lost token besides | an election, then up to 3(N−1) |
//! | synchronisation delay | as the ring; after a crash 4N T, 2T, the election and 5T |
//!
//! **Assumes** that a message takes no longer than a known time T, that none is doubled, and that
//! of the census, QUERY and STATUS, no two in a row between two nodes are lost; all others may be.
//! Nodes may crash and come up again, having forgotten everything but the generation.
//!
//! **Safe**: at most one node has the token, and in every generation there is one. **Live**: a
//! waiting node repeats its request until there is a token.

use core::time::Duration;

use vorrang_protocol::{Group, NodeId};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, NOBODY, RESPONSE, SYNC_DELAY, Terms,
};
use super::regenerating::{Inner, Renewable, flaws, kinds};
use super::theory::like;
use super::token_ring::{self, TokenRing};
use crate::card::Assumes;
use crate::setup::{Parameter, Setup};

impl Inner for token_ring::Message {
    const ALL_KINDS: &'static [&'static str] = kinds!("TOKEN");
}

impl Renewable for TokenRing {
    const GOES_ROUND: bool = true;

    /// How long a token stays at a node that does not need it.
    type Settings = Duration;

    fn settings(setup: &Setup) -> Duration {
        setup.rest
    }
    fn anew(me: NodeId, group: Group, holder: NodeId, rest: Duration) -> Self {
        Self::of(me, &Setup { holder, rest, ..Setup::new(group) })
    }
    fn has_token(&self) -> bool {
        self.has(0)
    }
    fn is_token(_: &token_ring::Message) -> bool {
        true
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "regenerating-ring",
    title: "Token ring, lost tokens made anew",
    solves: "mutual exclusion",
    citation: "after Le Lann, 1977, and Garcia-Molina, 1982",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Holder, Parameter::Rest],
    terms: Terms { perpetual: true, tokens: &["TOKEN"], needs: NOBODY, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| like(&token_ring::CARD, MESSAGES, at, at.setup.clone())),
        SYNC_DELAY.costs(|at| like(&token_ring::CARD, SYNC_DELAY, at, at.setup.clone())),
        RESPONSE.costs(|at| like(&token_ring::CARD, RESPONSE, at, at.setup.clone())),
        BUSIEST.costs(|at| like(&token_ring::CARD, BUSIEST, at, at.setup.clone())),
    ],
    flaws: FLAWS,
    page: page!("regenerating_ring.rs"),
};

const FLAWS: &[Flaw] =
    &flaws(Demonstration::of(&[1, 1, 1]), Demonstration::of(&[1, 1]).losing(2).fifo());
