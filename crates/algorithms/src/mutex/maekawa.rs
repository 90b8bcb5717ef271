//! M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems", ACM Transactions on
//! Computer Systems 3(2), 1985, pp. 145–159, with the correction of B. A. Sanders, "The information
//! structure of distributed mutual exclusion algorithms", ACM TOCS 5(3), 1987, pp. 284–299.
//!
//! Every node has a quorum, and any two quorums meet; with the lines of a projective plane it takes
//! no more than about √N nodes. A node that wants to enter asks its quorum, and enters when all
//! members have locked themselves for it. An arbiter is locked for one request at a time. If an
//! older one comes, the arbiter inquires of the holder, and the holder relinquishes the lock unless
//! it may still get all: so a request that was told that it FAILED somewhere blocks no other.
//!
//! **Use it** where nodes are many and no one is to serve all: an entry takes messages in
//! proportion to √N, and so does the work of each node.
//!
//! ```text
//!   0  ──REQUEST(1)─────┬───────────────────────────────────────────▲─[ inside ]──►
//!                       │                                           │
//!   2  ──LOCKED(1)──┐   ▼─INQUIRE(1)──┐                ▲─LOCKED(1)──┘
//!                   │                 │                │
//!   1  ─────────────▼── refused ──────▼─RELINQUISH(1)──┘  waits for 2 again  ──►
//! ```
//!
//! | per entry, K in a quorum | cost |
//! | --- | --- |
//! | messages | 3(K−1) alone; about 4(K−1) under saturation; on average 6(K−1) + 3 at most |
//! | synchronisation delay | 2T; T where leaver or entrant is the only arbiter of both |
//! | response without contention | 2T + E |
//! | response under saturation | about N(2T + E) |
//!
//! A node that is not in its own quorum has K others to ask where others have K−1. Where a lock
//! must be given back first, a hand-over takes up to 4T. Any quorum system will do (`--quorum`),
//! and those who ask may be others than those who are asked.
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter. A node that stops, stops all in whose quorum it is.
//!
//! **Why it is safe.** Two inside have each the locks of a whole quorum. The quorums meet in an
//! arbiter, and that one is locked for one of them only: it locks itself for another when the first
//! has relinquished or left, and who has relinquished must wait to be locked again.
//!
//! **Why no request starves.** At every arbiter all requests but the oldest know that they are not
//! the oldest there, or have the lock and were asked for it: that is an invariant. Consider the
//! waiting requests that were refused nowhere; the oldest request of all is one of them. Each lock
//! that such a request lacks is held by a younger one, which was asked for it. So the youngest of
//! them lacks only locks of requests that were refused somewhere, and these give back what they are
//! asked for: one of them enters. A node that has left asks again with a later time, since clocks
//! advance with every request that a node makes or sees; so every request is the oldest of all at
//! some time, and from then on no arbiter that has it prefers another. Entries do not follow the
//! stamps: a younger request that has all its locks goes first.
//!
//! **Why 6(K−1) + 3.** Besides REQUEST, LOCKED and RELEASE, a request causes at each arbiter one
//! message more, to the oldest request before it or to itself: FAILED, or INQUIRE, after which a
//! RELINQUISH and a second LOCKED may follow. So there are three at most, also for the request to
//! the node's own arbiter, which itself takes no message. Often 5(K−1) is given, for a request that
//! inquires: but the second LOCKED counts as well.
//!
//! **Where we depart from the paper**, and from what lectures make of it. Each of these is needed,
//! and the flaws show what happens without it:
//! - A waiting request that an older one overtakes is told that it FAILED. In the paper it is not:
//!   it was the oldest when it came, so it was told nothing, and keeps its other locks for ever.
//! - A lock that was relinquished counts as FAILED until it is given again.
//! - When a FAILED comes, all inquiries that wait for an answer get one, not only one of them.
//! - What FAILED is remembered arbiter by arbiter, and forgotten when that arbiter gives its lock.
//! - An INQUIRE that overtakes its LOCKED waits for it. Messages of the paper keep their order.
//! - Every message names its request. An INQUIRE that crosses a RELEASE would else be remembered,
//!   and answered for the next request with a lock that belongs to another node by then.
//!
//! [`maekawa-basic`](super::maekawa_basic) has none of the rules against deadlock. The machine is
//! more general than this algorithm (see [`locking`](super::locking)): with other sets than quorums
//! it is that of Sanders.

