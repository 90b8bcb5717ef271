//! Locks, semaphores and elections between processes: a member of the group inside your own
//! program, without a server.
//!
//! Members agree on who is in the group, and hand over what is locked directly to each other. Every
//! hold has a [fencing token](Token), and lasts no longer than its member can prove that it belongs
//! to the group: by a lease. Without a list of members a program is a group of one:
//!
//! ```
//! use vorrang_lock::{Config, Group, Token};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # fn write(_: &str, _: Token) {}
//! # let config = Config { lease: None, ..Config::default() };
//! let group = Group::start(config).await?;
//! let guard = group.lock("invoices").await?;
//! write("invoices", guard.token());
//! drop(guard); // or guard.release().await, to know that it is done
//! # let again = group.lock("invoices").await?;
//! # assert!(again.token() > Token { view: 1, number: 0 });
//! # Ok(())
//! # }
//! ```
//!
//! With one they are a group, on this machine or on several:
//!
//! ```toml
//! name = "a"                     # which of the members this is
//! [[member]]                     # the same list for all, in the same order
//! name = "a"
//! address = "127.0.0.1:7400"
//! [[member]]
//! name = "b"
//! address = "127.0.0.1:7401"
//! [[member]]
//! name = "c"
//! address = "127.0.0.1:7402"
//! ```
//!
//! ```no_run
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! let group = vorrang_lock::Group::open("vorrang.toml").await?;
//! let guard = group.lock("nightly-backup").await?;
//! tokio::select! {
//!     () = guard.at_risk() => println!("stop: the lock is about to be lost"),
//!     () = back_up() => println!("done"),
//! }
//! # async fn back_up() {}
//! # Ok(())
//! # }
//! ```
//!
//! **What may be lost.** A member that is cut off or stands still is evicted by the others, after
//! `beat + margin` of silence. With leases it loses its locks before others get them, if clocks are
//! as exact as `drift` says; [`Guard::at_risk`] comes `grace` before. A program that stands still
//! as a whole cannot be warned: so resources should refuse [tokens](Token) that are older than the
//! newest they have seen, which also protects them if clocks are wrong.
//!
//! **Cancel-safe.** Any future may be dropped at any moment: nothing is held or waited for
//! afterwards. A guard that is dropped releases.
//!
//! **Not re-entrant.** Who asks for what it holds waits for itself; [`Group::lock_within`] bounds
//! that.
//!
//! The member runs on the runtime that it was started on, and renews its lease there: a program
//! that blocks all threads of its runtime for longer than a lease loses its locks.
#![forbid(unsafe_code)]

mod clients;
mod config;
mod dispatcher;
mod error;
mod group;
mod guard;
mod members;
mod membership;
mod nowhere;
mod observer;
mod recovery;
mod running;
mod start;
#[cfg(feature = "tls")]
pub mod tls;
mod token;

pub use vorrang_algorithms::group::named::{
    Client, Key as NameKey, Kind, LONGEST_NAME, LONGEST_VALUE, Name, UnfitText, Value, Want,
};

pub use vorrang_net::StopReason;

pub use clients::{HoldInfo, HoldState};
pub use config::{ClientLimits, Config, ConfigError, Key, LogFormat, MemberAddress, TlsFiles};
pub use error::{LockError, Loss, OpenError};
pub use group::{Group, Request};
pub use guard::Guard;
pub use members::{Evicted, MemberInfo, Members};
pub use observer::{Leader, Observer};
pub use recovery::{Recovery, RecoveryError};
pub use token::{NoToken, Token};
