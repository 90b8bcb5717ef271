//! Costs that several algorithms share, in units of the one-way delay T.

use super::card::{Load, Setting};
use crate::card::Span;

/// The response of an algorithm that asks everyone and hands over in one message delay.
///
/// Alone, a request goes out and its answers come back. Under saturation the last of all contenders
/// waits for all others; a burst's first finds nobody inside.
pub(super) fn round_trip_or_queue(at: &Setting) -> Span {
    queue_of(at.contenders, 1.0, at)
}

/// The response where `ahead` contenders at most are served in turn, with a hand-over of `delay`.
pub(super) fn queue_of(ahead: u32, delay: f64, at: &Setting) -> Span {
    let alone = if at.nodes() == 1 { at.hold } else { 2.0 + at.hold };
    match at.load {
        Load::Light => Span::exactly(alone),
        Load::Heavy => Span::between(alone, f64::from(ahead) * (delay + at.hold) + 2.0 - delay),
    }
}

/// The busiest node's share where every node talks to every other: an even share if all ask evenly,
/// everything that one node sends and receives if only one ever asks.
pub(super) fn handled_by_all(messages: f64, at: &Setting) -> Span {
    Span::between(2.0 * messages / f64::from(at.nodes()), messages)
}
