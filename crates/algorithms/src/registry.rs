//! Every algorithm by name: the one place where a name becomes a type.
//!
//! Past it, everything is generic: what is to be done with an algorithm is a [`Visit`].

use vorrang_protocol::{NodeId, Protocol};

use crate::card::{Card, Setup};
use crate::mutex::carvalho_roucairol::{self, CarvalhoRoucairol};
use crate::mutex::central::{self, Central};
use crate::mutex::flaws::carvalho_roucairol::NoReRequest;
use crate::mutex::flaws::central::{LastComeFirstServed, Talkative};
use crate::mutex::flaws::k_exclusion::{DebtsForgotten, ReplyCountsOnce};
use crate::mutex::flaws::lamport::{AsItIs, CopiesStampedApart};
use crate::mutex::flaws::readers_writers::ReadersPassWaitingWriters;
use crate::mutex::flaws::ricart_agrawala::{
    ClockNotAdvanced, DeferredNeverCleared, Majority, NoTieBreak, RepliesCarryNoClock,
};
use crate::mutex::flaws::{Flawed, Mistake};
use crate::mutex::group_exclusion;
use crate::mutex::k_exclusion::{self, KExclusion};
use crate::mutex::lamport::{self, Lamport};
use crate::mutex::readers_writers::{self, ClaimedExclusion};
use crate::mutex::ricart_agrawala::{self, RicartAgrawala};
use crate::mutex::{Command, Notice};

/// The cards of all algorithms, in the order of the catalogue.
pub const CARDS: &[&Card] = &[
    &central::CARD,
    &lamport::CARD,
    &ricart_agrawala::CARD,
    &carvalho_roucairol::CARD,
    &k_exclusion::CARD,
    &readers_writers::CARD,
    &group_exclusion::CARD,
];

/// The card of that name.
pub fn card(name: &str) -> Option<&'static Card> {
    CARDS.iter().find(|card| card.name == name).copied()
}

/// Something to do with an algorithm once its type is known.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it, with a way to make the nodes of a group.
    fn visit<P>(self, card: &'static Card, node: impl Make<P>) -> Self::Output
    where
        P: Protocol<Command = Command, Notice = Notice>;
}

/// Makes one node of an algorithm; a restart is one more call.
pub trait Make<P>: Fn(NodeId) -> P + Clone + Send + Sync + 'static {}

impl<P, F: Fn(NodeId) -> P + Clone + Send + Sync + 'static> Make<P> for F {}

/// Visits the algorithm called `name`; none if there is no such name.
pub fn visit<V: Visit>(name: &str, setup: Setup, visitor: V) -> Option<V::Output> {
    let card = card(name)?;
    let Setup { group, k } = setup;
    Some(match name {
        "central" => visitor.visit(card, move |id| Central::new(id, group)),
        "lamport" => visitor.visit(card, move |id| Lamport::new(id, group)),
        "ricart-agrawala" => visitor.visit(card, move |id| RicartAgrawala::new(id, group)),
        "carvalho-roucairol" => visitor.visit(card, move |id| CarvalhoRoucairol::new(id, group)),
        "k-exclusion" => visitor.visit(card, move |id| KExclusion::new(id, group, k)),
        "readers-writers" => {
            visitor.visit(card, move |id| ClaimedExclusion::readers_writers(id, group))
        }
        "group-exclusion" => visitor.visit(card, move |id| ClaimedExclusion::groups(id, group)),
        _ => return None,
    })
}

/// As [`visit`], with a known mistake built in; none if there is no such name or flaw.
pub fn visit_flawed<V: Visit>(
    name: &str,
    flaw: &str,
    setup: Setup,
    visitor: V,
) -> Option<V::Output> {
    let card = card(name)?;
    let Setup { group, k } = setup;
    let central = move |id| Central::new(id, group);
    let lamport = move |id| Lamport::new(id, group);
    let ricart_agrawala = move |id| RicartAgrawala::new(id, group);
    let carvalho_roucairol = move |id| CarvalhoRoucairol::new(id, group);
    let k_exclusion = move |id| KExclusion::new(id, group, k);
    let readers_writers = move |id| ClaimedExclusion::readers_writers(id, group);
    Some(match (name, flaw) {
        ("central", "last-come-first-served") => {
            visitor.visit(card, flawed(central, LastComeFirstServed))
        }
        ("central", "applications-talk") => {
            visitor.visit(card, move |id| Talkative::new(id, group))
        }
        ("lamport", "unordered-links") => visitor.visit(card, flawed(lamport, AsItIs)),
        ("lamport", "copies-stamped-apart") => {
            visitor.visit(card, flawed(lamport, CopiesStampedApart))
        }
        ("ricart-agrawala", "clock-not-advanced") => {
            visitor.visit(card, flawed(ricart_agrawala, ClockNotAdvanced))
        }
        ("ricart-agrawala", "replies-carry-no-clock") => {
            visitor.visit(card, flawed(ricart_agrawala, RepliesCarryNoClock))
        }
        ("ricart-agrawala", "deferred-never-cleared") => {
            visitor.visit(card, flawed(ricart_agrawala, DeferredNeverCleared))
        }
        ("ricart-agrawala", "majority") => visitor.visit(card, flawed(ricart_agrawala, Majority)),
        ("ricart-agrawala", "no-tie-break") => {
            visitor.visit(card, flawed(ricart_agrawala, NoTieBreak))
        }
        ("carvalho-roucairol", "no-re-request") => {
            visitor.visit(card, flawed(carvalho_roucairol, NoReRequest))
        }
        ("k-exclusion", "debts-forgotten") => {
            visitor.visit(card, flawed(k_exclusion, DebtsForgotten))
        }
        ("k-exclusion", "reply-counts-once") => {
            visitor.visit(card, flawed(k_exclusion, ReplyCountsOnce))
        }
        ("readers-writers", "readers-pass-waiting-writers") => {
            visitor.visit(card, flawed(readers_writers, ReadersPassWaitingWriters))
        }
        _ => return None,
    })
}

/// Puts a mistake around every node that is made.
fn flawed<P: Protocol, F: Mistake<P>>(node: impl Make<P>, mistake: F) -> impl Make<Flawed<P, F>> {
    move |id| Flawed::new(node(id), mistake)
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;

    struct MakeOne;

    impl Visit for MakeOne {
        type Output = ();

        fn visit<P>(self, _: &'static Card, node: impl Make<P>)
        where
            P: Protocol<Command = Command, Notice = Notice>,
        {
            node(NodeId(0));
        }
    }

    #[test]
    fn every_card_and_every_flaw_on_it_can_be_made() {
        for card in CARDS {
            visit(card.name, Setup::new(Group::of(3)), MakeOne).expect(card.name);
            for flaw in card.flaws {
                let setup = Setup::new(Group::of(3));
                visit_flawed(card.name, flaw.name, setup, MakeOne).expect(flaw.name);
            }
        }
    }

    #[test]
    fn every_card_explains_itself() {
        for card in CARDS {
            let text = card.text();
            assert!(text.contains("```text"), "{} has no picture of its messages", card.name);
            assert!(text.contains("**Assumes**"), "{} does not say what it assumes", card.name);
            assert!(text.contains("| messages |"), "{} has no table of costs", card.name);
        }
    }
}
