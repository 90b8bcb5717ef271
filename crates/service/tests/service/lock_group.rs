//! Commands under the locks of a real group: whatever stops or dies, the command of one holder is
//! dead before that of the next one starts.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::programs::{
    Folder, Running, is_alive, lines_of, output, process, run, vorrang, wait_for,
};
use super::support::{Daemon, Three};

/// Times in which a machine with much else to do gets there.
const TIMES: &str = "margin = '4s'\nlease = '3s'\ngrace = '1500ms'\n";

/// Nanoseconds since 1970, of this machine and so of all members.
const CLOCK: &str = "date +%s%N";

/// A command of a member.
fn at(daemon: &Daemon, args: &[&str]) -> Command {
    let mut command = vorrang(args);
    command.env("VORRANG_SOCKET", &daemon.socket);
    command
}

/// A group in which a command that does not heed SIGTERM works under a lock at member a, together
/// with a process that it has started, and another one waits for it at member b.
struct Contended {
    members: [Daemon; 3],
    holder: Running,
    /// The process group of the holder's command.
    group: u32,
    waiter: Running,
    /// After the members, whose logs are in it.
    folder: Folder,
}

impl Contended {
    fn start() -> Self {
        let folder = Folder::new("contended");
        let members = Three::new(&folder, TIMES).start(&folder);
        let beats =
            |name: &str| format!("while :; do {CLOCK} >> {}; sleep 0.01; done", folder.path(name));
        let script = format!(
            "trap '' TERM; echo $$ > {}; ({}) & {}",
            folder.path("group"),
            beats("beats-of-child"),
            beats("beats")
        );
        let holder = at(&members[0], &["lock", "x", "--", "sh", "-c", &script]);
        let holder = Running::start(&mut { holder });
        let group = lines_of(&folder.file("group")).remove(0).parse().expect("a number");
        lines_of(&folder.file("beats-of-child"));
        let script = format!("{CLOCK}; echo $VORRANG_TOKEN");
        let waiter = at(&members[1], &["lock", "-v", "x", "--", "sh", "-c", &script]);
        let waiter = Running::start(&mut { waiter });
        wait_for("it waits", || (members[1].holds("waiting") == 1).then_some(()));
        Self { members, holder, group, waiter, folder }
    }

    /// The next one has begun after the last beat; the exit code of the one before.
    #[track_caller]
    fn passes_on(self, what: &str) -> Running {
        let (code, out, err) = self.waiter.code();
        assert_eq!(code, 0, "{what}: {err}");
        let began: u64 = out.lines().next().and_then(|it| it.parse().ok()).expect("a time");
        for name in ["beats", "beats-of-child"] {
            let beats = fs::read_to_string(self.folder.file(name)).expect("there are some");
            let last = beats.lines().rev().find_map(|it| it.parse::<u64>().ok());
            let last = last.expect("there is a whole one");
            assert!(last < began, "{what}: {name} goes on for {} ms", (last - began) / 1_000_000);
        }
        assert!(!is_alive(self.group), "{what}");
        self.holder
    }
}

impl Daemon {
    /// How many holds of its clients are in this state.
    fn holds(&self, state: &str) -> usize {
        let locks = self.get("/v1/locks?local=true").json();
        let holds = locks["holds"].as_array().expect("a list").clone();
        holds.iter().filter(|it| it["state"] == state).count()
    }
}

#[test]
fn the_holder_is_killed() {
    let contended = Contended::start();
    contended.holder.signal(Signal::KILL);
    contended.passes_on("killed");
}

#[test]
fn the_holder_is_killed_while_it_stands_still() {
    let contended = Contended::start();
    contended.holder.signal(Signal::STOP);
    wait_for("it stands still", || (process(contended.holder.pid())?.state == 'T').then_some(()));
    // The daemon keeps the lock for it, and its command goes on.
    let beats = || fs::metadata(contended.folder.file("beats")).map_or(0, |it| it.len());
    let before = beats();
    wait_for("it goes on", || (beats() > before + 1000).then_some(()));
    assert_eq!(contended.members[0].holds("held"), 1);
    contended.holder.signal(Signal::KILL);
    contended.passes_on("stopped and killed");
}

