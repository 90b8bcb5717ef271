//! Whose messages count: those of members within a view, those of voters about the next one.
//!
//! Links are not authenticated: a process under a number that no member has can send anything. It
//! may ask to join, and nothing else that it says is believed.

use vorrang_protocol::{Data, Effects, NodeId};

use super::decision::Decision;
use super::message::{Install, Message};
use super::views::Views;

/// Ten years in milliseconds.
const DECADE: u64 = 10 * 366 * 24 * 3600 * 1000;

impl<B: Data, I: Data, D: Decision<Install<B, I>>> Views<B, I, D> {
    /// Whether a node has a say in what comes after the view: as one of its members, or by its
    /// vote.
    pub(super) fn is_heeded(&self, from: NodeId) -> bool {
        self.last.view.incarnation_of(from).is_some() || self.has_vote(from)
    }

    /// Whether this node may tell that this view was decided. A member that hears a majority hears
    /// of the next view from one that has a say in it; others may have been left behind by all of
    /// them, and must believe whoever tells them. (The first view has a number by the clock, in
    /// milliseconds, and an incarnation one in microseconds: a view that is ten years ahead of the
    /// incarnation cannot have come about.)
    pub(super) fn believes(&self, from: NodeId, view: u64) -> bool {
        let is_absurd = self.founding.is_some() && view > self.incarnation / 1000 + DECADE;
        !is_absurd && (self.inside.is_none() || self.is_heeded(from) || !self.has_majority())
    }

    /// A message of the view that this node is in.
    pub(super) fn on_current(
        &mut self,
        from: NodeId,
        message: Message<B, I, D::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        if self.last.view.incarnation_of(from).is_none() {
            return;
        }
        match message {
            Message::Data { number, payload, .. } => self.on_data(from, number, payload, fx),
            Message::Ordered { place, entry, .. } => self.on_ordered(place, entry, fx),
            Message::Flush { .. } => self.on_flush(from, fx),
            Message::FlushOk { report, .. } => self.on_flush_ok(from, report, fx),
            // These are not about this view, or not only.
            Message::Status(_) | Message::NewView(_) | Message::Decision(_) => {}
        }
    }

    /// A message of another view: an older one is dropped, a newer one kept until that view.
    pub(super) fn on_view_message(
        &mut self,
        from: NodeId,
        view: u64,
        message: Message<B, I, D::Message>,
        fx: &mut impl Effects<Self>,
    ) {
        match view.cmp(&self.last.view.id) {
            core::cmp::Ordering::Less => {
                if matches!(message, Message::Flush { .. }) {
                    fx.send(from, Message::NewView(self.last.clone()));
                }
            }
            core::cmp::Ordering::Equal => self.on_current(from, message, fx),
            core::cmp::Ordering::Greater => {
                self.early.insert((from, message));
            }
        }
    }
}
