//! The address book of an open group: the addresses of its members by id, as far as this node knows
//! them.
//!
//! A fixed group has a list that all are given. An open one has a fixed number of ids, and a node
//! knows the addresses of some: those that it was given, and those that others have sent it. A
//! node's own address counts; addresses that it sends of others fill gaps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

/// How long an address may be: a name of a host, which is of 255 bytes at most, and a port.
pub(crate) const MAX_ADDRESS_LEN: usize = 255 + ":65535".len();

/// How large an open group may become: so large that a hello with the longest addresses still fits.
pub const MAX_ROOM: usize = 128;

/// Shared by the node's task and the tasks that dial for it.
#[derive(Clone, Debug)]
pub(crate) struct AddressBook(Arc<Mutex<Vec<String>>>);

impl AddressBook {
    pub(crate) fn new(addresses: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(addresses)))
    }

    fn open(&self) -> MutexGuard<'_, Vec<String>> {
        // A list of texts stays valid after a panic of another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All addresses; unknown ones are empty.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.open().clone()
    }

    /// Where a node says it is. True if that is news.
    pub(crate) fn note(&self, node: NodeId, address: &str) -> bool {
        match self.open().get_mut(node.index()) {
            Some(known) if known != address => {
                address.clone_into(known);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Takes over addresses from another node's list, where they were not known.
    pub(crate) fn fill(&self, theirs: &[String]) -> Vec<(NodeId, String)> {
        let mut ours = self.open();
        let mut news = Vec::new();
        for ((id, ours), theirs) in (0..).zip(ours.iter_mut()).zip(theirs) {
            if ours.is_empty() && is_address(theirs) {
                theirs.clone_into(ours);
                news.push((NodeId(id), theirs.clone()));
            }
        }
        news
    }

    /// The node at an address.
    pub(crate) fn who_is_at(&self, address: &str) -> Option<NodeId> {
        let place = self.open().iter().position(|it| it == address)?;
        Some(NodeId(place as u32))
    }

    /// The numbers of which no address is known, from this one on.
    pub(crate) fn unused(&self, from: u32) -> Vec<NodeId> {
        let ours = self.open();
        let is_unused = |id: &u32| ours[*id as usize].is_empty();
        (from..ours.len() as u32).filter(is_unused).map(NodeId).collect()
    }
}

/// Whether this may be an address: HOST:PORT, and not too long.
pub(crate) fn is_address(text: &str) -> bool {
    let parts = text.rsplit_once(':');
    let is_whole = parts.is_some_and(|(host, port)| {
        let is_plain = |it: char| it.is_ascii_graphic();
        !host.is_empty() && host.chars().all(is_plain) && port.parse::<u16>().is_ok_and(|it| it > 0)
    });
    is_whole && text.len() <= MAX_ADDRESS_LEN
}

/// The request of a process to join an open group, without an id yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JoinRequest {
    /// The group's name.
    pub group: String,
    /// The algorithm's name.
    pub algorithm: String,
    /// How the algorithm is set up, in its canonical words.
    pub setup: String,
    /// How many numbers there are.
    pub room: u32,
    /// Where others will find the one who asks.
    pub address: String,
    /// The number that it was given before, and that another process has: not that one.
    pub but: Option<NodeId>,
}

/// The id for a new member, and the addresses that the member that gives it knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JoinGrant {
    /// The number.
    pub id: NodeId,
    /// Addresses by number; empty if unknown.
    pub peers: Vec<String>,
    /// Numbers below this are not given to newcomers.
    pub founders: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> AddressBook {
        AddressBook::new(["a:1", "b:2", "", ""].map(str::to_owned).to_vec())
    }

    #[test]
    fn what_others_say_fills_gaps_and_what_one_says_of_itself_counts() {
        let address_book = book();
        let theirs = ["x:9", "b:2", "c:3", "not an address"].map(str::to_owned);
        assert_eq!(address_book.fill(&theirs), [(NodeId(2), "c:3".to_owned())]);
        assert!(address_book.fill(&theirs).is_empty());
        assert!(address_book.note(NodeId(0), "x:9") && !address_book.note(NodeId(0), "x:9"));
        assert!(!address_book.note(NodeId(7), "x:9"), "there is no such number");
        assert_eq!(address_book.addresses(), ["x:9", "b:2", "c:3", ""]);
        assert_eq!(
            (address_book.who_is_at("c:3"), address_book.who_is_at("a:1")),
            (Some(NodeId(2)), None)
        );
        assert_eq!(address_book.unused(0), [NodeId(3)]);
        assert!(address_book.unused(4).is_empty());
    }

    #[test]
    fn addresses_are_hosts_with_ports() {
        for address in ["127.0.0.1:7000", "[::1]:1", "host.example:65535"] {
            assert!(is_address(address), "{address}");
        }
        let long = format!("{}:1", "x".repeat(300));
        for wrong in ["", "a", ":1", "a:", "a:0", "a:65536", "a b:1", "a\n:1", "ä:1", &long] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }
}
