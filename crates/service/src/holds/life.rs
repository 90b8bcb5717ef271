//! The life of a hold: a task that waits for it, keeps it, and gives it back or loses it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use vorrang_lock::{Guard, LockError, Loss};

use super::Shared;
use super::hold::{End, Held, Hold, Status, unix_seconds};
use super::refused::Refused;
use crate::api::{Code, HoldEvent, LossReason};
use crate::process_group::{ProcessGroup, is_stopped};

/// How long before it is taken away a hold is at risk.
const WARNING: Duration = Duration::from_secs(2);

/// How often the client is told that its hold is still held, at least.
const ALIVE: Duration = Duration::from_secs(1);

/// After how long somebody is told again that a process group does not end.
const STILL_THERE: Duration = Duration::from_secs(10);

/// Lives until the hold is over.
pub(super) async fn live(hold: Arc<Hold>, shared: Arc<Shared>, want: vorrang_lock::Request) {
    let last = match wait(&hold, &shared, want).await {
        Ok(guard) => keep(&hold, &shared, guard).await,
        Err(last) => last,
    };
    shared.finish(&hold, last);
}

/// Waits for it. To drop the future of the library is to withdraw.
async fn wait(
    hold: &Hold,
    shared: &Shared,
    want: vorrang_lock::Request,
) -> Result<Guard, HoldEvent> {
    let within = hold.request.within_ms.map(Duration::from_millis);
    let mut renewed = hold.renewed.subscribe();
    let mut leaving = shared.leaving.subscribe();
    let mut end = hold.end.subscribe();
    tokio::select! {
        biased;
        end = asked(&mut end) => Err(match end {
            End::Released | End::Abandoned => HoldEvent::Released,
            End::Forced(by) => Refused::new(Code::HoldOver, forced(&by)).into(),
        }),
        () = is_leaving(&mut leaving) => {
            Err(Refused::from(&LockError::Leaving).into())
        }
        () = silent(hold, &mut renewed, shared.rules.renew_within) => {
            Err(lost(LossReason::NotRenewed, shared))
        }
        granted = shared.group.acquire(want) => granted.map_err(|why| Refused::from(&why).into()),
        () = after(within) => Err(in_vain(shared)),
    }
}

/// Keeps it until it is given back, lost or taken away.
async fn keep(hold: &Hold, shared: &Shared, guard: Guard) -> HoldEvent {
    let mut keeping = Keeping {
        hold,
        shared,
        held: Held {
            token: guard.token(),
            since: unix_seconds(),
            deadline: None,
            is_at_risk: false,
            is_ending: false,
        },
        last_chance: None,
        struck: None,
    };
    keeping.update(&guard);
    shared.granted(hold);
    let mut end = hold.end.subscribe();
    let mut leaving = shared.leaving.subscribe();
    let mut renewed = hold.renewed.subscribe();
    loop {
        let is_at_risk = keeping.held.is_at_risk;
        let deadline = keeping.held.deadline.filter(|it| Some(*it) != keeping.struck);
        let last_chance = keeping.last_chance;
        tokio::select! {
            biased;
            loss = guard.lost() => return keeping.lost(&loss),
            end = asked(&mut end) => return keeping.end(guard, end).await,
            () = until(last_chance) => {
                return keeping.take_away(guard, LossReason::Leaving).await;
            }
            () = until(deadline) => keeping.strike(&guard),
            () = guard.at_risk(), if !is_at_risk => keeping.warn(&guard),
            () = guard.safe(), if is_at_risk && last_chance.is_none() => {
                keeping.held.is_at_risk = false;
                keeping.update(&guard);
                shared.tell(hold);
            }
            () = leaves(&mut leaving), if last_chance.is_none() => {
                keeping.last_chance = *leaving.borrow();
                keeping.warn(&guard);
            }
            () = silent(hold, &mut renewed, shared.rules.renew_within) => {
                return keeping.take_away(guard, LossReason::NotRenewed).await;
            }
            () = sleep(keeping.pause()) => {}
        }
        keeping.update(&guard);
    }
}

