//! Suzuki–Kasami with requests and tokens that are mistaken for something else, forgotten or kept.

use vorrang_protocol::{Effects, NodeId, Protocol, Refused};

use crate::flaw::Mistake;
use crate::mutex::Command;
use crate::mutex::suzuki_kasami::{Message, Phase, SuzukiKasami, Token};

const fn is_request(message: &Message) -> bool {
    match message {
        Message::Request { .. } => true,
        Message::Privilege(_) => false,
    }
}

/// An idle holder sends the token to any node that asks or ever asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutdatedRequestsServed;

impl Mistake<SuzukiKasami> for OutdatedRequestsServed {
    fn on_message(
        self,
        node: &mut SuzukiKasami,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<SuzukiKasami>,
    ) {
        let finds_it_idle = is_request(&message) && matches!(node.phase, Phase::Holding(_));
        node.on_message(from, message, fx);
        // Still here: the request was served before, so that RN is LN and not LN + 1.
        if finds_it_idle {
            node.give_away(from, fx);
        }
    }
}

/// At an exit all whose RN is no less than LN are queued, and that is everyone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EveryoneIsQueued;

impl Mistake<SuzukiKasami> for EveryoneIsQueued {
    fn on_command(
        self,
        node: &mut SuzukiKasami,
        command: Command,
        fx: &mut impl Effects<SuzukiKasami>,
    ) -> Result<(), Refused> {
        let others = node.to_the_right();
        if let (Command::Release, Phase::Inside(token)) = (command, &mut node.phase) {
            for other in others {
                if !token.queue.contains(&other) {
                    token.queue.push_back(other);
                }
            }
        }
        node.on_command(command, fx)
    }
}

/// A node inside takes no note of requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestsMissedInside;

impl Mistake<SuzukiKasami> for RequestsMissedInside {
    fn on_message(
        self,
        node: &mut SuzukiKasami,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<SuzukiKasami>,
    ) {
        if !(is_request(&message) && matches!(node.phase, Phase::Inside(_))) {
            node.on_message(from, message, fx);
        }
    }
}

/// There is no queue: of those who wait, the lowest number is next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueueLeftBehind;

impl Mistake<SuzukiKasami> for QueueLeftBehind {
    fn on_command(
        self,
        node: &mut SuzukiKasami,
        command: Command,
        fx: &mut impl Effects<SuzukiKasami>,
    ) -> Result<(), Refused> {
        if let (Command::Release, Phase::Inside(token)) = (command, &mut node.phase) {
            let waits = |other: &NodeId| token.is_next(*other, node.asked[other.index()]);
            let lowest = node.group.others(node.me).find(waits);
            token.queue.clear();
            token.queue.extend(lowest);
        }
        node.on_command(command, fx)
    }

    fn edit(message: Message) -> Message {
        match message {
            Message::Privilege(Token { served, .. }) => {
                Message::Privilege(Token { served, ..Token::default() })
            }
            Message::Request { .. } => message,
        }
    }
}

/// An idle token is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenLost;

impl Mistake<SuzukiKasami> for TokenLost {
    fn on_command(
        self,
        node: &mut SuzukiKasami,
        command: Command,
        fx: &mut impl Effects<SuzukiKasami>,
    ) -> Result<(), Refused> {
        node.on_command(command, fx)?;
        if let (Command::Release, Phase::Holding(_)) = (command, &node.phase) {
            node.phase = Phase::Outside;
        }
        Ok(())
    }
}

/// A token that is sent to a requester stays here as well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenDoubled;

impl Mistake<SuzukiKasami> for TokenDoubled {
    fn on_message(
        self,
        node: &mut SuzukiKasami,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<SuzukiKasami>,
    ) {
        let finds_it_idle = is_request(&message) && matches!(node.phase, Phase::Holding(_));
        let before = node.phase.clone();
        node.on_message(from, message, fx);
        if finds_it_idle {
            node.phase = before;
        }
    }
}
