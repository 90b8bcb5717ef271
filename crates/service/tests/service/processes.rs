//! What works under a hold is dead before somebody else gets it.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use vorrang_service::boot_time;
use vorrang_testkit::Folder;

use crate::support::{Daemon, Three, wait_for};

const LOCK: &str = r#"{"kind":"lock","name":"a"}"#;

/// A process group of its own: a shell that waits, and what it has started.
fn work(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", script]).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("there is a shell")
}

fn register(daemon: &Daemon, id: &str, group: Option<u32>) -> (u16, String) {
    let group = group.map_or("null".to_owned(), |it| it.to_string());
    let body = format!("{{\"pgid\":{group}}}");
    let answer = daemon.ask("POST", &format!("/v1/holds/{id}/process"), &body);
    (answer.status, answer.body)
}

/// The processes of a group that run.
fn running(group: u32) -> usize {
    let entries = std::fs::read_dir("/proc").expect("Linux tells");
    let stats = entries.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let fields: Vec<&str> = stat
                .rsplit_once(')')
                .map(|it| it.1.split(' ').skip(1).collect())
                .unwrap_or_default();
            fields.get(2) == Some(&group.to_string().as_str()) && fields[0] != "Z"
        })
        .count()
}

#[test]
fn the_process_group_of_a_client_that_is_gone_is_ended_before_the_next_one_begins() {
    let folder = Folder::new("gone");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    // It does not heed SIGTERM, and has a child.
    let mut child = work("trap '' TERM HUP; sleep 600 & sleep 600 & wait");
    let group = child.id();
    wait_for("it has children", || (running(group) == 3).then_some(()));
    assert_eq!(register(&daemon, "1", Some(group)).0, 204);
    let mut second = daemon.hold("2", LOCK);
    second.expect("waiting");
    assert_eq!(running(group), 3);
    first.close();
    second.granted();
    assert_eq!(running(group), 0);
    child.wait().expect("it has ended");
}

#[test]
fn a_client_that_releases_is_asked_nothing_of_its_processes() {
    let folder = Folder::new("released");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut child = work("exec sleep 600");
    for (id, is_taken_back) in [("1", false), ("2", true)] {
        let mut hold = daemon.hold(id, LOCK);
        hold.granted();
        assert_eq!(register(&daemon, id, Some(child.id())).0, 204);
        if is_taken_back {
            assert_eq!(register(&daemon, id, None).0, 204);
            hold.close();
        } else {
            assert_eq!(daemon.ask("DELETE", &format!("/v1/holds/{id}"), "").status, 204);
        }
        let next = format!("next-{id}");
        daemon.hold(&next, LOCK).granted();
        assert!(child.try_wait().expect("it can be asked").is_none(), "it goes on");
    }
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
}

#[test]
fn what_is_no_process_group_of_the_client_is_refused() {
    let folder = Folder::new("wrong");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut hold = daemon.hold("1", LOCK);
    hold.granted();
    for (number, words) in [
        (1, "is not the number of a process group"),
        (0, "is not the number of a process group"),
        (daemon_group(&daemon), "of the daemon itself"),
        (4_000_000, "there is no process"),
    ] {
        let (status, why) = register(&daemon, "1", Some(number));
        assert!(status == 400 && why.contains(words), "{number} {why}");
    }
    // In the group of somebody else.
    let mut inner = work("sleep 600 & wait");
    let group = inner.id();
    let child = wait_for("it has a child", || {
        let children = format!("/proc/{group}/task/{group}/children");
        std::fs::read_to_string(children).ok()?.split_whitespace().next()?.parse::<u32>().ok()
    });
    let (status, why) = register(&daemon, "1", Some(child));
    assert!(status == 400 && why.contains(&format!("belongs to group {group}")), "{why}");
    inner.kill().expect("it runs");
    inner.wait().expect("it has ended");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child.cast_signed()).expect("a number"),
        Signal::KILL,
    )
    .expect("it runs");
    assert_eq!(daemon.ask("DELETE", "/v1/holds/1", "").status, 204);
    let (status, _) = register(&daemon, "1", None);
    assert_eq!(status, 410);
}

/// The group of the daemon is that of this test.
fn daemon_group(_: &Daemon) -> u32 {
    rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs()
}

#[test]
fn force_ends_what_works_under_a_hold() {
    let folder = Folder::new("forced");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut first = daemon.hold("1", LOCK);
    first.granted();
    let mut child = work("trap '' TERM; sleep 600; sleep 600");
    assert_eq!(register(&daemon, "1", Some(child.id())).0, 204);
    assert_eq!(daemon.ask("DELETE", "/v1/holds/1?force=true", "").status, 204);
    assert_eq!(running(child.id()), 0);
    child.wait().expect("it has ended");
}

/// Its client reads nothing and does nothing, as if it were stopped.
#[test]
fn the_daemon_ends_what_works_under_a_hold_before_its_lease_is_over() {
    let folder = Folder::new("deadline");
    // Times in which something can be seen on a machine with much else to do.
    let three = Three::new(&folder, "lease = '3s'\ngrace = '1500ms'\n");
    let [a, b, c] = three.start(&folder);
    let mut first = a.hold("1", LOCK);
    first.granted();
    let mut child = work("trap '' TERM; sleep 600; sleep 600");
    assert_eq!(register(&a, "1", Some(child.id())).0, 204);
    let mut waiting = b.hold("2", LOCK);
    waiting.expect("waiting");
    // The member is cut off: those who are left are no majority with it.
    b.signal(Signal::STOP);
    c.signal(Signal::STOP);
    let risk = first.until("at-risk");
    let deadline = risk["deadline_boottime_ns"].as_u64().expect("a deadline");
    let ended = wait_for("it is ended", || (running(child.id()) == 0).then(boot_time::now_ns));
    // From the deadline to the end of the lease it is a third of the grace.
    assert!(
        ended < deadline + 500_000_000,
        "{} ms after the deadline",
        (ended - deadline) / 1_000_000
    );
    let lost = first.until("lost");
    assert_eq!(lost["why"], "lease-over");
    assert!(boot_time::now_ns() > deadline, "what was told last is before the end of the lease");
    child.wait().expect("it has ended");
    b.signal(Signal::CONT);
    c.signal(Signal::CONT);
    waiting.granted();
}

/// What is stopped is not cut off, as long as what works under it can be ended without it.
#[test]
fn a_client_that_is_stopped_keeps_its_hold_if_its_process_group_is_known() {
    let folder = Folder::new("patient");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut child = work("exec sleep 600");
    let mut deaf = daemon.connect();
    deaf.request("PUT", "/v1/holds/deaf", LOCK).expect("taken");
    wait_for("it is held", || {
        (daemon.get("/v1/holds/deaf").json()["state"] == "held").then_some(())
    });
    assert_eq!(register(&daemon, "deaf", Some(child.id())).0, 204);
    // Another one that reads nothing is cut off meanwhile.
    let mut other = daemon.connect();
    let body = r#"{"kind":"lock","name":"b"}"#;
    other.request("PUT", "/v1/holds/other", body).expect("taken");
    let state = |id: &str| daemon.get(&format!("/v1/holds/{id}")).json()["state"].clone();
    wait_for("the other is cut off", || (state("other") == "over").then_some(()));
    assert_eq!(state("deaf"), "held");
    assert_eq!(running(child.id()), 1);
    drop(deaf);
    wait_for("it is gone", || (state("deaf") == "over").then_some(()));
    assert_eq!(running(child.id()), 0);
    child.wait().expect("it has ended");
}
