//! What the daemon counts, and how it writes that for Prometheus: the text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::api::{Kind, LossReason};

/// Upper ends of the classes of waiting times, in seconds.
const CLASSES: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0, 3600.0];

/// What is counted since the daemon has started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
    /// Connections that are open, by the place where they came in.
    connections: [AtomicU64; 2],
}

#[derive(Debug, Default)]
struct Counts {
    grants: BTreeMap<Kind, u64>,
    hand_overs: u64,
    losses: BTreeMap<LossReason, u64>,
    ends: BTreeMap<Ending, u64>,
    cut: BTreeMap<Cut, u64>,
    waited: Histogram,
}

/// How a hold ends if it is not lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Ending {
    Released,
    Withdrawn,
    TimedOut,
    Refused,
}

impl Ending {
    const ALL: [Self; 4] = [Self::Released, Self::Withdrawn, Self::TimedOut, Self::Refused];

    const fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Withdrawn => "withdrawn",
            Self::TimedOut => "timeout",
            Self::Refused => "refused",
        }
    }
}

/// Why a connection was closed by the daemon.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Cut {
    /// There were too many.
    TooMany,
    /// Its client does not read.
    NotRead,
    /// What came was no request, or not in time.
    BadRequest,
    /// It did not prove who it is.
    Handshake,
}

impl Cut {
    const ALL: [Self; 4] = [Self::TooMany, Self::NotRead, Self::BadRequest, Self::Handshake];

    const fn name(self) -> &'static str {
        match self {
            Self::TooMany => "too-many",
            Self::NotRead => "not-read",
            Self::BadRequest => "bad-request",
            Self::Handshake => "handshake",
        }
    }
}

/// Where connections come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Via {
    Unix = 0,
    Tcp = 1,
}

#[derive(Debug, Default)]
struct Histogram {
    classes: [u64; CLASSES.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, value: f64) {
        for (class, end) in self.classes.iter_mut().zip(CLASSES) {
            *class += u64::from(value <= end);
        }
        self.count += 1;
        self.sum += value;
    }
}

/// How things are when the metrics are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Now {
    pub(crate) group: String,
    pub(crate) member: String,
    pub(crate) algorithm: String,
    pub(crate) view: Option<u64>,
    pub(crate) members: usize,
    pub(crate) suspected: usize,
    pub(crate) majority: bool,
    pub(crate) held: BTreeMap<Kind, u64>,
    pub(crate) waiting: BTreeMap<Kind, u64>,
    /// Until the clients of this member lose what they have, unless the lease is renewed.
    pub(crate) lease_left: Option<Duration>,
    /// When the certificate of this member ends, in seconds since 1970.
    pub(crate) certificate_expires: Option<u64>,
    /// When this process was started, in seconds since 1970.
    pub(crate) started: u64,
}

impl Metrics {
    /// A hold was granted, after so long; without a message, if it is a hand-over.
    pub(crate) fn granted(&self, kind: Kind, waited: Duration, is_hand_over: bool) {
        self.count(|counts| {
            *counts.grants.entry(kind).or_default() += 1;
            counts.hand_overs += u64::from(is_hand_over);
            counts.waited.add(waited.as_secs_f64());
        });
    }

    pub(crate) fn lost(&self, why: LossReason) {
        self.count(|counts| *counts.losses.entry(why).or_default() += 1);
    }

    pub(crate) fn ended(&self, how: Ending) {
        self.count(|counts| *counts.ends.entry(how).or_default() += 1);
    }

    pub(crate) fn cut(&self, why: Cut) {
        self.count(|counts| *counts.cut.entry(why).or_default() += 1);
    }

