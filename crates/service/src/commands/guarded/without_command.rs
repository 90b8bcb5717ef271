//! A hold without a command: whoever has started this process works under it.

use std::io::{ErrorKind, Read as _};
use std::time::Duration;

use rustix::fs::{FileType, fstat};
use rustix::process::Signal;
use tokio::sync::oneshot;
use vorrang_terminal::{is_closed, print};

use super::under_hold::{Grant, reached};
use super::{Guarded, Outcome};
use crate::api::HoldEvent;
use crate::child::{Signals, stop};
use crate::commands::hold::{Hold, Update};
use crate::commands::hold_args::called;
use crate::failure::Failure;

/// Prints the token and keeps the hold until somebody does not want it any more.
pub(super) async fn keep(
    guarded: &Guarded,
    mut hold: Hold,
    mut grant: Grant,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let printed = print(&format!("{}\n", grant.token));
    if printed.is_err() || is_closed() {
        let why = printed.err().map_or_else(|| "it is closed".to_owned(), |it| it.to_string());
        guarded.give_back(hold, Outcome::GivenBack).await;
        let what = called(&guarded.request);
        return Err(Failure::Storage(format!(
            "the token could not be written to standard output ({why}), so {what} was given back"
        )));
    }
    let mut input = input_ends();
    let lost = |why: &str| {
        let what = called(&guarded.request);
        Outcome::Lost(format!("{what} was lost: {why}"))
    };
    loop {
        tokio::select! {
            biased;
            () = reached(grant.deadline_ns, Duration::ZERO) => {
                return Ok(lost("its lease was not renewed"));
            }
            update = hold.next() => match update {
                Update::Event(HoldEvent::Granted { token, .. }) if token != grant.token => {
                    return Ok(lost("the daemon has begun another hold"));
                }
                Update::Event(
                    HoldEvent::Granted { deadline_boottime_ns, .. }
                    | HoldEvent::Alive { deadline_boottime_ns },
                ) => grant.deadline_ns = deadline_boottime_ns.or(grant.deadline_ns),
                Update::Event(HoldEvent::AtRisk { deadline_boottime_ns }) => {
                    grant.deadline_ns = deadline_boottime_ns.or(grant.deadline_ns);
                    guarded.say(&format!("{} is at risk", called(&guarded.request)));
                }
                Update::Event(HoldEvent::Safe) => guarded.say("it is safe again"),
                Update::Event(HoldEvent::Waiting { .. }) => {}
                Update::Event(HoldEvent::Lost { sentence, .. }) => return Ok(lost(&sentence)),
                Update::Event(HoldEvent::Timeout | HoldEvent::Released) => {
                    return Ok(lost("the daemon has taken it back"));
                }
                Update::Event(HoldEvent::Refused { why, .. }) => return Ok(lost(&why)),
                Update::Broken(why) => return Ok(lost(&why.to_string())),
            },
            signal = signals.next() => match signal {
                Signal::CONT => {}
                Signal::TSTP => stop(),
                _ => break,
            },
            () = ended(&mut input) => break,
        }
    }
    Ok(guarded.give_back(hold, Outcome::GivenBack).await)
}

/// Is told when standard input ends, if that is a pipe or a socket, which somebody holds open for
/// as long as the hold is wanted. A terminal has Ctrl-C; and without a terminal, as in `cron`,
/// standard input has ended from the start, which means nothing.
fn input_ends() -> Option<oneshot::Receiver<()>> {
    let kind = fstat(std::io::stdin()).map(|it| FileType::from_raw_mode(it.st_mode));
    if !kind.is_ok_and(|it| matches!(it, FileType::Fifo | FileType::Socket)) {
        return None;
    }
    let (sender, ends) = oneshot::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        loop {
            match std::io::stdin().lock().read(&mut buffer) {
                Ok(1..) => {}
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        // The hold may have ended before.
        let _ = sender.send(());
    });
    Some(ends)
}

/// Returns when it was told so, if ever.
async fn ended(input: &mut Option<oneshot::Receiver<()>>) {
    match input {
        // A thread that was not started does not tell either.
        Some(input) => drop(input.await),
        None => std::future::pending().await,
    }
}
