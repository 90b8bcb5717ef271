//! Withdrawal of requests.
//!
//! No algorithm here can take a request back, and none needs to. A request that was given up stays
//! with the machine, and is released the moment it is granted: the machine, the other nodes and the
//! monitors see a node that asks, enters and leaves at once. The application is told at once that
//! it is out, and never that the request was granted. If it asks for the same meanwhile, the old
//! request is its own again, with the place in the queue that it has by now.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use vorrang_protocol::{Refused, Step, Turn};

use crate::timers::deadline;

const NOTHING_ASKED: Refused = Refused("cannot withdraw: nothing is asked for");
const ALREADY_OUT: Refused = Refused("cannot withdraw: the request was given up before");
const INSIDE: Refused = Refused("cannot withdraw: already inside; release");
const ANOTHER: Refused =
    Refused("cannot acquire: another kind of request was given up and is still under way");

/// Which commands and notices of a problem ask, enter and leave: what a node must know so that its
/// requests can be given up, and that it leaves nothing behind when it leaves.
#[derive(Clone)]
pub struct Steps<C, N> {
    of_command: fn(&C) -> Option<Step>,
    of_notice: fn(&N) -> Option<Step>,
    leave: C,
    evicted: Option<N>,
}

impl<C: Turn, N: Turn> Steps<C, N> {
    /// A turn ends with this command.
    ///
    /// ```
    /// use vorrang_algorithms::mutex::{Command, Notice};
    /// use vorrang_net::Steps;
    ///
    /// let steps = Steps::<Command, Notice>::ended_by(Command::Release);
    /// ```
    pub const fn ended_by(leave: C) -> Self {
        Self { of_command: C::step, of_notice: N::step, leave, evicted: None }
    }

    /// The same, and an application inside is told this if another process has taken the place of
    /// its node, whose machine does not act any more and so cannot say it.
    #[must_use]
    pub fn evicted_by(self, notice: N) -> Self {
        Self { evicted: Some(notice), ..self }
    }
}

impl<C: fmt::Debug, N> fmt::Debug for Steps<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps").field("leave", &self.leave).finish_non_exhaustive()
    }
}

/// How far a node is with its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It wants nothing.
    Idle,
    /// It has asked, and waits.
    Waiting,
    /// It has asked, and the application has withdrawn; the request is released as soon as it is
    /// granted.
    GivenUp,
    /// It is inside.
    Inside,
}

/// What a node that leaves the group had to release before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseOutcome {
    /// Nothing.
    Nothing,
    /// It was inside, and has released.
    Released,
    /// It waited, was granted its request in time and released it at once.
    Withdrawn,
    /// It waited, and left before its request was granted: the nodes that grant it wait for a node
    /// that is gone.
    Abandoned,
}

/// When to give up, and after how long that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestDeadline {
    pub(crate) until: Instant,
    pub(crate) after: Duration,
}

impl RequestDeadline {
    pub(crate) fn of(after: Duration) -> Self {
        Self { until: deadline(after), after }
    }
}

/// How a command is handled before the machine sees it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// It is the machine's.
    Pass,
    /// A request that was given up is wanted again.
    Adopted,
    Refuse(Refused),
}

/// The turn that a node is in.
pub(crate) struct Requests<C, N> {
    steps: Steps<C, N>,
    stage: Stage,
    since: Instant,
    /// The last request.
    claim: Option<C>,
    patience: Option<RequestDeadline>,
    /// Whether it was evicted, and nobody has asked since.
    was_evicted: bool,
    /// Whether it was told so instead of the machine, which may say it once more.
    is_put_out: bool,
}

impl<C: Clone + PartialEq, N> Requests<C, N> {
    pub(crate) fn new(steps: Steps<C, N>) -> Self {
        Self {
            steps,
            stage: Stage::Idle,
            since: Instant::now(),
            claim: None,
            patience: None,
            was_evicted: false,
            is_put_out: false,
        }
    }

    pub(crate) fn asks(&self, command: &C) -> bool {
        (self.steps.of_command)(command) == Some(Step::Ask)
    }

