//! `vorrang lock`: what it asks for, what its command finds, and how it ends by itself.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::programs::scripted_daemon::{ScriptedDaemon, TOKEN};
use super::programs::{
    Folder, Running, is_alive, lines_of, output, process, run, vorrang, wait_for,
};

/// Runs a command under a lock that is granted at once.
#[track_caller]
fn granted(options: &[&str], command: &[&str]) -> (i32, String, String) {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let args = [&["lock", "--socket", &socket], options, &["a/b ä", "--"], command].concat();
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    running.code()
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    for (script, code) in [("exit 0", 0), ("exit 1", 1), ("exit 69", 69), ("kill -9 $$", 137)] {
        let (found, _, err) = granted(&[], &["sh", "-c", script]);
        assert_eq!((found, err.as_str()), (code, ""), "{script}");
    }
    let (code, _, err) = granted(&[], &["./nowhere"]);
    assert!(code == 127 && err.contains("cannot run './nowhere'"), "{code} {err}");
    let (code, _, err) = granted(&[], &["/"]);
    assert!(code == 126 && err.contains("cannot run '/'"), "{code} {err}");
}

#[test]
fn the_command_finds_the_name_and_the_token() {
    let script = "echo $VORRANG_LOCK; echo $VORRANG_TOKEN";
    let (code, out, _) = granted(&[], &["sh", "-c", script]);
    assert_eq!((code, out), (0, format!("a/b ä\n{TOKEN}\n")));
}

#[test]
fn the_command_may_be_one_for_the_shell_and_needs_no_dashes() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    for (args, wanted) in [
        (&["x", "-c", "echo $((1 + 1))"][..], "2\n"),
        (&["-c", "echo $((1 + 1))", "x"], "2\n"),
        (&["x", "echo", "-n", "--", "-w"], "-- -w"),
    ] {
        let mut command = vorrang(&[&["lock", "--socket", &socket], args].concat());
        let running = Running::start(command.env("SHELL", "/bin/sh"));
        daemon.grants();
        assert_eq!(running.code(), (0, wanted.to_owned(), String::new()), "{args:?}");
        daemon.forgets();
    }
}

#[test]
fn what_is_asked_for_is_what_was_typed() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    for (args, wanted) in [
        (&["lock", "x", "true"][..], json!({ "kind": "lock", "name": "x" })),
        (&["lock", "-x", "x", "true"], json!({ "kind": "lock", "name": "x" })),
        (&["lock", "-e", "x", "true"], json!({ "kind": "lock", "name": "x" })),
        (&["lock", "-s", "x", "true"], json!({ "kind": "shared", "name": "x" })),
        (&["lock", "--shared", "x", "true"], json!({ "kind": "shared", "name": "x" })),
        (
            &["semaphore", "--permits", "3", "x", "true"],
            json!({ "kind": "semaphore", "name": "x", "permits": 3 }),
        ),
        (
            &["elect", "--value", "v", "x", "true"],
            json!({ "kind": "election", "name": "x", "value": "v" }),
        ),
    ] {
        let args = [&args[..1], &["--socket", &socket], &args[1..]].concat();
        let running = Running::start(&mut vorrang(&args));
        let mut asked = daemon.asked();
        let label = asked.as_object_mut().and_then(|it| it.remove("label")).expect("a label");
        let label = label.as_str().expect("a text").to_owned();
        assert!(label.ends_with(&format!(":{} true", running.pid())), "{label}");
        assert_eq!(asked, wanted, "{args:?}");
        daemon.grants();
        assert_eq!(running.code().0, 0, "{args:?}");
        daemon.forgets();
    }
}

#[test]
fn whoever_does_not_wait_is_told_by_the_exit_code() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    for (options, within, code) in [
        (&["-n"][..], 450..=500, 1),
        (&["--nb"], 450..=500, 1),
        (&["-w", "0"], 450..=500, 1),
        (&["-w", "2.5"], 2000..=2500, 1),
        (&["--wait", "30m"], 1_799_000..=1_800_000, 1),
        (&["-n", "-E", "9"], 450..=500, 9),
        (&["--timeout", "3s", "--conflict-exit-code", "0"], 2500..=3000, 0),
    ] {
        let args = [&["lock", "--socket", &socket], options, &["x", "--", "false"]].concat();
        let running = Running::start(&mut vorrang(&args));
        let asked = daemon.asked();
        let within_ms = asked["within_ms"].as_u64().expect("a number");
        assert!(within.contains(&within_ms), "{options:?}: {within_ms}");
        daemon.says(&json!({ "event": "waiting", "since": 1 }));
        daemon.says_at_last(&json!({ "event": "timeout" }));
        assert_eq!(running.code(), (code, String::new(), String::new()), "{options:?}");
    }
}

