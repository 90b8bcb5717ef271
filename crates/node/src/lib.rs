//! A node on a terminal: what is typed at it (input, order), what it says without ever waiting for
//! a reader (voice), how it is (condition), how it ends (signals), and its life on views.
#![forbid(unsafe_code)]

mod condition;
mod conversation;
mod hosts;
mod input;
mod log;
mod node;
mod on_views;
mod order;
mod signals;
pub mod terminal;
mod voice;

pub use node::Node;
