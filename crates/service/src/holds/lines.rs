//! What the client of a hold is told of it, line by line.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::hold::{Held, Hold, Status};
use crate::api::HoldEvent;
use crate::boot_time;

/// How often a client that waits is told that nothing has happened: there is no deadline, and so
/// many may wait.
const STILL_WAITING: Duration = Duration::from_secs(5);

/// The lines of one stream. On the Unix socket the hold ends with the last of its streams.
#[derive(Debug)]
pub(crate) struct Lines {
    hold: Arc<Hold>,
    status: watch::Receiver<Status>,
    said: Said,
    lease: Option<Duration>,
}

/// What was said last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Nothing,
    Waiting,
    Held { is_at_risk: bool },
    All,
}

impl Lines {
    pub(super) fn of(hold: Arc<Hold>, lease: Option<Duration>) -> Self {
        hold.begin_stream();
        let mut status = hold.status();
        status.mark_changed();
        Self { hold, status, said: Said::Nothing, lease }
    }

    /// The next lines, when there are any: whatever has happened since the last ones. None after
    /// the last one.
    pub(crate) async fn next(&mut self) -> Option<Vec<HoldEvent>> {
        loop {
            if self.said == Said::All {
                return None;
            }
            let changed = timeout(STILL_WAITING, self.status.changed()).await;
            let status = self.status.borrow_and_update().clone();
            let lines = match changed {
                Ok(Ok(())) => self.lines(&status),
                Ok(Err(_)) => return None,
                Err(_) => vec![HoldEvent::Alive { deadline_boottime_ns: self.deadline(&status) }],
            };
            if !lines.is_empty() {
                return Some(lines);
            }
        }
    }

    /// What is to be said of how it stands, after what was said.
    fn lines(&mut self, status: &Status) -> Vec<HoldEvent> {
        let deadline_boottime_ns = self.deadline(status);
        let mut lines = Vec::new();
        match status {
            Status::Waiting if self.said == Said::Nothing => {
                lines.push(HoldEvent::Waiting { since: self.hold.asked });
                self.said = Said::Waiting;
            }
            Status::Waiting => {}
            Status::Held(held) if held.is_ending => {}
            Status::Held(held) => {
                let was_at_risk = match self.said {
                    Said::Held { is_at_risk } => {
                        if is_at_risk == held.is_at_risk {
                            lines.push(HoldEvent::Alive { deadline_boottime_ns });
                        }
                        is_at_risk
                    }
                    Said::Nothing | Said::Waiting | Said::All => {
                        lines.push(self.granted(held, deadline_boottime_ns));
                        false
                    }
                };
                match (was_at_risk, held.is_at_risk) {
                    (false, true) => lines.push(HoldEvent::AtRisk { deadline_boottime_ns }),
                    (true, false) => lines.push(HoldEvent::Safe),
                    (true, true) | (false, false) => {}
                }
                self.said = Said::Held { is_at_risk: held.is_at_risk };
            }
            Status::Over(last) => {
                lines.push(last.clone());
                self.said = Said::All;
            }
        }
        lines
    }

    fn granted(&self, held: &Held, deadline_boottime_ns: Option<u64>) -> HoldEvent {
        HoldEvent::Granted {
            token: held.token.to_string(),
            view: held.token.view,
            number: held.token.number,
            lease_ms: self.lease.map(|it| it.as_millis() as u64),
            deadline_boottime_ns,
        }
    }

    /// On another machine that clock would mean nothing.
    fn deadline(&self, status: &Status) -> Option<u64> {
        match status {
            Status::Held(held) if self.hold.is_local => {
                let left = held.deadline?.saturating_duration_since(Instant::now());
                Some(boot_time::now_ns() + left.as_nanos() as u64)
            }
            Status::Held(_) | Status::Waiting | Status::Over(_) => None,
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.hold.end_stream();
    }
}

#[cfg(test)]
mod tests {
    use vorrang_lock::Token;

    use super::*;
    use crate::api::{HoldRequest, LossReason};
    use crate::holds::{Asker, Owner};

    /// Somebody else may have it by then.
    #[tokio::test]
    async fn of_a_hold_that_is_about_to_end_nobody_is_told_that_it_is_granted() {
        let by = Asker { is_local: false, process: None };
        let request = HoldRequest::lock("a");
        let hold = Arc::new(Hold::new("1".to_owned(), Owner::Loopback, request, by));
        let is_over = |is_ending| {
            let token = Token { view: 1, number: 1 };
            let granted = Held { token, since: 1, deadline: None, is_at_risk: false, is_ending };
            hold.status.send_replace(Status::Held(granted));
            hold.status.borrow().is_over()
        };
        assert!(!is_over(false));
        let mut early = Lines::of(Arc::clone(&hold), None);
        let first = early.next().await.expect("it goes on");
        assert!(matches!(first[..], [HoldEvent::Granted { .. }]), "{first:?}");
        assert!(is_over(true));
        let mut late = Lines::of(Arc::clone(&hold), None);
        for lines in [&mut early, &mut late] {
            let said = timeout(Duration::from_millis(20), lines.next()).await;
            assert!(said.is_err(), "{said:?}");
        }
        let (why, sentence) = (LossReason::NotRenewed, "it is".to_owned());
        hold.status.send_replace(Status::Over(HoldEvent::Lost { why, sentence }));
        for mut lines in [early, late] {
            let last = lines.next().await.expect("the last line");
            assert!(matches!(last[..], [HoldEvent::Lost { .. }]), "{last:?}");
            assert_eq!(lines.next().await, None);
        }
    }
}
