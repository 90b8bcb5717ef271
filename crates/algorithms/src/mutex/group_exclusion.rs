//! Group mutual exclusion: Yuh-Jzer Joung, "Asynchronous group mutual exclusion", Distributed
//! Computing 13(4), 2000, solved by the rule of Ricart and Agrawala with claims.
//!
//! Every request belongs to a class. Members of one class may be inside together, members of two
//! classes may not: rooms that are shared by one conversation at a time. The machine is the one of
//! [`readers_writers`](super::readers_writers), whose rule is safe for any symmetric conflict
//! between claims; only the claims differ.
//!
//! **Use it** where those who do the same may do it together, and those who do something else must
//! wait.
//!
//! ```text
//!   0  ──REQUEST(class 1)─┬───▲──▲──[ inside ]──────────REPLY─┬───────────────►
//!                         │   │  │                            │
//!   1  ──REQUEST(class 1)─▼─REPLY┼──[ inside as well ]──REPLY─┼───────────────►
//!                         │      │                            │
//!   2  ──REQUEST(class 2)─▼─REPLY┘  0 and 1 are older         ▼──[ inside ]───►
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
//! **Why it is safe, and why no request starves.** As for readers and writers. Requests that
//! conflict enter in the order of their stamps; so a class cannot keep another out by sending ever
//! new members, at the price that the classes may alternate more often than necessary.
//!
//! **On views** those who share are inside together, and no chain of messages orders their entries:
//! their numbers only tell an entry of this view from those of older ones.

use super::Claim;
use super::card::{Card, Demonstration, Flaw, Terms};
use super::readers_writers::{SHARING, THEORY};
use crate::card::Assumes;

/// The card of the algorithm.
pub const CARD: Card = Card {
    name: "group-exclusion",
    title: "Group exclusion",
    solves: "shared exclusion",
    citation: "problem: Joung, Distributed Computing 13(4), 2000",
    assumes: Assumes::ANY_ORDER,
    takes: &[],
    terms: Terms { claims: &[Claim::Group(0), Claim::Group(1)], ..SHARING },
    theory: THEORY,
    flaws: FLAWS,
    page: page!("group_exclusion.rs"),
};

/// What is easily forgotten; built in [`super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "classes-not-compared",
    what: "a node that is inside replies to every request at once, of whatever class",
    breaks: "exclusion",
    shown_by: Demonstration::of(&[1, 1]).claiming(&[Claim::Group(0), Claim::Group(1)]),
}];

#[cfg(test)]
mod tests {
    use vorrang_protocol::{Effect, Group, NodeId, Outbox, Protocol as _};

    use crate::mutex::readers_writers::{ClaimedExclusion, Message};
    use crate::mutex::{CLAIM_NOT_GRANTED, Claim, Command};

    #[test]
    fn a_class_lets_its_own_in_and_others_wait() {
        let mut node = ClaimedExclusion::groups(NodeId(0), Group::of(3));
        let mut fx = Outbox::default();
        node.on_command(Command::Acquire(Claim::Group(7)), &mut fx).unwrap();
        fx.take();
        let of = |class| Message::Request { time: 2, claim: Claim::Group(class) };
        node.on_message(NodeId(1), of(7), &mut fx);
        assert!(matches!(fx.take()[..], [Effect::Send { to: NodeId(1), .. }]));
        node.on_message(NodeId(2), of(8), &mut fx);
        assert_eq!(fx.take(), []);
    }

    #[test]
    fn a_claim_without_a_class_is_refused() {
        let mut node = ClaimedExclusion::groups(NodeId(0), Group::of(3));
        let mut fx = Outbox::default();
        for claim in [Claim::Exclusive, Claim::Shared] {
            let refused = node.on_command(Command::Acquire(claim), &mut fx);
            assert_eq!(refused, Err(CLAIM_NOT_GRANTED));
        }
    }
}
