//! A command that runs under a hold, until it or the hold ends.

use std::ffi::OsString;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Guarded, Outcome};
use crate::api::HoldEvent;
use crate::boot_time;
use crate::child::{Change, Child, Ending, Signals};
use crate::commands::hold::{Hold, Update};
use crate::commands::hold_args::{called, surrounding, variable};
use crate::failure::Failure;

/// So long before the deadline the command is killed: it takes its time to die.
const KILLED_BEFORE: Duration = Duration::from_millis(20);
/// How long is waited at most before the clock is looked at: timers do not go on while the machine
/// sleeps, and deadlines do.
const LOOKED_AT: Duration = Duration::from_millis(100);
/// How long something may be left of an ended command before that is said.
const LEFT_FOR: Duration = Duration::from_secs(1);

/// What was granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    /// The fencing token, as 32 hexadecimal digits.
    pub(super) token: String,
    /// Until when it may be counted on, if that is limited.
    pub(super) deadline_ns: Option<u64>,
}

/// Returns at a deadline, or so long before.
pub(super) async fn reached(deadline_ns: Option<u64>, before: Duration) {
    let Some(deadline_ns) = deadline_ns else { return std::future::pending().await };
    let deadline_ns = deadline_ns.saturating_sub(before.as_nanos() as u64);
    loop {
        let left = deadline_ns.saturating_sub(boot_time::now_ns());
        if left == 0 {
            return;
        }
        sleep(Duration::from_nanos(left).min(LOOKED_AT)).await;
    }
}

/// A command and its hold.
pub(super) struct UnderHold<'a> {
    guarded: &'a Guarded,
    hold: Hold,
    child: Child,
    signals: &'a mut Signals,
    grant: Grant,
    /// Why the command was asked to end, or was killed, if it was.
    ended_since: Option<String>,
    is_killed: bool,
    /// When it is to be said that something is left of the command.
    left_at: Option<Instant>,
}

impl<'a> UnderHold<'a> {
    pub(super) fn start(
        guarded: &'a Guarded,
        command: &[OsString],
        hold: Hold,
        grant: Grant,
        signals: &'a mut Signals,
    ) -> Result<Self, Failure> {
        let variable = variable(guarded.request.kind);
        let mut names = surrounding(variable);
        names.push(guarded.request.name.clone());
        let environment =
            [(variable, names.join("\n").into()), ("VORRANG_TOKEN", grant.token.clone().into())];
        let child = Child::start(command, &environment)
            .map_err(|why| Failure::System(format!("no process can be started: {why}")))?;
        let (ended_since, is_killed, left_at) = (None, false, None);
        Ok(Self { guarded, hold, child, signals, grant, ended_since, is_killed, left_at })
    }

    pub(super) async fn run(mut self) -> Result<Outcome, Failure> {
        let ending = loop {
            let deadline_ns = self.grant.deadline_ns.filter(|_| !self.is_killed);
            tokio::select! {
                biased;
                () = reached(deadline_ns, KILLED_BEFORE) => self.kill("its lease was not renewed"),
                update = self.hold.next() => self.on_update(update),
                change = self.child.next() => {
                    if let Some(ending) = self.on_change(change).await {
                        break ending;
                    }
                }
                signal = self.signals.next() => self.on_signal(signal),
                () = until(self.left_at) => self.say_what_is_left(),
            }
        };
        self.child.end();
        let outcome = match self.ended_since {
            Some(why) => Outcome::Lost(format!(
                "{} was lost, and its command was ended: {why}",
                called(&self.guarded.request)
            )),
            None => Outcome::Ended(ending),
        };
        if self.is_killed {
            return Ok(outcome);
        }
        Ok(self.guarded.give_back(self.hold, outcome).await)
    }

    fn on_update(&mut self, update: Update) {
        match update {
            Update::Event(HoldEvent::Granted { token, deadline_boottime_ns, .. }) => {
                if token != self.grant.token {
                    return self.kill("the daemon has begun another hold");
                }
                self.on_deadline(deadline_boottime_ns);
            }
            Update::Event(HoldEvent::Alive { deadline_boottime_ns }) => {
                self.on_deadline(deadline_boottime_ns);
            }
            Update::Event(HoldEvent::AtRisk { deadline_boottime_ns }) => {
                self.on_deadline(deadline_boottime_ns);
                self.ask_to_end("it was at risk, since its member was cut off from the group");
            }
            Update::Event(HoldEvent::Lost { sentence, .. }) => self.kill(&sentence),
            Update::Event(HoldEvent::Timeout | HoldEvent::Released) => {
                self.kill("the daemon has taken it back");
            }
            Update::Event(HoldEvent::Refused { why, .. }) => self.kill(&why),
            Update::Event(HoldEvent::Waiting { .. } | HoldEvent::Safe) => {}
            Update::Broken(why) => match self.grant.deadline_ns {
                // Nobody renews it any more; until then it is ours.
                Some(_) => self.ask_to_end(&why.to_string()),
                None => self.kill(&why.to_string()),
            },
        }
    }

    fn on_deadline(&mut self, deadline_ns: Option<u64>) {
        let Some(deadline_ns) = deadline_ns else { return };
        self.grant.deadline_ns = Some(deadline_ns);
        // Here the daemon sees to it, and goes on while this process is stopped.
        if self.hold.is_remote() {
            self.child.must_be_dead_at(deadline_ns);
        }
    }

    fn ask_to_end(&mut self, why: &str) {
        if self.ended_since.is_none() {
            self.guarded.say_if_verbose(&format!("the command is asked to end: {why}"));
            self.ended_since = Some(why.to_owned());
            self.child.ask_to_end();
        }
    }

    fn kill(&mut self, why: &str) {
        self.ended_since.get_or_insert_with(|| why.to_owned());
        self.is_killed = true;
        self.child.signal(Signal::KILL);
    }

    /// How it has ended, if nothing is left to be waited for.
    async fn on_change(&mut self, change: Change) -> Option<Ending> {
        match change {
            Change::Ready => self.begin().await,
            Change::Stopped(signal) => self.child.stop_with_it(signal),
            Change::Ended(ending) if self.guarded.close && !self.is_killed => return Some(ending),
            Change::Ended(_) => {
                self.left_at = Some(Instant::now() + LEFT_FOR);
                if self.is_killed {
                    self.child.signal(Signal::KILL);
                }
            }
            Change::Gone(ending) => return Some(ending),
        }
        None
    }

    /// The daemon knows the process group before the command does anything.
    async fn begin(&mut self) {
        let told = {
            let told = self.hold.works(self.child.group());
            let deadline = reached(self.grant.deadline_ns, KILLED_BEFORE);
            tokio::select! {
                biased;
                () = deadline => return,
                told = timeout(LOOKED_AT * 50, told) => told,
            }
        };
        match told {
            Ok(Ok(())) if self.ended_since.is_none() => self.child.begin(),
            Ok(Ok(())) => {}
            Ok(Err(why)) => self.kill(&format!("the daemon was not told of its process: {why}")),
            Err(_) => self.kill("the daemon was not told of its process: it does not answer"),
        }
    }

    fn on_signal(&mut self, signal: Signal) {
        if signal == Signal::CONT {
            self.child.resume();
        } else {
            self.child.signal(signal);
        }
    }

    fn say_what_is_left(&mut self) {
        self.left_at = None;
        self.guarded.say(&format!(
            "the command has ended, and processes that it has left in its process group {} have \
             not: {} is kept until they end (--close would not wait)",
            self.child.group(),
            called(&self.guarded.request)
        ));
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
