//! `vorrang lock`: its command ends with the lock, and with whoever has started it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::programs::scripted_daemon::{ScriptedDaemon, TOKEN};
use super::programs::{
    Folder, Running, is_alive, lines_of, output, process, processes, vorrang, wait_for,
};

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// So far in the future that a busy machine gets there in time.
fn in_seconds(seconds: u64) -> u64 {
    now_ns() + seconds * 1_000_000_000
}

/// Writes down what signals it gets, and goes on; and starts a process that does nothing of that.
fn stubborn(folder: &Folder) -> String {
    format!(
        "trap 'echo TERM >> {log}' TERM; sleep 600 & echo $! > {child}; \
         while :; do sleep 0.05; done",
        log = folder.path("log"),
        child = folder.path("child"),
    )
}

/// Such a command under a lock, and the process that it has started.
#[track_caller]
fn start(daemon: &ScriptedDaemon, folder: &Folder, deadline: Option<u64>) -> (Running, u32) {
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sh", "-c", &stubborn(folder)];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants_until(deadline);
    let child = lines_of(&folder.file("child")).remove(0);
    (running, child.parse().expect("a number"))
}

#[track_caller]
fn was_asked_to_end(log: &Path) {
    assert_eq!(fs::read_to_string(log).unwrap_or_default(), "TERM\n", "once, and before the end");
}

#[test]
fn at_risk_it_is_asked_to_end_and_killed_before_the_deadline() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("risk"));
    let (mut running, grandchild) = start(&daemon, &folder, Some(in_seconds(600)));
    let deadline = in_seconds(5);
    daemon.says(&json!({ "event": "at-risk", "deadline_boottime_ns": deadline }));
    wait_for("it is asked to end", || fs::read_to_string(folder.file("log")).ok());
    if now_ns() < deadline - 1_000_000_000 {
        assert!(process(grandchild).is_none(), "it has not caught the signal");
        assert!(!running.has_ended(), "it goes on, as it may until the deadline");
    }
    let (code, _, err) = running.code();
    assert_eq!(code, 75, "{err}");
    assert!(err.contains("the lock 'x' was lost, and its command was ended: it was at risk"));
    assert!(!is_alive(daemon.knows_process()));
    was_asked_to_end(&folder.file("log"));
}

#[test]
fn whoever_ends_in_time_gives_back_and_says_that_it_was_ended() {
    let daemon = ScriptedDaemon::start();
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sleep", "600"];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants_until(Some(in_seconds(600)));
    daemon.knows_process();
    daemon.says(&json!({ "event": "at-risk", "deadline_boottime_ns": null }));
    daemon.says(&json!({ "event": "safe" }));
    assert_eq!(running.code().0, 75);
    assert!(daemon.was_released());
}

#[test]
fn one_that_is_stopped_is_continued_to_end() {
    let daemon = ScriptedDaemon::start();
    let folder = Folder::new("stopped");
    let script = format!("trap 'echo TERM > {}; exit' TERM; kill -STOP $$", folder.path("log"));
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sh", "-c", &script];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants_until(Some(in_seconds(600)));
    let group = daemon.knows_process();
    wait_for("it stops itself", || {
        let command = fs::read_to_string(format!("/proc/{group}/cmdline")).ok()?;
        (command.contains("trap") && process(group)?.state == 'T').then_some(())
    });
    assert_eq!(process(running.pid()).map(|it| it.state), Some('S'), "it is the only one");
    daemon.says(&json!({ "event": "at-risk", "deadline_boottime_ns": null }));
    assert_eq!(running.code().0, 75);
    was_asked_to_end(&folder.file("log"));
}

#[test]
fn without_news_it_is_killed_at_the_deadline_and_not_before() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("news"));
    let (running, _) = start(&daemon, &folder, Some(in_seconds(2)));
    let later = in_seconds(6);
    daemon.says(&json!({ "event": "alive", "deadline_boottime_ns": later }));
    let group = daemon.knows_process();
    let (code, _, err) = running.code();
    let ended = now_ns();
    assert!(code == 75 && err.contains("its lease was not renewed"), "{code} {err}");
    assert!(!is_alive(group));
    assert!(ended > later - 100_000_000, "the deadline has moved");
    assert!(!folder.file("log").exists(), "there is no time to ask");
}

#[test]
fn what_is_lost_is_killed_at_once() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("lost"));
    let (running, grandchild) = start(&daemon, &folder, Some(in_seconds(600)));
    let lost = json!({ "event": "lost", "why": "evicted", "sentence": "the group has gone on" });
    daemon.says_at_last(&lost);
    let (code, _, err) = running.code();
    assert_eq!(code, 75);
    assert!(err.ends_with("its command was ended: the group has gone on\n"), "{err}");
    assert!(process(grandchild).is_none() && !is_alive(daemon.knows_process()));
    assert!(!folder.file("log").exists());
}

#[test]
fn a_daemon_that_is_gone_renews_nothing() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("gone"));
    let (running, grandchild) = start(&daemon, &folder, Some(in_seconds(4)));
    daemon.hangs_up();
    let (code, _, err) = running.code();
    assert!(code == 75 && err.contains("broke"), "{code} {err}");
    assert!(process(grandchild).is_none() && !is_alive(daemon.knows_process()));
    was_asked_to_end(&folder.file("log"));
}