/// A hold that is held.
struct Keeping<'a> {
    hold: &'a Hold,
    shared: &'a Shared,
    held: Held,
    /// When it is taken away.
    last_chance: Option<Instant>,
    /// The deadline that has passed.
    struck: Option<Instant>,
}

impl Keeping<'_> {
    /// How long nothing need be said.
    fn pause(&self) -> Duration {
        self.shared.rules.lease.map_or(ALIVE, |lease| (lease / 4).clamp(MIN_PAUSE, ALIVE))
    }

    /// When nothing may run under it any more. From the moment at which it is at risk until the end
    /// of the lease is the grace: of that, two thirds are for what runs to end by itself, and the
    /// last third for it to be ended.
    fn deadline(&self, guard: &Guard) -> Option<Instant> {
        guard.deadline().map(|at_risk| Instant::from_std(at_risk) + self.shared.rules.grace * 2 / 3)
    }

    /// Tells how it stands.
    fn update(&mut self, guard: &Guard) {
        self.held.deadline = [self.deadline(guard), self.last_chance].into_iter().flatten().min();
        self.hold.status.send_replace(Status::Held(self.held));
    }

    /// It is about to be given back, and whoever asks for it from now on is told how that went.
    fn begin_to_end(&self) {
        self.hold.status.send_replace(Status::Held(Held { is_ending: true, ..self.held }));
    }

    /// It may be lost soon. Who is stopped cannot end what runs under it.
    fn warn(&mut self, guard: &Guard) {
        self.held.is_at_risk = true;
        self.update(guard);
        let is_client_stopped = self.hold.client.is_some_and(is_stopped);
        if let Some(process) = self.hold.process()
            && is_client_stopped
        {
            tracing::warn!(
                name = self.hold.request.name,
                id = self.hold.id,
                pgid = process.number(),
                "at risk, and its client is stopped: SIGTERM to its process group"
            );
            process.terminate();
        }
        self.shared.tell(self.hold);
    }

    /// The deadline that was told last has come: was it moved meanwhile?
    fn strike(&mut self, guard: &Guard) {
        self.struck = self.held.deadline;
        if self.deadline(guard).is_some_and(|it| it <= Instant::now()) {
            self.kill();
        }
    }

    /// It is at its end: nothing may run under it any more.
    fn kill(&self) {
        if let Some(process) = self.hold.process()
            && !process.is_gone()
        {
            tracing::warn!(
                name = self.hold.request.name,
                id = self.hold.id,
                pgid = process.number(),
                "at its deadline, and its process group still runs: SIGKILL"
            );
            process.kill();
        }
    }

    fn lost(&self, loss: &Loss) -> HoldEvent {
        self.kill();
        let why = match loss {
            Loss::Evicted | Loss::Removed => LossReason::Evicted,
            Loss::LeaseOver => LossReason::LeaseOver,
            Loss::MaxHold(_) => LossReason::MaxHold,
            Loss::Left => LossReason::Leaving,
            Loss::Replaced(_) => LossReason::Replaced,
            Loss::Stopped(_) => LossReason::Stopped,
        };
        HoldEvent::Lost { why, sentence: loss.to_string() }
    }

    async fn end(&self, guard: Guard, end: End) -> HoldEvent {
        self.begin_to_end();
        match end {
            End::Released => {}
            End::Abandoned => {
                if let Some(process) = self.hold.process() {
                    let mut end = self.hold.end.subscribe();
                    tokio::select! {
                        loss = guard.lost() => return self.lost(&loss),
                        by = by_force(&mut end) => tracing::warn!(by, "released by force"),
                        () = self.orphan(process) => {}
                    }
                }
            }
            End::Forced(by) => {
                self.shut_down().await;
                // However that went, it is lost.
                drop(self.give_back(guard).await);
                return HoldEvent::Lost { why: LossReason::Forced, sentence: forced(&by) };
            }
        }
        match self.give_back(guard).await {
            Ok(()) => HoldEvent::Released,
            Err(loss) => self.lost(&loss),
        }
    }

    async fn take_away(&self, guard: Guard, why: LossReason) -> HoldEvent {
        self.begin_to_end();
        self.shut_down().await;
        // However that went, it is lost.
        drop(self.give_back(guard).await);
        lost(why, self.shared)
    }

    async fn give_back(&self, guard: Guard) -> Result<(), Loss> {
        self.shared.gives_back(self.hold);
        guard.release().await
    }

    /// Ends what runs under it, in a bounded time.
    async fn shut_down(&self) {
        if let Some(process) = self.hold.process() {
            process.end(WARNING).await;
        }
    }

    /// The client is gone without a word, and what it has started may not be: the next one gets the
    /// lock when that is gone, too.
    async fn orphan(&self, process: ProcessGroup) {
        while !process.end(STILL_THERE).await {
            tracing::error!(
                name = self.hold.request.name,
                id = self.hold.id,
                pgid = process.number(),
                "its client is gone, and its process group does not end: nobody else gets it"
            );
        }
    }
}