#[test]
fn a_daemon_that_stands_still_keeps_nobody_for_longer_than_was_said() {
    let daemon = ScriptedDaemon::start();
    let args = ["lock", "--socket", &daemon.socket(), "-v", "-w", "10ms", "x", "--", "false"];
    let running = Running::start(&mut vorrang(&args));
    daemon.asked();
    let (code, _, err) = running.code();
    assert!(code == 1 && err.contains("does not say whether the time is over"), "{code} {err}");
}

#[test]
fn what_is_verbose_says_what_is_waited_for_and_how_long() {
    let daemon = ScriptedDaemon::start();
    let args = ["lock", "--socket", &daemon.socket(), "--verbose", "x", "--", "true"];
    let running = Running::start(&mut vorrang(&args));
    daemon.says(&json!({ "event": "waiting", "since": 1 }));
    daemon.grants();
    let (code, _, err) = running.code();
    assert_eq!(code, 0);
    assert!(err.starts_with("vorrang lock: waiting for the lock 'x'\n"), "{err}");
    assert!(err.contains(&format!(" s, token {TOKEN}\n")), "{err}");
    assert!(err.ends_with("the lock 'x' is given back\n"), "{err}");
}

#[test]
fn without_a_daemon_it_says_what_starts_one() {
    let folder = Folder::new("nobody");
    let socket = folder.path("socket");
    for args in [
        &["lock", "x", "--", "true"][..],
        &["semaphore", "-p", "2", "x", "--", "true"],
        &["elect", "x", "--", "true"],
        &["elect", "--observe", "x"],
        &["locks"],
        &["members"],
        &["members", "--evict", "a"],
    ] {
        let args = [&args[..1], &["--socket", &socket], &args[1..]].concat();
        let (code, out, err) = run(&mut vorrang(&args));
        assert_eq!((code, out.as_str()), (69, ""), "{args:?}: {err}");
        assert!(err.contains(&socket) && err.contains("`vorrang serve`"), "{args:?}: {err}");
    }
    let (code, _, err) = run(vorrang(&["lock", "x", "true"]).env("VORRANG_SOCKET", &socket));
    assert!(code == 69 && err.contains(&socket), "{err}");
    let (code, _, err) = run(&mut vorrang(&["lock", "--server", "127.0.0.1:1", "x", "true"]));
    assert!(code == 69 && err.contains("127.0.0.1:1"), "{code} {err}");
}

#[test]
fn it_goes_on_trying_for_as_long_as_it_is_told() {
    let daemon = ScriptedDaemon::start();
    let (link, folder) = (daemon.socket(), Folder::new("later"));
    let socket = folder.path("socket");
    let args = ["lock", "--socket", &socket, "-v", "--retry", "10m", "x", "--", "echo", "done"];
    let running = Running::start(&mut vorrang(&args));
    // It has looked at least once by then.
    wait_for("it runs", || (process(running.pid())?.state == 'S').then_some(()));
    std::os::unix::fs::symlink(link, socket).unwrap();
    daemon.says(&json!({ "event": "waiting", "since": 1 }));
    // The daemon is started anew while it waits.
    daemon.hangs_up();
    daemon.grants();
    let (code, out, err) = running.code();
    assert_eq!((code, out.as_str()), (0, "done\n"), "{err}");
    assert!(err.contains("broke"), "{err}");
}

