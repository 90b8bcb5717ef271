//! The holds of the clients of this member: each by the id that its client has chosen, with a task
//! that lives as long as it does.

mod hold;
mod life;
mod lines;
mod refused;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::future::Future as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep};
use vorrang_lock::{Group, Want};

pub(crate) use self::hold::{Asker, End, Hold, Owner, Status, unix_seconds};
pub(crate) use self::lines::Lines;
pub(crate) use self::refused::Refused;
use crate::api::{self, Code, Event, HoldEvent, HoldRequest, Kind, LONGEST_ID, LONGEST_LABEL};
use crate::metrics::{Ending, Metrics};

/// How many events are kept for a reader that is slow.
const EVENTS_KEPT: usize = 1024;

/// How many holds that are over are remembered, so that a request that is repeated learns how its
/// hold has ended.
const REMEMBERED: usize = 1024;

/// How often is looked whether all was told.
const LOOK: Duration = Duration::from_millis(5);

/// What holds live by.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The name of this member.
    pub(crate) member: String,
    /// How long a lease lasts.
    pub(crate) lease: Option<Duration>,
    /// How long before its end a hold is at risk.
    pub(crate) grace: Duration,
    /// How long a hold of another machine lasts without being renewed.
    pub(crate) renew_within: Duration,
    /// How many holds there are at most.
    pub(crate) holds: usize,
    /// What certain clients may do. Others may do everything.
    pub(crate) clients: BTreeMap<String, Allowed>,
}

/// What a client may do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// With names that begin so; with any, if there are none.
    pub(crate) prefixes: Vec<String>,
    /// With so many at once.
    pub(crate) holds: Option<usize>,
}

/// All holds of this member. Clones are the same.
#[derive(Clone)]
pub(crate) struct Holds(Arc<Shared>);

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holds").finish_non_exhaustive()
    }
}

/// What the tasks of all holds share.
struct Shared {
    group: Group,
    rules: Rules,
    metrics: Arc<Metrics>,
    events: broadcast::Sender<Event>,
    /// When holds are taken away, once this member leaves.
    leaving: watch::Sender<Option<Instant>>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    holds: HashMap<String, Arc<Hold>>,
    /// How many that are not over each has.
    of: HashMap<Owner, usize>,
    /// Names for which there are clients here.
    names: HashMap<(Space, String), Here>,
    /// Those that are over, the oldest first.
    over: VecDeque<String>,
    /// How many are not over.
    alive: usize,
}

/// Names of locks, semaphores and elections have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Space {
    Locks,
    Semaphores,
    Elections,
}

/// A name for which there are clients here.
#[derive(Default)]
struct Here {
    clients: usize,
    /// When one of them last gave it back.
    given_back: Option<Instant>,
}

