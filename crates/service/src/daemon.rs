//! The daemon: a member of the group, and those whom it serves.

use std::collections::BTreeMap;
use std::future::pending;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use vorrang_lock::tls::Tls;
use vorrang_lock::{Config, ConfigError, Group, Key, LockError, OpenError, StopReason};

use crate::api::{Event, Members};
use crate::failure::Failure;
use crate::holds::{Allowed, Holds, Rules, unix_seconds};
use crate::http::{About, Others, Service, members, serve_tcp, serve_unix};
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::unix_socket::UnixSocket;
use crate::{log, systemd};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// So long before it expires, a certificate should be renewed.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How long the last lines may take to be read.
const LAST_LINES: Duration = Duration::from_secs(1);

/// What the daemon is told, collected once more.
pub(crate) type Again<'a> = &'a dyn Fn() -> Result<Settings, ConfigError>;

/// Runs until it is told to leave, or cannot go on.
pub(crate) fn run(settings: &Settings, again: Again<'_>) -> Result<ExitCode, Failure> {
    let _log = log::start(settings.config.log).map_err(Failure::Usage)?;
    allow_many_connections();
    // The member and the clients of this machine share a thread: what a hand-over takes is the
    // waking of threads. Handshakes and clients of other machines have threads of their own, so
    // that they keep the member from nothing.
    let local = threads(1)?;
    let remote = threads(std::thread::available_parallelism().map_or(1, |it| it.get().min(4)))?;
    let outcome = local.block_on(serve(settings, again, remote.handle()));
    remote.shutdown_background();
    local.shutdown_timeout(LAST_LINES);
    if let Err(failure) = &outcome {
        tracing::error!("{}", failure.why());
    }
    outcome
}

fn threads(count: usize) -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(count).enable_all().build();
    runtime.map_err(|why| Failure::Failed(format!("cannot start threads: {why}")))
}

/// Every client takes a file, and the usual limit is one for programs without many clients.
fn allow_many_connections() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    // With the usual limit there is room for fewer clients, and the rest is as it is.
    let _ = setrlimit(Resource::Nofile, raised);
}

async fn serve(
    settings: &Settings,
    again: Again<'_>,
    remote: &Handle,
) -> Result<ExitCode, Failure> {
    let config = &settings.config;
    let mut signals = Signals::listen()?;
    let (socket, unix) =
        UnixSocket::bind(&settings.socket(), config.socket_mode).map_err(Failure::Storage)?;
    let unix = UnixListener::from_std(unix)
        .map_err(|why| Failure::Storage(format!("cannot use the Unix socket: {why}")))?;
    let tcp = match &config.http_listen {
        Some(address) => Some(TcpListener::bind(address).await.map_err(|why| {
            Failure::Storage(format!("http.listen: cannot listen on {address}: {why}"))
        })?),
        None => None,
    };
    let group = Group::start(config.clone()).await.map_err(|why| not_started(&why))?;
    let keys = group.tls().cloned();
    let service = Arc::new(service(config, group.clone(), keys.clone()));
    tokio::spawn(serve_unix(unix, Arc::clone(&service), config.holds));
    if let Some(tcp) = tcp {
        remote.spawn(serve_tcp(tcp, Arc::clone(&service), config.holds));
    }
    tracing::info!(
        member = service.about.member, group = service.about.group,
        socket = %settings.socket().display(), "serving"
    );
    systemd::ready();
    let signal = tokio::select! {
        why = stopped(&group) => {
            // Its clients lose what they have, and are told so.
            let _ = timeout(LAST_LINES, service.holds.told()).await;
            return Err(why);
        }
        never = watch_group(&service) => match never {},
        never = ping() => match never {},
        never = warn_of_expiry(keys.as_ref()) => match never {},
        signal = signals.next(|| read_again(config, &group, again)) => signal,
    };
    tracing::info!(signal, "leaving");
    let within = config.leave_within;
    let left = tokio::select! {
        left = leave(&service, group, within) => left,
        // It does not matter any more who may join.
        signal = signals.next(|| ()) => {
            tracing::warn!(signal, "told to leave once more: ending at once");
            drop(socket);
            return Ok(ExitCode::from(128 + signal));
        }
    };
    drop(socket);
    left
}

fn service(config: &Config, group: Group, keys: Option<Tls>) -> Service {
    let metrics = Arc::new(Metrics::default());
    let about = About {
        group: config.group.clone(),
        member: config.own_name().to_owned(),
        algorithm: config.algorithm.clone(),
        started: unix_seconds(),
    };
    let allowed = config.clients.iter().map(|it| {
        let allowed = Allowed { prefixes: it.prefixes.clone(), holds: it.holds };
        (it.name.clone(), allowed)
    });
    let rules = Rules {
        member: about.member.clone(),
        lease: config.lease,
        grace: config.grace,
        renew_within: config.http_renew_within,
        holds: config.holds,
        clients: allowed.collect(),
    };
    let http: BTreeMap<String, String> =
        config.members.iter().filter_map(|it| Some((it.name.clone(), it.http.clone()?))).collect();
    Service {
        holds: Holds::new(group.clone(), rules, Arc::clone(&metrics)),
        group,
        metrics,
        about,
        others: Others::new(http, keys),
        request_within: config.http_request_within,
    }
}

fn not_started(error: &OpenError) -> Failure {
    let why = error.to_string();
    match error {
        OpenError::Config(_) | OpenError::Keys(_) | OpenError::NoTls => Failure::Config(why),
        OpenError::Storage(_) | OpenError::Net(_) => Failure::Storage(why),
        OpenError::Join(_) => Failure::Unavailable(why),
    }
}

