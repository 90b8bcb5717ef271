//! Nodes over UDP: for machines that tolerate losses, and for layers that add reliability.
//!
//! A [`Node`](crate::Node) of [`over_udp`](crate::Node::over_udp) runs the same machine behind the
//! same [`Handle`](crate::Handle). The differences:
//!
//! - **Messages are lost, duplicated and reordered.** A message is one datagram, sent once; there
//!   are no sequence numbers, acknowledgements or buffers. Algorithms that need more have a layer
//!   of their own around the machine.
//! - **All at once.** A message that a machine sends to all others in one step is one datagram to a
//!   multicast address ([`Multicast`]). It does not matter how the machine sends it: the same bytes
//!   to one after the other, with no other message in between, are one message. A message to some
//!   members is sent to each of them.
//! - **A message fits into a datagram**, [`MAX_PAYLOAD`] bytes, or it is not sent. A command whose
//!   message would not fit is refused before the machine has seen it
//!   ([`CommandError::TooLarge`](crate::CommandError::TooLarge)): it is tried on a copy of the
//!   machine first. A message that a machine comes up with by itself is reported
//!   ([`Event::TooLarge`](crate::Event::TooLarge)), and is as good as lost.
//! - **No connections.** Members say hello to each other until they are heard, and then send
//!   heartbeats. Admission is decided as over TCP: a process with another set-up is refused with
//!   the reason; an id is taken as long as its owner is heard; a process that restarts after the
//!   group has begun is refused, and fenced. A goodbye is sent thrice and not acknowledged: a
//!   member that misses it notices the silence.
//! - **Every datagram is judged**: where it comes from must be where the member is, and its header
//!   must have the group's digest, two members and an incarnation that was met. Anything else is
//!   dropped, counted, and reported within a [`rate_limit`](crate::RateLimit)
//!   ([`Event::Stray`](crate::Event)).
//! - **Trust** is less than over TCP: anyone who joins the multicast group receives all multicasts,
//!   and a source address can be forged. Keep it on a network of your own.
//!
//! See [`datagram`] for the format, and [`discovery`] for processes that do not know yet where the
//! others are.
//!
//! ```
//! use vorrang_algorithms::detection::heartbeat::Heartbeat;
//! use vorrang_algorithms::setup::Setup;
//! use vorrang_net::{Config, Node, udp};
//! use vorrang_protocol::{Group, NodeId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (sockets, peers) = udp::bind_loopback(3)?;
//! let cast = udp::Cast::Multicast(udp::Multicast::of(&peers));
//! let mut nodes = Vec::new();
//! for (id, socket) in (0..).map(NodeId).zip(sockets) {
//!     let machine = Heartbeat::of(id, &Setup::new(Group::of(3)));
//!     let config = Config::new(id, peers.clone(), "heartbeat");
//!     let udp = udp::Udp { cast, ..udp::Udp::default() };
//!     nodes.push(Node::over_udp(udp, machine, config).socket(socket).start().await?);
//! }
//! for (node, _) in &nodes {
//!     node.started().await?;
//! }
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;

use crate::error::NetError;

pub mod datagram;
pub mod discovery;
mod faults;
mod meeting;
mod outgoing;
mod peer;
mod sockets;
mod traffic;
mod udp_network;

pub use datagram::MAX_PAYLOAD;
pub use discovery::{Answering, Discovery, Found, LeftOut, Search, Sighting};
pub use sockets::bind_loopback;
pub(crate) use udp_network::UdpNetwork;

/// How a node uses UDP.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Udp {
    /// How all members are reached at once. Every member is told the same.
    pub cast: Cast,
    /// Injected faults of datagrams.
    pub faults: Faults,
}

/// How all members are reached at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cast {
    /// By a datagram to each.
    #[default]
    Unicast,
    /// By one datagram to a multicast address.
    Multicast(Multicast),
}

/// A multicast address, and how it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// The address that all members join.
    pub group: SocketAddrV4,
    /// The address of the interface on which this node joins and sends.
    pub interface: Ipv4Addr,
    /// How many networks a datagram may pass: 0 stays on this machine, 1 on this network.
    pub ttl: u32,
    /// Whether to do without where it does not work: a member that cannot join, or is not heard,
    /// is then sent datagrams of its own, which is reported
    /// ([`Event::Unicast`](crate::Event::Unicast)). Otherwise such a node does not start.
    pub or_unicast: bool,
}

impl Multicast {
    /// A group on this machine's loopback interface.
    pub const fn at(group: SocketAddrV4) -> Self {
        Self { group, interface: Ipv4Addr::LOCALHOST, ttl: 0, or_unicast: false }
    }

    /// The same, with an address and a port that are derived from the list of peers: among the
    /// administratively scoped addresses for local use, 239.255.0.0/16 (RFC 2365). Two groups that
    /// come to the same by chance hear each other's datagrams, and drop them.
    pub fn of(peers: &[String]) -> Self {
        let [.., a, b, c, d] = datagram::digest_of(&peers).to_le_bytes();
        // Below the ports that systems draw from.
        let port = 10_000 + u16::from_le_bytes([c, d]) % 20_000;
        Self::at(SocketAddrV4::new(Ipv4Addr::new(239, 255, a, b), port))
    }

