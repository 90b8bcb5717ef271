//! What systemd is told, if it has started the daemon and asked for it.

use std::time::Duration;

use sd_notify::NotifyState;

fn tell(states: &[NotifyState<'_>]) {
    if let Err(why) = sd_notify::notify(states) {
        tracing::warn!(%why, "systemd cannot be told how the daemon is");
    }
}

/// Clients are served from now on.
pub(crate) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// How the daemon is, for people who ask systemd.
pub(crate) fn status(text: &str) {
    tell(&[NotifyState::Status(text)]);
}

/// The daemon ends, within this time.
pub(crate) fn stopping(within: Duration) {
    let micros = u32::try_from(within.as_micros()).unwrap_or(u32::MAX);
    tell(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros)]);
}

/// The configuration is read again; then comes [`ready`].
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(why) => tracing::warn!(%why, "systemd cannot be told that keys are read again"),
    }
}

/// How often systemd is told that the daemon is alive, if it wants to: twice as often as it needs.
pub(crate) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|within| within / 2)
}

/// The daemon is alive.
pub(crate) fn alive() {
    tell(&[NotifyState::Watchdog]);
}
