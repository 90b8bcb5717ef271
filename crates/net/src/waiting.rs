//! Messages to a peer that is not connected, in an open group: without sequence numbers, since it
//! is not known yet which process will receive them.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How long a message is kept. Members are not apart for so long without a report; and most peers
/// that are away for so long never come back.
const KEPT: Duration = Duration::from_secs(600);

/// The oldest first. Of those that only say how this node stands there is the last alone: what was
/// said before may be wrong by now, and several in a row look as if it had been so for long.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    messages: VecDeque<Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    since: Instant,
    is_status: bool,
    message: Box<[u8]>,
}

impl Waiting {
    /// Adds a message. Says how many others are lost because they are too old, or because more than
    /// so many, or so many bytes, would wait.
    pub(crate) fn push(
        &mut self,
        message: &[u8],
        is_status: bool,
        (most, most_bytes): (usize, usize),
        now: Instant,
    ) -> u64 {
        let is_outdated = |it: &Kept| is_status && it.is_status;
        if let Some(place) = self.messages.iter().rposition(is_outdated) {
            self.drop_at(place);
        }
        self.bytes += message.len();
        self.messages.push_back(Kept { since: now, is_status, message: message.into() });
        let mut lost = 0;
        while let Some(oldest) = self.messages.front()
            && (self.messages.len() > most || self.bytes > most_bytes || now - oldest.since > KEPT)
        {
            self.drop_at(0);
            lost += 1;
        }
        lost
    }

    fn drop_at(&mut self, place: usize) {
        if let Some(dropped) = self.messages.remove(place) {
            self.bytes -= dropped.message.len();
        }
    }

    /// All of them, which do not wait any more.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Box<[u8]>> + use<> {
        let Self { messages, .. } = std::mem::take(self);
        messages.into_iter().map(|it| it.message)
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) const fn len_bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_if_they_are_too_many_too_long_or_too_old() {
        let (mut waiting, now) = (Waiting::default(), Instant::now());
        let mut push = |message: &[u8], limits, now| waiting.push(message, false, limits, now);
        let lost: Vec<u64> = (0..4).map(|byte| push(&[byte; 10], (3, 1000), now)).collect();
        assert_eq!((lost, waiting.len(), waiting.len_bytes()), (vec![0, 0, 0, 1], 3, 30));
        let mut push = |message: &[u8], limits, now| waiting.push(message, false, limits, now);
        assert_eq!(push(&[4; 25], (9, 50), now), 1);
        assert_eq!(push(&[5], (9, 1000), now + KEPT), 0);
        assert_eq!(push(&[6], (9, 1000), now + KEPT + Duration::from_millis(1)), 3);
        let left: Vec<u8> = waiting.take().map(|message| message[0]).collect();
        assert_eq!((left, waiting.len(), waiting.len_bytes()), (vec![5, 6], 0, 0));
    }

    #[test]
    fn of_those_that_say_how_this_node_stands_the_last_is_kept() {
        let (mut waiting, now) = (Waiting::default(), Instant::now());
        for (message, is_status) in [(1, true), (2, false), (3, true), (4, true), (5, false)] {
            let lost = waiting.push(&[message; 10], is_status, (9, 1000), now);
            assert_eq!(lost, 0, "what is outdated is no loss");
        }
        assert_eq!(waiting.len_bytes(), 30);
        let left: Vec<u8> = waiting.take().map(|message| message[0]).collect();
        assert_eq!(left, [2, 4, 5]);
    }
}
