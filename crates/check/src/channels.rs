//! Messages in flight: a bag, or a queue for every link.

use vorrang_protocol::{NodeId, Order};

use crate::fingerprint::Print;
use crate::state_hash::StateHash;

/// A message on its way, known by its print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flying {
    pub(crate) print: Print,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
}

impl Flying {
    const fn link(&self) -> (u32, u32) {
        (self.from.0, self.to.0)
    }
}

/// All messages in flight, in an order that depends on nothing but what they are: in a bag by
/// print, else by link and, on one link, oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight<'a> {
    messages: &'a [Flying],
}

/// Brings messages, of which those of one link were sent in this order, into the order of a flight.
pub(crate) fn arrange(messages: &mut [Flying], order: Order) {
    match order {
        Order::Any => messages.sort_unstable_by_key(|it| it.print),
        Order::Fifo => messages.sort_by_key(Flying::link),
    }
}

impl<'a> Flight<'a> {
    /// These messages, which are in order.
    pub(crate) const fn of(messages: &'a [Flying]) -> Self {
        Self { messages }
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Flying> + 'a {
        self.messages.iter().copied()
    }

    pub(crate) const fn at(self, place: usize) -> Flying {
        self.messages[place]
    }

    /// The messages that may arrive next: of equal ones in a bag, one; of a queue, the first.
    pub(crate) fn deliverable(self, order: Order) -> impl Iterator<Item = usize> + 'a {
        (0..self.messages.len()).filter(move |&place| {
            let Some(before) = place.checked_sub(1).map(|it| &self.messages[it]) else {
                return true;
            };
            let message = &self.messages[place];
            match order {
                Order::Any => before != message,
                Order::Fifo => before.link() != message.link(),
            }
        })
    }

    /// Whether no message is behind this one in its queue. In a bag none ever is.
    pub(crate) fn is_last(self, place: usize, order: Order) -> bool {
        let link = |it: &Flying| it.link();
        order == Order::Any
            || self.messages.get(place + 1).map(link) != Some(self.messages[place].link())
    }

    /// The last messages of queues, where they are not the first. There are none in a bag.
    pub(crate) fn ends_of_queues(self, order: Order) -> impl Iterator<Item = usize> + 'a {
        let count = if order == Order::Fifo { self.messages.len() } else { 0 };
        (1..count).filter(move |&place| {
            let [before, message] = [&self.messages[place - 1], &self.messages[place]];
            before.link() == message.link() && self.is_last(place, order)
        })
    }

    /// The print, from scratch.
    pub(crate) fn print<T: StateHash>(self, order: Order) -> T {
        match order {
            Order::Any => sum(self.messages),
            Order::Fifo => self
                .messages
                .chunk_by(|a, b| a.link() == b.link())
                .map(|queue| chain(queue.iter().map(|it| it.print)))
                .sum(),
        }
    }

    /// By how much the print changes when the message at `taken` arrives and `sent` are sent.
    pub(crate) fn change<T: StateHash>(
        self,
        taken: Option<usize>,
        sent: &[Flying],
        order: Order,
    ) -> T {
        match order {
            Order::Any => {
                let gone = taken.map(|place| T::of_part(self.messages[place].print));
                sum::<T>(sent) - gone.unwrap_or_default()
            }
            Order::Fifo => self.change_of_queues(taken, sent),
        }
    }

    /// Looks at every link that changes once: at the one that loses a message, and at each of the
    /// others where the first message for it is sent.
    fn change_of_queues<T: StateHash>(self, taken: Option<usize>, sent: &[Flying]) -> T {
        let gone = taken.map(|place| &self.messages[place]).into_iter();
        let mut change = T::default();
        for (count, touched) in gone.chain(sent).enumerate() {
            let link = touched.link();
            let earlier = taken.map(|place| &self.messages[place]).into_iter();
            if earlier.chain(sent).take(count).any(|it| it.link() == link) {
                continue;
            }
            let start = self.messages.partition_point(|it| it.link() < link);
            let old = self.messages[start..].iter().take_while(|it| it.link() == link);
            let lost = taken.and_then(|it| it.checked_sub(start));
            let kept = old.clone().enumerate().filter(|it| Some(it.0) != lost).map(|it| it.1);
            let new = sent.iter().filter(|it| it.link() == link);
            change -= chain::<T>(old.clone().map(|it| it.print));
            change += chain::<T>(kept.chain(new).map(|it| it.print));
        }
        change
    }

    /// Adds to `all` the messages in flight after the one at `taken` has arrived and `sent` have
    /// been sent.
    pub(crate) fn push_successor(
        self,
        taken: Option<usize>,
        sent: &[Flying],
        order: Order,
        all: &mut Vec<Flying>,
    ) {
        let (head, tail) = match taken {
            Some(place) => (&self.messages[..place], &self.messages[place + 1..]),
            None => (self.messages, &[][..]),
        };
        let start = all.len();
        all.reserve(head.len() + tail.len() + sent.len());
        all.extend_from_slice(head);
        all.extend_from_slice(tail);
        for message in sent {
            let messages = &all[start..];
            let place = match order {
                Order::Any => messages.partition_point(|it| it.print <= message.print),
                Order::Fifo => messages.partition_point(|it| it.link() <= message.link()),
            };
            all.insert(start + place, *message);
        }
    }
}

