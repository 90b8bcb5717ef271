//! A node on a terminal: typed commands (input, order), output that never blocks
//! (`nonblocking_output`), status (`node_status`), signals, and locks on views.
#![forbid(unsafe_code)]

mod command_queue;
mod discovery;
mod fixed_group;
mod hosted;
mod hosts;
mod input;
mod log;
mod lost;
mod node_status;
mod nonblocking_output;
mod on_views;
mod options;
mod order;
mod run;
mod signals;
pub mod state_text;
pub mod terminal;
mod terminal_session;
mod views_options;

pub use options::Node;
pub use run::run;