    pub(crate) fn opened(&self, via: Via) {
        self.connections[via as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn closed(&self, via: Via) {
        self.connections[via as usize].fetch_sub(1, Ordering::Relaxed);
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// All of it as text.
    pub(crate) fn text(&self, now: &Now) -> String {
        let mut page = Page::default();
        let about = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("group", &now.group),
            ("member", &now.member),
            ("algorithm", &now.algorithm),
        ];
        page.family("vorrang_info", "gauge", "What this daemon is.").value(&about, 1);
        of_the_group(&mut page, now);
        of_holds(&mut page, now);
        self.of_what_was(&mut page);
        let opened = |via: Via| self.connections[via as usize].load(Ordering::Relaxed);
        page.family("vorrang_connections", "gauge", "Connections of clients that are open.")
            .value(&[("listener", "unix")], opened(Via::Unix))
            .value(&[("listener", "tcp")], opened(Via::Tcp));
        let what = "When the daemon was started, in seconds since 1970.";
        page.family("process_start_time_seconds", "gauge", what).value(&[], now.started);
        page.text
    }

    fn of_what_was(&self, page: &mut Page) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        page.family("vorrang_grants_total", "counter", "Holds that were granted.");
        for kind in KINDS {
            let count = counts.grants.get(&kind).copied().unwrap_or_default();
            page.value(&[("kind", &kind.to_string())], count);
        }
        let what = "Grants to a client that had waited while another client of this member held \
                    the same name: they need no message.";
        page.family("vorrang_local_hand_overs_total", "counter", what)
            .value(&[], counts.hand_overs);
        page.family("vorrang_losses_total", "counter", "Holds that were lost, by the reason.");
        for why in LossReason::ALL {
            let count = counts.losses.get(&why).copied().unwrap_or_default();
            page.value(&[("reason", why.name())], count);
        }
        page.family("vorrang_ends_total", "counter", "Holds that ended without being lost.");
        for how in Ending::ALL {
            let count = counts.ends.get(&how).copied().unwrap_or_default();
            page.value(&[("how", how.name())], count);
        }
        let what = "How long clients had waited when they were granted a hold.";
        page.family("vorrang_wait_seconds", "histogram", what).histogram(&counts.waited);
        let what = "Connections that the daemon has closed, by the reason.";
        page.family("vorrang_connections_cut_total", "counter", what);
        for why in Cut::ALL {
            let count = counts.cut.get(&why).copied().unwrap_or_default();
            page.value(&[("reason", why.name())], count);
        }
    }
}

/// All kinds of hold.
const KINDS: [Kind; 4] = [Kind::Lock, Kind::Shared, Kind::Semaphore, Kind::Election];

fn of_the_group(page: &mut Page, now: &Now) {
    if let Some(view) = now.view {
        page.family("vorrang_view", "gauge", "The number of the membership view.").value(&[], view);
    }
    page.family("vorrang_members", "gauge", "Members of the view, this one included.")
        .value(&[], now.members);
    page.family("vorrang_members_suspected", "gauge", "Members that are silent for too long.")
        .value(&[], now.suspected);
    let what = "1 if this member reaches a majority of its view; without, nothing is granted.";
    page.family("vorrang_majority", "gauge", what).value(&[], u8::from(now.majority));
    if let Some(left) = now.lease_left {
        let what = "Until clients of this member lose what they hold unless its lease is renewed.";
        page.family("vorrang_lease_left_seconds", "gauge", what).value(&[], left.as_secs_f64());
    }
    if let Some(expires) = now.certificate_expires {
        let what = "When the certificate of this member expires, in seconds since 1970.";
        page.family("vorrang_certificate_expiry_seconds", "gauge", what).value(&[], expires);
    }
}

fn of_holds(page: &mut Page, now: &Now) {
    for (name, what, holds) in [
        ("vorrang_holds", "Holds of clients of this member that are held.", &now.held),
        ("vorrang_waiters", "Clients of this member that wait.", &now.waiting),
    ] {
        page.family(name, "gauge", what);
        for kind in KINDS {
            let count = holds.get(&kind).copied().unwrap_or_default();
            page.value(&[("kind", &kind.to_string())], count);
        }
    }
}

/// Lines in the text format.
#[derive(Default)]
struct Page {
    text: String,
    name: &'static str,
}

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, what: &str) -> &mut Self {
        self.name = name;
        let _ = writeln!(self.text, "# HELP {name} {what}\n# TYPE {name} {kind}");
        self
    }

    fn value(&mut self, labels: &[(&str, &str)], value: impl std::fmt::Display) -> &mut Self {
        self.line("", labels, value)
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[(&str, &str)],
        value: impl std::fmt::Display,
    ) -> &mut Self {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
        self
    }

    fn histogram(&mut self, histogram: &Histogram) {
        for (end, count) in CLASSES.iter().zip(histogram.classes) {
            self.line("_bucket", &[("le", &end.to_string())], count);
        }
        self.line("_bucket", &[("le", "+Inf")], histogram.count)
            .line("_sum", &[], histogram.sum)
            .line("_count", &[], histogram.count);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_written() {
        let metrics = Metrics::default();
        metrics.granted(Kind::Lock, Duration::from_millis(3), false);
        metrics.granted(Kind::Lock, Duration::from_secs(5000), true);
        metrics.lost(LossReason::Evicted);
        metrics.ended(Ending::Released);
        metrics.cut(Cut::NotRead);
        metrics.opened(Via::Unix);
        metrics.opened(Via::Unix);
        metrics.closed(Via::Unix);
        let now = Now { view: Some(7), members: 3, group: "a\"b".to_owned(), ..Now::default() };
        let text = metrics.text(&now);
        for line in [
            "vorrang_grants_total{kind=\"lock\"} 2",
            "vorrang_grants_total{kind=\"election\"} 0",
            "vorrang_local_hand_overs_total 1",
            "vorrang_losses_total{reason=\"evicted\"} 1",
            "vorrang_losses_total{reason=\"lease-over\"} 0",
            "vorrang_ends_total{how=\"released\"} 1",
            "vorrang_connections_cut_total{reason=\"not-read\"} 1",
            "vorrang_connections{listener=\"unix\"} 1",
            "vorrang_view 7",
            "vorrang_members 3",
            "vorrang_majority 0",
            "vorrang_wait_seconds_bucket{le=\"0.0025\"} 0",
            "vorrang_wait_seconds_bucket{le=\"0.005\"} 1",
            "vorrang_wait_seconds_bucket{le=\"3600\"} 1",
            "vorrang_wait_seconds_bucket{le=\"+Inf\"} 2",
            "vorrang_wait_seconds_count 2",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert!(text.contains("group=\"a\\\"b\""), "{text}");
        assert!(!text.contains("vorrang_lease_left_seconds"), "there is no lease");
    }

    /// Every family is announced before its values, once.
    #[test]
    fn the_text_is_of_the_format() {
        let now = Now { lease_left: Some(Duration::from_millis(700)), ..Now::default() };
        let text = Metrics::default().text(&now);
        let mut known = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let name = rest.split(' ').next().expect("a name").to_owned();
                assert!(!known.contains(&name), "{name} twice");
                known.push(name);
            } else if !line.starts_with('#') {
                let family = known.last().expect("a family comes first");
                assert!(line.starts_with(family.as_str()), "{line} is of {family}");
                let value = line.rsplit_once(' ').expect("a value").1;
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(text.contains("vorrang_lease_left_seconds 0.7\n"));
    }
}
