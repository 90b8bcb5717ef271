//! Guohong Cao and Mukesh Singhal, "A delay-optimal quorum-based mutual exclusion algorithm for
//! distributed systems", IEEE Transactions on Parallel and Distributed Systems 12(12), 2001.
//!
//! Every node has a quorum of arbiters, and any two quorums meet. A node that wants in asks its
//! quorum and enters with the permission of every arbiter in it, of which each has one. As in
//! Maekawa's algorithm an arbiter prefers older requests, and asks for its permission back if an
//! older one comes; a request that must wait somewhere gives back the permissions that it is asked
//! for. But the permission does not return to the arbiter between two entries: the arbiter tells
//! its holder which request is next, and the holder forwards the permission directly when it
//! leaves.
//!
//! **Use it** instead of Maekawa's where many want in at once: the next node enters T after the
//! last has left, not 2T.
//!
//! ```text
//!   0  ───▲──[ inside ]───────▲─────────────REPLY(of 1)──┬──RELEASE──┬─────────────────────►
//!         │                   │                          │           │
//!   1   ──┴─REPLY      ▲──TRANSFER(to 2)──FAIL──┬────────│───────────▼   the arbiter
//!                      │                        │        │
//!   2      ──REQUEST───┴────────────────────────▼────────▼──[ inside ]──►  T after 0 has left
//! ```
//!
//! | per entry, K in a quorum | cost |
//! | --- | --- |
//! | messages | 3(K−1) without contention, about 5(K−1) under saturation |
//! | the same at most, on average over a run | 8(K−1) + 6 |
//! | synchronisation delay | T; 2T where the TRANSFER came too late |
//! | the same at most, where permissions must be given back first | 4T |
//! | response without contention | 2T + E |
//! | response under saturation | about N(T + E) |
//!
//! A node that is not in its own quorum has K others to ask where others have K−1. Any quorum
//! system will do (`--quorum`), and those who ask may be others than those who are asked.
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter, because a permission is numbered: its *epoch* is how often the arbiter's permission
//! has been given. A REPLY may come by way of a third node, so that FIFO links would not order it
//! with the arbiter's own messages anyway.
//!
//! **Why it is safe.** Every arbiter has one permission, in flight to a node, at a node, or in
//! flight back. A node that forwards it no longer has it, and the arbiter gives it out only when it
//! has got it back: from the node that it believes to have it, in the same epoch. A release of a
//! later epoch comes from a node to which the permission was forwarded; the arbiter keeps the
//! release until it learns of that. So two nodes inside would have different arbiters, and their
//! quorums would not meet.
//!
//! **Why no request starves.** A request that waits at an arbiter behind another knows it (FAIL),
//! or has yielded there, but for the oldest that waits, if it is older than the one that has the
//! permission; and that one was asked to give it back (INQUIRE, which rides on TRANSFER). Take the
//! oldest request of all: where it has no permission, a younger request has it, and was asked. That
//! one enters, and leaves, or waits elsewhere behind another: then it knows and gives it back.
//! Requests that come later are younger, since an arbiter's clock has seen all that wait there.
//!
//! A request that was handed a permission may turn out to be younger than one that came too late to
//! be named in time. That does no harm: the arbiter asks it to yield as soon as it hears of it. For
//! the same reason entries need not be in the order of the requests' times.
//!
//! **Why 8(K−1) + 6.** Besides REQUEST, REPLY and RELEASE, a request causes at an arbiter, when it
//! comes, a TRANSFER, and then a FAIL, or a YIELD and a second REPLY of the one that it displaces.
//! If the TRANSFER comes too late, the permission goes to one that waits behind it, and comes back
//! by a YIELD and has to go there again: that makes four. When it leaves, it causes another
//! TRANSFER, to the one that it hands over to. Of what a node tells its own arbiter REQUEST and
//! RELEASE cost nothing. The paper gives 6(K−1) at most; a test has a run of ten nodes that takes
//! more.
//!
//! **Where we depart from the paper**, and from what lectures make of it:
//! - An INQUIRE that comes before the permission that it is about is kept until that comes.
//! - A RELEASE that comes before the news of the hand-over to its sender is kept as well.
//! - A TRANSFER names an epoch. Else one about a request that is over would be taken for one about
//!   the next, and the permission would go to a node that has left long ago.
//! - The oldest waiting request is told FAIL if an older one comes, as in Maekawa's algorithm.
//! - INQUIRE is no message of its own: whenever there is reason for one a TRANSFER is sent.
//! - Of two TRANSFERs of one epoch the older request counts, which is the one that was named last.
//!
//! The flaws show what happens without the first four. What no correct node would send is dropped.

