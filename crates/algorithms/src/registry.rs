//! Every algorithm, the one place where a name becomes a type.
//!
//! Past it, everything is generic: whoever wants to do something with algorithms is a [`Register`],
//! and is shown them all.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, Protocol};

use crate::card::Setup;
use crate::election::bully::{self, Bully};
use crate::election::flaws as election_flaws;
use crate::election::{self};
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
use crate::mutex::{self};

/// Takes in algorithms: two methods a problem.
///
/// What is wrong on purpose comes by a method of its own, so that whoever only checks it compiles
/// nothing else for it.
pub trait Register {
    /// An algorithm for mutual exclusion.
    fn mutex<P>(&mut self, card: &'static mutex::Card, recipe: Recipe<P>)
    where
        P: Protocol<Command = mutex::Command, Notice = mutex::Notice>;
    /// It, with a known mistake.
    fn flawed_mutex<P>(&mut self, card: &'static mutex::Card, flaw: &str, recipe: Recipe<P>)
    where
        P: Protocol<Command = mutex::Command, Notice = mutex::Notice>;

    /// An algorithm for elections.
    fn election<P>(&mut self, card: &'static election::Card, recipe: Recipe<P>)
    where
        P: Protocol<Command = election::Command, Notice = election::Notice>;
    /// It, with a known mistake.
    fn flawed_election<P>(&mut self, card: &'static election::Card, flaw: &str, recipe: Recipe<P>)
    where
        P: Protocol<Command = election::Command, Notice = election::Notice>;
}

/// How the nodes of an algorithm are made for a group.
pub type Recipe<P> = fn(&Setup) -> Result<Node<P>, Unfit>;

/// Makes one node; a restart is one more call.
pub type Node<P> = Arc<dyn Fn(NodeId) -> P + Send + Sync>;

/// A group that an algorithm cannot be set up for, in a sentence that says why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit(pub String);

/// Shows every algorithm and every mistake, in the order of the catalogue.
pub fn register(into: &mut impl Register) {
    into.mutex(&central::CARD, |at| plain(at, Central::new));
    into.flawed_mutex(&central::CARD, "last-come-first-served", |at| {
        flawed(plain(at, Central::new), LastComeFirstServed)
    });
    into.flawed_mutex(&central::CARD, "applications-talk", |at| plain(at, Talkative::new));

    into.mutex(&lamport::CARD, |at| plain(at, Lamport::new));
    into.flawed_mutex(&lamport::CARD, "unordered-links", |at| {
        flawed(plain(at, Lamport::new), AsItIs)
    });
    into.flawed_mutex(&lamport::CARD, "copies-stamped-apart", |at| {
        flawed(plain(at, Lamport::new), CopiesStampedApart)
    });

    into.mutex(&ricart_agrawala::CARD, |at| plain(at, RicartAgrawala::new));
    into.flawed_mutex(&ricart_agrawala::CARD, "clock-not-advanced", |at| {
        flawed(plain(at, RicartAgrawala::new), ClockNotAdvanced)
    });
    into.flawed_mutex(&ricart_agrawala::CARD, "replies-carry-no-clock", |at| {
        flawed(plain(at, RicartAgrawala::new), RepliesCarryNoClock)
    });
    into.flawed_mutex(&ricart_agrawala::CARD, "deferred-never-cleared", |at| {
        flawed(plain(at, RicartAgrawala::new), DeferredNeverCleared)
    });
    into.flawed_mutex(&ricart_agrawala::CARD, "majority", |at| {
        flawed(plain(at, RicartAgrawala::new), Majority)
    });
    into.flawed_mutex(&ricart_agrawala::CARD, "no-tie-break", |at| {
        flawed(plain(at, RicartAgrawala::new), NoTieBreak)
    });

    into.mutex(&carvalho_roucairol::CARD, |at| plain(at, CarvalhoRoucairol::new));
    into.flawed_mutex(&carvalho_roucairol::CARD, "no-re-request", |at| {
        flawed(plain(at, CarvalhoRoucairol::new), NoReRequest)
    });

    into.mutex(&k_exclusion::CARD, k_exclusion);
    into.flawed_mutex(&k_exclusion::CARD, "debts-forgotten", |at| {
        flawed(k_exclusion(at), DebtsForgotten)
    });
    into.flawed_mutex(&k_exclusion::CARD, "reply-counts-once", |at| {
        flawed(k_exclusion(at), ReplyCountsOnce)
    });

    into.mutex(&readers_writers::CARD, |at| plain(at, ClaimedExclusion::readers_writers));
    into.flawed_mutex(&readers_writers::CARD, "readers-pass-waiting-writers", |at| {
        flawed(plain(at, ClaimedExclusion::readers_writers), ReadersPassWaitingWriters)
    });

    into.mutex(&group_exclusion::CARD, |at| plain(at, ClaimedExclusion::groups));

    into.election(&bully::CARD, |at| timed(at, Bully::new));
    into.flawed_election(&bully::CARD, "no-second-time-out", |at| {
        timed(at, election_flaws::no_second_time_out)
    });
    into.flawed_election(&bully::CARD, "short-time-out", |at| {
        timed(at, election_flaws::short_time_out)
    });
}

#[expect(clippy::unnecessary_wraps, reason = "all recipes have one shape")]
fn plain<P: 'static>(setup: &Setup, new: fn(NodeId, Group) -> P) -> Result<Node<P>, Unfit> {
    let group = setup.group;
    Ok(Arc::new(move |id| new(id, group)))
}

#[expect(clippy::unnecessary_wraps, reason = "all recipes have one shape")]
fn timed<P: 'static>(
    setup: &Setup,
    new: fn(NodeId, Group, core::time::Duration) -> P,
) -> Result<Node<P>, Unfit> {
    let (group, within) = (setup.group, setup.within);
    Ok(Arc::new(move |id| new(id, group, within)))
}

#[expect(clippy::unnecessary_wraps, reason = "all recipes have one shape")]
fn k_exclusion(setup: &Setup) -> Result<Node<KExclusion>, Unfit> {
    let (group, k) = (setup.group, setup.k);
    Ok(Arc::new(move |id| KExclusion::new(id, group, k)))
}

/// Puts a mistake around every node that is made.
fn flawed<P: Protocol, F: Mistake<P>>(
    node: Result<Node<P>, Unfit>,
    mistake: F,
) -> Result<Node<Flawed<P, F>>, Unfit> {
    let node = node?;
    Ok(Arc::new(move |id| Flawed::new(node(id), mistake)))
}

/// The cards of all algorithms for mutual exclusion.
pub fn mutex_cards() -> Vec<&'static mutex::Card> {
    struct Cards(Vec<&'static mutex::Card>);
    impl Register for Cards {
        fn mutex<P>(&mut self, card: &'static mutex::Card, _: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
            self.0.push(card);
        }
        fn flawed_mutex<P>(&mut self, _: &'static mutex::Card, _: &str, _: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
        }
        fn election<P>(&mut self, _: &'static election::Card, _: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
        }
        fn flawed_election<P>(&mut self, _: &'static election::Card, _: &str, _: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
        }
    }
    let mut cards = Cards(Vec::new());
    register(&mut cards);
    cards.0
}

/// The card of that name, for mutual exclusion.
pub fn mutex_card(name: &str) -> Option<&'static mutex::Card> {
    mutex_cards().into_iter().find(|card| card.name == name)
}

/// Something to do with one algorithm for mutual exclusion once its type is known.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it, with a way to make the nodes of a group.
    fn visit<P>(self, card: &'static mutex::Card, node: impl Make<P>) -> Self::Output
    where
        P: Protocol<Command = mutex::Command, Notice = mutex::Notice>;
}

/// Makes one node of an algorithm; a restart is one more call.
pub trait Make<P>: Fn(NodeId) -> P + Clone + Send + Sync + 'static {}

impl<P, F: Fn(NodeId) -> P + Clone + Send + Sync + 'static> Make<P> for F {}

/// Visits the algorithm called `name`; none if there is no such name.
pub fn visit<V: Visit>(name: &str, setup: Setup, visitor: V) -> Option<V::Output> {
    struct Find<'a, V: Visit>(Found<'a, V>);
    impl<V: Visit> Register for Find<'_, V> {
        fn mutex<P>(&mut self, card: &'static mutex::Card, recipe: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
            self.0.visit(card, None, recipe);
        }
        fn flawed_mutex<P>(&mut self, _: &'static mutex::Card, _: &str, _: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
        }
        fn election<P>(&mut self, _: &'static election::Card, _: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
        }
        fn flawed_election<P>(&mut self, _: &'static election::Card, _: &str, _: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
        }
    }
    let mut find = Find(Found { name, flaw: None, setup, visitor: Some(visitor), output: None });
    register(&mut find);
    find.0.output
}