#[test]
fn the_daemon_of_the_holder_stands_still() {
    let contended = Contended::start();
    contended.members[0].signal(Signal::STOP);
    let holder = contended.passes_on("the daemon is stopped");
    let (code, _, err) = holder.code();
    assert!(code == 75 && err.contains("its lease was not renewed"), "{code} {err}");
}

#[test]
fn the_daemon_of_the_holder_is_killed() {
    let contended = Contended::start();
    contended.members[0].signal(Signal::KILL);
    let holder = contended.passes_on("the daemon is killed");
    let (code, _, err) = holder.code();
    assert!(code == 75 && err.contains("the connection to the daemon"), "{code} {err}");
}

#[test]
fn the_daemon_of_the_holder_leaves() {
    let mut contended = Contended::start();
    contended.members[0].signal(Signal::TERM);
    // It waits for those who hold something; the second signal says that it does not.
    wait_for("it leaves", || contended.members[0].log().contains("leaving").then_some(()));
    contended.members[0].signal(Signal::TERM);
    contended.members[0].ends();
    assert_eq!(contended.passes_on("the daemon leaves").code().0, 75);
}

#[test]
fn the_holder_stands_still_and_its_member_is_cut_off() {
    let contended = Contended::start();
    contended.holder.signal(Signal::STOP);
    // Those who are left with it are no majority.
    contended.members[1].signal(Signal::STOP);
    contended.members[2].signal(Signal::STOP);
    wait_for("the daemon ends the command", || (!is_alive(contended.group)).then_some(()));
    wait_for("it is lost", || {
        let counts = ["held", "at-risk"].map(|state| contended.members[0].holds(state));
        (counts == [0, 0]).then_some(())
    });
    contended.members[1].signal(Signal::CONT);
    contended.members[2].signal(Signal::CONT);
    let holder = contended.passes_on("stopped and cut off");
    holder.signal(Signal::CONT);
    assert_eq!(holder.code().0, 75);
}

#[test]
fn tokens_grow_from_holder_to_holder_wherever_they_are() {
    let folder = Folder::new("tokens");
    let members = Three::new(&folder, TIMES).start(&folder);
    let mut tokens = Vec::new();
    for round in 0..9 {
        let daemon = &members[round * 2 % 3];
        let (code, out, err) =
            run(&mut at(daemon, &["lock", "x", "--", "sh", "-c", "echo $VORRANG_TOKEN"]));
        assert_eq!(code, 0, "{err}");
        assert!(out.trim_end().len() == 32, "{out}");
        tokens.push(out);
    }
    assert!(tokens.is_sorted_by(|one, other| one < other), "{tokens:?}");

    // What they are for.
    let (file, program) = (folder.path("fence"), env!("CARGO_BIN_EXE_vorrang-service"));
    let script = format!("{program} fence {file} $VORRANG_TOKEN -- echo written");
    for daemon in &members {
        let (code, out, err) = run(&mut at(daemon, &["lock", "x", "--", "sh", "-c", &script]));
        assert_eq!((code, out.as_str()), (0, "written\n"), "{err}");
    }
    let stale = tokens[8].trim_end();
    assert_eq!(run(&mut vorrang(&["fence", &file, stale, "--", "echo", "late"])).0, 75);
}

#[test]
fn what_somebody_has_is_busy_for_others_and_free_again_afterwards() {
    let folder = Folder::new("busy");
    let members = Three::new(&folder, TIMES).start(&folder);
    let holder = |daemon| Running::start(at(daemon, &["lock", "x"]).stdin(Stdio::piped()));
    for holding in &members {
        let mut holder = holder(holding);
        wait_for("it holds", || (holding.holds("held") == 1).then_some(()));
        for asking in &members {
            let asked = run(&mut at(asking, &["lock", "-n", "-E", "3", "x", "--", "true"]));
            assert_eq!(asked, (3, String::new(), String::new()));
        }
        holder.close_input();
        assert_eq!(holder.code().0, 0);
        // Whoever has given back has done so when it has ended.
        for asking in &members {
            let asked = run(&mut at(asking, &["lock", "-w", "60", "x", "--", "echo", "mine"]));
            assert_eq!(asked.1, "mine\n", "{asked:?}");
        }
    }
}

