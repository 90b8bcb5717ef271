//! The ring election, with a leader that is watched.
//!
//! The [ring election](super::ring_election) elects a leader when a node calls for it; it leaves
//! open which node calls, and when. [A layer](super::watching) around it decides that: the leader
//! sends heartbeats to all, and a node that hears none in time calls. The module of the layer says
//! why that is safe and live.
//!
//! **Use it** where there is to be a leader at any time, on a ring: a leader that crashes is
//! replaced without anybody's call.
//!
//! ```text
//!   0  ──▲─────[ suspects 2 ]──ELECTION[0]──┐   ┌─►COORDINATOR[1,0]──┐   ┌─►(stop)──▲──►
//!        │                                  ▼   │                    ▼   │          │
//!   1  ──│─▲───[ suspects 2 ]────────────ELECTION[1,0]───────────[ 1 leads ]─────HEARTBEAT──►
//!        │ │
//!   2  ──HEARTBEAT──✗  (down)
//! ```
//!
//! | N nodes | cost |
//! | --- | --- |
//! | messages | N − 1 heartbeats in every period; an election as the ring |
//! | duration | a period and 2T at most until a crash is noticed, then as the ring |
//!
//! **Assumes** that a message takes no longer than a known time, and that none is lost or doubled.
//! Nodes may crash and come up again, and the network may fall apart: then every side has a leader,
//! and when it has healed, the leaders hear each other, and one is left.
//!
//! **Safe** as the ring election is. **Live**: as long as not all follow one leader, some node
//! calls.

use core::time::Duration;

use vorrang_protocol::NodeId;

use super::card::{COUNTED, Card, DURATION, Demonstration, Flaw, Terms};
use super::ring_election::{self, RingElection, Timeouts};
use super::watching::{Watched, notices};
use crate::card::Assumes;
use crate::setup::{Parameter, Setup};

impl Watched for RingElection {
    fn of(me: NodeId, setup: &Setup) -> Self {
        Self::of(me, setup)
    }
    /// The result may still have to go all the way round to the leader, and other messages before
    /// it at every node.
    fn head_start(setup: &Setup) -> Duration {
        Timeouts::new(setup.group.size(), setup.within, setup.late).result.max
    }
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "watching-ring",
    title: "Ring election, watching its leader",
    solves: "election",
    citation: "after Tanenbaum, 1995, and Chandra and Toueg, 1996",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Late, Parameter::Ring, Parameter::Beat],
    terms: Terms {
        receipts: &["ACK", "HEARTBEAT"],
        sees_crashes: true,
        settles: Some(settling),
        ..Terms::PLAIN
    },
    theory: &[COUNTED.costs(ring_election::counted), DURATION.costs(ring_election::duration)],
    flaws: FLAWS,
    page: page!("watching_ring.rs"),
};

/// Three times as long as a result is waited for, and to notice twice who is missing or one too
/// many. After the last fault no list is lost any more, and one that begins then has all that are
/// up, so its result is the same as that of every other such list. By the end of the first wait all
/// that was said before has been heard, or is waited for no longer: whoever waited in vain calls.
/// By the end of the second, whoever follows a leader that was down when it was told of it suspects
/// it (its head start is as long), or two leaders have heard each other, and they call. By the end
/// of the third all have heard the result of that.
fn settling(setup: &Setup) -> Duration {
    let result = Timeouts::new(setup.group.size(), setup.within, setup.late).result.max;
    result.saturating_mul(3).saturating_add(notices(setup).saturating_mul(2))
}

/// Known mistakes; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "nobody-calls",
    what: "a node that suspects its leader does nothing: all follow a crashed one for ever",
    breaks: "agreement",
    shown_by: Demonstration::of(2, &[0]).crashing(1, 0),
}];