/// As [`visit`], with a known mistake built in; none if there is no such name or flaw.
pub fn visit_flawed<V: Visit>(
    name: &str,
    flaw: &str,
    setup: Setup,
    visitor: V,
) -> Option<V::Output> {
    struct Find<'a, V: Visit>(Found<'a, V>);
    impl<V: Visit> Register for Find<'_, V> {
        fn mutex<P>(&mut self, _: &'static mutex::Card, _: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
        }
        fn flawed_mutex<P>(&mut self, card: &'static mutex::Card, flaw: &str, recipe: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
            self.0.visit(card, Some(flaw), recipe);
        }
        fn election<P>(&mut self, _: &'static election::Card, _: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
        }
        fn flawed_election<P>(&mut self, _: &'static election::Card, _: &str, _: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
        }
    }
    let mut find =
        Find(Found { name, flaw: Some(flaw), setup, visitor: Some(visitor), output: None });
    register(&mut find);
    find.0.output
}

/// Looks for one algorithm, and does with it what is to be done.
struct Found<'a, V: Visit> {
    name: &'a str,
    flaw: Option<&'a str>,
    setup: Setup,
    visitor: Option<V>,
    output: Option<V::Output>,
}

impl<V: Visit> Found<'_, V> {
    fn visit<P>(&mut self, card: &'static mutex::Card, flaw: Option<&str>, recipe: Recipe<P>)
    where
        P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
    {
        if card.name == self.name
            && flaw == self.flaw
            && let Ok(node) = recipe(&self.setup)
            && let Some(visitor) = self.visitor.take()
        {
            self.output = Some(visitor.visit(card, move |id| node(id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;

    /// Makes a node of everything, and notes what it was.
    struct MakeOne(Vec<(&'static str, Option<String>)>);

    impl Register for MakeOne {
        fn mutex<P>(&mut self, card: &'static mutex::Card, recipe: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
            recipe(&Setup::new(Group::of(3))).expect(card.name)(NodeId(0));
            self.0.push((card.name, None));
        }
        fn flawed_mutex<P>(&mut self, card: &'static mutex::Card, flaw: &str, recipe: Recipe<P>)
        where
            P: Protocol<Command = mutex::Command, Notice = mutex::Notice>,
        {
            recipe(&Setup::new(Group::of(3))).expect(card.name)(NodeId(0));
            self.0.push((card.name, Some(flaw.into())));
        }
        fn election<P>(&mut self, card: &'static election::Card, recipe: Recipe<P>)
        where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
            recipe(&Setup::new(Group::of(3))).expect(card.name)(NodeId(0));
            self.0.push((card.name, None));
        }
        fn flawed_election<P>(
            &mut self,
            card: &'static election::Card,
            flaw: &str,
            recipe: Recipe<P>,
        ) where
            P: Protocol<Command = election::Command, Notice = election::Notice>,
        {
            recipe(&Setup::new(Group::of(3))).expect(card.name)(NodeId(0));
            self.0.push((card.name, Some(flaw.into())));
        }
    }

    #[test]
    fn every_card_and_every_flaw_on_it_can_be_made() {
        let mut made = MakeOne(Vec::new());
        register(&mut made);
        for card in mutex_cards() {
            for flaw in card.flaws {
                assert!(made.0.contains(&(card.name, Some(flaw.name.into()))), "{}", flaw.name);
            }
        }
    }

    #[test]
    fn every_card_explains_itself() {
        for card in mutex_cards() {
            let text = card.about().text();
            assert!(text.contains("```text"), "{} has no picture of its messages", card.name);
            assert!(text.contains("**Assumes**"), "{} does not say what it assumes", card.name);
            assert!(text.contains("| messages |"), "{} has no table of costs", card.name);
        }
    }
}