/// How many at most were in at a time, of those who have written "in" and "out".
fn most_at_a_time(log: &str) -> i32 {
    let steps = log.lines().map(|it| if it == "in" { 1 } else { -1 });
    let counts = steps.scan(0, |count, step| {
        *count += step;
        Some(*count)
    });
    counts.max().unwrap_or(0)
}

#[test]
fn no_more_than_the_permits_run_at_a_time() {
    let folder = Folder::new("permits");
    let members = Three::new(&folder, TIMES).start(&folder);
    let log = folder.path("log");
    let script = format!("echo in >> {log}; sleep 0.3; echo out >> {log}");
    let running: Vec<_> = (0..12)
        .map(|number| {
            let args = ["semaphore", "--permits", "3", "x", "--", "sh", "-c", &script];
            Running::start(&mut at(&members[number % 3], &args))
        })
        .collect();
    for running in running {
        assert_eq!(running.code().0, 0);
    }
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().count(), 24);
    assert_eq!(most_at_a_time(&log), 3, "{log}");
    assert_eq!(most_at_a_time("in\nin\nout\nin\n"), 2);

    let mut holder =
        Running::start(at(&members[0], &["semaphore", "-p", "3", "x"]).stdin(Stdio::piped()));
    wait_for("it holds", || (members[0].holds("held") == 1).then_some(()));
    let (code, out, err) =
        run(&mut at(&members[1], &["semaphore", "-p", "2", "x", "--", "echo", "no"]));
    assert_eq!((code, out.as_str()), (64, ""), "{err}");
    assert!(err.contains("one of 2 permits") && err.contains("there are 3"), "{err}");
    holder.close_input();
    assert_eq!(holder.code().0, 0);
}

#[test]
fn readers_share_a_lock() {
    let folder = Folder::new("readers");
    let daemon = Daemon::start(&folder, "s", &["--algorithm", "readers-writers"]);
    daemon.wait_until_it_is_ready();
    let reader = || Running::start(at(&daemon, &["lock", "-s", "x"]).stdin(Stdio::piped()));
    let mut readers = [reader(), reader()];
    wait_for("both hold it", || (daemon.holds("held") == 2).then_some(()));
    assert_eq!(run(&mut at(&daemon, &["lock", "-n", "x", "--", "true"])).0, 1);
    for reader in &mut readers {
        reader.close_input();
    }
    assert_eq!(run(&mut at(&daemon, &["lock", "-w", "60", "x", "--", "true"])).0, 0);

    // With the usual algorithm the readers of one member share.
    let other = Daemon::start(&folder, "t", &[]);
    other.wait_until_it_is_ready();
    let reader = || Running::start(at(&other, &["lock", "-s", "x"]).stdin(Stdio::piped()));
    let mut readers = [reader(), reader()];
    wait_for("both hold it there, too", || (other.holds("held") == 2).then_some(()));
    for reader in &mut readers {
        reader.close_input();
    }
}

#[test]
fn another_leads_when_the_leader_is_gone_and_who_looks_on_is_told() {
    let folder = Folder::new("leader");
    let members = Three::new(&folder, TIMES).start(&folder);
    let log = folder.path("log");
    let candidate = |number: usize| {
        let script = format!("echo {number} >> {log}; exec sleep 600");
        let value = format!("value {number}");
        let args = ["elect", "--value", &value, "x", "--", "sh", "-c", &script];
        Running::start(&mut at(&members[number], &args))
    };
    let led = |rounds: usize| {
        wait_for("somebody leads", || {
            let text = fs::read_to_string(&log).ok()?;
            (text.lines().count() == rounds).then_some(())
        });
    };
    let first = candidate(0);
    led(1);
    let second = candidate(1);
    wait_for("the second waits", || (members[1].holds("waiting") == 1).then_some(()));
    let seen = folder.file("seen");
    let file = fs::File::create(&seen).unwrap();
    let mut observer = at(&members[2], &["elect", "--observe", "x"]).stdout(file).spawn().unwrap();
    let is_told = |value: &str| {
        wait_for(value, || {
            let text = fs::read_to_string(&seen).ok()?;
            text.lines().last()?.ends_with(value).then_some(())
        });
    };
    is_told("value 0");
    members[0].signal(Signal::KILL);
    led(2);
    assert_eq!(fs::read_to_string(&log).unwrap(), "0\n1\n");
    is_told("value 1");
    // It leads no more, and stands again: at a daemon that is gone.
    assert_eq!(first.code().0, 69);
    second.signal(Signal::TERM);
    assert_eq!(second.code().0, 128 + 15);
    is_told("nobody leads");
    observer.kill().unwrap();
    observer.wait().unwrap();
}

