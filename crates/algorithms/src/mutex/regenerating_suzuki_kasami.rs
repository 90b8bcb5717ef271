//! Suzuki–Kasami, where a lost token is made anew.
//!
//! A node without the token asks all live nodes, as in [Suzuki and Kasami's](super::suzuki_kasami)
//! algorithm. Around it is [a layer](super::regenerating) that detects when the token is lost, with
//! a crashed node or on a link. A node that has waited for long asks which node uses the token. If
//! none does, an elected leader takes a census of the live nodes, and all start anew, in a new
//! generation, with one token. The module of the layer says why that is safe and live.
//!
//! **Use it** where nodes may crash, messages take no longer than a known time, and the last node
//! inside is often the next.
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
//! | messages | as Suzuki–Kasami; N whenever a node has waited for 4N T |
//! | a lost token besides | an election, then up to 3(N−1) |
//! | synchronisation delay | as Suzuki–Kasami; after a crash 4N T, 2T, the election and 5T |
//!
//! **Assumes** that a message takes no longer than a known time T, that none is doubled, and that
//! of the census, QUERY and STATUS, no two in a row between two nodes are lost; all others may be.
//! Nodes may crash and come up again, having forgotten everything but the generation.
//!
//! **Safe**: at most one node has the token, and in every generation there is one. **Live**: a
//! waiting node repeats its request until there is a token.

use vorrang_protocol::{Group, NodeId};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, NOBODY, RESPONSE, SYNC_DELAY, Terms,
};
use super::regenerating::{Inner, Renewable, flaws, kinds};
use super::suzuki_kasami::{self, Phase, SuzukiKasami};
use super::theory::like;
use crate::card::Assumes;
use crate::setup::{Parameter, Setup};

impl Inner for suzuki_kasami::Message {
    const ALL_KINDS: &'static [&'static str] = kinds!("REQUEST", "PRIVILEGE");
}

impl Renewable for SuzukiKasami {
    const GOES_ROUND: bool = false;
    type Settings = ();

    fn settings(_: &Setup) {}
    fn anew(me: NodeId, group: Group, holder: NodeId, (): ()) -> Self {
        Self::new(me, group, holder)
    }
    fn has_token(&self) -> bool {
        matches!(self.phase, Phase::Holding(_) | Phase::Inside(_))
    }
    fn is_token(message: &suzuki_kasami::Message) -> bool {
        matches!(message, suzuki_kasami::Message::Privilege(_))
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "regenerating-suzuki-kasami",
    title: "Suzuki–Kasami, lost tokens made anew",
    solves: "mutual exclusion",
    citation: "after Le Lann, 1977, and Garcia-Molina, 1982",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Holder],
    terms: Terms { tokens: &["PRIVILEGE"], needs: NOBODY, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| like(&suzuki_kasami::CARD, MESSAGES, at, at.setup.clone())),
        SYNC_DELAY.costs(|at| like(&suzuki_kasami::CARD, SYNC_DELAY, at, at.setup.clone())),
        RESPONSE.costs(|at| like(&suzuki_kasami::CARD, RESPONSE, at, at.setup.clone())),
        BUSIEST.costs(|at| like(&suzuki_kasami::CARD, BUSIEST, at, at.setup.clone())),
    ],
    flaws: FLAWS,
    page: page!("regenerating_suzuki_kasami.rs"),
};

const FLAWS: &[Flaw] =
    &flaws(Demonstration::of(&[0, 1, 1]).losing(1), Demonstration::of(&[1, 1]).losing(2).fifo());
