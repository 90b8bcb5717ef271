//! `vorrang lock`: signals and the terminal are those of its command.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use serde_json::json;

use super::programs::scripted_daemon::ScriptedDaemon;
use super::programs::terminal;
use super::programs::{Folder, Running, lines_of, process, vorrang, wait_for};

#[test]
fn signals_are_handed_on_to_the_command() {
    let daemon = ScriptedDaemon::start();
    let folder = Folder::new("signals");
    let (log, socket) = (folder.file("log"), daemon.socket());
    let script = format!(
        "for it in HUP INT QUIT TERM USR1 USR2; do trap \"echo $it >> {log}\" $it; done; \
         echo begun > {log}; while :; do sleep 0.05; done",
        log = log.display()
    );
    let args = ["lock", "--socket", &socket, "x", "--", "bash", "-c", &script];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    lines_of(&log);
    let mut wanted = vec!["begun"];
    for (signal, name) in [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::TERM, "TERM"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
    ] {
        running.signal(signal);
        wanted.push(name);
        wait_for(name, || (lines_of(&log) == wanted).then_some(()));
    }
    drop(running);
}

#[test]
fn a_command_that_a_signal_has_ended_gives_back() {
    let daemon = ScriptedDaemon::start();
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sleep", "600"];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    let group = daemon.knows_process();
    wait_for("it is the command", || {
        let command = fs::read_to_string(format!("/proc/{group}/cmdline")).ok()?;
        command.starts_with("sleep").then_some(())
    });
    running.signal(Signal::TERM);
    assert_eq!(running.code(), (128 + 15, String::new(), String::new()));
    assert!(daemon.was_released());
}

#[test]
fn it_stops_and_goes_on_with_its_command() {
    let daemon = ScriptedDaemon::start();
    let folder = Folder::new("stops");
    let script = format!("echo > {}; exec sleep 600", folder.path("begun"));
    let args = ["lock", "--socket", &daemon.socket(), "x", "--", "sh", "-c", &script];
    let running = Running::start(&mut vorrang(&args));
    daemon.grants();
    let group = daemon.knows_process();
    lines_of(&folder.file("begun"));
    let state = |pid| process(pid).map(|it| it.state);
    for _ in 0..3 {
        running.signal(Signal::TSTP);
        wait_for("both stand still", || {
            (state(group) == Some('T') && state(running.pid()) == Some('T')).then_some(())
        });
        running.signal(Signal::CONT);
        wait_for("both go on", || {
            (state(group) == Some('S') && state(running.pid()) == Some('S')).then_some(())
        });
    }
    running.signal(Signal::TERM);
    assert_eq!(running.code().0, 128 + 15);
}

#[test]
fn whoever_waits_is_ended_by_a_signal_and_waits_no_more() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let daemon = ScriptedDaemon::start();
        let args = ["lock", "--socket", &daemon.socket(), "x", "--", "false"];
        let running = Running::start(&mut vorrang(&args));
        daemon.says(&json!({ "event": "waiting", "since": 1 }));
        running.signal(Signal::TSTP);
        let state = || process(running.pid()).map(|it| it.state);
        wait_for("it stands still", || (state() == Some('T')).then_some(()));
        running.signal(Signal::CONT);
        wait_for("it goes on", || (state() == Some('S')).then_some(()));
        running.signal(signal);
        let (status, out, err) = running.ends();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert_eq!((out.as_str(), err.as_str()), ("", ""));
        assert!(daemon.was_released());
    }
}