#[test]
fn nothing_is_re_entrant() {
    let folder = Folder::new("nested");
    let socket = folder.path("socket");
    for (args, variable) in [
        (&["lock", "x", "true"][..], "VORRANG_LOCK"),
        (&["lock", "-s", "x", "true"], "VORRANG_LOCK"),
        (&["semaphore", "-p", "2", "x", "true"], "VORRANG_SEMAPHORE"),
        (&["elect", "x", "true"], "VORRANG_ELECTION"),
    ] {
        let args = [&args[..1], &["--socket", &socket], &args[1..]].concat();
        for (around, code) in [("x", 64), ("w\nx", 64), ("w", 69), ("xx", 69), ("", 69)] {
            let (found, _, err) = run(vorrang(&args).env(variable, around));
            assert_eq!(found, code, "{around:?}: {err}");
            assert_eq!(err.contains(variable) && err.contains("'x'"), code == 64, "{err}");
        }
    }
}

#[test]
fn nested_locks_are_named_from_the_outermost_on() {
    let daemon = ScriptedDaemon::start();
    let mut command =
        vorrang(&["lock", "--socket", &daemon.socket(), "x", "-c", "echo \"$VORRANG_LOCK\""]);
    let running = Running::start(command.env("VORRANG_LOCK", "v\nw").env("SHELL", "/bin/sh"));
    daemon.grants();
    assert_eq!(running.code().1, "v\nw\nx\n");
}

#[test]
fn what_the_daemon_refuses_is_said_and_nothing_is_run() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let args = ["semaphore", "-p", "3", "--socket", &socket, "x", "--", "echo", "no"];
    let running = Running::start(&mut vorrang(&args));
    daemon.says_at_last(&json!({
        "event": "refused", "why": "there are 2 permits, not 3", "code": "bad-request",
    }));
    let (code, out, err) = running.code();
    assert_eq!((code, out.as_str()), (64, ""), "{err}");
    assert!(err.contains("semaphore 'x'") && err.contains("there are 2 permits"), "{err}");
    for (code_of, status, code) in
        [("bad-request", 400, 64), ("not-allowed", 403, 77), ("unavailable", 503, 69)]
    {
        daemon.answers("PUT", status, json!({ "error": "so it is", "code": code_of }));
        let (found, _, err) = run(&mut vorrang(&["lock", "--socket", &socket, "x", "true"]));
        assert_eq!((found, err.as_str()), (code, "error: so it is\n"), "{code_of}");
    }
}

#[test]
fn wrong_use_is_64_and_says_what_is_wrong() {
    for (args, wanted) in [
        (&["lock"][..], "<NAME>"),
        (&["lock", "-w", "soon", "x", "true"], "soon"),
        (&["lock", "-w", "1", "-n", "x", "true"], "--nonblock"),
        (&["lock", "-E", "256", "x", "true"], "256"),
        (&["lock", "-s", "-x", "x", "true"], "--exclusive"),
        (&["lock", "--server", "here", "x", "true"], "--server here is no address"),
        (&["lock", "x", "-c", "", "--"], "--command"),
        (&["semaphore", "x", "true"], "--permits"),
        (&["semaphore", "-p", "0", "x", "true"], "0"),
        (&["elect", "--observe", "x", "true"], "--observe"),
    ] {
        let (code, out, err) = run(&mut vorrang(args));
        assert_eq!((code, out.as_str()), (64, ""), "{args:?}: {err}");
        assert!(err.contains(wanted), "{args:?}: {err}");
    }
}

#[test]
fn the_command_begins_when_the_daemon_knows_its_process_group() {
    let daemon = ScriptedDaemon::start();
    daemon.is_silent_to(Some("/process"));
    let folder = Folder::new("begins");
    let (begun, out) = (folder.path("begun"), folder.file("begun"));
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sh", "-c"];
    let script = format!("echo $$ > {begun}");
    let running = Running::start(&mut vorrang(&[&args[..], &[&script]].concat()));
    daemon.grants();
    let group = daemon.knows_process();
    let waits = process(group).expect("it is there");
    assert_eq!((waits.state, waits.group), ('T', group), "it waits, in a group of its own");
    assert_eq!(waits.parent, running.pid());
    assert!(!out.exists());
    // It was not told in time.
    let (code, _, err) = running.code();
    assert!(code == 75 && err.contains("was not told of its process"), "{code} {err}");
    assert!(!out.exists() && !is_alive(group));
}