#[test]
fn another_token_is_another_hold() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("token"));
    let (running, grandchild) = start(&daemon, &folder, None);
    daemon.grants();
    daemon.says(&json!({
        "event": "granted", "token": TOKEN.replace('7', "8"), "view": 8, "number": 1,
        "lease_ms": null, "deadline_boottime_ns": null,
    }));
    let (code, _, err) = running.code();
    assert!(code == 75 && err.contains("another hold"), "{code} {err}");
    assert!(process(grandchild).is_none());
}

#[test]
fn killed_it_takes_its_command_along_and_what_that_has_started() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("killed"));
    let (running, grandchild) = start(&daemon, &folder, None);
    let group = daemon.knows_process();
    let helpers = running.children();
    running.signal(Signal::KILL);
    wait_for("all of them are gone", || (!is_alive(group)).then_some(()));
    assert!(process(grandchild).is_none());
    wait_for("the watchdog as well", || {
        helpers.iter().all(|&it| process(it).is_none()).then_some(())
    });
}

#[test]
fn killed_together_with_its_watchdog_it_takes_the_command_along() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("both"));
    let (running, grandchild) = start(&daemon, &folder, None);
    let group = daemon.knows_process();
    let watchdog: Vec<u32> = running.children().into_iter().filter(|&it| it != group).collect();
    assert_eq!(watchdog.len(), 1);
    output("kill", &["-9", &watchdog[0].to_string()]);
    wait_for("it is gone", || process(watchdog[0]).is_none().then_some(()));
    assert!(process(group).is_some(), "that alone does nothing");
    running.signal(Signal::KILL);
    wait_for("the command is gone", || process(group).is_none().then_some(()));
    output("kill", &["-9", &grandchild.to_string()]);
}

#[test]
fn one_that_is_killed_before_its_command_begins_leaves_nothing() {
    let daemon = ScriptedDaemon::start();
    daemon.is_silent_to(Some("/process"));
    let folder = Folder::new("early");
    let script = format!("echo > {}", folder.path("begun"));
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sh", "-c", &script];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    let group = daemon.knows_process();
    running.signal(Signal::KILL);
    wait_for("it is gone", || (!is_alive(group)).then_some(()));
    assert!(!folder.file("begun").exists());
}

/// A lock of a daemon on another machine: renewed by request.
#[track_caller]
fn start_remote(daemon: &ScriptedDaemon, folder: &Folder, left_ms: u64) -> (Running, u32) {
    daemon.answers(
        "/renew",
        200,
        json!({
            "state": "held", "left_ms": left_ms, "within_ms": left_ms,
        }),
    );
    let args = ["lock", "--server", &daemon.address, "x", "--", "sh", "-c", &stubborn(folder)];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    let child = lines_of(&folder.file("child")).remove(0);
    (running, child.parse().expect("a number"))
}

#[test]
fn over_tcp_it_lasts_as_long_as_it_is_renewed() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("tcp"));
    let (mut running, grandchild) = start_remote(&daemon, &folder, 3000);
    let group = process(grandchild).expect("it runs").group;
    // A connection is not the hold.
    daemon.hangs_up();
    daemon.asked();
    let asked = daemon.requests("PUT", "");
    assert_eq!(asked.first(), asked.last(), "it is asked for as before");
    let renewed = daemon.requests("POST", "/renew").len();
    wait_for("it is renewed", || {
        (daemon.requests("POST", "/renew").len() > renewed + 5).then_some(())
    });
    assert!(!running.has_ended() && is_alive(group));
    daemon.is_silent_to(Some("/renew"));
    let (code, _, err) = running.code();
    assert!(code == 75 && err.contains("its lease was not renewed"), "{code} {err}");
    assert!(!is_alive(group));
}

#[test]
fn over_tcp_a_client_that_stands_still_loses_its_command_in_time() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("still"));
    let (running, grandchild) = start_remote(&daemon, &folder, 2000);
    let group = process(grandchild).expect("it runs").group;
    wait_for("it is renewed", || (daemon.requests("POST", "/renew").len() > 2).then_some(()));
    running.signal(Signal::STOP);
    wait_for("the watchdog kills", || (!is_alive(group)).then_some(()));
    assert_eq!(process(running.pid()).map(|it| it.state), Some('T'), "it stands still");
    running.signal(Signal::CONT);
    assert_eq!(running.code().0, 75);
}

#[test]
fn a_client_that_stands_still_here_is_left_to_the_daemon() {
    let (daemon, folder) = (ScriptedDaemon::start(), Folder::new("here"));
    let (running, grandchild) = start(&daemon, &folder, Some(in_seconds(1)));
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(2));
    assert!(process(grandchild).is_some(), "the daemon renews its lease");
    assert!(processes().iter().any(|it| it.group == daemon.knows_process()));
    // It has heard nothing of that.
    running.signal(Signal::CONT);
    assert_eq!(running.code().0, 75);
}
