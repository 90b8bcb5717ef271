//! The state of channels, as it is shown.

use alloc::format;

use vorrang_protocol::{NodeState, Protocol, StateValue};

use super::envelope::Incarnation;
use super::reliable::{Channels, Link};

impl<P: Protocol> Channels<P> {
    /// The life of this node, and for every peer that there was a channel to: its life, what it
    /// has not acknowledged, what is next from it and what came too early, how often it was tried.
    pub(super) fn state(&self) -> NodeState {
        let links = &self.links;
        let lives = links.iter().map(|(&peer, link)| match link.life {
            Incarnation::Known(life) => (peer, StateValue::from(life)),
            Incarnation::AtLeast(life) => (peer, format!("≥{life}").into()),
        });
        let out = links.iter().flat_map(|(&peer, link)| {
            let out = (link.first..).zip(&link.out);
            out.map(move |(number, message)| (peer, number, StateValue::shown(message)))
        });
        let numbers = |of: fn(&Link<P::Message>) -> u64| {
            StateValue::list(links.iter().map(move |(&peer, link)| (peer, of(link))))
        };
        let early = links.iter().flat_map(|(&peer, link)| {
            link.early.iter().map(move |(&number, it)| (peer, number, StateValue::shown(it)))
        });
        NodeState::new()
            .with("life", self.life)
            .with("lives", StateValue::list(lives))
            .with("to acknowledge", StateValue::list(out))
            .with("next to", numbers(|link| link.first + link.out.len() as u64))
            .with("next from", numbers(|link| link.next))
            .with("early", StateValue::list(early))
            .with("tries", numbers(|link| link.tries.into()))
    }
}
