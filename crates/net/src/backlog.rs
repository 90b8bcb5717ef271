//! The unacknowledged messages of one link, in order.
//!
//! Frames are encoded once, one behind the other in one buffer, and copied from there to every
//! connection that needs them. In a steady state nothing is allocated.
//!
//! How much may wait is bounded, see [`Limits`]; a warning is logged long before, when the backlog
//! reaches [`WARN_LEN`] messages, and again at every doubling. Algorithms of this kind owe each
//! peer a bounded number of messages, so it grows only as fast as the application's commands do.

use std::collections::VecDeque;

use crate::config::Limits;
use crate::wire::WireError;

/// How many unacknowledged messages on one link are worth a warning.
pub const WARN_LEN: usize = 1 << 14;

/// How many acknowledged bytes may lie in front before they are cleared away.
const SLACK: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Backlog {
    bytes: Vec<u8>,
    /// Where the first unacknowledged frame begins.
    head: usize,
    /// The length of every unacknowledged frame.
    lens: VecDeque<u32>,
    /// The number of the first unacknowledged frame.
    first: u64,
    /// How many of the unacknowledged frames this connection has been given, and where they end.
    staged: usize,
    staged_end: usize,
    warn_at: usize,
}

impl Backlog {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            head: 0,
            lens: VecDeque::new(),
            first: 0,
            staged: 0,
            staged_end: 0,
            warn_at: WARN_LEN,
        }
    }

    /// Adds the frame that `encode` appends; on an error, nothing. True if it is time to warn.
    pub(crate) fn push(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
    ) -> Result<bool, WireError> {
        let start = self.bytes.len();
        encode(&mut self.bytes)?;
        self.lens.push_back((self.bytes.len() - start) as u32);
        let is_long = self.lens.len() >= self.warn_at;
        if is_long {
            self.warn_at *= 2;
        }
        Ok(is_long)
    }

    /// Whether more waits than may.
    pub(crate) fn exceeds(&self, limits: &Limits) -> bool {
        self.len() > limits.messages || self.len_bytes() > limits.bytes
    }

    /// All frames below `received` have arrived. False if that cannot be: they were never sent.
    #[must_use]
    pub(crate) fn acknowledge(&mut self, received: u64) -> bool {
        if received > self.next_seq() {
            return false;
        }
        while self.first < received {
            let len = self.lens.pop_front().expect("a frame for every number below the next");
            self.head += len as usize;
            self.first += 1;
            self.staged = self.staged.saturating_sub(1);
        }
        self.staged_end = self.staged_end.max(self.head);
        if self.lens.is_empty() {
            self.warn_at = WARN_LEN;
        }
        let is_worth_it = self.head >= SLACK && self.head * 2 >= self.bytes.len();
        if self.lens.is_empty() || is_worth_it {
            self.bytes.drain(..self.head);
            self.staged_end -= self.head;
            self.head = 0;
        }
        true
    }

    /// A new connection, which has been given nothing yet.
    pub(crate) fn rewind(&mut self) {
        self.staged = 0;
        self.staged_end = self.head;
    }

    /// Nothing of it will ever be wanted.
    pub(crate) fn abandon(&mut self) -> usize {
        let left = self.lens.len();
        let everything = self.next_seq();
        let was_sent = self.acknowledge(everything);
        debug_assert!(was_sent, "all that was sent was sent");
        // It may have been long.
        (self.bytes, self.lens) = (Vec::new(), VecDeque::new());
        left
    }

    /// Appends frames that this connection has not been given to `out`, whole, until `out` has
    /// `limit` bytes or more.
    pub(crate) fn stage(&mut self, out: &mut Vec<u8>, limit: usize) {
        let start = self.staged_end;
        while out.len() + (self.staged_end - start) < limit && self.has_unstaged() {
            self.staged_end += self.lens[self.staged] as usize;
            self.staged += 1;
        }
        out.extend_from_slice(&self.bytes[start..self.staged_end]);
    }

    pub(crate) fn has_unstaged(&self) -> bool {
        self.staged < self.lens.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.lens.len()
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.len() - self.head
    }

    /// The number of the first unacknowledged frame.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next frame gets.
    pub(crate) fn next_seq(&self) -> u64 {
        self.first + self.lens.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn push(backlog: &mut Backlog, byte: u8, len: usize) {
        let frame = vec![byte; len];
        backlog
            .push(|out| {
                out.extend_from_slice(&frame);
                Ok(())
            })
            .unwrap();
    }

    fn stage_all(backlog: &mut Backlog) -> Vec<u8> {
        let mut out = Vec::new();
        backlog.stage(&mut out, usize::MAX);
        out
    }

    #[test]
    fn what_was_not_acknowledged_is_given_to_the_next_connection() {
        let mut backlog = Backlog::new();
        for byte in 0..4 {
            push(&mut backlog, byte, 2);
        }
        assert_eq!(stage_all(&mut backlog), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert!(backlog.acknowledge(1));
        assert!(stage_all(&mut backlog).is_empty(), "given already");
        backlog.rewind();
        assert!(backlog.acknowledge(2));
        assert_eq!(stage_all(&mut backlog), [2, 2, 3, 3]);
        assert!(backlog.acknowledge(1), "late, and known already");
        assert_eq!((backlog.first(), backlog.next_seq()), (2, 4));
    }

    #[test]
    fn nobody_can_acknowledge_what_was_not_sent() {
        let mut backlog = Backlog::new();
        push(&mut backlog, 0, 1);
        assert!(!backlog.acknowledge(2));
        assert_eq!(backlog.len(), 1);
    }

    #[test]
    fn only_so_much_is_given_at_a_time_and_only_whole_frames() {
        let mut backlog = Backlog::new();
        for byte in 0..3 {
            push(&mut backlog, byte, 3);
        }
        let mut out = Vec::new();
        backlog.stage(&mut out, 4);
        assert_eq!(out, [0, 0, 0, 1, 1, 1]);
        assert!(backlog.has_unstaged());
    }

    #[test]
    fn a_long_backlog_warns_once_a_doubling() {
        let mut backlog = Backlog::new();
        let warnings: Vec<usize> = (0..WARN_LEN * 4)
            .filter(|_| {
                backlog
                    .push(|out| {
                        out.push(0);
                        Ok(())
                    })
                    .unwrap()
            })
            .collect();
        assert_eq!(warnings, [WARN_LEN - 1, WARN_LEN * 2 - 1, WARN_LEN * 4 - 1]);
    }

    proptest! {
        /// Whatever the order of sending, acknowledging, cutting and staging: a receiver that drops
        /// what it has sees every frame once and in order.
        #[test]
        fn a_receiver_sees_everything_once_and_in_order(
            steps in proptest::collection::vec((0_u8..4, 1_usize..40_000), 1..200),
        ) {
            let mut backlog = Backlog::new();
            let mut sent = Vec::new();
            let mut seen = Vec::new();
            let mut wire: VecDeque<u8> = VecDeque::new();
            let mut arrived = 0_u64;
            for (step, size) in steps {
                match step {
                    0 => {
                        let byte = sent.len() as u8;
                        sent.push((byte, size));
                        push(&mut backlog, byte, size);
                    }
                    1 => {
                        let mut out = Vec::new();
                        backlog.stage(&mut out, size);
                        wire.extend(out);
                    }
                    2 => {
                        // All that is whole on the wire arrives.
                        while let Some(&(byte, len)) = sent.get(arrived as usize) {
                            if wire.len() < len {
                                break;
                            }
                            prop_assert!(wire.drain(..len).all(|got| got == byte));
                            seen.push((byte, len));
                            arrived += 1;
                        }
                        if size % 2 == 0 {
                            prop_assert!(backlog.acknowledge(arrived));
                        }
                    }
                    _ => {
                        wire.clear();
                        backlog.rewind();
                        prop_assert!(backlog.acknowledge(arrived));
                    }
                }
            }
            wire.clear();
            backlog.rewind();
            prop_assert!(backlog.acknowledge(arrived));
            let rest = stage_all(&mut backlog);
            let missing: usize = sent[arrived as usize..].iter().map(|&(_, len)| len).sum();
            prop_assert_eq!(rest.len(), missing);
            prop_assert_eq!(&seen[..], &sent[..arrived as usize]);
        }
    }
}
