//! Several daemons: what goes from one to another, and what happens when one is gone.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use vorrang_service::boot_time;
use vorrang_testkit::Folder;

use crate::support::{Daemon, Three, run, stderr, vorrang, wait_for};

const LOCK: &str = r#"{"kind":"lock","name":"a"}"#;

fn state_of(daemon: &Daemon, member: &str) -> String {
    let members = daemon.get("/v1/members").json();
    let all = members["members"].as_array().expect("a list");
    let found = all.iter().find(|it| it["name"] == member);
    found.map_or("unknown".to_owned(), |it| it["state"].as_str().expect("a state").to_owned())
}

/// Waits until each of the three knows that all of them are members.
#[track_caller]
fn all_are_members(daemons: [&Daemon; 3]) {
    for daemon in daemons {
        daemon.wait_until_it_answers();
        wait_for("all are there", || {
            ["a", "b", "c"].iter().all(|it| state_of(daemon, it) == "member").then_some(())
        });
    }
}

#[test]
fn a_lock_is_handed_from_member_to_member_and_every_list_shows_it() {
    let folder = Folder::new("three");
    let three = Three::new(&folder, "");
    let [a, b, mut c] = three.start(&folder);
    let mut first = a.hold("1", LOCK);
    let token = first.granted();
    let mut second = b.hold("2", LOCK);
    second.expect("waiting");
    let mut third = c.hold("3", LOCK);
    third.expect("waiting");

    // The list of any member has the holds of all, and is told only of its own if that is asked.
    let locks = b.get("/v1/locks").json();
    assert_eq!(locks["holds"].as_array().map(Vec::len), Some(3), "{locks}");
    assert_eq!(locks["unreached"], Value::Array(Vec::new()));
    let local = b.get("/v1/locks?local=true").json();
    assert_eq!(local["holds"].as_array().map(Vec::len), Some(1));

    first.close();
    let next = second.granted();
    assert!(next > token);
    second.close();
    let last = third.granted();
    assert!(last > next);

    // One that leaves in good order is out of the view, and does not come back by itself.
    third.close();
    c.signal(Signal::TERM);
    assert_eq!(c.ends().code(), Some(0));
    wait_for("it is out", || (state_of(&a, "c") == "absent").then_some(()));
    a.hold("4", LOCK).granted();
}