pub(crate) fn sum<T: StateHash>(messages: &[Flying]) -> T {
    messages.iter().map(|it| T::of_part(it.print)).sum()
}

/// The hash of messages in a second lane.
pub(crate) fn sum_again(messages: &[Flying]) -> Print {
    messages.iter().map(|it| it.print.again()).sum()
}

/// The print of a queue. An empty one has none, so that links never used need not be listed.
fn chain<T: StateHash>(prints: impl Iterator<Item = Print>) -> T {
    prints.fold(T::default(), T::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::fingerprint::Part;

    fn letter(from: u32, to: u32, text: char) -> Flying {
        Flying {
            print: Print::of(Part::Message, &(from, to, text)),
            from: NodeId(from),
            to: NodeId(to),
        }
    }

    fn after(old: &[Flying], taken: Option<usize>, sent: &[Flying], order: Order) -> Vec<Flying> {
        let mut flight = vec![letter(7, 7, '-')];
        Flight::of(old).push_successor(taken, sent, order, &mut flight);
        flight.split_off(1)
    }

    fn flight(letters: &[Flying], order: Order) -> Vec<Flying> {
        after(&[], None, letters, order)
    }

    fn print(flight: &[Flying], order: Order) -> Print {
        Flight::of(flight).print(order)
    }

    fn deliverable(flight: &[Flying], order: Order) -> Vec<Flying> {
        Flight::of(flight).deliverable(order).map(|place| flight[place]).collect()
    }

    #[test]
    fn in_a_bag_every_message_may_arrive_and_equal_ones_once() {
        let (a, b, other) = (letter(0, 1, 'a'), letter(0, 1, 'b'), letter(1, 0, 'a'));
        let found = deliverable(&flight(&[a, b, a, other], Order::Any), Order::Any);
        assert_eq!(found.len(), 3);
        assert!([a, b, other].iter().all(|it| found.contains(it)));
    }

    #[test]
    fn of_a_queue_the_oldest_arrives_first() {
        let (z, a, back) = (letter(0, 1, 'z'), letter(0, 1, 'a'), letter(1, 0, 'b'));
        let mut flight = flight(&[z, a, back, a], Order::Fifo);
        assert_eq!(deliverable(&flight, Order::Fifo), [z, back]);
        let mut arrived = Vec::new();
        while !flight.is_empty() {
            arrived.push(flight[0]);
            flight = after(&flight, Some(0), &[], Order::Fifo);
        }
        assert_eq!(arrived, [z, a, a, back]);
    }

    #[test]
    fn only_a_queue_remembers_the_order_of_sending() {
        let (a, b) = (letter(0, 1, 'a'), letter(0, 1, 'b'));
        let both = |order| {
            let print_of = |letters: &[Flying]| print(&flight(letters, order), order);
            (print_of(&[a, b]), print_of(&[b, a]))
        };
        let (one, other) = both(Order::Any);
        assert_eq!(one, other);
        let (one, other) = both(Order::Fifo);
        assert_ne!(one, other);
    }

    #[test]
    fn the_order_between_links_does_not_matter() {
        let (a, b) = (letter(0, 1, 'a'), letter(1, 0, 'a'));
        let one = flight(&[a, b], Order::Fifo);
        let other = flight(&[b, a], Order::Fifo);
        assert_eq!(print(&one, Order::Fifo), print(&other, Order::Fifo));
        assert_eq!(one, other);
    }

    #[test]
    fn the_print_of_a_change_is_the_change_of_the_print() {
        let before = [letter(0, 1, 'a'), letter(0, 1, 'b'), letter(1, 1, 'c'), letter(1, 1, 'd')];
        let sent = [letter(1, 1, 'e'), letter(1, 0, 'f'), letter(1, 1, 'c'), letter(0, 1, 'a')];
        for order in [Order::Any, Order::Fifo] {
            let flight = flight(&before, order);
            let now = Flight::of(&flight);
            for taken in now.deliverable(order).map(Some).chain([None]) {
                for count in 0..=sent.len() {
                    let sent = &sent[..count];
                    let after = after(&flight, taken, sent, order);
                    let change: Print = now.change(taken, sent, order);
                    assert_eq!(now.print::<Print>(order) + change, print(&after, order));
                }
            }
        }
    }

    #[test]
    fn messages_are_arranged_as_if_sent_one_by_one() {
        let sent = [letter(1, 0, 'b'), letter(0, 1, 'z'), letter(1, 0, 'a'), letter(0, 1, 'a')];
        for order in [Order::Any, Order::Fifo] {
            let mut arranged = sent;
            arrange(&mut arranged, order);
            assert_eq!(arranged[..], flight(&sent, order));
        }
    }
}
