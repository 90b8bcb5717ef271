//! Discovery: processes that know a multicast address, and how many they are to be, find each other
//! and agree on a list. After that they are a group like any other.
//!
//! Every process announces itself to the multicast group, from the socket at which members will
//! reach it (`announcement`), until all have agreed (`agreement`). Whoever has agreed answers
//! those who come late for as long as it runs: they are told that the group is complete.
//!
//! - **The same group** is one of the same name; groups of other names may share the address. A
//!   process of the same name that is set up differently is reported once, and is no candidate.
//! - **More than wanted**: nobody starts until some have gone, and everybody says who is there.
//! - **Bounds**: 64 candidates, one for each address; a datagram counts only if it comes from the
//!   address that it names. Announcements leave every 100 ms, or after a change of stage, but not
//!   within 10 ms. What is no announcement is dropped and counted.
//! - **Trust** is as little as in the rest of UDP: whoever can send to the group can take a place
//!   in it, or pretend that it is complete.
//!
//! What the agreement does not guarantee, the meeting of members does afterwards: a group begins
//! when all that are in the list have met, and have the same list.
//!
//! ```
//! use vorrang_net::udp::{Discovery, Faults, Multicast, Search};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let search = |_| Search {
//!     multicast: Multicast::at("239.255.77.1:17001".parse().unwrap()),
//!     group: format!("example {}", std::process::id()),
//!     algorithm: "heartbeat".to_owned(),
//!     setup: String::new(),
//!     nodes: 2,
//!     listen: "127.0.0.1:0".to_owned(),
//!     faults: Faults::default(),
//! };
//! let find = |mut one: Discovery| async move {
//!     one.run(|_| ()).await.expect("nobody is late");
//!     one.settle()
//! };
//! let (one, other) = (search(0).begin().await?, search(1).begin().await?);
//! let (one, other) = tokio::join!(find(one), find(other));
//! let (one, other) = (one?, other?);
//! assert_eq!(one.peers, other.peers);
//! assert_ne!(one.id, other.id);
//! // Each goes on with its socket, as `Node::over_udp(…).socket(one.socket)`.
//! # Ok(())
//! # }
//! ```

pub mod agreement;
pub(crate) mod announcement;
mod search;

pub use search::{Answering, Discovery, Found, LeftOut, Search, Sighting};