/// Waits until the member cannot go on: why.
async fn stopped(group: &Group) -> Failure {
    let mut changes = group.changes();
    let stopped = changes.wait_for(|it| it.stopped.is_some()).await;
    let why = stopped.ok().and_then(|it| it.stopped.clone());
    let why = format!("this member has stopped: {}", why.unwrap_or_default());
    match group.status().await {
        Err(LockError::Stopped(StopReason::Storage(_))) => Failure::Storage(why),
        _ => Failure::Failed(why),
    }
}

/// Never.
enum Never {}

/// Tells the log, systemd and those who look on how the group is, whenever that changes.
async fn watch_group(service: &Service) -> Never {
    let mut changes = service.group.changes();
    changes.mark_changed();
    let mut said = String::new();
    while changes.changed().await.is_ok() {
        changes.borrow_and_update();
        let members = members(service);
        let status = in_words(&members);
        if said != status {
            tracing::info!(view = members.view, majority = members.majority, "{status}");
            systemd::status(&status);
            said = status;
        }
        service.holds.announce(Event::Members(members));
    }
    pending().await
}

/// How the group is, in a sentence.
fn in_words(members: &Members) -> String {
    let in_view = members.members.iter().filter(|it| it.state.is_in_view());
    let names: Vec<&str> = in_view.map(|it| it.name.as_str()).collect();
    match (&members.trouble, members.view) {
        (Some(trouble), _) => trouble.clone(),
        (None, Some(view)) => format!("member of view {view}: {}", names.join(", ")),
        (None, None) => "no view yet".to_owned(),
    }
}

/// Tells systemd again and again that this thread runs, if it wants to know.
async fn ping() -> Never {
    let Some(every) = systemd::watchdog() else { return pending().await };
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        systemd::alive();
    }
}

/// Says every day that the certificate is about to expire, if it is.
async fn warn_of_expiry(keys: Option<&Tls>) -> Never {
    let Some(keys) = keys else { return pending().await };
    let mut days = interval(DAY);
    loop {
        days.tick().await;
        let certificate = keys.certificate();
        match certificate.valid_for(SystemTime::now()) {
            Some(left) if left > EXPIRES_SOON => {}
            Some(_) => tracing::warn!(
                "the certificate of {} expires soon: it is {}; renew it, and send SIGHUP",
                certificate.whose(),
                certificate.validity()
            ),
            None => tracing::error!(
                "the certificate of {} has expired: it was {}; renew it, and send SIGHUP",
                certificate.whose(),
                certificate.validity()
            ),
        }
    }
}

/// Leaves the group: nothing is granted any more, who waits is refused, and who holds something may
/// finish within this time.
async fn leave(service: &Service, group: Group, within: Duration) -> Result<ExitCode, Failure> {
    systemd::stopping(within + LAST_LINES * 10);
    service.holds.leave(Instant::now() + within);
    service.holds.over().await;
    // Who has not read its last line by then does not read.
    let _ = timeout(LAST_LINES, service.holds.told()).await;
    match group.leave(Duration::ZERO).await {
        Ok(()) => {
            tracing::info!("left");
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => Err(Failure::Failed(why.to_string())),
    }
}

/// The signals that tell the daemon what to do.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From now on they do not end the process by themselves.
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|why| Failure::Failed(format!("cannot take signals: {why}")))
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// The next one that tells the daemon to leave, by its number. Until then it reads again what
    /// it is told to.
    async fn next(&mut self, read_again: impl Fn()) -> u8 {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return 15,
                _ = self.interrupt.recv() => return 2,
                _ = self.hang_up.recv() => read_again(),
            }
        }
    }
}

/// Reads keys again, and who may join. Connections that exist go on with what they have shown.
fn read_again(was: &Config, group: &Group, again: Again<'_>) {
    systemd::reloading();
    match group.tls().map(Tls::reload) {
        None => tracing::info!("SIGHUP: there are no keys to be read again"),
        Some(Ok(certificate)) => tracing::info!(
            "SIGHUP: read the keys of {} again, {}",
            certificate.whose(),
            certificate.validity()
        ),
        Some(Err(why)) => tracing::error!("SIGHUP: the keys stay as they were: {why}"),
    }
    match again() {
        Ok(Settings { config, .. }) => {
            let differ = differences(was, &config);
            if !differ.is_empty() {
                let differ = differ.join(", ");
                tracing::warn!("SIGHUP: it takes a new start until other values count of {differ}");
            }
            let newcomers = config.tls.map(|tls| tls.newcomers).unwrap_or_default();
            let names: Vec<&str> = newcomers.iter().map(|it| it.0.as_str()).collect();
            tracing::info!("SIGHUP: besides the founders these may join: [{}]", names.join(", "));
            group.accept_newcomers(newcomers);
        }
        Err(why) => tracing::error!("SIGHUP: the configuration stays as it was: {why}"),
    }
    systemd::ready();
}

/// The keys that have other values, but for those that are read again.
fn differences(was: &Config, is: &Config) -> Vec<&'static str> {
    let is_other = |key: &&Key| key.name != NEWCOMERS && key.show(was) != key.show(is);
    let keys = Config::KEYS.iter().filter(is_other).map(|key| key.name);
    let lists = [("member", was.members != is.members), ("client", was.clients != is.clients)];
    keys.chain(lists.into_iter().filter_map(|(name, is_other)| is_other.then_some(name))).collect()
}

/// The key that is read again.
const NEWCOMERS: &str = "tls.newcomers";
