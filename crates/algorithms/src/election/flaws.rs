//! Known mistakes, each a variant of the correct machine that knows nothing of it.

use core::time::Duration;

use vorrang_protocol::{Delay, Group, NodeId};

use super::bully::{Bully, Patience};

/// Whoever was answered waits for the result for ever: if all that answered crash, nobody leads.
pub fn no_second_time_out(me: NodeId, group: Group, within: Duration) -> Bully {
    let patience = Patience { result: None, ..Patience::new(within) };
    Bully::with(me, group, patience)
}

/// The time-out is one message long and not two: an answer that is in time comes too late.
pub fn short_time_out(me: NodeId, group: Group, within: Duration) -> Bully {
    let patience = Patience { answer: Delay::exactly(within), ..Patience::new(within) };
    Bully::with(me, group, patience)
}
