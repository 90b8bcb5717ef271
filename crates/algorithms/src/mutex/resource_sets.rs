//! Named resources, of which an entry takes any set at once: the drinking philosophers of K. Mani
//! Chandy and Jayadev Misra, "The drinking philosophers problem", ACM TOPLAS 6(4), 1984, solved by
//! the rule of Ricart and Agrawala with claims.
//!
//! A request names all the resources that it needs and has one stamp for them. Two requests that
//! have no resource in common do not know of each other; of two that have, the older goes first.
//! The machine is the one of [`readers_writers`](super::readers_writers), whose rule is safe for
//! any symmetric conflict between claims; only the claims differ.
//!
//! **Use it** where a request needs several resources at once: those with none in common do not
//! wait for each other, and nobody deadlocks.
//!
//! ```text
//!   0  ──REQUEST(a+b)─┬──▲──▲──[ has a and b ]─────REPLY─┬───────────────────►
//!                     │  │  │                            │
//!   1  ──REQUEST(c)───▼─REPLY──[ has c, beside 0 ]───────┼───────────────────►
//!                     │     │                            │
//!   2  ──REQUEST(b+c)─▼──REPLY    0 and 1 are older      ▼──[ has b and c ]──►
//! ```
//!
//! | per entry | cost |
//! | --- | --- |
//! | messages | 2(N−1), always |
//! | synchronisation delay | T between claims that conflict; 0 … 2T if some do not |
//! | response without contention | 2T + E |
//! | response under saturation | up to N(T + E) + T |
//!
//! **Assumes** that messages are not lost or duplicated and that no node fails; their order does
//! not matter.
//!
//! **Why it is safe.** As for readers and writers: of two requests with a resource in common the
//! older is replied to, the younger deferred until the older has left.
//!
//! **Why there is no deadlock, and nobody starves.** A request has nothing while it waits, and
//! waits only for older ones and for those inside: stamps are in one order for all sets, so nobody
//! waits in a circle. Who takes resources one after the other, each with a request of its own,
//! holds one while it waits for the next, and two that begin at different ends wait for each other
//! for ever (E. G. Coffman, M. J. Elphick and A. Shoshani, "System deadlocks", ACM Computing
//! Surveys 3(2), 1971): the flaw `one-after-the-other`.
//!
//! **On views** those whose sets are apart are inside together, and no chain of messages orders
//! their entries: their numbers only tell an entry of this view from those of older ones.

use super::card::{Card, Demonstration, Flaw, Terms};
use super::readers_writers::{SHARING, THEORY};
use super::{Claim, Resources};
use crate::card::Assumes;

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "resource-sets",
    title: "Sets of named resources",
    solves: "shared exclusion",
    citation: "problem: Chandy and Misra, TOPLAS 6(4), 1984",
    assumes: Assumes::ANY_ORDER,
    takes: &[],
    terms: Terms {
        claims: &[
            Claim::Of(Resources::named(b"ab")),
            Claim::Of(Resources::named(b"bc")),
            Claim::Of(Resources::named(b"c")),
        ],
        ..SHARING
    },
    theory: THEORY,
    flaws: FLAWS,
    page: page!("resource_sets.rs"),
};

const BOTH: Claim = Claim::Of(Resources::named(b"ab"));

/// Built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "one-after-the-other",
    what: "resources are asked for one by one, each with a stamp of its own: nodes with an even \
           number begin with the first, the others with the last, and each waits for the other",
    breaks: "progress",
    shown_by: Demonstration::of(&[1, 1]).claiming(&[BOTH, BOTH]),
}];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, NodeId, Outbox, Protocol as _};

    use super::*;
    use crate::mutex::readers_writers::{ClaimedExclusion, Message};
    use crate::mutex::{CLAIM_NOT_GRANTED, Command};

    #[test]
    fn only_those_who_need_the_same_wait() {
        let mut node = ClaimedExclusion::resources(NodeId(0), Group::of(3));
        let mut fx = Outbox::default();
        node.on_command(Command::Acquire(BOTH), &mut fx).unwrap();
        fx.take();
        let of = |names| Message::Request { time: 2, claim: Claim::Of(Resources::named(names)) };
        node.on_message(NodeId(1), of(b"cd"), &mut fx);
        assert!(matches!(fx.take()[..], [Effect::Send { to: NodeId(1), .. }]));
        node.on_message(NodeId(2), of(b"bc"), &mut fx);
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn a_claim_that_names_none_is_refused() {
        let mut node = ClaimedExclusion::resources(NodeId(0), Group::of(3));
        let mut fx = Outbox::default();
        for claim in [Claim::Exclusive, Claim::Shared, Claim::Group(1)] {
            let refused = node.on_command(Command::Acquire(claim), &mut fx);
            assert_eq!(refused, Err(CLAIM_NOT_GRANTED));
        }
    }
}
