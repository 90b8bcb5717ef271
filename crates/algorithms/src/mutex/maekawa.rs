//! M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems", ACM Transactions on
//! Computer Systems 3(2), 1985, pp. 145–159; corrected after B. A. Sanders, "The information
//! structure of distributed mutual exclusion algorithms", ACM TOCS 5(3), 1987.

use vorrang_protocol::Invariant;

use super::card::{BUSIEST, Card, Demonstration, Flaw, MESSAGES, RESPONSE, SYNC_DELAY, Terms};
use super::locking::{
    Locking, nothing_is_kept_in_vain, one_lock_an_arbiter, those_in_the_way_are_told,
};
use crate::card::{Assumes, Span};
use crate::quorum::Rota;
use crate::setup::Parameter;

/// One node.
pub type Maekawa = Locking<Rota>;

/// What its proof rests on.
pub const INVARIANTS: &[Invariant<Maekawa>] = &[
    Invariant { name: "one lock an arbiter", holds: one_lock_an_arbiter },
    Invariant { name: "those in the way are told", holds: those_in_the_way_are_told },
    Invariant { name: "nothing is kept in vain", holds: nothing_is_kept_in_vain },
];

/// What the algorithm says of itself.
pub const CARD: Card = Card {
    name: "maekawa",
    title: "Maekawa",
    solves: "mutual exclusion",
    citation: "Maekawa, 1985; Sanders, 1987",
    assumes: Assumes::ANY_ORDER,
    takes: &[Parameter::Quorum],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(|_| Span::between(0.0, 1e3)),
        SYNC_DELAY.costs(|_| Span::between(0.0, 1e3)),
        RESPONSE.costs(|_| Span::between(0.0, 1e3)),
        BUSIEST.costs(|_| Span::between(0.0, 1e3)),
    ],
    flaws: FLAWS,
    source: include_str!("maekawa.rs"),
};

const FOUR: &[u32] = &[1, 1, 1, 1];
const FANO: (Parameter, &str) =
    (Parameter::Quorum, "sets:0-1-3,1-2-4,2-3-5,3-4-6,0-4-5,1-5-6,0-2-6");
const TWO_DESKS: (Parameter, &str) = (Parameter::Quorum, "sets:3-4,3-4,3-4,3-4,3-4");

/// What is commonly printed; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[
    Flaw {
        name: "overtaken-not-told",
        what: "a waiting request that an older one overtakes is not told, as in the paper",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 1, 0, 0, 0]).fifo().told(&[FANO]),
    },
    Flaw {
        name: "given-back-forgotten",
        what: "a lock that was given back does not count as refused, so others are kept",
        breaks: "progress",
        shown_by: Demonstration::of(FOUR),
    },
    Flaw {
        name: "one-inquiry-answered",
        what: "a refusal answers one of the inquiries before it, and not all",
        breaks: "progress",
        shown_by: Demonstration::of(FOUR),
    },
    Flaw {
        name: "one-flag-for-all",
        what: "that a request was refused is one flag for all arbiters, which any lock clears",
        breaks: "progress",
        shown_by: Demonstration::of(&[1, 1, 1, 0, 0, 0, 0]).told(&[FANO]),
    },
    Flaw {
        name: "inquiry-outlives-request",
        what: "messages name no request, so that an inquiry may be answered by the next one",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 2, 0, 0]).fifo().told(&[TWO_DESKS]),
    },
    Flaw {
        name: "answered-before-locked",
        what: "an inquiry that overtakes its lock is answered, and then the lock is used",
        breaks: "exclusion",
        shown_by: Demonstration::of(&[1, 1, 1, 0, 0, 0, 0]).told(&[FANO]),
    },
];
