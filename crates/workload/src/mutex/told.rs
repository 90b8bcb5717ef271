//! Locks on views whose failure detectors are commands: for the checker, which tries all that they
//! could say.

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::spec::WithSuspicions;
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::problem::Problem;

use crate::explored;

/// Mutual exclusion on views, where nodes are told whom to suspect.
#[derive(Debug)]
pub enum ToldLocks {}

impl Problem for ToldLocks {
    const NAME: &'static str = Mutex::NAME;
    const TITLE: &'static str = Mutex::TITLE;

    type Command = Input<Command>;
    type Notice = Notice;
    type Terms = <Mutex as Problem>::Terms;
    type Setting = <Mutex as Problem>::Setting;
    type Demonstration = <Mutex as Problem>::Demonstration;
}

explored!(ToldLocks, WithSuspicions);
