//! The two ways to miscount the replies of Raymond's k-exclusion.

use vorrang_protocol::{Effects, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::k_exclusion::{KExclusion, Message, Phase};

/// Every request starts counting anew, so that a reply to an old one counts for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DebtsForgotten;

impl Mistake<KExclusion> for DebtsForgotten {
    fn on_command(
        self,
        node: &mut KExclusion,
        command: Command,
        fx: &mut impl Effects<KExclusion>,
    ) -> Result<(), Refused> {
        if let (Command::Acquire(_), Phase::Outside) = (command, node.phase) {
            node.owed.fill(0);
        }
        node.on_command(command, fx)
    }
}

/// A reply counts as one, however many requests it answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReplyCountsOnce;

impl Mistake<KExclusion> for ReplyCountsOnce {
    fn edit(message: Message) -> Message {
        match message {
            Message::Reply { .. } => Message::Reply { count: 1 },
            Message::Request { .. } => message,
        }
    }
}