#[test]
fn the_command_is_in_a_group_of_its_own_and_has_the_signals_of_its_caller() {
    let status =
        "grep -E 'Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f1,5 /proc/self/stat; echo $$";
    let daemon = ScriptedDaemon::start();
    let lock = |program: &mut std::process::Command| {
        let running = Running::start(program);
        daemon.grants();
        let (code, out, err) = running.code();
        assert_eq!((code, err.as_str()), (0, ""));
        daemon.forgets();
        let group = daemon.knows_process().to_string();
        let lines: Vec<String> = out.lines().map(str::to_owned).collect();
        assert_eq!(lines[3], group, "{out}");
        assert!(lines[2].ends_with(&format!(" {group}")), "{out}");
        (lines[0].clone(), lines[1].clone())
    };
    let socket = daemon.socket();
    let args = ["lock", "--socket", &socket, "x", "--", "sh", "-c", status];
    // The C library has two signals of its own.
    let mask = |line: &str| {
        let digits = line.split_whitespace().last().expect("a mask");
        u64::from_str_radix(digits, 16).expect("a number") & !0x1_8000_0000
    };
    let (blocked, ignored) = lock(&mut vorrang(&args));
    assert_eq!((mask(&blocked), mask(&ignored)), (0, 0));
    // As `nohup` does, and shells without job control to what runs in the background.
    let program = env!("CARGO_BIN_EXE_vorrang-service");
    let quoted = format!("trap '' HUP INT; exec {program} \"$@\"");
    let mut shell = crate::support::heeding_signals("sh");
    shell.args(["-c", &quoted, "sh"]).args(args).stdin(Stdio::null());
    let (_, ignored) = lock(&mut shell);
    assert_eq!(mask(&ignored), 0b11);
}

#[test]
fn what_the_command_leaves_behind_keeps_the_lock() {
    let daemon = ScriptedDaemon::start();
    let folder = Folder::new("leaves");
    let started = folder.file("started");
    let script = format!("sleep 600 & echo $! > {}; exit 5", started.display());
    let socket = daemon.socket();
    let args = ["lock", "--socket", &socket, "x", "--", "sh", "-c", &script];
    let mut command = vorrang(&args);
    let running = Running::start(&mut command);
    daemon.grants();
    let sleeper = lines_of(&started).remove(0);
    let group = daemon.knows_process();
    wait_for("the command has ended", || process(group).is_none().then_some(()));
    // Time enough to see it, and to say so.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(is_alive(group) && !daemon.was_released());
    output("kill", &[&sleeper]);
    let (code, _, err) = running.code();
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("is kept until they end (--close would not wait)"), "{err}");
    assert!(daemon.was_released());
}

#[test]
fn with_close_only_the_command_itself_counts() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let script = "sleep 600 > /dev/null 2>&1 & exit 5";
    let args = ["lock", "--socket", &socket, "--close", "x", "--", "sh", "-c", script];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    let group = daemon.knows_process();
    assert_eq!(running.code(), (5, String::new(), String::new()));
    assert!(daemon.was_released() && is_alive(group));
    output("kill", &["--", &format!("-{group}")]);
}

#[test]
fn it_is_given_back_before_the_exit() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let running = Running::start(&mut vorrang(&["lock", "--socket", &socket, "x", "--", "true"]));
    daemon.grants();
    assert_eq!(running.code().0, 0);
    assert_eq!(daemon.requests("DELETE /v1/holds/", "").len(), 1);
}

#[test]
fn what_was_lost_before_it_was_given_back_is_said() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let running = Running::start(&mut vorrang(&["lock", "--socket", &socket, "x", "--", "cat"]));
    daemon.answers("DELETE", 410, json!({ "error": "it is over", "code": "hold-over" }));
    daemon.grants();
    let (code, _, err) = running.code();
    assert!(code == 75 && err.contains("was lost before it could be given back"), "{code} {err}");
}

#[test]
fn without_a_command_it_prints_the_token_and_holds_until_its_input_ends() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let mut running =
        Running::start(vorrang(&["lock", "--socket", &socket, "x"]).stdin(Stdio::piped()));
    daemon.grants();
    daemon.says(&json!({ "event": "alive", "deadline_boottime_ns": null }));
    std::thread::sleep(Duration::from_millis(200));
    assert!(!running.has_ended() && !daemon.was_released());
    running.close_input();
    assert_eq!(running.code(), (0, format!("{TOKEN}\n"), String::new()));
    assert!(daemon.was_released());
}