impl Holds {
    pub(crate) fn new(group: Group, rules: Rules, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Shared {
            group,
            rules,
            metrics,
            events: broadcast::Sender::new(EVENTS_KEPT),
            leaving: watch::Sender::new(None),
            table: Mutex::default(),
        }))
    }

    /// Begins a hold, or looks on at the one that this client has begun under this id: its lines.
    pub(crate) fn begin(
        &self,
        id: &str,
        owner: Owner,
        request: HoldRequest,
        by: Asker,
    ) -> Result<(Arc<Hold>, Lines), Refused> {
        let want = wanted(id, &request)?;
        let shared = &self.0;
        let mut table = shared.table();
        if let Some(hold) = table.holds.get(id) {
            if hold.owner != owner || hold.request != request {
                let why = format!("there is a hold '{id}' already, and it is another one");
                return Err(Refused::new(Code::OtherHold, why));
            }
            let lines = Lines::of(Arc::clone(hold), shared.rules.lease);
            return Ok((Arc::clone(hold), lines));
        }
        shared.check(&table, &owner, &request)?;
        let hold = Arc::new(Hold::new(id.to_owned(), owner, request, by));
        table.enter(&hold);
        let lines = Lines::of(Arc::clone(&hold), shared.rules.lease);
        drop(table);
        shared.tell(&hold);
        let mut life = Box::pin(life::live(Arc::clone(&hold), Arc::clone(shared), want));
        // It asks at once, before its client hears that it waits: so those who come later come
        // after it. The task looks at all of it again.
        let asked = life.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if asked.is_pending() {
            tokio::spawn(life);
        }
        Ok((hold, lines))
    }

    /// The hold of this id.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Hold>, Refused> {
        let found = self.0.table().holds.get(id).cloned();
        found.ok_or_else(|| Refused::new(Code::NoSuchHold, format!("there is no hold '{id}'")))
    }

    /// The hold of this id, if it is this client's.
    pub(crate) fn find_own(&self, id: &str, owner: &Owner) -> Result<Arc<Hold>, Refused> {
        let hold = self.find(id)?;
        if hold.owner != *owner {
            let why = format!("hold '{id}' belongs to {}, and you are {owner}", hold.owner);
            return Err(Refused::new(Code::NotYours, why));
        }
        Ok(hold)
    }

    /// All that are not over, as a list shows them: by kind and name, holders first.
    pub(crate) fn list(&self) -> Vec<api::Hold> {
        let holds: Vec<Arc<Hold>> = self.0.table().holds.values().cloned().collect();
        let shown = holds.iter().map(|it| it.shown(&self.0.rules.member));
        shown.filter(|it| it.state != api::HoldState::Over).collect()
    }

    /// How many are held, how many wait, and how long is left to those that are held.
    pub(crate) fn count(&self) -> Counted {
        let mut counted = Counted::default();
        for hold in self.0.table().holds.values() {
            match &*hold.status.borrow() {
                Status::Waiting => *counted.waiting.entry(hold.request.kind).or_default() += 1,
                Status::Held(held) => {
                    *counted.held.entry(hold.request.kind).or_default() += 1;
                    counted.left = [counted.left, held.left()].into_iter().flatten().min();
                }
                Status::Over(_) => {}
            }
        }
        counted
    }

    /// What happens to holds, and to the group, from now on.
    pub(crate) fn events(&self) -> broadcast::Receiver<Event> {
        self.0.events.subscribe()
    }

    /// Tells everybody who looks on.
    pub(crate) fn announce(&self, event: Event) {
        // Perhaps nobody looks on.
        let _ = self.0.events.send(event);
    }

    /// Begins to leave: nothing is granted any more, and what is held is taken away then.
    pub(crate) fn leave(&self, until: Instant) {
        self.0.leaving.send_replace(Some(until));
    }

    /// Whether this member leaves.
    pub(crate) fn is_leaving(&self) -> bool {
        self.0.leaving.borrow().is_some()
    }

    /// Waits until all holds are over.
    pub(crate) async fn over(&self) {
        let alive: Vec<Arc<Hold>> = self.0.table().holds.values().cloned().collect();
        for hold in alive {
            hold.over().await;
        }
    }

    /// Waits until all that there is to be told was told.
    pub(crate) async fn told(&self) {
        let all: Vec<Arc<Hold>> = self.0.table().holds.values().cloned().collect();
        for hold in all {
            while hold.has_streams() {
                sleep(LOOK).await;
            }
        }
    }

    /// How long a hold of another machine lasts without being renewed.
    pub(crate) fn renew_within(&self) -> Duration {
        self.0.rules.renew_within
    }
}

/// What there is.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) held: BTreeMap<Kind, u64>,
    pub(crate) waiting: BTreeMap<Kind, u64>,
    pub(crate) left: Option<Duration>,
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this client may have one more, of this name.
    fn check(&self, table: &Table, owner: &Owner, wish: &HoldRequest) -> Result<(), Refused> {
        if self.leaving.borrow().is_some() {
            return Err(Refused::new(Code::Leaving, "this member leaves the group"));
        }
        if table.alive >= self.rules.holds {
            let why = format!(
                "there are {} holds already, and that is the limit of this daemon (holds)",
                table.alive
            );
            return Err(Refused::new(Code::TooMany, why));
        }
        let Owner::Certificate(client) = owner else { return Ok(()) };
        let Some(allowed) = self.rules.clients.get(client) else { return Ok(()) };
        let may = |prefix: &String| wish.name.starts_with(prefix.as_str());
        if !allowed.prefixes.is_empty() && !allowed.prefixes.iter().any(may) {
            let why = format!(
                "client '{client}' may only have names that begin with {}, and '{}' does not",
                allowed.prefixes.join(" or "),
                wish.name
            );
            return Err(Refused::new(Code::NotAllowed, why));
        }
        let has = table.of.get(owner).copied().unwrap_or_default();
        match allowed.holds {
            Some(most) if has >= most => {
                let why = format!("client '{client}' has {has} holds, and may have {most}");
                Err(Refused::new(Code::NotAllowed, why))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Those who look on are told how a hold stands.
    fn tell(&self, hold: &Hold) {
        if self.events.receiver_count() > 0 {
            // The last one may just have gone.
            let _ = self.events.send(Event::Hold(hold.shown(&self.rules.member)));
        }
    }

    /// It is held from now on.
    fn granted(&self, hold: &Hold) {
        let is_hand_over = self.table().is_hand_over(hold);
        self.metrics.granted(hold.request.kind, hold.asked_at.elapsed(), is_hand_over);
        self.tell(hold);
    }

    /// It is about to be given back.
    fn gives_back(&self, hold: &Hold) {
        if let Some(here) = self.table().names.get_mut(&hold.space()) {
            here.given_back = Some(Instant::now());
        }
    }

    /// It is over.
    fn finish(&self, hold: &Arc<Hold>, last: HoldEvent) {
        let was_held = matches!(&*hold.status.borrow(), Status::Held(_));
        match &last {
            HoldEvent::Lost { why, sentence } => {
                self.metrics.lost(*why);
                let name = &hold.request.name;
                tracing::warn!(name, id = hold.id, %why, "a hold was lost: {sentence}");
            }
            HoldEvent::Timeout => self.metrics.ended(Ending::TimedOut),
            HoldEvent::Refused { .. } => self.metrics.ended(Ending::Refused),
            HoldEvent::Released if was_held => self.metrics.ended(Ending::Released),
            HoldEvent::Released => self.metrics.ended(Ending::Withdrawn),
            HoldEvent::Waiting { .. }
            | HoldEvent::Granted { .. }
            | HoldEvent::Alive { .. }
            | HoldEvent::AtRisk { .. }
            | HoldEvent::Safe => unreachable!("a hold does not end with {last:?}"),
        }
        self.table().finish(hold);
        hold.status.send_replace(Status::Over(last));
        self.tell(hold);
    }
}

impl Table {
    fn enter(&mut self, hold: &Arc<Hold>) {
        self.holds.insert(hold.id.clone(), Arc::clone(hold));
        *self.of.entry(hold.owner.clone()).or_default() += 1;
        self.names.entry(hold.space()).or_default().clients += 1;
        self.alive += 1;
    }

    /// Whether it comes from another client here, and not from another member.
    fn is_hand_over(&self, hold: &Hold) -> bool {
        let given_back = self.names.get(&hold.space()).and_then(|it| it.given_back);
        given_back.is_some_and(|it| it >= hold.asked_at)
    }

    fn finish(&mut self, hold: &Hold) {
        self.alive -= 1;
        if let Some(count) = self.of.get_mut(&hold.owner) {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&hold.owner);
            }
        }
        let space = hold.space();
        if let Some(here) = self.names.get_mut(&space) {
            here.clients -= 1;
            if here.clients == 0 {
                self.names.remove(&space);
            }
        }
        self.over.push_back(hold.id.clone());
        if self.over.len() > REMEMBERED
            && let Some(id) = self.over.pop_front()
        {
            self.holds.remove(&id);
        }
    }
}

