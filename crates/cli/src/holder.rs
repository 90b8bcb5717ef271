//! Whoever is inside when something goes wrong.
//!
//! Up to where something goes wrong a run is the same as without: so who is inside then is found
//! out by a run without, and the node's number takes the place of the word.

use std::fmt;

use vorrang_protocol::{NodeId, show_duration_ns};

use crate::failure::Failure;
use crate::problem::{Doing, Seen, Sight};
use crate::trouble::{During, FaultArgs};

/// To whom something happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whom {
    Node(NodeId),
    /// Whoever is inside then, or else the next to enter.
    Holder,
}

const HOLDER: &str = "holder";

impl Whom {
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text.trim() {
            HOLDER => Some(Self::Holder),
            number => Some(Self::Node(NodeId(number.parse().ok()?))),
        }
    }

    pub(crate) const fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Holder => None,
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::Holder => f.write_str(HOLDER),
        }
    }
}

impl FaultArgs {
    /// The first that is to happen to whoever is inside: when, and as it was typed.
    pub(crate) fn first_of_holder(&self) -> Option<(u64, String)> {
        let is_holder = |whom: Whom| whom == Whom::Holder;
        let crashes = self.crash.iter().filter(|it| is_holder(it.0)).map(|it| (it.1, "crash"));
        let pauses = self.pause.iter().filter(|it| is_holder(it.what));
        let pauses = pauses.map(|it| (it.from_ns, "pause"));
        let (at_ns, option) = crashes.chain(pauses).min()?;
        Some((at_ns, format!("--{option} {HOLDER}@{}", show_duration_ns(at_ns))))
    }

    /// Without anything that is to happen to whoever is inside.
    pub(crate) fn without_holders(&self) -> Self {
        let is_known = |whom: Whom| whom.node().is_some();
        let mut known = self.clone();
        known.crash.retain(|it| is_known(it.0));
        known.restart.retain(|it| is_known(it.0));
        known.pause.retain(|it| is_known(it.what));
        known
    }

    /// Has the first happen to this node, at this time. If it crashes, the first holder to come up
    /// again is this one.
    pub(crate) fn settle_first(&mut self, node: NodeId, now_ns: u64) {
        let Some((at_ns, _)) = self.first_of_holder() else { return };
        let whom = Whom::Node(node);
        if let Some(crash) = self.crash.iter_mut().find(|it| **it == (Whom::Holder, at_ns)) {
            *crash = (whom, now_ns);
            let holders = self.restart.iter_mut().filter(|it| it.0 == Whom::Holder);
            if let Some(restart) = holders.min_by_key(|it| it.1) {
                restart.0 = whom;
            }
            return;
        }
        let is_it = |it: &&mut During<Whom>| it.what == Whom::Holder && it.from_ns == at_ns;
        if let Some(pause) = self.pause.iter_mut().find(is_it) {
            let to_ns = pause.to_ns.map(|to_ns| to_ns.saturating_add(now_ns - at_ns));
            *pause = During { what: whom, from_ns: now_ns, to_ns };
        }
    }

    /// Refuses a holder that comes up again without having crashed.
    pub(crate) fn check_holders(&self) -> Result<(), Failure> {
        let mut restarts = self.restart.iter().filter(|it| it.0 == Whom::Holder);
        match restarts.next() {
            None => Ok(()),
            Some((whom, at_ns)) => Err(Failure::usage(format!(
                "--restart {whom}@{}: no holder has crashed that is not up again; say --crash \
                 {HOLDER}@TIME",
                show_duration_ns(*at_ns)
            ))),
        }
    }
}

/// Who is inside at a time of a run, or else the first to enter after it, and a moment at which it
/// is: that time, or a round one of its stay.
pub(crate) fn holder_at(seen: &[Seen], at_ns: u64) -> Option<(NodeId, u64)> {
    let mut inside: Vec<(NodeId, u64)> = Vec::new();
    for it in seen {
        let Sight::Said { doing: Some(doing), .. } = it.what else { continue };
        let place = inside.iter().position(|&(node, _)| node == it.node);
        match (doing, place) {
            (Doing::IsInside, None) => inside.push((it.node, it.at_ns)),
            (Doing::IsInside, Some(_)) | (_, None) => {}
            (_, Some(place)) => {
                let (node, since_ns) = inside.remove(place);
                let first_ns = at_ns.max(since_ns.saturating_add(1));
                if first_ns <= it.at_ns && it.at_ns > at_ns {
                    let now_ns = if since_ns < at_ns { at_ns } else { round(first_ns, it.at_ns) };
                    return Some((node, now_ns));
                }
            }
        }
    }
    // Nobody says when these leave.
    let last = inside.into_iter().next();
    last.map(|(node, since_ns)| (node, at_ns.max(since_ns.saturating_add(1))))
}

fn round(low: u64, high: u64) -> u64 {
    crate::survive::roundest(low, high)
}