/// Deadlines are not told more often than that.
const MIN_PAUSE: Duration = Duration::from_millis(20);

fn lost(why: LossReason, shared: &Shared) -> HoldEvent {
    let sentence = match why {
        LossReason::Leaving => "this member has left the group".to_owned(),
        LossReason::NotRenewed => {
            format!("its client has not renewed it for {:?}", shared.rules.renew_within)
        }
        LossReason::Evicted
        | LossReason::LeaseOver
        | LossReason::Stopped
        | LossReason::Replaced
        | LossReason::MaxHold
        | LossReason::Forced => why.to_string(),
    };
    HoldEvent::Lost { why, sentence }
}

fn forced(by: &str) -> String {
    format!("{by} has released it by force")
}

/// The time is over. If nobody could have been granted anything, that is the reason.
fn in_vain(shared: &Shared) -> HoldEvent {
    match shared.group.members().trouble {
        Some(trouble) => Refused::from(&LockError::NoMajority(trouble)).into(),
        None => HoldEvent::Timeout,
    }
}

async fn asked(end: &mut watch::Receiver<Option<End>>) -> End {
    match end.wait_for(Option::is_some).await.map(|it| it.clone()) {
        Ok(Some(end)) => end,
        // The hold itself has the other end.
        Ok(None) | Err(_) => pending().await,
    }
}

/// Waits until somebody releases it by force: who.
async fn by_force(end: &mut watch::Receiver<Option<End>>) -> String {
    let is_forced = |end: &Option<End>| matches!(end, Some(End::Forced(_)));
    match end.wait_for(is_forced).await.map(|it| it.clone()) {
        Ok(Some(End::Forced(by))) => by,
        Ok(_) | Err(_) => pending().await,
    }
}

/// Waits until this member begins to leave.
async fn is_leaving(leaving: &mut watch::Receiver<Option<Instant>>) {
    if leaving.wait_for(Option::is_some).await.is_err() {
        pending::<()>().await;
    }
}

/// Waits until it is time to warn those who hold something that this member leaves.
async fn leaves(leaving: &mut watch::Receiver<Option<Instant>>) {
    let last = match leaving.wait_for(Option::is_some).await.map(|it| *it) {
        Ok(Some(last)) => last,
        Ok(None) | Err(_) => pending().await,
    };
    sleep_until(last.checked_sub(WARNING).unwrap_or(last)).await;
}

/// Waits until a client that is not on this machine has been silent for so long.
async fn silent(hold: &Hold, renewed: &mut watch::Receiver<Instant>, within: Duration) {
    if hold.is_local {
        return pending().await;
    }
    loop {
        let last = *renewed.borrow_and_update();
        tokio::select! {
            () = sleep_until(last + within) => return,
            changed = renewed.changed() => {
                if changed.is_err() {
                    return pending().await;
                }
            }
        }
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}