#[test]
fn who_holds_what_is_shown_on_screens_of_any_width() {
    let folder = Folder::new("shown");
    let members = Three::new(&folder, TIMES).start(&folder);
    let hold = |args: &[&str]| Running::start(at(&members[0], args).stdin(Stdio::piped()));
    let mut running = vec![hold(&["lock", "nightly-backup"])];
    wait_for("the first holds", || (members[0].holds("held") == 1).then_some(()));
    running.push(hold(&["lock", "nightly-backup"]));
    running.push(hold(&["semaphore", "-p", "3", "builds"]));
    running.push(hold(&["elect", "--value", "10.0.0.1:80", "api"]));
    wait_for("the others as well", || {
        (members[0].holds("held") == 3 && members[0].holds("waiting") == 1).then_some(())
    });
    for width in [40, 60, 80, 120, 200] {
        for what in ["locks", "members"] {
            let (code, out, err) = run(at(&members[0], &[what]).env("COLUMNS", width.to_string()));
            assert_eq!((code, err.as_str()), (0, ""));
            for line in out.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            let wanted: &[&str] = if what == "locks" {
                &["nightly-backup", "held", "waiting (1)", "semaphore of 3", "10.0.0.1:80"]
            } else {
                &["a (this)", "b", "c", "member", "127.0.0.1:"]
            };
            let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(wanted.iter().all(|it| words.contains(it)), "{width}: {out}");
        }
    }
    let (_, out, _) = run(&mut at(&members[0], &["locks", "night"]));
    assert!(out.contains("nightly-backup") && !out.contains("builds"), "{out}");
    let (_, out, _) = run(&mut at(&members[1], &["locks", "--local"]));
    assert_eq!(out, "nothing is held, and nobody waits\n");
    for what in ["locks", "members"] {
        let (_, out, _) = run(&mut at(&members[0], &[what, "--json"]));
        let value: Value = serde_json::from_str(&out).expect("one value");
        let asked = members[0].get(&format!("/v1/{what}")).json();
        let without_time = |mut value: Value| {
            value.as_object_mut().map(|it| it.remove("unreached"));
            value
        };
        assert_eq!(without_time(value), without_time(asked));
        // It ends when nobody reads it any more.
        let program = env!("CARGO_BIN_EXE_vorrang-service");
        let socket = members[0].socket.display();
        let script = format!("{program} {what} --socket {socket} --json --watch=20ms | head -3");
        let out = output("sh", &["-c", &script]).stdout;
        let lines: Vec<Value> = String::from_utf8_lossy(&out)
            .lines()
            .map(|it| serde_json::from_str(it).expect("a value a line"))
            .collect();
        assert_eq!(lines.len(), 3);
    }
    for running in &mut running {
        running.close_input();
    }
}

/// `vorrang lock` cannot end its command then: the daemon does.
#[test]
fn the_holder_stands_still_and_has_held_for_as_long_as_it_may() {
    let folder = Folder::new("held-for-long");
    let daemon = Daemon::start(&folder, "s", &["--max-hold", "3s", "--grace", "600ms"]);
    daemon.wait_until_it_is_ready();
    let script = format!("trap '' TERM; echo $$ > {}; sleep 600; sleep 600", folder.path("group"));
    let holder = Running::start(&mut at(&daemon, &["lock", "x", "--", "sh", "-c", &script]));
    let group = lines_of(&folder.file("group")).remove(0).parse().expect("a number");
    holder.signal(Signal::STOP);
    let (code, out, err) = run(&mut at(&daemon, &["lock", "x", "--", "echo", "next"]));
    assert_eq!((code, out.as_str()), (0, "next\n"), "{err}");
    assert!(!is_alive(group));
    let log = daemon.log();
    assert!(log.contains("a hold was lost: it was held for 3s"), "{log}");
    holder.signal(Signal::CONT);
    assert_eq!(holder.code().0, 75);
}

