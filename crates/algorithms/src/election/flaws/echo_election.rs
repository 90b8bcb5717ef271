//! Mistakes of echo election.

use vorrang_protocol::{Effects, NodeId, Protocol};

use crate::election::echo_election::{EchoElection, Mark, Message};
use crate::flaw::Mistake;

/// A node in a higher wave echoes a lower one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LowerWavesAnswered;

impl Mistake<EchoElection> for LowerWavesAnswered {
    fn on_message(
        self,
        node: &mut EchoElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<EchoElection>,
    ) {
        node.on_message(from, message, fx);
        match message {
            Message::Candidate(mark) if mark < node.reached() => {
                fx.send(from, Message::Agreed(mark));
            }
            Message::Candidate(_) | Message::Agreed(_) | Message::Leader(_) => {}
        }
    }
}

/// A node in a wave joins no other wave of this election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FirstWaveStays;

impl Mistake<EchoElection> for FirstWaveStays {
    fn on_message(
        self,
        node: &mut EchoElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<EchoElection>,
    ) {
        let Mark { round, candidate } = message.mark();
        let is_in_another = round == node.round
            && node.part.as_ref().is_some_and(|part| part.candidate != candidate);
        if !is_in_another {
            node.on_message(from, message, fx);
        }
    }
}

/// Every message is taken for a part of the current election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unnumbered;

impl Mistake<EchoElection> for Unnumbered {
    fn on_message(
        self,
        node: &mut EchoElection,
        from: NodeId,
        message: Message,
        fx: &mut impl Effects<EchoElection>,
    ) {
        let current = |mark: Mark| Mark { round: mark.round.max(node.round), ..mark };
        let message = match message {
            Message::Candidate(mark) => Message::Candidate(current(mark)),
            Message::Agreed(mark) => Message::Agreed(current(mark)),
            Message::Leader(mark) => Message::Leader(current(mark)),
        };
        node.on_message(from, message, fx);
    }
}
