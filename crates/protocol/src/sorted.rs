//! Maps and sets as sorted lists.

use alloc::vec::{self, Vec};
use core::borrow::Borrow;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Index;
use core::slice;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map as a list of pairs, sorted by their keys.
///
/// For what a node keeps of its peers, or of the messages in a window: some dozens of entries. It
/// has the methods of a `BTreeMap` that nodes need. Copies are what a checker makes most, and a
/// list is copied, compared and hashed at once; and of every pair of types, it is a tenth as much
/// for the compiler. An entry is put in and taken out by moving all behind it, so a map that may
/// grow to many thousands is better a tree.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// No entry.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// All entries, the lowest key first.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }

    /// The same, values to be changed.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, the lowest first.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|it| &it.0)
    }

    /// The values, that of the lowest key first.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|it| &it.1)
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.entries.iter_mut().map(|it| &mut it.1)
    }

    /// The keys alone.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
        self.entries.into_iter().map(|it| it.0)
    }

    /// The values alone.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.entries.into_iter().map(|it| it.1)
    }

    /// Keeps those entries of which this is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keeps(key, value));
    }

    /// The lowest key and its value.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(|(key, value)| (key, value))
    }

    /// The highest key and its value.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// Takes out the entry with the lowest key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.pop_first_if(|_, _| true)
    }

    /// Takes out the entry with the lowest key, if this is true of it.
    pub fn pop_first_if(&mut self, is_due: impl FnOnce(&K, &V) -> bool) -> Option<(K, V)> {
        let (key, value) = self.entries.first()?;
        is_due(key, value).then(|| self.entries.remove(0))
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|it| it.0.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(&self.entries[place].1)
    }

    /// The same, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(&mut self.entries[place].1)
    }

    /// Whether a key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives a key a value; the former one, if it had any.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(core::mem::replace(&mut self.entries[place].1, value)),
            Err(place) => {
                self.entries.insert(place, (key, value));
                None
            }
        }
    }

    /// Takes out a key; its value, if it had any.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.entries.remove(place).1)
    }

    /// The value of a key, which is this if it has none yet.
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        self.get_or_insert_with(key, || value)
    }

    /// The value of a key, which is made if it has none yet.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Ok(place) => place,
            Err(place) => {
                self.entries.insert(place, (key, make()));
                place
            }
        };
        &mut self.entries[place].1
    }

    /// The value of a key, which is the usual one if it has none yet.
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// The entries with this key and higher ones.
    pub fn from_key(&self, key: &K) -> Iter<'_, K, V> {
        let (Ok(place) | Err(place)) = self.place(key);
        Iter(self.entries[place..].iter())
    }

    /// Takes out this key and all higher ones.
    #[must_use]
    pub fn split_off(&mut self, key: &K) -> Self {
        let (Ok(place) | Err(place)) = self.place(key);
        Self { entries: self.entries.split_off(place) }
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// # Panics
///
/// If the key has no value.
impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has a value")
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K, V> Deserialize<'de> for SortedMap<K, V>
where
    K: Ord + Deserialize<'de>,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<K, V>(PhantomData<(K, V)>);

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
    type Value = SortedMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut list: Vec<(K, V)> = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            list.push(entry);
        }
        // In one go, since whoever has written it may have chosen the worst order.
        list.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(list.into_iter().collect())
    }
}

/// The entries of a map, one after the other.
#[derive(Debug)]
pub struct Iter<'a, K, V>(slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

/// A set as a sorted list; see [`SortedMap`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<K> {
    keys: Vec<K>,
}

impl<K> SortedSet<K> {
    /// Nothing.
    pub const fn new() -> Self {
        Self { keys: Vec::new() }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// All, the lowest first.
    pub fn iter(&self) -> slice::Iter<'_, K> {
        self.keys.iter()
    }

    /// Keeps those of which this is true.
    pub fn retain(&mut self, keeps: impl FnMut(&K) -> bool) {
        self.keys.retain(keeps);
    }

    /// The lowest.
    pub fn first(&self) -> Option<&K> {
        self.keys.first()
    }

    /// The highest.
    pub fn last(&self) -> Option<&K> {
        self.keys.last()
    }

    /// Takes out the lowest.
    pub fn pop_first(&mut self) -> Option<K> {
        if self.keys.is_empty() { None } else { Some(self.keys.remove(0)) }
    }
}

impl<K: Ord> SortedSet<K> {
    /// Whether it is there.
    pub fn contains(&self, key: &K) -> bool {
        self.keys.binary_search(key).is_ok()
    }

