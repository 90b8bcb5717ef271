//! Holds on the Unix socket: how they begin, what their clients are told, and how they end.

use rustix::process::Signal;
use serde_json::Value;
use vorrang_testkit::Folder;

use crate::support::{Daemon, wait_for};

const LOCK: &str = r#"{"kind":"lock","name":"invoices","label":"host:1 ./run"}"#;

#[test]
fn a_hold_waits_for_another_and_is_granted_when_that_connection_is_closed() {
    let folder = Folder::new("holds");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut first = daemon.hold("1", LOCK);
    assert_eq!(first.headers["content-type"], "application/x-ndjson");
    assert_eq!(first.headers["cache-control"], "no-store");
    assert_eq!(first.headers["x-accel-buffering"], "no");
    assert_eq!(first.headers["vorrang-api"], "1");
    let waiting = first.expect("waiting");
    assert!(waiting["since"].as_u64().is_some_and(|it| it > 1_700_000_000), "{waiting}");
    let granted = first.expect("granted");
    let token = granted["token"].as_str().expect("a token").to_owned();
    let halves = [&granted["view"], &granted["number"]].map(|it| it.as_u64().expect("a number"));
    assert_eq!(token, format!("{:016x}{:016x}", halves[0], halves[1]));
    assert_eq!(granted["lease_ms"], 1000);
    // The deadline is ahead, and moves on.
    let now = || vorrang_service::boot_time::now_ns();
    let deadline = |event: &Value| event["deadline_boottime_ns"].as_u64().expect("a deadline");
    let first_deadline = deadline(&granted);
    assert!(first_deadline < now() + 1_000_000_000, "a lease is a second long");
    let mut moved = 0;
    while moved <= first_deadline {
        moved = deadline(&first.until("alive"));
    }

    let mut second = daemon.hold("2", LOCK);
    second.expect("waiting");
    let locks = daemon.get("/v1/locks").json();
    let holds = locks["holds"].as_array().expect("holds");
    let states: Vec<&Value> = holds.iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["held", "waiting"]);
    let shown = &holds[0];
    let user = rustix::process::getuid().as_raw();
    assert_eq!(shown["token"], token.as_str());
    assert_eq!(shown["client"], format!("uid {user}"));
    assert_eq!(shown["label"], "host:1 ./run");
    assert_eq!((&shown["member"], &shown["name"]), (&"a".into(), &"invoices".into()));
    assert_eq!(daemon.get("/v1/holds/2").json(), holds[1]);
    assert_eq!(locks["unreached"], Value::Array(Vec::new()));

    first.close();
    let next = second.granted();
    assert!(next > token, "{next} {token}");
    assert_eq!(daemon.metric("vorrang_grants_total{kind=\"lock\"}"), Some(2.0));
    assert_eq!(daemon.metric("vorrang_local_hand_overs_total"), Some(1.0));
}

