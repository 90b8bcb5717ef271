//! Every algorithm by name: the one place where a name becomes a type.
//!
//! Past it, everything is generic: what is to be done with an algorithm is a [`Visit`].

use vorrang_protocol::{Group, NodeId, Protocol};

use crate::card::Card;
use crate::mutex::flaws::FlawedRicartAgrawala;
use crate::mutex::ricart_agrawala::{self, RicartAgrawala};
use crate::mutex::{Command, Notice};

/// The cards of all algorithms, in the order of the catalogue.
pub const CARDS: &[&Card] = &[&ricart_agrawala::CARD];

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

/// Visits the algorithm called `name`, with a group of that size; none if there is no such name.
pub fn visit<V: Visit>(name: &str, group: Group, visitor: V) -> Option<V::Output> {
    let card = card(name)?;
    Some(match name {
        "ricart-agrawala" => visitor.visit(card, move |id| RicartAgrawala::new(id, group)),
        _ => return None,
    })
}

/// As [`visit`], with a known mistake built in; none if there is no such name or flaw.
pub fn visit_flawed<V: Visit>(
    name: &str,
    flaw: &str,
    group: Group,
    visitor: V,
) -> Option<V::Output> {
    let card = card(name)?;
    let flaw = card.flaw(flaw)?.name;
    Some(match name {
        "ricart-agrawala" => visitor.visit(card, move |id| {
            FlawedRicartAgrawala::new(RicartAgrawala::new(id, group), flaw)
                .expect("a flaw on the card can be built")
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
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
            visit(card.name, Group::of(3), MakeOne).expect(card.name);
            for flaw in card.flaws {
                visit_flawed(card.name, flaw.name, Group::of(3), MakeOne).expect(flaw.name);
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