use alloc::vec;

use vorrang_protocol::{Invariant, NodeId};

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::lemmas::locking::{
    nothing_is_kept_in_vain, one_lock_an_arbiter, those_in_the_way_are_told,
};
use super::locking::Locking;
use super::theory;
use crate::card::{Assumes, Span};
use crate::quorum::QuorumSchedule;
use crate::setup::Parameter;

/// One node.
pub type Maekawa = Locking<QuorumSchedule>;

/// The invariants of its proof.
pub const INVARIANTS: &[Invariant<Maekawa>] = &[
    Invariant { name: "one lock an arbiter", holds: one_lock_an_arbiter },
    Invariant { name: "those in the way are told", holds: those_in_the_way_are_told },
    Invariant { name: "nothing is kept in vain", holds: nothing_is_kept_in_vain },
];

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "maekawa",
    title: "Maekawa",
    solves: "mutual exclusion",
    citation: "Maekawa, ACM TOCS 3(2), 1985; Sanders, ACM TOCS 5(3), 1987",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::Quorum],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY
            .costs(|at| Span::between(theory::least_hand_over(at), theory::MOST_LOCKING_DELAY)),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_some(messages(at), at)),
    ],
    flaws: FLAWS,
    page: page!("maekawa.rs"),
};

/// Three messages for every other node in a quorum, without contention. Under saturation every
/// request is younger than the one that an arbiter is locked for, and told so, unless no other node
/// ever asks that arbiter.
fn messages(at: &Setting) -> Span {
    let alone = theory::of_quorums(at, |me, quorum| 3.0 * theory::others(me, quorum));
    if at.load == Load::Light || at.contenders == 1 {
        return alone;
    }
    let most = theory::of_quorums(at, |me, quorum| {
        let own = if quorum.contains(&me) { 3.0 } else { 0.0 };
        6.0 * theory::others(me, quorum) + own
    });
    let range = Span::between(alone.low, most.high);
    if at.contenders < at.nodes() {
        return range;
    }
    let system = theory::system(at);
    let mut asked = vec![0_u32; at.nodes() as usize];
    for id in at.setup.group.members() {
        for arbiter in system.all_of(id) {
            asked[arbiter.index()] += 1;
        }
    }
    let refused = |me: NodeId, quorum: &[NodeId]| {
        let is_shared = |it: &&NodeId| **it != me && asked[it.index()] > 1;
        3.0 * theory::others(me, quorum) + quorum.iter().filter(is_shared).count() as f64
    };
    match theory::of_quorums(at, refused).typical {
        Some(cost) => range.typically(cost),
        None => range,
    }
}

/// There and back, unless a node asks only itself. Under saturation all contenders take turns, so
/// that a request takes as long as all stays and hand-overs of a round.
fn response(at: &Setting) -> Span {
    let alone = theory::round_trip(at);
    match at.load {
        Load::Light | Load::Heavy if at.contenders == 1 => alone,
        Load::Light => alone,
        Load::Heavy => alone.or(theory::queue_of(at.contenders, theory::MOST_LOCKING_DELAY, at)),
    }
}

const FOUR: &[u32] = &[1, 1, 1, 1];
const FANO: (Parameter, &str) =
    (Parameter::Quorum, "sets:0-1-3,1-2-4,2-3-5,3-4-6,0-4-5,1-5-6,0-2-6");
