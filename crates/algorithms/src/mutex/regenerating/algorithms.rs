//! The algorithms whose token is made anew, and what they say of themselves.

use core::time::Duration;

use vorrang_protocol::{Group, NodeId};

use super::{Inner, Renewable, kinds};
use crate::card::{Assumes, Quantity, Span};
use crate::mutex::card::{
    BUSIEST, Card, Demonstration, Flaw, MESSAGES, RESPONSE, SYNC_DELAY, Setting, Terms,
};
use crate::mutex::raymond::{self, Queue, Raymond};
use crate::mutex::suzuki_kasami::{self, SuzukiKasami};
use crate::mutex::token_ring::{self, TokenRing};
use crate::mutex::tree_token::{self, TreeToken};
use crate::setup::{Parameter, Setup};
use crate::topology::Topology;
use crate::topology::measure::towards;

impl Inner for token_ring::Message {
    const ALL_KINDS: &'static [&'static str] = kinds!("TOKEN");
}

impl Renewable for TokenRing {
    /// How long a token that nobody wants stays at a node.
    type Settings = Duration;

    fn settings(setup: &Setup) -> Duration {
        setup.rest
    }
    fn anew(me: NodeId, group: Group, holder: NodeId, rest: Duration) -> Self {
        Self::of(me, &Setup { holder, rest, ..Setup::new(group) })
    }
    fn has_token(&self) -> bool {
        self.has(0)
    }
    fn is_token(_: &token_ring::Message) -> bool {
        true
    }
}

impl Inner for suzuki_kasami::Message {
    const ALL_KINDS: &'static [&'static str] = kinds!("REQUEST", "PRIVILEGE");
}

impl Renewable for SuzukiKasami {
    type Settings = ();

    fn settings(_: &Setup) {}
    fn anew(me: NodeId, group: Group, holder: NodeId, (): ()) -> Self {
        Self::new(me, group, holder)
    }
    fn has_token(&self) -> bool {
        matches!(self.phase, suzuki_kasami::Phase::Holding(_) | suzuki_kasami::Phase::Inside(_))
    }
    fn is_token(message: &suzuki_kasami::Message) -> bool {
        matches!(message, suzuki_kasami::Message::Privilege(_))
    }
}

impl Inner for tree_token::Message {
    const ALL_KINDS: &'static [&'static str] = kinds!("REQUEST", "TOKEN");
}

impl Renewable for Raymond {
    type Settings = ();

    fn settings(_: &Setup) {}
    /// On a balanced tree, whoever is up.
    fn anew(me: NodeId, group: Group, holder: NodeId, (): ()) -> Self {
        let tree = TREE.tree(group).expect("there is a tree of every size");
        let way = towards(&tree, holder)[me.index()].unwrap_or(me);
        TreeToken::new(me, way, Queue::default())
    }
    fn has_token(&self) -> bool {
        TreeToken::has_token(self)
    }
    fn is_token(message: &tree_token::Message) -> bool {
        *message == tree_token::Message::Token
    }
}

const TREE: Topology = Topology::Tree(2);

/// What the ring says of itself.
pub const RING: Card = Card {
    name: "regenerating-ring",
    title: "Token ring, lost tokens made anew",
    takes: &[Parameter::Within, Parameter::Holder, Parameter::Rest],
    terms: Terms { perpetual: true, ..Terms::PLAIN },
    theory: &[
        MESSAGES.costs(|at| like(&token_ring::CARD, MESSAGES, at)),
        SYNC_DELAY.costs(|at| like(&token_ring::CARD, SYNC_DELAY, at)),
        RESPONSE.costs(|at| like(&token_ring::CARD, RESPONSE, at)),
        BUSIEST.costs(|at| like(&token_ring::CARD, BUSIEST, at)),
    ],
    flaws: FLAWS,
    ..SUZUKI_KASAMI
};

/// What Suzuki–Kasami says of itself.
pub const SUZUKI_KASAMI: Card = Card {
    name: "regenerating-suzuki-kasami",
    title: "Suzuki–Kasami, lost tokens made anew",
    solves: "mutual exclusion",
    citation: "after Le Lann, 1977, and Garcia-Molina, 1982",
    assumes: Assumes::TIMELY,
    takes: &[Parameter::Within, Parameter::Holder],
    terms: Terms::PLAIN,
    theory: &[
        MESSAGES.costs(|at| like(&suzuki_kasami::CARD, MESSAGES, at)),
        SYNC_DELAY.costs(|at| like(&suzuki_kasami::CARD, SYNC_DELAY, at)),
        RESPONSE.costs(|at| like(&suzuki_kasami::CARD, RESPONSE, at)),
        BUSIEST.costs(|at| like(&suzuki_kasami::CARD, BUSIEST, at)),
    ],
    flaws: &[],
    source: include_str!("mod.rs"),
};

/// What Raymond's tree says of itself.
pub const RAYMOND: Card = Card {
    name: "regenerating-raymond",
    title: "Raymond's tree, lost tokens made anew",
    theory: &[
        MESSAGES.costs(|at| like(&raymond::CARD, MESSAGES, at)),
        SYNC_DELAY.costs(|at| like(&raymond::CARD, SYNC_DELAY, at)),
        RESPONSE.costs(|at| like(&raymond::CARD, RESPONSE, at)),
        BUSIEST.costs(|at| like(&raymond::CARD, BUSIEST, at)),
    ],
    ..SUZUKI_KASAMI
};

/// As long as nobody is impatient, all costs are those of the algorithm within.
fn like(card: &Card, of: Quantity, at: &Setting) -> Span {
    let setup = Setup { topology: TREE, ..at.setup.clone() };
    let span = card.cost(of, &Setting { setup, ..at.clone() });
    let span = span.expect("these cards know what they cost");
    if at.hold <= 1.0 { span } else { Span::between(span.low, f64::INFINITY) }
}

/// What people get wrong; built in [`super::super::flaws`].
const FLAWS: &[Flaw] = &[Flaw {
    name: "no-generation",
    what: "tokens carry no generation: an old one that was only late counts beside the new one",
    breaks: "exclusion",
    shown_by: Demonstration::of(&[1, 1, 1]),
}];
