//! Faults of the node that holds the lock.
//!
//! Up to a fault a run is the same as without it: so the holder is found by a run without the
//! fault, and its number replaces the word.

use vorrang_protocol::{NodeId, show_duration_ns};

use super::fault_args::{During, FaultArgs};
use super::whom::{HOLDER, Whom};
use crate::failure::Failure;

impl FaultArgs {
    /// The first fault of a holder: when, and as it was typed.
    pub fn first_of_holder(&self) -> Option<(u64, String)> {
        let is_holder = |whom: Whom| whom == Whom::Holder;
        let crashes = self.crash.iter().filter(|it| is_holder(it.0)).map(|it| (it.1, "crash"));
        let pauses = self.pause.iter().filter(|it| is_holder(it.what));
        let pauses = pauses.map(|it| (it.from_ns, "pause"));
        let (at_ns, option) = crashes.chain(pauses).min()?;
        Some((at_ns, format!("--{option} {HOLDER}@{}", show_duration_ns(at_ns))))
    }

    /// Without the faults of holders.
    #[must_use]
    pub fn without_holders(&self) -> Self {
        let is_known = |whom: Whom| whom.node().is_some();
        let mut known = self.clone();
        known.crash.retain(|it| is_known(it.0));
        known.restart.retain(|it| is_known(it.0));
        known.pause.retain(|it| is_known(it.what));
        known
    }

    /// Has the first happen to this node, at this time. If it crashes, the first holder to come up
    /// again is this one.
    pub fn settle_first(&mut self, node: NodeId, now_ns: u64) {
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
    pub fn check_holders(&self) -> Result<(), Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_that_have_crashed_come_up_one_after_the_other() {
        let whom = |node| Whom::Node(NodeId(node));
        let mut faults = FaultArgs {
            crash: vec![(Whom::Holder, 90), (whom(4), 5), (Whom::Holder, 50)],
            restart: vec![(Whom::Holder, 120), (Whom::Holder, 70)],
            pause: vec![During { what: Whom::Holder, from_ns: 60, to_ns: Some(65) }],
            ..FaultArgs::default()
        };
        assert_eq!(faults.without_holders().crash, [(whom(4), 5)]);
        faults.settle_first(NodeId(1), 52);
        assert_eq!(faults.first_of_holder().map(|it| it.0), Some(60));
        faults.settle_first(NodeId(2), 63);
        let paused = During { what: whom(2), from_ns: 63, to_ns: Some(68) };
        assert_eq!(faults.pause, [paused]);
        assert!(faults.check_holders().is_err(), "one restart is still of nobody");
        faults.settle_first(NodeId(3), 90);
        assert_eq!(faults.crash, [(whom(3), 90), (whom(4), 5), (whom(1), 52)]);
        assert_eq!(faults.restart, [(whom(3), 120), (whom(1), 70)]);
        assert_eq!(faults.first_of_holder(), None);
        faults.check_holders().unwrap_or_else(|it| panic!("{it}"));
    }

    #[test]
    fn a_holder_is_read_as_it_is_written() {
        for text in ["holder", "7"] {
            assert_eq!(Whom::read(text).map(|it| it.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Whom::read("hodler"), None);
    }
}