const TWO_DESKS: (Parameter, &str) = (Parameter::Quorum, "sets:3-4,3-4,3-4,3-4,3-4");

/// Mistakes that are commonly printed; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "overtaken-not-told",
        what: "a waiting request that an older one overtakes is not told, as in the paper",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 1, 0, 0, 0]).fifo().given(&[FANO]),
    },
    Flaw {
        name: "given-back-forgotten",
        what: "a lock that was given back does not count as refused, so others are kept",
        breaks: "progress",
        shown_by: Demonstration::of(FOUR).fifo(),
    },
    Flaw {
        name: "one-inquiry-answered",
        what: "a refusal answers one of the inquiries before it, and not all",
        breaks: "progress",
        shown_by: Demonstration::of(FOUR).fifo(),
    },
    Flaw {
        name: "one-flag-for-all",
        what: "that a request was refused is one flag for all arbiters, which any lock clears",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 0, 0, 0, 0]).fifo().given(&[FANO]),
    },
    Flaw {
        name: "inquiry-outlives-request",
        what: "messages name no request, so that an inquiry may be answered by the next one",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 2, 0, 0]).fifo().given(&[TWO_DESKS]),
    },
    Flaw {
        name: "answered-before-locked",
        what: "an inquiry that overtakes its lock is answered, and then the lock is used",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 1, 0, 0, 0, 0]).given(&[FANO]),
    },
];

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;
    use crate::setup::Setup;

    /// What entries cost with quorums of so many nodes, of whom so many ask.
    fn at(quorum: &str, nodes: u32, contenders: u32, load: Load) -> Setting {
        let quorum = quorum.parse().unwrap();
        let setup = Setup { quorum, ..Setup::new(Group::of(nodes)) };
        Setting { setup, contenders, load, hold: 1.0 }
    }

    #[test]
    fn quorums_of_one_size_cost_the_same_for_all() {
        let cost = |load| messages(&at("plane", 13, 13, load));
        assert_eq!(cost(Load::Light), Span::exactly(9.0));
        assert_eq!(cost(Load::Heavy), Span::between(9.0, 21.0).typically(12.0));
        assert_eq!(messages(&at("grid", 10_000, 1, Load::Heavy)), Span::exactly(3.0 * 198.0));
    }

    #[test]
    fn quorums_of_several_sizes_cost_what_they_cost_on_average() {
        // {0, 1, 2}, {0, 1}, {0, 2}
        let cost = |load| messages(&at("grid", 3, 3, load));
        assert_eq!(cost(Load::Light), Span::between(3.0, 6.0).typically(4.0));
        assert_eq!(cost(Load::Heavy), Span::between(3.0, 15.0).typically(16.0 / 3.0));
        assert_eq!(cost(Load::Light).typical, Some((6.0 + 3.0 + 3.0) / 3.0));
        // Nobody else asks node 1 or node 2: they never refuse.
        let lonely = messages(&at("sets:0-1,0-2,0", 3, 3, Load::Heavy));
        assert_eq!(lonely.typical, Some((3.0 + 7.0 + 4.0) / 3.0));
    }

    #[test]
    fn who_asks_itself_alone_pays_nothing_and_who_is_not_asked_pays_for_all() {
        let central = at("singleton", 5, 5, Load::Light);
        assert_eq!(messages(&central), Span::between(0.0, 3.0).typically(2.4));
        assert_eq!(response(&central), Span::between(1.0, 3.0).typically(2.6));
        assert!(theory::least_hand_over(&central) <= 0.0, "it may enter again at once");
        let apart = at("sets:3-4,3-4,3-4,3-4,3-4", 5, 3, Load::Light);
        assert_eq!(messages(&apart), Span::exactly(6.0));
        assert_eq!(messages(&Setting { load: Load::Heavy, ..apart }), Span::between(6.0, 12.0));
        assert_eq!(messages(&at("grid", 1, 1, Load::Heavy)), Span::exactly(0.0));
    }
}
