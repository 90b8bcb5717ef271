//! Monitors of machines that are fed by a failure detector: what that says is seen as well.

use alloc::string::String;
use alloc::vec::Vec;

use vorrang_protocol::{Monitor, NodeId, NodeSet, Obligation, Violation};

use super::input::Input;

/// A monitor that uses the suspicions of nodes.
pub trait Suspecting: Monitor {
    /// The nodes that this node suspects, as reported.
    fn suspects(&mut self, at: NodeId) -> &mut NodeSet;
}

/// A monitor of machines without detectors, over what detectors and applications tell them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WithSuspicions<M>(pub(super) M);

impl<M: Suspecting> Monitor for WithSuspicions<M> {
    type Command = Input<M::Command>;
    type Notice = M::Notice;
    type Tag = M::Tag;

    fn on_command(&mut self, at: NodeId, command: &Self::Command) -> Result<(), Violation> {
        match command {
            Input::Ask(command) => return self.0.on_command(at, command),
            Input::Suspect(of) => {
                self.0.suspects(at).insert(*of);
            }
            Input::Trust(of) => {
                self.0.suspects(at).remove(*of);
            }
            Input::Beat => {}
        }
        Ok(())
    }
    fn on_notice(&mut self, at: NodeId, notice: &M::Notice) -> Result<(), Violation> {
        self.0.on_notice(at, notice)
    }
    fn at_rest(&self) -> Result<(), Violation> {
        self.0.at_rest()
    }
    fn obligations(&self) -> Vec<Obligation> {
        self.0.obligations()
    }
    fn unfinished(&self) -> Option<String> {
        self.0.unfinished()
    }
    fn on_crash(&mut self, at: NodeId) {
        self.0.on_crash(at);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.0.on_restart(at);
    }
    fn on_cut(&mut self, sides: &[Vec<NodeId>]) {
        self.0.on_cut(sides);
    }
    fn on_heal(&mut self, sides: &[Vec<NodeId>]) {
        self.0.on_heal(sides);
    }
    fn on_link_cut(&mut self, from: NodeId, to: NodeId) {
        self.0.on_link_cut(from, to);
    }
    fn on_link_mended(&mut self, from: NodeId, to: NodeId) {
        self.0.on_link_mended(from, to);
    }
    fn on_send(&self, at: NodeId) -> M::Tag {
        self.0.on_send(at)
    }
    fn on_receive(&mut self, at: NodeId, tag: &M::Tag) {
        self.0.on_receive(at, tag);
    }
}
