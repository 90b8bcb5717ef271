//! What `lock`, `semaphore` and `elect` have in common: to wait for a hold, and to do something
//! under it.

mod under_hold;
mod without_command;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use vorrang_terminal::say_aside;

use self::under_hold::{Grant, UnderHold};
use super::hold::{Hold, Update};
use super::hold_args::{CommandArgs, WaitArgs, called, check, label};
use super::run;
use crate::api::{Code, HoldEvent, HoldRequest, Refusal};
use crate::child::{Ending, Signals, stop};
use crate::client::{Client, ClientError};
use crate::failure::Failure;

/// How long a daemon may say nothing to one who waits. It says something every five seconds.
const SILENT_FOR: Duration = Duration::from_secs(20);
/// How long it is not tried again after a failure.
const TRIED_AGAIN_AFTER: Duration = Duration::from_millis(200);
/// How long after the time that was given the daemon may say that it is over.
const LATE: Duration = Duration::from_secs(1);
/// How long the daemon may take to hear that a hold is given back.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(5);

/// What the loss of a hold means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    IsTheEnd,
    /// It is asked for again.
    BeginsAnew,
}

/// Something that is to be done under a hold.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// The command of ours, for sentences.
    pub(super) verb: &'static str,
    pub(super) request: HoldRequest,
    pub(super) wait: WaitArgs,
    pub(super) command: Option<Vec<OsString>>,
    /// Whether what the command has left behind is not waited for.
    pub(super) close: bool,
    loss: Loss,
}

/// How it went.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The command has ended by itself.
    Ended(Ending),
    /// There was no command, and the hold was given back.
    GivenBack,
    /// It was not to be had in time.
    Busy,
    /// The hold was lost, or at risk, so that what was done under it was ended.
    Lost(String),
    /// This process was told to end before it had anything.
    Signalled(Signal),
}

enum Asked {
    Granted(Hold, Grant),
    Not(Outcome),
}

