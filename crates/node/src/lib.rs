//! A node on a terminal: what is typed at it (input, order), what it says without ever waiting for
//! a reader (voice), how it is (condition), how it ends (signals), and its life on views.
#![forbid(unsafe_code)]

mod hosted;
mod hosts;
mod input;
mod log;
mod node_status;
mod nonblocking_output;
mod on_views;
mod options;
mod order;
mod run;
mod signals;
pub mod terminal;
mod terminal_session;
mod views_options;

pub use options::Node;
pub use run::run;