impl Hold {
    fn space(&self) -> (Space, String) {
        let space = match self.request.kind {
            Kind::Lock | Kind::Shared => Space::Locks,
            Kind::Semaphore => Space::Semaphores,
            Kind::Election => Space::Elections,
        };
        (space, self.request.name.clone())
    }
}

/// What the library is to be asked for, or why the request is none.
fn wanted(id: &str, request: &HoldRequest) -> Result<vorrang_lock::Request, Refused> {
    let bad = |why: String| Refused::new(Code::BadRequest, why);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(fits) {
        let id: String = id.chars().take(LONGEST_ID).collect();
        return Err(bad(format!(
            "'{}' is no id: 1 to {LONGEST_ID} letters, digits and -._~ are allowed",
            id.escape_debug()
        )));
    }
    let HoldRequest { kind, name, permits, value, within_ms: _, label } = request;
    if let Some(label) = label
        && (label.len() > LONGEST_LABEL || label.chars().any(char::is_control))
    {
        return Err(bad(format!(
            "a label has at most {LONGEST_LABEL} bytes and no control characters"
        )));
    }
    if permits.is_some() != (*kind == Kind::Semaphore) {
        return Err(bad("permits are for a semaphore, and it needs them".to_owned()));
    }
    if value.is_some() && *kind != Kind::Election {
        return Err(bad("a value is for an election alone".to_owned()));
    }
    let want = match kind {
        Kind::Lock => Want::Exclusive,
        Kind::Shared => Want::Shared,
        Kind::Semaphore => Want::PermitOf(permits.unwrap_or_default()),
        Kind::Election => {
            let value = value.as_deref().unwrap_or_default();
            let value = vorrang_lock::Value::new(value);
            Want::Lead(value.map_err(|why| bad(format!("the value cannot be used: {why}")))?)
        }
    };
    let name = name.parse().map_err(bad)?;
    Ok(vorrang_lock::Request { name, want })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named() {
        let lock = HoldRequest::lock("a");
        assert!(wanted("4f-A._~", &lock).is_ok());
        let why = |id: &str, request: &HoldRequest| wanted(id, request).unwrap_err().why;
        for id in ["", "a b", "a/b", "ä", &"x".repeat(129)] {
            assert!(why(id, &lock).contains("is no id"), "{id}");
        }
        let with = |change: fn(&mut HoldRequest)| {
            let mut request = HoldRequest::lock("a");
            change(&mut request);
            why("id", &request)
        };
        assert!(with(|it| it.name = String::new()).contains("it is empty"));
        assert!(with(|it| it.name = "x".repeat(256)).contains("256 bytes"));
        assert!(with(|it| it.name = "a\nb".to_owned()).contains("control character"));
        assert!(with(|it| it.permits = Some(1)).contains("for a semaphore"));
        assert!(with(|it| it.kind = Kind::Semaphore).contains("it needs them"));
        assert!(with(|it| it.value = Some(String::new())).contains("for an election alone"));
        assert!(with(|it| it.label = Some("\n".to_owned())).contains("label"));
        let long = |it: &mut HoldRequest| {
            (it.kind, it.value) = (Kind::Election, Some("x".repeat(1025)));
        };
        assert!(with(long).contains("1025 bytes"));
    }
}
