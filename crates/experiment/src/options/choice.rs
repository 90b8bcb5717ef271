//! Options whose value is one of a few words.

/// A value that is one of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value, with its word.
    const ALL: &'static [(Self, &'static str)];

    /// Its word, as it is typed and as figures have it.
    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(value, _)| *value == self);
        found.map_or("", |(_, name)| name)
    }

    /// The value of that word, if it is one.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
    }
}

/// The name of an option's value on the command line.
pub fn name(value: &impl Choice) -> &'static str {
    value.name()
}