#[test]
fn to_ask_again_is_to_look_on_and_to_ask_for_something_else_is_refused() {
    let folder = Folder::new("again");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut first = daemon.hold("one", LOCK);
    let token = first.granted();
    let mut again = daemon.hold("one", LOCK);
    assert_eq!(again.granted(), token, "it is the same hold");
    let other = daemon.ask("PUT", "/v1/holds/one", r#"{"kind":"lock","name":"other"}"#);
    assert_eq!((other.status, other.code().as_str()), (409, "other-hold"));
    // As long as one of its connections is open it is held.
    first.close();
    let mut waits = daemon.hold("two", LOCK);
    waits.expect("waiting");
    again.until("alive");
    assert_eq!(daemon.get("/v1/holds/two").json()["state"], "waiting");
    let released = daemon.ask("DELETE", "/v1/holds/one", "");
    assert_eq!(released.status, 204);
    again.until("released");
    assert!(again.is_over());
    waits.granted();
    // It is over, and whoever asks again learns that, and how.
    let mut late = daemon.hold("one", LOCK);
    late.expect("released");
    assert!(late.is_over());
    let nobody = daemon.ask("DELETE", "/v1/holds/nobody", "");
    assert_eq!((nobody.status, nobody.code().as_str()), (404, "no-such-hold"));
}

#[test]
fn who_gives_up_waits_no_more() {
    let folder = Folder::new("within");
    let daemon = Daemon::start(&folder, "s", &[]);
    daemon.wait_until_it_is_ready();
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    let within = r#"{"kind":"lock","name":"invoices","within_ms":50}"#;
    let mut hasty = daemon.hold("2", within);
    hasty.expect("waiting");
    hasty.expect("timeout");
    assert!(hasty.is_over());
    let mut hasty = daemon.hold("3", r#"{"kind":"lock","name":"free","within_ms":60000}"#);
    hasty.granted();
    // One that waits and whose connection is closed is out of the queue.
    let mut gone = daemon.hold("4", LOCK);
    gone.expect("waiting");
    gone.close();
    let mut last = daemon.hold("5", LOCK);
    last.expect("waiting");
    first.close();
    last.granted();
    let ends = |how: &str| daemon.metric(&format!("vorrang_ends_total{{how=\"{how}\"}}"));
    wait_for("all are counted", || {
        (ends("timeout") == Some(1.0) && ends("withdrawn") == Some(1.0)).then_some(())
    });
}

#[test]
fn semaphores_and_elections_have_names_of_their_own() {
    let folder = Folder::new("kinds");
    let daemon = Daemon::start(&folder, "s", &[]);
    let permit = r#"{"kind":"semaphore","name":"x","permits":2}"#;
    let [mut one, mut two] = ["1", "2"].map(|id| daemon.hold(id, permit));
    one.granted();
    two.granted();
    let mut three = daemon.hold("3", permit);
    three.expect("waiting");
    let mut other = daemon.hold("4", r#"{"kind":"semaphore","name":"x","permits":3}"#);
    other.expect("waiting");
    let refused = other.expect("refused");
    let why = refused["why"].as_str().expect("a reason");
    assert!(why.contains('3') && why.contains('2'), "{why}");
    let mut alone = daemon.hold("5", r#"{"kind":"lock","name":"x"}"#);
    alone.granted();
    one.close();
    three.granted();
    // The lock is held alone, so who would share it waits.
    daemon.hold("6", r#"{"kind":"shared","name":"x"}"#).expect("waiting");

    let mut observed = daemon.connect().lines("GET", "/v1/elections/x", "");
    observed.expect("nobody");
    let mut leads = daemon.hold("7", r#"{"kind":"election","name":"x","value":"10.0.0.1:80"}"#);
    let token = leads.granted();
    let leader = observed.expect("leader");
    assert_eq!((&leader["value"], &leader["token"]), (&"10.0.0.1:80".into(), &token.into()));
    assert_eq!(leader["member"], "a");
    leads.close();
    observed.expect("nobody");
}

#[test]
fn readers_share_where_the_algorithm_does() {
    let folder = Folder::new("shared");
    let daemon = Daemon::start(&folder, "s", &["--algorithm", "readers-writers"]);
    let shared = r#"{"kind":"shared","name":"x"}"#;
    let [mut one, mut two] = ["1", "2"].map(|id| daemon.hold(id, shared));
    one.granted();
    two.granted();
    let mut writer = daemon.hold("3", r#"{"kind":"lock","name":"x"}"#);
    writer.expect("waiting");
    one.close();
    two.close();
    writer.granted();
}

#[test]
fn a_hold_is_taken_away_after_the_longest_time() {
    let folder = Folder::new("max-hold");
    let daemon = Daemon::start(&folder, "s", &["--max-hold", "1s"]);
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    let mut second = daemon.hold("2", LOCK);
    second.expect("waiting");
    first.until("at-risk");
    let lost = first.until("lost");
    assert_eq!(lost["why"], "max-hold");
    assert!(lost["sentence"].as_str().expect("a sentence").contains("1s"), "{lost}");
    assert!(first.is_over());
    second.granted();
    assert_eq!(daemon.metric("vorrang_losses_total{reason=\"max-hold\"}"), Some(1.0));
}

#[test]
fn a_hold_can_be_released_by_force_which_is_logged() {
    let folder = Folder::new("force");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut first = daemon.hold("stuck", LOCK);
    first.granted();
    let mut second = daemon.hold("2", LOCK);
    assert_eq!(daemon.ask("DELETE", "/v1/holds/stuck?force=true", "").status, 204);
    let lost = first.until("lost");
    assert_eq!(lost["why"], "forced");
    second.granted();
    let user = rustix::process::getuid().as_raw();
    wait_for("it is logged", || {
        let log = daemon.log();
        let line = log.lines().find(|it| it.contains("released by force"))?;
        (line.contains("stuck") && line.contains(&format!("uid {user}"))).then_some(())
    });
}

#[test]
fn a_daemon_that_leaves_lets_holders_finish_and_refuses_all_else() {
    let folder = Folder::new("leave");
    let mut daemon = Daemon::start(&folder, "s", &["--leave-within", "1m"]);
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    let mut waits = daemon.hold("2", LOCK);
    waits.expect("waiting");
    let mut idle = daemon.connect();
    assert_eq!(idle.ask("GET", "/healthz", "").expect("an answer").status, 200);
    daemon.signal(Signal::TERM);
    let refused = waits.expect("refused");
    assert!(refused["why"].as_str().expect("a reason").contains("leaves"), "{refused}");
    assert!(waits.is_over());
    let late = idle.ask("PUT", "/v1/holds/3", LOCK).expect("an answer");
    assert_eq!((late.status, late.code().as_str()), (503, "leaving"));
    assert_eq!(idle.ask("GET", "/readyz", "").expect("an answer").status, 503);
    assert_eq!(idle.ask("GET", "/healthz", "").expect("an answer").status, 200);
    // The holder is not hurried.
    first.until("alive");
    assert!(!daemon.has_ended());
    assert_eq!(idle.ask("DELETE", "/v1/holds/1", "").expect("an answer").status, 204);
    first.expect("released");
    assert!(first.is_over());
    assert_eq!(daemon.ends().code(), Some(0));
    assert!(!daemon.socket.exists());
}

#[test]
fn who_does_not_finish_in_time_is_warned_and_loses_it() {
    let folder = Folder::new("leaving");
    let mut daemon = Daemon::start(&folder, "s", &["--leave-within", "3s"]);
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    daemon.signal(Signal::INT);
    first.expect("at-risk");
    let lost = first.expect("lost");
    assert_eq!(lost["why"], "leaving");
    assert!(first.is_over());
    assert_eq!(daemon.ends().code(), Some(0));
}

#[test]
fn the_second_signal_ends_a_daemon_at_once() {
    let folder = Folder::new("twice");
    let mut daemon = Daemon::start(&folder, "s", &["--leave-within", "1h"]);
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    daemon.signal(Signal::TERM);
    wait_for("it leaves", || (daemon.get("/readyz").status == 503).then_some(()));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ends().code(), Some(128 + 15));
}
