//! The network of a node, as the node's task sees it: connections with all others
//! ([`tcp_network`](crate::tcp_network)), or datagrams ([`udp`](crate::udp)).
//!
//! The task is the same over both. It keeps the machine, the commands of the handle, time, and
//! reports about members; input from outside is handled by a network, which is given the whole task
//! to do so.

use std::future::Future;
use std::task::Context;
use std::time::Duration;

use tokio::time::Instant;
use vorrang_protocol::NodeId;

use super::Driver;
use crate::incarnations::Parting;
use crate::machine_io::Outbound;
use crate::status::{Datagrams, LinkStatus};

/// The network that carries a node's messages.
pub(crate) trait Network: Outbound + Sized + Send + 'static {
    /// Begins to look for the others.
    fn open(driver: &mut Driver<Self>);
    /// Handles what was done for it outside of the task.
    fn poll_arrivals(driver: &mut Driver<Self>, cx: &mut Context<'_>);
    /// A link was woken: something can be read there, or written.
    fn on_bell(driver: &mut Driver<Self>, place: usize);
    /// The machine has begun: it can be given what came before.
    fn on_begun(driver: &mut Driver<Self>);
    /// When something is due.
    fn next_deadline(&self) -> Option<Instant>;
    /// Handles timers of the network that have expired.
    fn on_time(driver: &mut Driver<Self>, now: Instant);
    /// Looks whether the others are still heard, twice a heartbeat.
    fn look(driver: &mut Driver<Self>, now: Instant);
    /// Writes all that a turn has produced.
    fn flush(driver: &mut Driver<Self>);
    /// Queues a goodbye to everyone behind all that was sent, and says whether a request is left
    /// behind.
    fn say_bye(&mut self, asks: bool);
    /// Whether nothing more can be done for what was sent.
    fn is_settled(&self) -> bool;
    /// Ends; when that is done, the address is free.
    fn close(self) -> impl Future<Output = ()> + Send;
    /// The machine begins in its first life, where nodes may have several.
    fn begin(&mut self) {}
    /// Whether everyone is there.
    fn has_met_all(&self) -> bool;
    /// How many sent messages are not acknowledged.
    fn unacknowledged(&self) -> usize;
    /// How it stands with the others, lowest first.
    fn members(&self) -> impl Iterator<Item = Member>;
    /// Notes that a peer knows a previous incarnation of ours.
    fn note_remembered(&mut self, peer: NodeId);
    /// The same, for people and programs.
    fn statuses(&self) -> Vec<LinkStatus>;
    /// The counts of datagrams, over UDP.
    fn datagrams(&self) -> Option<Datagrams>;
}

/// How it stands with another node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) peer: NodeId,
    /// Why the two will not come together again.
    pub(crate) parting: Option<Parting>,
    /// For how long it has not been there, if it is not.
    pub(crate) missing_for: Option<Duration>,
    /// Whether something that was sent to it is known never to have arrived.
    pub(crate) has_dropped: bool,
    /// Whether it knows a previous incarnation of ours, and refuses this one.
    pub(crate) is_remembered: bool,
}
