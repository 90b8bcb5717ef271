//! Every mistake on every card is found, with the property that it breaks and a run as short as
//! the card says.

mod support;

use support::{claiming, explore_all, group, mutex};
use vorrang_algorithms::card::Setup;
use vorrang_algorithms::mutex::card::{Card, Flaw};
use vorrang_algorithms::mutex::spec::{BoundedBypass, Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit, mutex_cards};
use vorrang_check::{Order, Outcome};
use vorrang_protocol::{Monitor, NodeId, Protocol};

/// Explores, and returns the property broken and the moves of the run to it.
struct Demonstrate {
    flaw: &'static Flaw,
    entries: &'static [u32],
    order: Order,
}

type Shown = (&'static str, Vec<String>);

impl Demonstrate {
    fn with_monitor<P, M>(&self, monitor: M, node: impl Make<P>) -> Shown
    where
        P: Protocol<Command = Command, Notice = Notice>,
        M: Monitor<Command = Command, Notice = Notice>,
    {
        let mut system = mutex(self.entries, self.order, monitor, node);
        if !self.flaw.claims.is_empty() || !self.flaw.stay.is_empty() {
            let claims = match self.flaw.claims {
                [] => &[Claim::Exclusive],
                claims => claims,
            };
            let stay: Vec<NodeId> = self.flaw.stay.iter().copied().map(NodeId).collect();
            system.plan = claiming(self.entries, claims, &stay);
        }
        match explore_all(&system).outcome {
            Outcome::Violated { violation, run } => {
                let moves = run.moves.iter().map(ToString::to_string).collect();
                (violation.property, moves)
            }
            Outcome::Verified | Outcome::Bounded { .. } => ("", Vec::new()),
        }
    }
}

impl Visit for Demonstrate {
    type Output = Shown;

    fn visit<P>(self, card: &'static Card, node: impl Make<P>) -> Shown
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let exclusion = Exclusion::new((card.terms.admission)(&Setup::new(group(self.entries))));
        match self.flaw.breaks {
            "ordering" => self.with_monitor((exclusion, HappenedBefore::default()), node),
            "no starvation" => {
                let bound = card.terms.promises.bypass.expect("the card promises a bound");
                self.with_monitor((exclusion, BoundedBypass::new(bound)), node)
            }
            _ => self.with_monitor(exclusion, node),
        }
    }
}

fn demonstrate(card: &Card, flaw: &str, entries: &'static [u32], order: Order) -> Shown {
    let flaw = card.flaw(flaw).expect("a flaw on the card");
    let visit = Demonstrate { flaw, entries, order };
    let setup = Setup::new(group(entries));
    registry::visit_flawed(card.name, flaw.name, setup, visit).expect("a flaw that can be built")
}

fn as_on_the_card(card: &Card, flaw: &Flaw) -> Shown {
    demonstrate(card, flaw.name, flaw.entries, flaw.order)
}

#[test]
fn every_flaw_on_every_card_is_caught_with_its_shortest_run() {
    for card in mutex_cards() {
        for flaw in card.flaws {
            let (property, moves) = as_on_the_card(card, flaw);
            assert_eq!(property, flaw.breaks, "{} of {}", flaw.name, card.name);
            assert_eq!(moves.len(), flaw.steps, "{} of {}: {moves:#?}", flaw.name, card.name);
        }
    }
}

#[test]
fn replies_sent_again_also_harm_three_nodes_and_sooner_if_they_may_be_overtaken() {
    let card = registry::mutex_card("ricart-agrawala").unwrap();
    let steps = |entries, order| {
        let (property, moves) = demonstrate(card, "deferred-never-cleared", entries, order);
        (property, moves.len())
    };
    assert_eq!(steps(&[2, 2, 1], Order::Any), ("exclusion", 27));
    assert_eq!(steps(&[2, 2, 1], Order::Fifo), ("exclusion", 27));
    assert_eq!(steps(&[3, 3], Order::Any), ("exclusion", 17));
    assert_eq!(steps(&[2, 2], Order::Any), ("", 0), "two entries each are too few");
}

/// Each of two nodes needs its own request, its delivery and its reply's delivery: six steps are
/// the fewest in which two can enter at all.
#[test]
fn a_counterexample_is_written_down_move_by_move() {
    let card = registry::mutex_card("ricart-agrawala").unwrap();
    let (_, mut moves) = demonstrate(card, "no-tie-break", &[1, 1], Order::Fifo);
    // Which of the shortest runs it is depends on fingerprints.
    moves.sort_unstable();
    assert_eq!(
        moves,
        [
            "acquire 0",
            "acquire 1",
            "deliver 0->1 Reply { time: 1, clock: 0 }",
            "deliver 0->1 Request { time: 1 }",
            "deliver 1->0 Reply { time: 1, clock: 0 }",
            "deliver 1->0 Request { time: 1 }",
        ]
    );
}
