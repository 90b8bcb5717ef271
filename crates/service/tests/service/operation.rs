//! What those see who operate the daemon: metrics, the log, systemd.

use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;
use serde_json::Value;
use vorrang_testkit::Folder;

use crate::support::{Daemon, PATIENCE, run, stderr, stdout, vorrang, wait_for};

#[test]
fn metrics_say_how_it_is() {
    let folder = Folder::new("metrics");
    let daemon = Daemon::start(&folder, "s", &[]);
    daemon.wait_until_it_is_ready();
    let answer = daemon.get("/metrics");
    assert!(answer.headers["content-type"].starts_with("text/plain; version=0.0.4"));
    assert!(answer.body.contains("member=\"a\""), "{}", answer.body);
    assert_eq!(daemon.metric("vorrang_majority"), Some(1.0));
    assert_eq!(daemon.metric("vorrang_members"), Some(1.0));
    assert!(daemon.metric("vorrang_view").is_some_and(|it| it > 0.0));
    assert!(daemon.metric("process_start_time_seconds").is_some_and(|it| it > 1.7e9));
    assert_eq!(daemon.metric("vorrang_lease_left_seconds"), None, "nothing is held");
    let mut hold = daemon.hold("1", r#"{"kind":"lock","name":"a"}"#);
    hold.granted();
    assert_eq!(daemon.metric("vorrang_holds{kind=\"lock\"}"), Some(1.0));
    let left = daemon.metric("vorrang_lease_left_seconds");
    assert!(left.is_some_and(|it| it <= 1.0), "{left:?}");
    assert_eq!(daemon.metric("vorrang_wait_seconds_count"), Some(1.0));
    assert!(daemon.metric("vorrang_connections{listener=\"unix\"}").is_some_and(|it| it >= 2.0));
}

#[test]
fn the_document_is_served() {
    let folder = Folder::new("document");
    let daemon = Daemon::start(&folder, "s", &[]);
    let document = daemon.get("/v1/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn who_looks_on_is_told_what_happens() {
    let folder = Folder::new("events");
    let daemon = Daemon::start(&folder, "s", &[]);
    daemon.wait_until_it_is_ready();
    let mut events = daemon.connect().lines("GET", "/v1/events", "");
    assert_eq!(events.headers["content-type"], "text/event-stream");
    let mut next = |name: &str| -> Value {
        loop {
            let line = events.next_line().expect("it goes on");
            if line == format!("event: {name}") {
                let data = events.next_line().expect("its data");
                let data = data.strip_prefix("data: ").expect("data");
                assert_eq!(events.next_line().as_deref(), Some(""));
                return serde_json::from_str(data).expect("JSON");
            }
        }
    };
    let members = next("members");
    assert_eq!((&members["event"], &members["this"]), (&"members".into(), &"a".into()));
    let mut hold = daemon.hold("1", r#"{"kind":"lock","name":"a"}"#);
    hold.granted();
    let mut states = Vec::new();
    while states.last() != Some(&Value::from("held")) {
        states.push(next("hold")["state"].clone());
    }
    assert_eq!(states, ["waiting", "held"]);
    hold.close();
    let over = next("hold");
    assert_eq!((&over["state"], &over["ended"]["event"]), (&"over".into(), &"released".into()));
}

#[test]
fn the_log_is_json_if_that_is_asked_for() {
    let folder = Folder::new("json");
    let mut daemon = Daemon::start(&folder, "s", &["--log", "json"]);
    daemon.hold("1", r#"{"kind":"lock","name":"a"}"#).granted();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ends().code(), Some(0));
    let log = daemon.log();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect();
    let serving = lines.iter().find(|it| it["message"] == "serving").expect("it is said");
    assert_eq!((&serving["level"], &serving["member"]), (&"INFO".into(), &"a".into()));
    assert!(lines.iter().any(|it| it["message"] == "left"), "{log}");
}

#[test]
fn systemd_is_told_how_it_is() {
    let folder = Folder::new("systemd");
    let path = folder.file("notify");
    let listener = UnixDatagram::bind(&path).expect("a socket");
    listener.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    let mut daemon = Daemon::spawn(&folder, "s", &[], |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
    });
    let heard = |words: &str| {
        wait_for(words, || {
            let mut bytes = [0; 4096];
            let length = listener.recv(&mut bytes).ok()?;
            String::from_utf8_lossy(&bytes[..length]).contains(words).then_some(())
        });
    };
    heard("READY=1");
    daemon.hold("1", r#"{"kind":"lock","name":"a"}"#).granted();
    heard("STATUS=member of view");
    heard("WATCHDOG=1");
    heard("WATCHDOG=1");
    daemon.signal(Signal::HUP);
    heard("RELOADING=1");
    heard("READY=1");
    daemon.signal(Signal::TERM);
    heard("STOPPING=1");
    assert_eq!(daemon.ends().code(), Some(0));
}

/// A hardened unit is only worth something if systemd understands it.
#[test]
fn the_unit_file_is_one() {
    let unit = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/vorrang.service");
    let text = std::fs::read_to_string(unit).expect("it is there");
    for line in ["Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict"] {
        assert!(text.lines().any(|it| it == line), "{line}");
    }
    let folder = Folder::new("unit");
    // Where this program stands; otherwise it would be missed.
    let here = text.replace("/usr/bin/vorrang-service", env!("CARGO_BIN_EXE_vorrang-service"));
    let copy = folder.file("vorrang.service");
    std::fs::write(&copy, here).expect("it can be written");
    let mut command = std::process::Command::new("systemd-analyze");
    match command.arg("verify").arg(&copy).output() {
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            let ours: Vec<&str> = why.lines().filter(|it| it.contains("vorrang.service")).collect();
            assert!(output.status.success() && ours.is_empty(), "{why}");
        }
        Err(why) => eprintln!("skipped: there is no systemd-analyze here to verify it ({why})"),
    }
    // What it starts is a command line of this program, and sockets are where it says.
    let start = text.lines().find_map(|it| it.strip_prefix("ExecStart=")).expect("it starts one");
    let config = folder.path("vorrang.toml");
    std::fs::write(&config, "socket-mode = '0660'\n").expect("it can be written");
    let start = start.replace("/etc/vorrang/vorrang.toml", &config);
    let words: Vec<&str> = start.split(' ').collect();
    assert_eq!(words[0], "/usr/bin/vorrang-service");
    let output = run(vorrang(&words[1..]).arg("--show-config"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("socket = \"/run/vorrang/vorrang.sock\"  # --socket"), "{shown}");
    assert!(shown.contains("socket-mode = \"0660\""), "{shown}");
}