    /// The same on another interface, from where datagrams reach its network and no further.
    #[must_use]
    pub const fn on(self, interface: Ipv4Addr) -> Self {
        Self { interface, ttl: 1, ..self }
    }

    /// The same, or by datagrams to each where that does not work.
    #[must_use]
    pub const fn or_unicast(self) -> Self {
        Self { or_unicast: true, ..self }
    }
}

/// `unicast`, or the address and port of a group on loopback.
impl FromStr for Cast {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unicast" {
            return Ok(Self::Unicast);
        }
        match text.parse::<SocketAddrV4>() {
            Ok(group) if group.ip().is_multicast() && group.port() > 0 => {
                Ok(Self::Multicast(Multicast::at(group)))
            }
            Ok(_) | Err(_) => Err(format!(
                "'{text}' is neither 'unicast' nor a multicast address with a port, such as \
                 239.255.1.2:7000"
            )),
        }
    }
}

/// In words that are the same wherever it is set up alike.
impl fmt::Display for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unicast => f.write_str("unicast"),
            Self::Multicast(Multicast { group, or_unicast: false, .. }) => {
                write!(f, "multicast to {group}")
            }
            Self::Multicast(Multicast { group, or_unicast: true, .. }) => {
                write!(f, "multicast to {group}, or unicast")
            }
        }
    }
}

/// Injected faults of datagrams, at the receiver: each share is a fraction of all datagrams of
/// other members, from 0 to 1, hellos and heartbeats included.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Faults {
    /// Dropped.
    pub lost: f64,
    /// Heeded twice, the second time behind the next one.
    pub doubled: f64,
    /// Heeded behind the next one.
    pub overtaken: f64,
    /// The seed, combined with the node's id.
    pub seed: u64,
}

impl Udp {
    pub(crate) fn validate(&self) -> Result<(), NetError> {
        let Self { cast, faults: Faults { lost, doubled, overtaken, seed: _ } } = *self;
        for (name, share) in [("lost", lost), ("doubled", doubled), ("overtaken", overtaken)] {
            if !(0.0..=1.0).contains(&share) {
                let why = format!("a share of {share} {name} datagrams is not from 0 to 1");
                return Err(NetError::Udp(why));
            }
        }
        if lost + doubled + overtaken > 1.0 {
            let why = format!(
                "shares of {lost} lost, {doubled} doubled and {overtaken} overtaken datagrams \
                 are more than all"
            );
            return Err(NetError::Udp(why));
        }
        match cast {
            Cast::Multicast(Multicast { group, .. }) if !group.ip().is_multicast() => {
                Err(NetError::Udp(format!(
                    "{group} is no multicast address: those are 224.0.0.0 to 239.255.255.255"
                )))
            }
            Cast::Multicast(Multicast { group, .. }) if group.port() == 0 => {
                Err(NetError::Udp(format!("the multicast address {group} needs a port")))
            }
            Cast::Multicast(_) | Cast::Unicast => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let udp = Udp::default();
        udp.validate().unwrap();
        let at = |address: &str| Cast::Multicast(Multicast::at(address.parse().unwrap()));
        let faults = Faults { lost: 0.5, doubled: 0.25, overtaken: 0.25, seed: 0 };
        Udp { cast: at("239.1.2.3:7000"), faults }.validate().unwrap();
        for (udp, words) in [
            (Udp { faults: Faults { lost: 1.5, ..faults }, ..udp }, "a share of 1.5 lost"),
            (Udp { faults: Faults { doubled: -0.1, ..faults }, ..udp }, "-0.1 doubled"),
            (Udp { faults: Faults { overtaken: f64::NAN, ..faults }, ..udp }, "NaN overtaken"),
            (Udp { faults: Faults { lost: 0.6, ..faults }, ..udp }, "more than all"),
            (Udp { cast: at("10.1.2.3:7000"), ..udp }, "10.1.2.3:7000 is no multicast address"),
            (Udp { cast: at("239.1.2.3:0"), ..udp }, "needs a port"),
        ] {
            let error = udp.validate().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_way_to_reach_all_is_read_or_named() {
        assert_eq!("unicast".parse(), Ok(Cast::Unicast));
        let group = "239.255.1.2:7000".parse().unwrap();
        assert_eq!("239.255.1.2:7000".parse(), Ok(Cast::Multicast(Multicast::at(group))));
        for wrong in ["", "multicast", "10.1.2.3:7000", "239.255.1.2", "239.255.1.2:0", "[::1]:7"] {
            let error = wrong.parse::<Cast>().unwrap_err();
            assert!(error.starts_with(&format!("'{wrong}' is neither 'unicast' nor")), "{error}");
        }
    }

    #[test]
    fn derived_addresses_are_local_and_differ_with_the_list() {
        let peers = |port: u16| vec![format!("127.0.0.1:{port}"), "127.0.0.1:9".to_owned()];
        let groups: Vec<SocketAddrV4> =
            (1..50).map(|port| Multicast::of(&peers(port)).group).collect();
        for group in &groups {
            assert_eq!(group.ip().octets()[..2], [239, 255]);
            assert!((10_000..30_000).contains(&group.port()), "{group}");
        }
        let distinct: std::collections::BTreeSet<_> = groups.iter().collect();
        assert_eq!(distinct.len(), groups.len());
        assert_eq!(Multicast::of(&peers(1)).group, groups[0]);
    }
}