    pub(crate) fn before(&mut self, command: &C) -> Before {
        if self.stage != Stage::GivenUp || !self.asks(command) {
            return Before::Pass;
        }
        if self.claim.as_ref() != Some(command) {
            return Before::Refuse(ANOTHER);
        }
        self.reach(Stage::Waiting);
        Before::Adopted
    }

    /// The machine has taken a command.
    pub(crate) fn after(&mut self, command: &C) {
        match (self.steps.of_command)(command) {
            Some(Step::Ask) => {
                self.claim = Some(command.clone());
                self.reach(Stage::Waiting);
            }
            Some(Step::Leave) => self.reach(Stage::Idle),
            Some(Step::Enter | Step::Evicted) | None => {}
        }
    }

    /// A notice of the machine: if it grants a withdrawn request, the command that releases it.
    pub(crate) fn hear(&mut self, notice: &N) -> Option<C> {
        match (self.steps.of_notice)(notice) {
            Some(Step::Enter) if self.stage == Stage::GivenUp => {
                return Some(self.steps.leave.clone());
            }
            Some(Step::Enter) => self.reach(Stage::Inside),
            Some(Step::Evicted) if self.stage == Stage::Inside => {
                self.reach(Stage::Idle);
                self.was_evicted = true;
            }
            Some(Step::Ask | Step::Leave | Step::Evicted) | None => {}
        }
        None
    }

    pub(crate) fn withdraw(&mut self) -> Result<(), Refused> {
        match self.stage {
            Stage::Idle => Err(NOTHING_ASKED),
            Stage::GivenUp => Err(ALREADY_OUT),
            Stage::Inside => Err(INSIDE),
            Stage::Waiting => {
                self.reach(Stage::GivenUp);
                Ok(())
            }
        }
    }

    /// What its application is told if the node may not act any more, if it is inside.
    pub(crate) fn eviction(&mut self) -> Option<N>
    where
        N: Clone,
    {
        let eviction = self.steps.evicted.clone().filter(|_| self.stage == Stage::Inside);
        self.is_put_out |= eviction.is_some();
        eviction
    }

    /// Whether its application was told this already: that it is evicted, by the node, which acts
    /// again after all.
    pub(crate) fn was_told(&mut self, notice: &N) -> bool {
        let is_eviction = (self.steps.of_notice)(notice) == Some(Step::Evicted);
        let is_repeated = is_eviction && self.is_put_out && self.stage != Stage::Inside;
        self.is_put_out &= !is_repeated;
        is_repeated
    }

    /// Whether it was evicted since this was asked last.
    pub(crate) const fn take_eviction(&mut self) -> bool {
        std::mem::replace(&mut self.was_evicted, false)
    }

    /// How to leave, if it is inside.
    pub(crate) fn way_out(&self) -> Option<C> {
        (self.stage == Stage::Inside).then(|| self.steps.leave.clone())
    }

    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn since(&self) -> Duration {
        self.since.elapsed()
    }

    /// Waits no longer than this, if it waits.
    pub(crate) fn be_patient(&mut self, patience: Option<RequestDeadline>) {
        self.patience = patience.filter(|_| self.stage == Stage::Waiting);
    }

    pub(crate) fn gives_up_at(&self) -> Option<Instant> {
        self.patience.map(|patience| patience.until)
    }