#[test]
fn lists_are_gathered_from_all_who_can_be_asked_and_others_are_named() {
    let folder = Folder::new("gathered");
    let three = Three::new(&folder, "");
    let [a, b] = ["a", "b"].map(|name| three.member(&folder, name, &[]));
    let c = three.local_member(&folder, "c", &[]);
    all_are_members([&a, &b, &c]);
    let [mut one, mut two] = [a.hold("1", LOCK), b.hold("2", LOCK)];
    one.granted();
    two.expect("waiting");
    let locks = a.get("/v1/locks").json();
    let shown: Vec<(&str, &str)> = locks["holds"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| {
            (it["member"].as_str().unwrap_or_default(), it["state"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(shown, [("a", "held"), ("b", "waiting")], "{locks}");
    let unreached = locks["unreached"].as_array().expect("a list");
    assert_eq!(unreached.len(), 1, "{locks}");
    assert_eq!(unreached[0]["member"], "c");
    assert!(unreached[0]["why"].as_str().expect("a reason").contains("no daemon answers"));
    let members = a.get("/v1/members").json();
    assert_eq!(members["members"][1]["http"], three.http("b"));
}

#[test]
fn the_daemon_of_a_holder_is_killed_and_the_others_go_on() {
    let folder = Folder::new("killed");
    let three = Three::new(&folder, "");
    let [a, b, c] = three.start(&folder);
    let mut first = a.hold("1", LOCK);
    let token = first.granted();
    let mut kept = c.hold("kept", r#"{"kind":"lock","name":"other"}"#);
    let other = kept.granted();
    let mut second = b.hold("2", LOCK);
    second.expect("waiting");
    a.signal(Signal::KILL);
    let next = second.granted();
    assert!(next > token, "{next} {token}");
    // Who holds something at another member keeps it, and its token.
    assert_eq!(c.get("/v1/holds/kept").json()["token"], other.as_str());
    kept.until("alive");
    assert_eq!(state_of(&b, "a"), "absent");
    let again = three.member(&folder, "a", &[]);
    again.wait_until_it_answers();
    wait_for("it is back", || (state_of(&b, "a") == "member").then_some(()));
    assert_eq!(b.get("/v1/holds/2").json()["state"], "held");
}

/// From the moment at which it stands still to that in which the others have gone on without it.
#[test]
fn a_member_that_stands_still_is_evicted_after_a_second_of_silence() {
    let folder = Folder::new("evicted");
    let three = Three::new(&folder, "");
    let [a, b, _c] = three.start(&folder);
    let began = Instant::now();
    a.signal(Signal::STOP);
    wait_for("it is evicted", || (state_of(&b, "a") == "absent").then_some(()));
    let took = began.elapsed();
    // A beat of 200 ms, of which a part was over, and a margin of 800 ms.
    assert!(took >= Duration::from_millis(800), "{took:?}");
    assert!(took <= Duration::from_secs(20), "{took:?}");
    a.signal(Signal::CONT);
    wait_for("it is back", || (state_of(&b, "a") == "member").then_some(()));
    let members = a.get("/v1/members").json();
    assert!(members["evicted"]["why"].is_string(), "{members}");
}

/// The other side of it: whoever has a deadline from that member is dead by then.
#[test]
fn who_is_granted_something_next_is_later_than_the_deadline_of_a_daemon_that_stands_still() {
    let folder = Folder::new("stopped");
    let three = Three::new(&folder, "");
    let [a, b, _c] = three.start(&folder);
    let mut first = a.hold("1", LOCK);
    first.granted();
    let mut second = b.hold("2", LOCK);
    second.expect("waiting");
    let alive = first.until("alive");
    let reader = std::thread::spawn(move || {
        let (mut deadline, mut why) = (alive["deadline_boottime_ns"].as_u64().expect("one"), None);
        while let Some(line) = first.next_line() {
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["event"] == "lost" {
                why = event["why"].as_str().map(str::to_owned);
            }
            // What is said after it was over counts for nothing.
            let said = event["deadline_boottime_ns"].as_u64().unwrap_or_default();
            if said > boot_time::now_ns() {
                deadline = said;
            }
        }
        (deadline, why)
    });
    a.signal(Signal::STOP);
    let token = second.granted();
    let granted = boot_time::now_ns();
    a.signal(Signal::CONT);
    let (deadline, why) = reader.join().expect("it reads to the end");
    assert!(deadline > 0 && deadline < granted, "{deadline} {granted} {token}");
    assert!(matches!(why.as_deref(), Some("evicted" | "lease-over")), "{why:?}");
}

#[test]
fn a_minority_grants_nothing_and_says_so() {
    let folder = Folder::new("minority");
    let three = Three::new(&folder, "");
    let [a, b, c] = three.start(&folder);
    let mut held = a.hold("1", LOCK);
    held.granted();
    b.signal(Signal::KILL);
    c.signal(Signal::KILL);
    held.until("at-risk");
    let lost = held.until("lost");
    assert_eq!(lost["why"], "lease-over");
    let answer = wait_for("it is not ready", || {
        let answer = a.get("/readyz");
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(answer.code(), "unavailable");
    wait_for("it says why", || a.get("/readyz").body.contains("majority").then_some(()));
    assert_eq!(a.get("/healthz").status, 200);
    assert_eq!(a.metric("vorrang_majority"), Some(0.0));
    let mut late = a.hold("2", r#"{"kind":"lock","name":"b","within_ms":200}"#);
    late.expect("waiting");
    let refused = late.expect("refused");
    assert!(refused["why"].as_str().expect("a reason").contains("majority"), "{refused}");
}

#[test]
fn a_member_whose_storage_fails_ends_and_the_others_go_on() {
    let folder = Folder::new("storage");
    let three = Three::new(&folder, "");
    let start = |name: &str| {
        let data = folder.path(&format!("data-{name}"));
        three.member(&folder, name, &["--data", &data])
    };
    let [mut a, b, c] = ["a", "b", "c"].map(start);
    all_are_members([&a, &b, &c]);
    let mut held = a.hold("1", LOCK);
    held.granted();
    std::fs::remove_dir_all(folder.file("data-a")).expect("it can be removed");
    // The next view is to be written down.
    c.signal(Signal::KILL);
    assert_eq!(a.ends().code(), Some(74));
    let log = a.log();
    assert!(log.contains("this member has stopped: cannot") && log.contains("data-a"), "{log}");
    drop(c);
    let c = start("c");
    c.wait_until_it_answers();
    b.hold("2", LOCK).granted();
}

/// A file system of its own that is too small, as nobody but this daemon sees it.
#[test]
fn a_member_whose_disk_is_full_ends_and_the_others_go_on() {
    let may_mount = std::process::Command::new("unshare").args(["-m", "true"]).output();
    if !may_mount.is_ok_and(|it| it.status.success()) {
        return eprintln!("skipped: nobody may mount a file system here");
    }
    let folder = Folder::new("full");
    let three = Three::new(&folder, "margin = '3s'\n");
    let data = |name: &str| folder.path(&format!("data-{name}"));
    let small = data("a");
    std::fs::create_dir_all(&small).expect("it can be made");
    let config = three.file().to_str().expect("UTF-8");
    let options = ["--config", config, "--name", "a", "--data", &small];
    let mut a = Daemon::spawn(&folder, "a", &options, |command| {
        let mount = "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"";
        let mut inside = std::process::Command::new("unshare");
        inside.args(["-m", "sh", "-c", mount, &small]);
        inside.arg(command.get_program()).args(command.get_args());
        for (name, _) in command.get_envs().filter(|it| it.1.is_none()) {
            inside.env_remove(name);
        }
        *command = inside;
    });
    let [b, c] = ["b", "c"].map(|name| three.member(&folder, name, &["--data", &data(name)]));
    all_are_members([&a, &b, &c]);
    let mut held = a.hold("1", LOCK);
    held.granted();
    // Its own files are seen so from here.
    let filler = format!("/proc/{}/root{small}/fill", a.id());
    let full = std::fs::write(&filler, vec![0; 1 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");
    // The next view is to be written down.
    c.signal(Signal::KILL);
    assert_eq!(a.ends().code(), Some(74));
    let log = a.log();
    assert!(log.contains("No space left on device"), "{log}");
    drop(c);
    let c = three.member(&folder, "c", &["--data", &data("c")]);
    c.wait_until_it_answers();
    b.hold("2", LOCK).granted();
}

/// As for an upgrade.
#[test]
fn members_are_restarted_one_after_the_other_and_clients_of_the_others_notice_nothing() {
    let folder = Folder::new("rolling");
    let three = Three::new(&folder, "margin = '3s'\nlease = '3s'\n");
    let mut daemons = three.start(&folder);
    for (place, name) in ["a", "b", "c"].into_iter().enumerate() {
        let others: Vec<usize> = (0..3).filter(|it| *it != place).collect();
        let body = |at: usize| format!(r#"{{"kind":"lock","name":"of-{at}"}}"#);
        let mut holds: Vec<_> =
            others.iter().map(|&at| daemons[at].hold(&format!("{name}-{at}"), &body(at))).collect();
        let tokens: Vec<String> = holds.iter_mut().map(crate::support::Lines::granted).collect();
        daemons[place].signal(Signal::TERM);
        assert_eq!(daemons[place].ends().code(), Some(0));
        wait_for("it is out", || (state_of(&daemons[others[0]], name) == "absent").then_some(()));
        // Who asks meanwhile is served.
        daemons[others[1]].hold(&format!("{name}-meanwhile"), LOCK).granted();
        daemons[place] = three.member(&folder, name, &[]);
        daemons[place].wait_until_it_answers();
        for daemon in &daemons {
            wait_for("it is in again", || (state_of(daemon, name) == "member").then_some(()));
        }
        for (at, token) in others.iter().zip(&tokens) {
            let shown = daemons[*at].get(&format!("/v1/holds/{name}-{at}")).json();
            let wanted = (&Value::from("held"), &Value::from(token.as_str()));
            assert_eq!((&shown["state"], &shown["token"]), wanted, "{shown}");
        }
        // No line but that it goes on.
        for hold in &mut holds {
            for _ in 0..3 {
                let line = hold.next_line().expect("it goes on");
                assert!(line.contains("\"alive\""), "{line}");
            }
        }
    }
}

#[test]
fn the_address_of_a_member_that_is_taken_is_named() {
    let folder = Folder::new("taken");
    let three = Three::new(&folder, "");
    let [_a, ..] = three.start(&folder);
    let mut command = vorrang(&["serve", "--name", "a", "--config"]);
    let output = run(command.arg(three.file()).arg("--socket").arg(folder.file("second.sock")));
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(74), "{why}");
    assert!(why.contains("127.0.0.1:"), "{why}");
}
