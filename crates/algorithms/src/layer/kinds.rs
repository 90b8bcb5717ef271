//! The kinds of messages of a layer, and of what it is around.

/// Kinds of messages that there may be in all.
pub(crate) const MOST_KINDS: usize = 64;

/// A layer's own kinds, then those within. The rest is empty, since the length of an array cannot
/// be computed from that of another: callers cut it off.
pub(crate) const fn with<const OWN: usize>(
    own: [&'static str; OWN],
    within: &'static [&'static str],
) -> [&'static str; MOST_KINDS] {
    let mut all = [""; MOST_KINDS];
    let mut kind = 0;
    while kind < OWN + within.len() {
        all[kind] = if kind < OWN { own[kind] } else { within[kind - OWN] };
        kind += 1;
    }
    all
}