#[test]
fn the_command_has_the_terminal_and_its_keys() {
    let daemon = ScriptedDaemon::start();
    let mut terminal = terminal::shell();
    let socket = daemon.socket();
    let lock = |command: &str| format!("\"$PROGRAM\" lock --socket {socket} x -- {command}\n");

    // It reads what is typed.
    terminal.types(&lock("sh -c 'read line; echo \"read [$line]\"'"));
    daemon.grants();
    terminal.types("hello\n");
    terminal.shows("read [hello]");
    terminal.types("echo \"code $?.\"\n");
    terminal.shows("code 0.");
    daemon.forgets();

    // Ctrl-C is for the command alone.
    terminal.types(&lock(
        "sh -c 'trap \"echo caught; exit 4\" INT; echo ready; while :; do sleep 0.1; done'",
    ));
    daemon.grants();
    terminal.shows("ready\r\n");
    terminal.types("\x03");
    terminal.shows("caught");
    terminal.types("echo \"code $?.\"\n");
    terminal.shows("code 4.");
    daemon.forgets();

    // Ctrl-Z stops the job, as the shell sees it, and fg continues it in the foreground.
    terminal.types(&lock("sed -u s/^/got-/"));
    daemon.grants();
    terminal.types("one\n");
    terminal.shows("got-one");
    terminal.types("\x1a");
    terminal.shows("Stopped");
    terminal.types("fg\n");
    terminal.types("two\n");
    terminal.shows("got-two");
    // In the background it stops when it wants to read.
    terminal.types("\x1a");
    terminal.shows("Stopped");
    terminal.types("bg\n");
    terminal.types_until("jobs\n", "Stopped");
    terminal.types("fg\n");
    terminal.types("three\n");
    terminal.shows("got-three");
    terminal.types("\x04");
    terminal.types("echo \"code $?.\"\n");
    terminal.shows("code 0.");
}

#[test]
fn a_job_in_the_background_leaves_the_terminal_to_others() {
    let daemon = ScriptedDaemon::start();
    let mut terminal = terminal::shell();
    let socket = daemon.socket();
    terminal.types(&format!("\"$PROGRAM\" lock --socket {socket} x -- sleep 600 &\n"));
    daemon.grants();
    daemon.knows_process();
    terminal.types("read line; echo \"[$line]\"\n");
    terminal.types("mine\n");
    terminal.shows("[mine]");
    // It is brought to the front without having been stopped, and then has the keys.
    terminal.types("fg\n");
    terminal.shows("sleep 600\r\n");
    terminal.is_given_to_a_job();
    terminal.types("\x03");
    terminal.types("echo \"code $?.\"\n");
    terminal.shows("code 130.");
}

#[test]
fn a_script_stops_as_a_whole() {
    let daemon = ScriptedDaemon::start();
    let folder = Folder::new("script");
    let mut terminal = terminal::shell();
    let script = folder.path("script");
    let text = format!(
        "\"$PROGRAM\" lock --socket {} x -- sed -u s/^/got-/\necho over\n",
        daemon.socket()
    );
    fs::write(&script, text).unwrap();
    terminal.types(&format!("sh {script}\n"));
    daemon.grants();
    terminal.types("one\n");
    terminal.shows("got-one");
    terminal.types("\x1a");
    terminal.shows("Stopped");
    terminal.types("fg\n");
    terminal.types("two\n");
    terminal.shows("got-two");
    terminal.types("\x04");
    terminal.shows("over");
}

#[test]
fn another_one_in_a_pipeline_has_the_terminal_until_the_command_wants_it() {
    let daemon = ScriptedDaemon::start();
    let mut terminal = terminal::shell();
    let socket = daemon.socket();
    let pipeline = "sh -c 'cat; read key < /dev/tty; echo \"pager [$key]\" > /dev/tty'";
    let lock = |command: &str| format!("\"$PROGRAM\" lock --socket {socket} x -- {command}\n");
    terminal.types(&lock(&format!("sh -c 'echo in >&2' | {pipeline}")));
    daemon.grants();
    terminal.shows("in\r\n");
    terminal.types("q\n");
    terminal.shows("pager [q]");
    daemon.forgets();

    let asks = "sh -c 'read line < /dev/tty; echo \"asked [$line]\" >&2'";
    terminal.types(&lock(&format!("{asks} | cat")));
    daemon.grants();
    terminal.types("yes\n");
    terminal.shows("asked [yes]");
    terminal.types("echo \"codes ${PIPESTATUS[*]}.\"\n");
    terminal.shows("codes 0 0.");
    daemon.forgets();

    // Ctrl-C is for all of them, and reaches the command through us.
    terminal.types(&lock("sh -c 'echo waits >&2; exec sleep 600' | cat"));
    daemon.grants();
    terminal.shows("waits\r\n");
    terminal.types("\x03");
    terminal.types("echo \"codes ${PIPESTATUS[*]}.\"\n");
    terminal.shows("codes 130 130.");
}
