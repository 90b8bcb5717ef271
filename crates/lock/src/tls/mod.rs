//! Mutual TLS: who may speak with whom, proved by certificates of a private authority.
//!
//! A group has an **authority** of its own, which vouches for its members and for the clients that
//! use it from other machines, and for nobody else: whoever has a certificate of it belongs to the
//! group, so one authority serves one group. A certificate says what its holder is, a
//! [member or a client](Role), and its name.
//!
//! ```text
//!   member a                                        member b
//!     │──TLS 1.3: certificate of member a────────────►│  of our authority? valid now?
//!     │◄──────────certificate of member b─────────────│  a member, and on our list?
//!     │   is it b, whom I have dialled?               │
//!     │──hello: I am node 0──────────────────────────►│  is node 0 the member a?
//! ```
//!
//! - Members accept members alone, and only those on their list. That the certificate is that of
//!   the member that is dialled, and that of the member that a hello claims to be from, is judged
//!   by the node ([`Stream::proves`](vorrang_net::Stream)); it asks once a connection.
//! - TLS 1.3 and nothing older; no resumption and no early data, so every connection is judged anew
//!   and no recorded byte is worth anything.
//! - What the other end has wrong is said in a sentence at both ends, with the name and the dates
//!   of the certificate. Over the wire goes an alert of TLS alone, so the one who is refused says
//!   what it knows of its own certificate.
//! - Certificates are read again on request ([`Tls::reload`]); connections that exist go on.

mod certificate;
mod files;
#[cfg(feature = "keys")]
pub mod issue;
mod member_list;
mod pem;
mod remote;
mod rustls_config;
mod sentence;
mod stream;
mod transport;
mod verdict;
mod verifier;

pub use certificate::{Certificate, Holder, MAX_NAME_LEN, NameError, Role, validate_name};
pub use files::KeyFiles;
pub use member_list::MemberList;
pub use pem::KeyError;
pub use remote::{ClientTls, Remote};
pub use stream::TlsStream;
pub use transport::{Tls, TlsListener};
