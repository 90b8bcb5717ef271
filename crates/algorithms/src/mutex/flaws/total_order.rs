//! A queue by totally ordered multicast on links without order, and with a node that mistakes its
//! last request for its new one. (Orders that are not total are set-ups, and no code.)

use vorrang_protocol::{Effects, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::total_order::TotalOrder;

/// Nothing wrong with the code: for links that do not keep order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AsItIs;

impl Mistake<TotalOrder> for AsItIs {}

/// A node that asks enters if it is the first of the queue, though it has left since.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OldRequestCounts;

impl Mistake<TotalOrder> for OldRequestCounts {
    fn on_command(
        self,
        node: &mut TotalOrder,
        command: Command,
        fx: &mut impl Effects<TotalOrder>,
    ) -> Result<(), Refused> {
        node.on_command(command, fx)?;
        match command {
            Command::Acquire(_) => {
                node.is_leaving = false;
                node.enter_if_first(fx);
            }
            Command::Release => {}
        }
        Ok(())
    }
}
