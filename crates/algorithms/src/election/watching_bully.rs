//! Bully, with a leader that is watched.
//!
//! [Bully](super::bully) elects a leader when a node calls for an election; it leaves open which
//! node calls, and when. [A layer](super::watching) around it decides that: the leader sends
//! heartbeats, and a node that hears none in time calls. The module of the layer says why that is
//! safe and live.
//!
//! **Use it** where there is to be a leader at any time: a leader that crashes is replaced without
//! anybody's call.
//!
//! ```text
//!   0  ──▲──────────▲───────────────[ suspects 2 ]──ELECTION┬──▲──────▲──[ 1 leads ]──►
//!        │          │                                       │  │      │
//!   1  ──│─▲────────│─▲─────────────[ suspects 2 ]──ELECTION▼─ANSWER─COORDINATOR──HEARTBEAT──►
//!        │ │        │ │
//!   2  ──HEARTBEAT──HEARTBEAT──✗  (down)
//! ```
//!
//! | N nodes | cost |
//! | --- | --- |
//! | messages | N − 1 heartbeats in every period; an election as bully |
//! | duration | a period and 2T at most until a crash is noticed, then as bully |
//!
//! **Assumes** that a message takes no longer than a known time, and that none is lost or doubled.
//! Nodes may crash and come up again, and the network may fall apart: then every side has a leader,
//! and when it has healed, the leaders hear each other, and one is left.
//!
//! **Safe** as bully is. **Live**: as long as not all follow one leader, some node calls.

use core::time::Duration;

use vorrang_protocol::NodeId;

use super::bully::{self, Bully, Timeouts};
use super::card::{COUNTED, Card, DURATION, Demonstration, Flaw, Terms};
use super::watching::{Watched, settles};
use crate::card::Assumes;
use crate::setup::{Parameter, Setup};

impl Watched for Bully {
    fn of(me: NodeId, setup: &Setup) -> Self {
        Self::of(me, setup)
    }
    /// The leader knows it first.
    fn head_start(_: &Setup) -> Duration {
        Duration::ZERO
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "watching-bully",
    title: "Bully, watching its leader",
    solves: "election",
    citation: "after Garcia-Molina, 1982, and Chandra and Toueg, 1996",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Late, Parameter::Beat],
    terms: Terms { receipts: &["HEARTBEAT"], settles: Some(settling), ..Terms::PLAIN },
    theory: &[COUNTED.costs(bully::messages), DURATION.costs(bully::duration)],
    flaws: FLAWS,
    page: page!("watching_bully.rs"),
};

/// A node that was answered and gets no result asks again.
fn settling(setup: &Setup) -> Duration {
    let patience = Timeouts::new(setup.within, setup.late);
    let result = patience.result.map_or(Duration::ZERO, |result| result.max);
    settles(setup, patience.answer.max.saturating_add(result))
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "nobody-calls",
    what: "a node that suspects its leader does nothing: all follow a crashed one for ever",
    breaks: "agreement",
    shown_by: Demonstration::of(2, &[0]).crashing(1, 0),
}];
