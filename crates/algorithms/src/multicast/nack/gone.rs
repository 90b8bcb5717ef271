//! Messages that their sender has dropped, at a receiver.

use vorrang_protocol::{Effects, NodeId};

use super::message::Timer;
use crate::multicast::nack::Nack;
use crate::multicast::ordered::carrier::Up;
use crate::multicast::ordered::{self, Ordered};

impl Nack {
    /// A sender has dropped all below the first number, and has sent all below the second: goes on
    /// from there, and says which messages are missing.
    pub(in crate::multicast) fn on_gone(
        &mut self,
        from: NodeId,
        (first, below): (u64, u64),
        up: &mut Up,
        fx: &mut impl Effects<Ordered<Self>>,
    ) {
        let stream = self.streams.get_or_default(from);
        let had_gap = stream.has_gap();
        while stream.inbox.next < first {
            let early = stream.inbox.early.keys().next().copied();
            let upto = early.filter(|&number| number < first).unwrap_or(first);
            if upto > stream.inbox.next {
                stream.inbox.next = upto;
                up.miss(from, upto);
            }
            while let Some(body) = stream.inbox.ready() {
                self.early -= 1;
                up.push(from, body);
            }
        }
        stream.below = stream.below.max(stream.inbox.next);
        stream.tries = 0;
        if had_gap && !stream.has_gap() {
            fx.cancel_timer(ordered::Timer::Carrier(Timer::Repeat(from)));
        }
        self.learn(from, below, fx);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::multicast::body::Body;
    use crate::multicast::nack::Message;
    use crate::multicast::ordered::carrier::Carrier as _;
    use crate::multicast::ordered::testing::{hear, member, run_out, say};
    use crate::setup::Parameter;

    const FEW: &[(Parameter, &str)] = &[(Parameter::History, "2"), (Parameter::Window, "4")];

    fn data(number: u64) -> Message {
        Message::Data { number, body: Body::Plain("".into()) }
    }

    #[test]
    fn who_does_not_know_its_receivers_keeps_the_last_and_says_what_is_gone() {
        let mut node = member::<Nack>(0, 3, FEW);
        for _ in 0..5 {
            assert!(!say(&mut node, "").contains(&"has no room for more".into()));
        }
        assert_eq!(node.carrier.buffered(), 2);
        let asked = |node: &mut _, first, mask| hear(node, 1, Message::Nack { first, mask });
        assert_eq!(asked(&mut node, 3, 1), ["1 DATA(3)"]);
        assert_eq!(asked(&mut node, 2, 3), ["1 GONE(3<5)", "1 DATA(3)"]);
        assert_eq!(asked(&mut node, 0, 1), ["1 GONE(3<5)"]);
        assert_eq!(hear(&mut node, 1, Message::Digest(5)), [""; 0]);
        let beats: Vec<usize> = (0..6).map(|_| run_out(&mut node, Timer::Beat).len()).collect();
        assert_eq!(beats, [3, 3, 3, 3, 3, 2], "the sixth is the last");
    }

    #[test]
    fn what_is_gone_is_reported_and_what_came_early_is_delivered() {
        let mut node = member::<Nack>(1, 2, FEW);
        assert_eq!(hear(&mut node, 0, data(2)), ["0 NACK{0,1}", "Repeat(0) in 3ms"]);
        let again = run_out(&mut node, Timer::Repeat(NodeId(0)));
        assert_eq!(again, ["0 NACK{0,1}", "Repeat(0) in 3ms"], "as soon as before");
        let told = hear(&mut node, 0, Message::Gone { first: 4, below: 6 });
        let gap = ["misses 0/0 to 0/1 for ever", "delivers 0/2", "misses 0/3 for ever"];
        assert_eq!(told[..2], ["no Repeat(0)", "0 NACK{4,5}"]);
        assert_eq!(told[3..], gap);
        assert_eq!(hear(&mut node, 0, Message::Gone { first: 4, below: 6 }), [""; 0], "again");
        assert_eq!(hear(&mut node, 0, data(3)), [""; 0], "too late");
        assert_eq!(hear(&mut node, 0, data(4)), ["delivers 0/4"]);
        assert_eq!(node.carrier.buffered(), 0);
    }

    /// A receiver that begins when much was said asks for what it has room for, and is told.
    #[test]
    fn whoever_is_far_behind_is_told_from_where_on_there_is_more() {
        let mut node = member::<Nack>(1, 2, FEW);
        let asked = hear(&mut node, 0, data(900));
        assert_eq!(asked, ["0 NACK{0,1,2,3}", "Repeat(0) in 3ms"]);
        assert_eq!(node.carrier.buffered(), 0, "there is no room for it yet");
        let told = hear(&mut node, 0, Message::Gone { first: 899, below: 901 });
        assert_eq!(told[1], "0 NACK{899,900}");
        assert_eq!(told.last().unwrap(), "misses 0/0 to 0/898 for ever");
        assert_eq!(hear(&mut node, 0, Message::Heartbeat(901)), [""; 0], "no digests");
    }

    #[test]
    fn whoever_claims_to_have_dropped_everything_that_can_be_counted_brings_nobody_down() {
        for first in [u64::MAX, u64::MAX - 1] {
            let mut node = member::<Nack>(1, 2, FEW);
            hear(&mut node, 0, Message::Gone { first, below: u64::MAX });
            assert_eq!(hear(&mut node, 0, data(u64::MAX)).last(), None, "{first}");
        }
    }

    #[test]
    fn who_keeps_what_not_all_have_never_says_gone() {
        let mut node = member::<Nack>(1, 2, &[]);
        assert_eq!(hear(&mut node, 0, Message::Gone { first: 9, below: 9 }), [""; 0]);
        assert_eq!(hear(&mut node, 0, data(0)), ["delivers 0/0"]);
    }
}