    /// Gives up if it is time: after how long that was.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Duration> {
        let patience = self.patience.take_if(|patience| patience.until <= now)?;
        self.withdraw().ok()?;
        Some(patience.after)
    }

    fn reach(&mut self, stage: Stage) {
        self.stage = stage;
        self.since = Instant::now();
        self.patience = None;
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::{Claim, Command, Notice};

    use super::*;

    const ACQUIRE: Command = Command::Acquire(Claim::Exclusive);
    const SHARE: Command = Command::Acquire(Claim::Shared);

    /// One that has asked.
    fn waiting() -> Requests<Command, Notice> {
        let mut requests = Requests::new(Steps::ended_by(Command::Release));
        assert_eq!(requests.before(&ACQUIRE), Before::Pass);
        requests.after(&ACQUIRE);
        assert_eq!(requests.stage(), Stage::Waiting);
        requests
    }

    #[test]
    fn what_is_granted_to_one_who_waits_is_its_own() {
        let mut requests = waiting();
        assert_eq!(requests.hear(&Notice::Entered), None);
        assert_eq!(requests.withdraw(), Err(INSIDE));
        assert_eq!(requests.way_out(), Some(Command::Release));
        requests.after(&Command::Release);
        assert_eq!((requests.stage(), requests.way_out()), (Stage::Idle, None));
        assert_eq!(requests.withdraw(), Err(NOTHING_ASKED));
    }

    #[test]
    fn what_was_given_up_is_let_go_when_it_is_granted() {
        let mut requests = waiting();
        requests.withdraw().unwrap();
        assert_eq!(requests.withdraw(), Err(ALREADY_OUT));
        assert_eq!(requests.hear(&Notice::Entered), Some(Command::Release));
        requests.after(&Command::Release);
        assert_eq!(requests.stage(), Stage::Idle);
    }

    #[test]
    fn whoever_asks_for_the_same_again_has_its_old_request() {
        let mut requests = waiting();
        requests.withdraw().unwrap();
        assert_eq!(requests.before(&SHARE), Before::Refuse(ANOTHER));
        assert_eq!(requests.before(&Command::Release), Before::Pass, "the machine refuses that");
        assert_eq!(requests.before(&ACQUIRE), Before::Adopted);
        assert_eq!(requests.before(&ACQUIRE), Before::Pass, "and that, too");
        assert_eq!(requests.hear(&Notice::Entered), None);
        assert_eq!(requests.stage(), Stage::Inside);
    }

    #[test]
    fn whoever_was_put_out_has_nothing_to_leave() {
        let mut requests = waiting();
        requests.hear(&Notice::Entered);
        assert_eq!(requests.hear(&Notice::Evicted), None);
        assert_eq!((requests.stage(), requests.way_out()), (Stage::Idle, None));
        let mut asks_again = waiting();
        assert_eq!(asks_again.hear(&Notice::Evicted), None);
        assert_eq!(asks_again.stage(), Stage::Waiting, "what it hears is of the time before");
    }

    #[test]
    fn whoever_was_put_out_by_its_node_is_not_told_by_the_machine_as_well() {
        let steps = Steps::ended_by(Command::Release).evicted_by(Notice::Evicted);
        let mut requests = Requests::new(steps);
        requests.after(&ACQUIRE);
        assert_eq!((requests.eviction(), requests.was_told(&Notice::Evicted)), (None, false));
        requests.hear(&Notice::Entered);
        assert_eq!(requests.eviction(), Some(Notice::Evicted));
        assert!(!requests.was_told(&Notice::Evicted), "once");
        requests.hear(&Notice::Evicted);
        let told =
            [Notice::Entered, Notice::Evicted, Notice::Evicted].map(|it| requests.was_told(&it));
        assert_eq!(told, [false, true, false]);
    }

    #[test]
    fn patience_ends_once_and_not_for_one_who_is_inside() {
        let second = Duration::from_secs(1);
        let later = Instant::now() + 2 * second;
        let mut requests = waiting();
        requests.be_patient(Some(RequestDeadline::of(second)));
        assert_eq!(requests.expire(Instant::now()), None);
        assert_eq!(requests.expire(later), Some(second));
        assert_eq!((requests.expire(later), requests.stage()), (None, Stage::GivenUp));

        let mut requests = waiting();
        requests.be_patient(Some(RequestDeadline::of(second)));
        requests.hear(&Notice::Entered);
        assert_eq!((requests.expire(later), requests.gives_up_at()), (None, None));
        requests.be_patient(Some(RequestDeadline::of(second)));
        assert_eq!(requests.gives_up_at(), None, "it does not wait");
    }
}