#[test]
fn what_can_be_recovered_is_said_and_only_where_there_is_no_majority() {
    let folder = Folder::new("recover");
    let members = Three::new(&folder, TIMES).start(&folder);
    let (code, out, _) = run(&mut at(&members[0], &["recover"]));
    assert!(code == 0 && out.contains("nothing to recover"), "{out}");
    members[1].signal(Signal::KILL);
    members[2].signal(Signal::KILL);
    wait_for("it knows", || (members[0].get("/readyz").status != 200).then_some(()));
    let (code, out, err) = run(&mut at(&members[0], &["recover"]));
    assert!(code == 69 && err.contains("no majority"), "{code} {err}");
    assert!(out.contains("missing:") && out.contains("founded anew"), "{out}");
}

/// The last of the steps that `recover` names: the numbers of a new group are those of the clock.
#[test]
fn tokens_grow_when_a_group_is_founded_anew_without_its_data() {
    let folder = Folder::new("anew");
    let data = folder.path("data");
    let token = || {
        let daemon = Daemon::start(&folder, "s", &["--data", &data]);
        daemon.wait_until_it_is_ready();
        run(&mut at(&daemon, &["lock", "x", "--", "sh", "-c", "echo $VORRANG_TOKEN"])).1
    };
    let before = token();
    fs::rename(&data, folder.file("away")).expect("there is one");
    let after = token();
    assert!(before.len() == 33 && before < after, "{before} {after}");
}

#[test]
fn a_minority_is_unavailable_and_not_busy() {
    let folder = Folder::new("minority");
    let members = Three::new(&folder, TIMES).start(&folder);
    members[1].signal(Signal::STOP);
    members[2].signal(Signal::STOP);
    wait_for("it knows", || (members[0].get("/readyz").status != 200).then_some(()));
    let (code, _, err) = run(&mut at(&members[0], &["lock", "-n", "x", "--", "true"]));
    assert_eq!(code, 69, "{err}");
    let trouble = members[0].get("/v1/members").json()["trouble"].as_str().map(str::to_owned);
    assert!(trouble.is_some_and(|it| !it.is_empty()) && err.contains("majority"), "{err}");
}

#[test]
fn whoever_waits_at_a_daemon_that_leaves_waits_at_the_next_one() {
    let folder = Folder::new("leaves");
    let mut daemon = Daemon::start(&folder, "s", &[]);
    daemon.wait_until_it_is_ready();
    let mut holder = Running::start(at(&daemon, &["lock", "x"]).stdin(Stdio::piped()));
    wait_for("it is held", || (daemon.holds("held") == 1).then_some(()));
    let impatient = Running::start(&mut at(&daemon, &["lock", "x", "--", "true"]));
    let args = ["lock", "--retry", "10m", "x", "--", "echo", "then"];
    let patient = Running::start(&mut at(&daemon, &args));
    wait_for("both wait", || (daemon.holds("waiting") == 2).then_some(()));
    daemon.signal(Signal::TERM);
    let (code, _, err) = impatient.code();
    assert!(code == 69 && err.contains("leaves the group"), "{code} {err}");
    holder.close_input();
    assert_eq!(holder.code().0, 0);
    daemon.ends();
    drop(daemon);
    let _next = Daemon::start(&folder, "s", &[]);
    assert_eq!(patient.code().1, "then\n");
}

#[test]
fn a_name_is_one_before_anybody_is_asked() {
    let long = "x".repeat(256);
    for (name, wanted) in [
        ("", "'' is no name: it is empty"),
        ("a\tb", "control character \\t at byte 1"),
        (&long, "256 bytes long: at most 255"),
    ] {
        for args in [
            &["lock", name, "true"][..],
            &["semaphore", "-p", "1", name, "true"],
            &["elect", name, "true"],
        ] {
            let (code, out, err) = run(&mut vorrang(args));
            assert_eq!((code, out.as_str()), (64, ""), "{err}");
            assert!(err.contains(wanted), "{err}");
        }
    }
    let (code, _, err) = run(&mut vorrang(&["elect", "--value", &"v".repeat(1025), "x", "true"]));
    assert!(code == 64 && err.contains("at most 1024"), "{code} {err}");
}
