//! A timer of any algorithm.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use vorrang_protocol::Data;

use crate::message::{ErasedData, compared_by_content, flattened};

/// A timer of any algorithm. Equal timers are one object, which is never freed: timers are copied
/// as if they were numbers, and an algorithm has few.
#[derive(Clone, Copy)]
pub struct AnyTimer(&'static dyn ErasedData);

impl AnyTimer {
    /// A timer, without its type. One that has lost its type already stays as it is.
    pub fn new<T: Data + Copy>(timer: T) -> Self {
        if let Ok(timer) = flattened(timer) {
            return timer;
        }
        Self(interned(&timer, &|| Box::leak(Box::new(timer))))
    }

    /// The timer with its type again. None if it is of another type.
    pub fn downcast<T: Data + Copy>(self) -> Option<T> {
        let timer: &dyn std::any::Any = self.0;
        timer.downcast_ref().copied()
    }
}

impl Debug for AnyTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for AnyTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json().serialize(serializer)
    }
}

compared_by_content!(AnyTimer);

/// The timer that is equal to this one; if there is none, one that is made now.
fn interned(
    timer: &dyn ErasedData,
    make: &dyn Fn() -> &'static dyn ErasedData,
) -> &'static dyn ErasedData {
    static KNOWN: RwLock<BTreeMap<u64, Vec<&'static dyn ErasedData>>> =
        RwLock::new(BTreeMap::new());
    let mut hasher = DefaultHasher::new();
    timer.hash_into(&mut hasher);
    let hash = hasher.finish();
    let find =
        |known: &[&'static dyn ErasedData]| known.iter().copied().find(|it| it.equals(timer));
    // A panic of a timer's own code leaves the table as it was.
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&hash).and_then(|it| find(it)) {
        return found;
    }
    drop(known);
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let alike = known.entry(hash).or_default();
    find(alike).unwrap_or_else(|| {
        alike.push(make());
        alike[alike.len() - 1]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_compared_as_their_types_do() {
        assert!(AnyTimer::new(1_u8) == AnyTimer::new(1_u8));
        assert!(AnyTimer::new(1_u8) < AnyTimer::new(2_u8));
        assert!(AnyTimer::new(1_u8) != AnyTimer::new(1_u16));
        assert_eq!(AnyTimer::new(1_u8).downcast(), Some(1_u8));
        assert_eq!(AnyTimer::new(AnyTimer::new(1_u8)).downcast(), Some(1_u8), "erased once");
        assert_eq!(AnyTimer::new(1_u8).downcast::<u16>(), None);
    }

    #[test]
    fn equal_timers_are_one_object() {
        let (first, second) = (AnyTimer::new('x'), AnyTimer::new('x'));
        assert!(std::ptr::addr_eq(first.0, second.0));
    }

    #[test]
    fn a_timer_without_its_type_cannot_be_read_back() {
        let text = serde_json::to_string(&AnyTimer::new(7_u8)).unwrap();
        assert_eq!(text, "7");
        let why = serde_json::from_str::<AnyTimer>(&text).unwrap_err();
        assert!(why.to_string().contains("cannot be read back"));
    }
}
