//! The hash of a state: the sum of its parts' fingerprints, in one lane or in two.
//!
//! One lane has 64 bits, and two have 128. No two different parts in the store share a fingerprint
//! of 64 bits, so the second lane needs no more of such a part than its fingerprint, mixed again:
//! sums that collide in one lane by chance collide in the other with independent probability.
//! Values that are not in the store are hashed once more, and queues are chained in each lane.
//!
//! The search is compiled for each, so that one lane costs what it would without the other.

use std::fmt::Debug;
use std::hash::Hash;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::fingerprint::{Part, Print};

/// The fingerprint of a state, or what a part of one contributes to it.
pub(crate) trait StateHash:
    Copy
    + Ord
    + Hash
    + Debug
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Sum
{
    /// From the first lane and, where there is one, the second.
    fn with(first: Print, second: impl FnOnce() -> Print) -> Self;

    fn first(self) -> Print;

    /// The hash of a sequence that has one more element, which is in the store.
    fn then(self, next: Print) -> Self;

    /// The hash of a part in the store.
    fn of_part(part: Print) -> Self {
        Self::with(part, || part.again())
    }

    /// The hash of a value that is not in the store.
    fn of(part: Part, value: &impl Hash) -> Self {
        Self::with(Print::of(part, value), || Print::of_once_more(part, value))
    }
}

impl StateHash for Print {
    #[inline]
    fn with(first: Print, _: impl FnOnce() -> Print) -> Self {
        first
    }

    #[inline]
    fn first(self) -> Print {
        self
    }

    #[inline]
    fn then(self, next: Print) -> Self {
        Self::then(self, next)
    }
}

/// A fingerprint with a second lane of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Wide<T>(T, Print);

impl<T: StateHash> StateHash for Wide<T> {
    #[inline]
    fn with(first: Print, second: impl FnOnce() -> Print) -> Self {
        let second = second();
        Self(T::with(first, || second), second)
    }

    #[inline]
    fn first(self) -> Print {
        self.0.first()
    }

    #[inline]
    fn then(self, next: Print) -> Self {
        Self(self.0.then(next), self.1.then(next.again()))
    }
}

impl<T: StateHash> Add for Wide<T> {
    type Output = Self;
    fn add(self, part: Self) -> Self {
        Self(self.0 + part.0, self.1 + part.1)
    }
}

impl<T: StateHash> AddAssign for Wide<T> {
    fn add_assign(&mut self, part: Self) {
        *self = *self + part;
    }
}

impl<T: StateHash> Sum for Wide<T> {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Self::add)
    }
}

impl<T: StateHash> Sub for Wide<T> {
    type Output = Self;
    fn sub(self, part: Self) -> Self {
        Self(self.0 - part.0, self.1 - part.1)
    }
}

impl<T: StateHash> SubAssign for Wide<T> {
    fn sub_assign(&mut self, part: Self) {
        *self = *self - part;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZeroUsize;

    use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
    use vorrang_algorithms::mutex::spec::Exclusion;
    use vorrang_algorithms::mutex::{Claim, Command};
    use vorrang_protocol::{Group, Order};

    use super::*;
    use crate::explore::{How, search};
    use crate::follow::Beginning;
    use crate::machine::Typed;
    use crate::model::Model;
    use crate::parts::Parts;
    use crate::plan::Plan;
    use crate::report::{Answer, Bounds};
    use crate::state::First;
    use crate::system::{Faults, Liveness, System};
    use crate::timers::Pace;

    /// A fingerprint with so few bits that different states share one, time and again.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    struct Narrow(Print);

    impl Narrow {
        fn of(print: Print) -> Self {
            Self(Print(print.0 & 0xfff))
        }
    }

    impl StateHash for Narrow {
        fn with(first: Print, _: impl FnOnce() -> Print) -> Self {
            Self::of(first)
        }
        fn first(self) -> Print {
            self.0
        }
        fn then(self, next: Print) -> Self {
            Self::of(self.0.then(next))
        }
    }

    impl Add for Narrow {
        type Output = Self;
        fn add(self, part: Self) -> Self {
            Self::of(self.0 + part.0)
        }
    }

    impl AddAssign for Narrow {
        fn add_assign(&mut self, part: Self) {
            *self = *self + part;
        }
    }

    impl Sum for Narrow {
        fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
            parts.fold(Self::default(), Self::add)
        }
    }

    impl Sub for Narrow {
        type Output = Self;
        fn sub(self, part: Self) -> Self {
            Self::of(self.0 - part.0)
        }
    }

    impl SubAssign for Narrow {
        fn sub_assign(&mut self, part: Self) {
            *self = *self - part;
        }
    }

    /// How many states and steps there seem to be.
    fn explored<T: StateHash>(order: Order) -> (u64, u64) {
        let group = Group::of(3);
        let nodes = group.members().map(|id| RicartAgrawala::new(id, group)).collect();
        let plan = Plan::turns(&[1, 1, 1], &Command::Acquire(Claim::Exclusive), &Command::Release);
        let system = System::new(nodes, plan, Exclusion::default());
        let machine = Typed::new(&system, &Bounds::NONE);
        let agenda = system.plan.agenda(|command| machine.keep_command(command));
        let pace = Pace { within_ns: None, order, slips: &Parts::default() };
        let liveness = Liveness::default();
        let model = Model { machine: &machine, agenda: &agenda, pace, liveness, shifts: false };
        let (nodes, monitor) = machine.first();
        let first = First { nodes, monitor, faults: Faults::NONE };
        let (is_at, addressee, early) = (&|_, _: &_| false, &|_| None, Cell::new(None));
        let none = Beginning { starts: None, count: 0, is_at, addressee, early };
        let (how, progress) = (How::Exhaust(NonZeroUsize::MIN), &mut |_| ().flow());
        let searched = search::<T>(model, first, &none, &Bounds::NONE, how, progress);
        let (_, counted) = searched.unwrap_or_else(|stray| panic!("{stray}"));
        (counted.states, counted.steps)
    }

    #[test]
    fn what_one_lane_takes_for_one_two_lanes_tell_apart() {
        for order in [Order::Any, Order::Fifo] {
            let (states, steps) = explored::<Print>(order);
            assert!(explored::<Narrow>(order).0 < states, "12 bits are too few");
            assert_eq!(explored::<Wide<Narrow>>(order), (states, steps));
            assert_eq!(explored::<Wide<Print>>(order), (states, steps));
        }
    }
}
