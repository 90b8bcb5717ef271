//! The entries of the catalogue are what the cards say.

use vorrang_algorithms::card::Card;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::{Catalogued, abouts, cards, find};
use vorrang_protocol::{Group, NodeId};

#[test]
fn everything_on_a_card_is_found_and_nothing_else() {
    for card in cards::<Mutex>() {
        let setup = card.setup(Group::of(4));
        for flaw in [None].into_iter().chain(card.flaws.iter().map(|flaw| Some(flaw.name))) {
            let entry = find::<Mutex>(card.name, flaw).expect("it is on the card");
            assert_eq!((entry.card.name, entry.flaw), (card.name, flaw));
            assert!(!entry.kinds.is_empty(), "{entry:?}");
            // Some mistakes need a set-up of their own.
            assert!(flaw.is_some() || entry.nodes(&setup).expect(card.name).len() == 4);
        }
    }
    let missing = find::<Mutex>("lamport", Some("none-such")).expect_err("no such mistake");
    assert_eq!(missing.0, "there is no 'lamport' with a flaw 'none-such'");
    let missing = find::<Wave>("lamport", None).expect_err("not a wave");
    assert_eq!(missing.0, "there is no algorithm 'lamport'");
}

#[test]
fn only_some_set_timers() {
    let sets = |name| find::<Mutex>(name, None).expect(name).sets_timers;
    assert!(sets("token-ring") && !sets("lamport"));
}

/// The entries of a problem are what its cards say, and a node can be made of each.
fn are_as_on_the_cards<Q: Catalogued>() {
    let mut on_cards = Vec::new();
    for about in cards::<Q>().into_iter().map(Card::about) {
        on_cards.push((about.name, None));
        on_cards.extend(about.mistakes.iter().map(|flaw| (about.name, Some(flaw.name))));
    }
    let entries = Q::entries().iter();
    let listed: Vec<_> = entries.map(|entry| (entry.card.name, entry.flaw)).collect();
    assert_eq!(listed, on_cards);
    for entry in Q::entries() {
        let setup = entry.card.setup(Group::of(3));
        entry.recipe.nodes(&setup).expect(entry.card.name)(NodeId(0));
    }
}

#[test]
fn flaws_are_registered_as_on_the_cards_and_can_be_made() {
    are_as_on_the_cards::<Mutex>();
    are_as_on_the_cards::<Election>();
    are_as_on_the_cards::<Wave>();
    are_as_on_the_cards::<Detection>();
    are_as_on_the_cards::<Multicast>();
    are_as_on_the_cards::<GroupCommunication>();
}

#[test]
fn every_card_explains_itself() {
    for about in abouts() {
        let text = about.text();
        assert!(text.contains("```text"), "{} has no picture of its messages", about.name);
        assert!(text.contains("**Assumes**"), "{} does not say what it assumes", about.name);
        assert!(text.contains("| messages |"), "{} has no table of costs", about.name);
    }
}