#[test]
fn without_a_command_and_without_an_input_it_holds_until_a_signal() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let daemon = ScriptedDaemon::start();
        let socket = daemon.socket();
        let mut running = Running::start(&mut vorrang(&["lock", "--socket", &socket, "x"]));
        daemon.grants();
        std::thread::sleep(Duration::from_millis(200));
        assert!(!running.has_ended() && !daemon.was_released());
        running.signal(signal);
        assert_eq!(running.code(), (0, format!("{TOKEN}\n"), String::new()));
        assert!(daemon.was_released());
    }
}

#[test]
fn a_token_that_nobody_reads_is_of_no_use() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let mut running = Running::start(&mut vorrang(&["lock", "--socket", &socket, "x"]));
    daemon.asked();
    running.close_output();
    daemon.grants();
    let (code, _, err) = running.code();
    assert!(code == 74 && err.contains("so the lock 'x' was given back"), "{code} {err}");
    assert!(daemon.was_released());
}

#[test]
fn a_hold_without_a_command_that_is_lost_ends_it() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    let running = Running::start(&mut vorrang(&["lock", "--socket", &socket, "x"]));
    daemon.grants();
    daemon.says(&json!({ "event": "at-risk", "deadline_boottime_ns": null }));
    daemon.says(&json!({ "event": "lost", "why": "evicted", "sentence": "it is out" }));
    let (code, _, err) = running.code();
    assert_eq!(code, 75);
    assert!(err.contains("is at risk") && err.contains("was lost: it is out"), "{err}");
}

#[test]
fn a_leader_stands_again_unless_it_is_told_not_to() {
    let daemon = ScriptedDaemon::start();
    let folder = Folder::new("elect");
    let (log, socket) = (folder.path("log"), daemon.socket());
    let script = format!("echo $VORRANG_ELECTION >> {log}; sleep 600");
    let lost = json!({ "event": "lost", "why": "lease-over", "sentence": "it is over" });
    let args = ["elect", "--socket", &socket, "x", "--", "sh", "-c", &script];
    let running = Running::start(&mut vorrang(&args));
    for round in 1..=3 {
        daemon.grants();
        wait_for("it leads", || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            (text == "x\n".repeat(round)).then_some(())
        });
        let group = daemon.knows_process();
        daemon.says_at_last(&lost);
        wait_for("it stands again", || {
            (daemon.requests("PUT", "").len() == round + 1).then_some(())
        });
        assert!(!is_alive(group), "it leads no more");
    }
    running.signal(Signal::TERM);
    let (status, ..) = running.ends();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    daemon.forgets();

    let args = ["elect", "--once", "--socket", &socket, "x", "--", "sleep", "600"];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    daemon.says_at_last(&lost);
    let (code, _, err) = running.code();
    assert!(code == 75 && err.contains("the election 'x' was lost"), "{code} {err}");

    let args = ["elect", "--socket", &socket, "x", "--", "sh", "-c", "exit 3"];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    assert_eq!(running.code().0, 3, "a leader whose command ends leads no more");
}

#[test]
fn who_leads_is_printed_whenever_it_changes() {
    let daemon = ScriptedDaemon::start();
    let socket = daemon.socket();
    for (options, wanted) in [
        (&[][..], format!("nobody leads\n{TOKEN} a host:1\n")),
        (
            &["--json"],
            format!(
                "{{\"event\":\"nobody\"}}\n{{\"event\":\"leader\",\"value\":\"host:1\",\
                 \"member\":\"a\",\"token\":\"{TOKEN}\"}}\n"
            ),
        ),
    ] {
        let args = [&["elect", "--socket", &socket, "--observe", "x"], options].concat();
        let running = Running::start(&mut vorrang(&args));
        daemon.says(&json!({ "event": "nobody" }));
        daemon.says(&json!({ "event": "alive" }));
        let leader = json!({ "event": "leader", "value": "host:1", "member": "a", "token": TOKEN });
        daemon.says_at_last(&leader);
        let (code, out, err) = running.code();
        assert_eq!((code, out), (69, wanted), "{err}");
        assert!(err.contains("the daemon has ended"), "{err}");
    }
    assert_eq!(daemon.requests("GET /v1/elections/x", "").len(), 2);
}