    /// Puts it in. False if it was there.
    pub fn insert(&mut self, key: K) -> bool {
        match self.keys.binary_search(&key) {
            Ok(_) => false,
            Err(place) => {
                self.keys.insert(place, key);
                true
            }
        }
    }

    /// Takes it out. False if it was not there.
    pub fn remove(&mut self, key: &K) -> bool {
        let place = self.keys.binary_search(key);
        place.is_ok_and(|place| {
            self.keys.remove(place);
            true
        })
    }
}

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for SortedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<T: IntoIterator<Item = K>>(keys: T) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: Ord> Extend<K> for SortedSet<K> {
    fn extend<T: IntoIterator<Item = K>>(&mut self, keys: T) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: Ord, const N: usize> From<[K; N]> for SortedSet<K> {
    fn from(keys: [K; N]) -> Self {
        keys.into_iter().collect()
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = vec::IntoIter<K>;

    fn into_iter(self) -> Self::IntoIter {
        self.keys.into_iter()
    }
}

impl<'a, K> IntoIterator for &'a SortedSet<K> {
    type Item = &'a K;
    type IntoIter = slice::Iter<'a, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Serialize> Serialize for SortedSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.keys.serialize(serializer)
    }
}

impl<'de, K: Ord + Deserialize<'de>> Deserialize<'de> for SortedSet<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = Vec::deserialize(deserializer)?;
        keys.sort_unstable();
        keys.dedup();
        Ok(Self { keys })
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::string::String;

    use super::*;

    /// Numbers that follow each other without any order.
    fn draws() -> impl Iterator<Item = (u32, u8)> {
        (0..2000_u32).map(|it| it.wrapping_mul(2_654_435_761)).map(|it| (it >> 28, it as u8 % 7))
    }

    #[test]
    fn a_map_does_as_a_tree_does() {
        let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
        for (key, what) in draws() {
            match what {
                0 => assert_eq!(map.remove(&key), tree.remove(&key)),
                1 => assert_eq!(map.pop_first(), tree.pop_first()),
                2 => *map.get_or_default(key) += 1,
                3 => *map.get_or_insert(key, 9) += 2,
                4 => assert_eq!(map.insert(key, what), tree.insert(key, what)),
                5 => {
                    assert_eq!(map.split_off(&key).into_iter().count(), tree.split_off(&key).len());
                }
                _ => map.retain(|it, _| *it != key),
            }
            match what {
                2 => *tree.entry(key).or_default() += 1,
                3 => *tree.entry(key).or_insert(9) += 2,
                6 => tree.retain(|it, _| *it != key),
                _ => {}
            }
            assert!(map.iter().eq(&tree), "{map:?} and {tree:?}");
            assert_eq!(map.get(&key), tree.get(&key));
            assert_eq!(map.contains_key(&key), tree.contains_key(&key));
            assert!(map.from_key(&key).eq(tree.range(key..)));
            assert_eq!(map.first_key_value(), tree.first_key_value());
            assert_eq!(map.last_key_value(), tree.last_key_value());
            assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
        }
        assert_eq!(draws().collect::<SortedMap<_, _>>().len(), 16);
        let pairs = [(3, 'c'), (1, 'a'), (3, 'd')];
        assert_eq!(SortedMap::from(pairs)[&3], 'd');
        let shown = (SortedMap::from(pairs), BTreeMap::from(pairs));
        assert_eq!(alloc::format!("{:?}", shown.0), alloc::format!("{:?}", shown.1));
    }

    #[test]
    fn a_set_does_as_a_tree_does() {
        let (mut set, mut tree) = (SortedSet::new(), BTreeSet::new());
        for (key, what) in draws() {
            match what {
                0 | 1 => assert_eq!(set.remove(&key), tree.remove(&key)),
                2 => assert_eq!(set.pop_first(), tree.pop_first()),
                3 => {
                    set.retain(|it| *it != key);
                    tree.retain(|it| *it != key);
                }
                _ => assert_eq!(set.insert(key), tree.insert(key)),
            }
            assert!(set.iter().eq(&tree), "{set:?} and {tree:?}");
            assert_eq!(set.contains(&key), tree.contains(&key));
            assert_eq!((set.first(), set.last()), (tree.first(), tree.last()));
            assert_eq!(set.len(), tree.len());
        }
    }

    /// Also of what somebody else has written in another order, or twice.
    #[test]
    fn what_is_read_is_sorted() {
        let text = r#"{"2": "b", "1": "a", "2": "c"}"#;
        let map: SortedMap<u32, String> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"1":"a","2":"c"}"#);
        let set: SortedSet<u32> = serde_json::from_str("[3, 1, 3]").unwrap();
        assert_eq!(serde_json::to_string(&set).unwrap(), "[1,3]");
    }
}
