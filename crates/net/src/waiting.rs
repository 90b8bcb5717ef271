//! Messages to a peer that is not connected, in an open group: without sequence numbers, since it
//! is not known yet which process will receive them.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How long a message is kept. Members are not apart for so long without a report; and most peers
/// that are away for so long never come back.
const KEPT: Duration = Duration::from_secs(600);

/// The oldest first.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    messages: VecDeque<(Instant, Box<[u8]>)>,
    bytes: usize,
}

impl Waiting {
    /// Adds a message. Says how many others are lost because they are too old, or because more than
    /// so many, or so many bytes, would wait.
    pub(crate) fn push(
        &mut self,
        message: &[u8],
        (most, most_bytes): (usize, usize),
        now: Instant,
    ) -> u64 {
        self.bytes += message.len();
        self.messages.push_back((now, message.into()));
        let mut lost = 0;
        while let Some((at, oldest)) = self.messages.front()
            && (self.messages.len() > most || self.bytes > most_bytes || now - *at > KEPT)
        {
            self.bytes -= oldest.len();
            self.messages.pop_front();
            lost += 1;
        }
        lost
    }

    /// All of them, which do not wait any more.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Box<[u8]>> + use<> {
        let Self { messages, .. } = std::mem::take(self);
        messages.into_iter().map(|(_, message)| message)
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
        let lost: Vec<u64> = (0..4).map(|byte| waiting.push(&[byte; 10], (3, 1000), now)).collect();
        assert_eq!((lost, waiting.len(), waiting.len_bytes()), (vec![0, 0, 0, 1], 3, 30));
        assert_eq!(waiting.push(&[4; 25], (9, 50), now), 1);
        assert_eq!(waiting.push(&[5], (9, 1000), now + KEPT), 0);
        assert_eq!(waiting.push(&[6], (9, 1000), now + KEPT + Duration::from_millis(1)), 3);
        let left: Vec<u8> = waiting.take().map(|message| message[0]).collect();
        assert_eq!((left, waiting.len(), waiting.len_bytes()), (vec![5, 6], 0, 0));
    }
}