impl Guarded {
    pub(crate) fn new(
        verb: &'static str,
        request: HoldRequest,
        wait: WaitArgs,
        command: &CommandArgs,
        loss: Loss,
    ) -> Self {
        let close = command.close;
        let command = command.command();
        let label = Some(label(command.as_deref()));
        Self { verb, request: HoldRequest { label, ..request }, wait, command, close, loss }
    }

    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        check(&self.request)?;
        match run(self.again_and_again())?? {
            Outcome::Ended(ending) => Ok(ExitCode::from(ending.code())),
            Outcome::GivenBack => Ok(ExitCode::SUCCESS),
            Outcome::Busy => Ok(ExitCode::from(self.wait.conflict_exit_code)),
            Outcome::Lost(why) => Err(Failure::Lost(why)),
            Outcome::Signalled(signal) => Ok(die_of(signal)),
        }
    }

    async fn again_and_again(&self) -> Result<Outcome, Failure> {
        let mut signals = Signals::listen()
            .map_err(|why| Failure::System(format!("signals cannot be received: {why}")))?;
        let client = Arc::new(Client::new(self.wait.target.target()?));
        loop {
            let outcome = match self.ask(&client, &mut signals).await? {
                Asked::Not(outcome) => outcome,
                Asked::Granted(hold, grant) => self.use_hold(hold, grant, &mut signals).await?,
            };
            match (&outcome, self.loss) {
                (Outcome::Lost(why), Loss::BeginsAnew) => {
                    self.say(&format!("{why}; standing again"));
                }
                _ => return Ok(outcome),
            }
        }
    }

    async fn use_hold(
        &self,
        hold: Hold,
        grant: Grant,
        signals: &mut Signals,
    ) -> Result<Outcome, Failure> {
        match &self.command {
            Some(command) => UnderHold::start(self, command, hold, grant, signals)?.run().await,
            None => without_command::keep(self, hold, grant, signals).await,
        }
    }

    /// Waits until it is granted, over as many connections as that takes.
    async fn ask(&self, client: &Arc<Client>, signals: &mut Signals) -> Result<Asked, Failure> {
        let asked_at = Instant::now();
        let give_up_at = self.wait.within().map(|within| asked_at + within);
        let mut unreached_since = None;
        loop {
            let began_at = Instant::now();
            let why = match self.ask_once(client, signals, asked_at, give_up_at).await {
                Ok(asked) => return Ok(asked),
                Err(why) => why,
            };
            // Somebody who has waited for a while was reached until then.
            if began_at.elapsed() > SILENT_FOR + LATE {
                unreached_since = None;
            }
            let since = *unreached_since.get_or_insert_with(Instant::now);
            let failure = Failure::from(why);
            if !matches!(failure, Failure::Unavailable(_)) || since.elapsed() >= self.wait.retry {
                return Err(failure);
            }
            self.say_if_verbose(failure.why());
            if give_up_at.is_some_and(|it| it <= Instant::now()) {
                return Ok(Asked::Not(Outcome::Busy));
            }
            tokio::select! {
                signal = signals.next() => if let Some(outcome) = heed(signal) {
                    return Ok(Asked::Not(outcome));
                },
                () = sleep(TRIED_AGAIN_AFTER) => {}
            }
        }
    }

    async fn ask_once(
        &self,
        client: &Arc<Client>,
        signals: &mut Signals,
        asked_at: Instant,
        give_up_at: Option<Instant>,
    ) -> Result<Asked, ClientError> {
        let left = give_up_at.map(|it| it.saturating_duration_since(Instant::now()));
        let within_ms = left.map(|left| left.as_millis().max(1) as u64);
        let request = HoldRequest { within_ms, ..self.request.clone() };
        let mut hold = {
            let asking = Hold::ask(client, &request);
            tokio::pin!(asking);
            loop {
                tokio::select! {
                    hold = &mut asking => break hold?,
                    signal = signals.next() => if let Some(outcome) = heed(signal) {
                        return Ok(Asked::Not(outcome));
                    },
                }
            }
        };
        loop {
            tokio::select! {
                update = timeout(SILENT_FOR, hold.next()) => {
                    let Ok(update) = update else {
                        return Err(ClientError::Silent(client.target().to_string()));
                    };
                    if let Some(asked) = self.on_update(update, asked_at)? {
                        return Ok(match asked {
                            Ok(grant) => Asked::Granted(hold, grant),
                            Err(outcome) => Asked::Not(outcome),
                        });
                    }
                }
                signal = signals.next() => if let Some(outcome) = heed(signal) {
                    give_back(hold).await;
                    return Ok(Asked::Not(outcome));
                },
                // A daemon that stands still would not say that the time is over.
                () = reached(give_up_at.map(|it| it + LATE)) => {
                    self.say_if_verbose("the daemon does not say whether the time is over");
                    return Ok(Asked::Not(Outcome::Busy));
                }
            }
        }
    }

    /// What a line means to one who waits.
    fn on_update(
        &self,
        update: Update,
        asked_at: Instant,
    ) -> Result<Option<Result<Grant, Outcome>>, ClientError> {
        let what = called(&self.request);
        match update {
            Update::Event(HoldEvent::Granted { token, deadline_boottime_ns, .. }) => {
                let took = asked_at.elapsed().as_secs_f64();
                self.say_if_verbose(&format!("{what} is held after {took:.3} s, token {token}"));
                Ok(Some(Ok(Grant { token, deadline_ns: deadline_boottime_ns })))
            }
            Update::Event(HoldEvent::Waiting { .. }) => {
                self.say_if_verbose(&format!("waiting for {what}"));
                Ok(None)
            }
            Update::Event(HoldEvent::Timeout | HoldEvent::Released) => {
                let took = asked_at.elapsed().as_secs_f64();
                self.say_if_verbose(&format!("{what} was not to be had within {took:.3} s"));
                Ok(Some(Err(Outcome::Busy)))
            }
            Update::Event(HoldEvent::Refused { why, code }) => {
                let refusal = Refusal { error: format!("{what} is refused: {why}"), code };
                Err(ClientError::Refused { status: 200, refusal })
            }
            Update::Event(HoldEvent::Lost { sentence, .. }) => {
                let refusal = Refusal { error: sentence, code: Code::Unavailable };
                Err(ClientError::Refused { status: 200, refusal })
            }
            Update::Event(HoldEvent::Alive { .. } | HoldEvent::AtRisk { .. } | HoldEvent::Safe) => {
                Ok(None)
            }
            Update::Broken(why) => Err(why),
        }
    }

    pub(super) fn say(&self, what: &str) {
        say_aside(&format!("vorrang {}: {what}", self.verb));
    }

    pub(super) fn say_if_verbose(&self, what: &str) {
        if self.wait.verbose {
            self.say(what);
        }
    }

    /// Gives back what is not needed any more; if it was lost before that, that is the outcome.
    pub(super) async fn give_back(&self, hold: Hold, outcome: Outcome) -> Outcome {
        match timeout(GIVEN_BACK_WITHIN, hold.release()).await {
            Ok(Err(why)) if why.code().is_some_and(is_over) => {
                let what = called(&self.request);
                Outcome::Lost(format!("{what} was lost before it could be given back"))
            }
            Ok(Err(why)) => {
                self.say(&format!("the daemon was not told that the hold is given back: {why}"));
                outcome
            }
            Err(_) => {
                self.say("the daemon does not answer that the hold is given back");
                outcome
            }
            Ok(Ok(())) => {
                self.say_if_verbose(&format!("{} is given back", called(&self.request)));
                outcome
            }
        }
    }
}

/// Whether a refusal means that the hold is gone.
const fn is_over(code: Code) -> bool {
    matches!(code, Code::NoSuchHold | Code::HoldOver)
}

/// Waits for it no more.
async fn give_back(hold: Hold) {
    // If the daemon does not hear that, it sees that nobody is there.
    let _ = timeout(LATE, hold.release()).await;
}

/// What a signal does to a process that has nothing yet.
fn heed(signal: Signal) -> Option<Outcome> {
    match signal {
        Signal::CONT => None,
        Signal::TSTP => {
            stop();
            None
        }
        signal => Some(Outcome::Signalled(signal)),
    }
}

/// Ends this process by the signal, so that a shell knows.
fn die_of(signal: Signal) -> ExitCode {
    // If that fails it is an exit code at least.
    let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
    ExitCode::from(128 + signal.as_raw() as u8)
}

/// Returns then, if ever.
async fn reached(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
