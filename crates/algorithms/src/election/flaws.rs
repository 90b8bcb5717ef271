//! The mistakes that people make with these algorithms.

use vorrang_protocol::{Delay, NodeId};

use super::bully::{Bully, Patience};
use crate::setup::Setup;

/// Whoever was answered waits for the result for ever: if all that answered crash, nobody leads.
pub fn no_second_time_out(me: NodeId, setup: &Setup) -> Bully {
    let patience = Patience { result: None, ..Patience::new(setup.within) };
    Bully::with(me, setup.group, patience)
}

/// The time-out is one message long and not two: an answer that is in time comes too late.
pub fn short_time_out(me: NodeId, setup: &Setup) -> Bully {
    let answer = Delay::exactly(setup.within);
    Bully::with(me, setup.group, Patience { answer, ..Patience::new(setup.within) })
}