use vorrang_protocol::Invariant;

use super::card::{
    BUSIEST, Card, Demonstration, Flaw, Load, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use super::handing_on::lemmas::{nobody_hopes_in_vain, one_permission};
pub use super::handing_on::{CaoSinghal, Message};
use super::theory;
use crate::card::{Assumes, Span};
use crate::recipe::Recipe;
use crate::setup::Parameter;

/// The invariants of its proofs.
pub const INVARIANTS: &[Invariant<CaoSinghal>] = &[
    Invariant { name: "one permission", holds: one_permission },
    Invariant { name: "nobody hopes in vain", holds: nobody_hopes_in_vain },
];

/// The nodes of a set-up.
pub fn recipe() -> Recipe<CaoSinghal> {
    Recipe::new(|setup| {
        let (group, system) = (setup.group, setup.quorum.system(setup.group)?);
        Ok(move |id| CaoSinghal::new(id, group, system.schedule(id)))
    })
}

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "cao-singhal",
    title: "Cao–Singhal",
    solves: "mutual exclusion",
    citation: "Cao and Singhal, IEEE TPDS 12(12), 2001",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::Quorum],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(messages),
        SYNC_DELAY.costs(|at| Span::between(theory::least_hand_over(at), MOST_DELAY)),
        RESPONSE.costs(response),
        BUSIEST.costs(|at| theory::handled_by_some(messages(at), at)),
    ],
    flaws: FLAWS,
    page: page!("cao_singhal.rs"),
};

/// Three messages for every other node in a quorum, without contention.
fn messages(at: &Setting) -> Span {
    let alone = theory::of_quorums(at, |me, quorum| 3.0 * theory::others(me, quorum));
    if at.load == Load::Light || at.contenders == 1 {
        return alone;
    }
    let most = theory::of_quorums(at, |me, quorum| {
        let own = if quorum.contains(&me) { 6.0 } else { 0.0 };
        8.0 * theory::others(me, quorum) + own
    });
    Span::between(alone.low, most.high)
}

/// The time from an exit to the next entry at most, in T, if no request with an older stamp comes
/// meanwhile: as in Maekawa's algorithm, where permissions have gone to requests that cannot use
/// them yet. After one T all know the waiting requests, or are being told; after two all requests
/// that block others know it, after three their permissions are back, and after four where they are
/// needed.
const MOST_DELAY: f64 = 4.0;

/// There and back, unless a node asks only itself. Under saturation all contenders take turns.
fn response(at: &Setting) -> Span {
    let alone = theory::round_trip(at);
    match at.load {
        Load::Light => alone,
        Load::Heavy => alone.or(theory::queue_of(at.contenders, MOST_DELAY, at)),
    }
}

const RING: (Parameter, &str) = (Parameter::Quorum, "sets:0-1,1-2,0-2");
const TWO_DESKS: (Parameter, &str) = (Parameter::Quorum, "sets:3-4,3-4,3-4,3-4,3-4");
const ONE_OR_TWO_DESKS: (Parameter, &str) = (Parameter::Quorum, "sets:3,3-4,3-4,3-4,3-4");

/// Mistakes that are commonly printed; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "early-release-dropped",
        what: "a RELEASE that comes before the news of the hand-over to its sender is not kept",
        breaks: "progress",
        shown_by: Demonstration::of(&[2, 2, 1]).given(&[RING]),
    },
    Flaw {
        name: "early-inquire-dropped",
        what: "an INQUIRE that comes before the permission it is about is not kept",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 0, 0]).fifo().given(&[TWO_DESKS]),
    },
    Flaw {
        name: "no-epochs",
        what: "a TRANSFER has no epoch: one about the last request is taken to be about the next",
        breaks: "progress",
        shown_by: Demonstration::of(&[2, 1, 1, 0, 0]).fifo().given(&[ONE_OR_TWO_DESKS]),
    },
    Flaw {
        name: "overtaken-not-told",
        what: "the oldest waiting request is not told FAIL when an older one comes",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 1]).fifo(),
    },
];
