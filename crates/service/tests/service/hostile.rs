//! Clients that do not do as they should, and many of them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use vorrang_testkit::Folder;

use crate::support::{Client, Daemon, PATIENCE, wait_for};

const LOCK: &str = r#"{"kind":"lock","name":"a"}"#;

/// The daemon serves others as if nothing had happened.
#[track_caller]
fn goes_on(daemon: &Daemon, id: &str) {
    daemon.hold(id, r#"{"kind":"lock","name":"free"}"#).granted();
}

#[test]
fn what_is_not_understood_is_refused_with_a_reason() {
    let folder = Folder::new("refused");
    let daemon = Daemon::start(&folder, "s", &[]);
    let refused = |method: &str, path: &str, body: &str| {
        let answer = daemon.ask(method, path, body);
        let why = answer.json()["error"].as_str().expect("a sentence").to_owned();
        (answer.status, answer.code(), why)
    };
    for (method, path, body, status, code, words) in [
        ("GET", "/nowhere", "", 404, "not-found", "/nowhere"),
        ("GET", "/v2/members", "", 404, "not-found", "/v1/openapi.json"),
        ("POST", "/v1/locks", "", 405, "wrong-method", "POST"),
        ("PUT", "/v1/holds/a%20b", LOCK, 400, "bad-request", "'a b' is no id"),
        ("PUT", "/v1/holds/%zz", LOCK, 400, "bad-request", "%zz"),
        ("PUT", "/v1/holds/1", "", 400, "bad-request", "EOF"),
        ("PUT", "/v1/holds/1", "{}", 400, "bad-request", "kind"),
        ("PUT", "/v1/holds/1", r#"{"kind":"mutex","name":"a"}"#, 400, "bad-request", "mutex"),
        ("PUT", "/v1/holds/1", r#"{"kind":"lock","name":""}"#, 400, "bad-request", "empty"),
        (
            "PUT",
            "/v1/holds/1",
            r#"{"kind":"lock","name":"a\u0007"}"#,
            400,
            "bad-request",
            "control",
        ),
        ("PUT", "/v1/holds/1", r#"{"kind":"lock","name":"a","x":1}"#, 400, "bad-request", "`x`"),
        ("PUT", "/v1/holds/1", r#"{"kind":"semaphore","name":"a"}"#, 400, "bad-request", "permits"),
        ("GET", "/v1/locks?local=perhaps", "", 400, "bad-request", "'perhaps'"),
        ("GET", "/v1/members?all", "", 400, "bad-request", "'all'"),
        ("GET", "/v1/elections/%00", "", 400, "bad-request", "control"),
        ("POST", "/v1/holds/1/process", r#"{"pgid":1}"#, 404, "no-such-hold", "'1'"),
        ("POST", "/v1/holds/1/renew", "", 404, "no-such-hold", "'1'"),
        ("POST", "/v1/members/zorro/evict", "", 404, "no-such-member", "zorro"),
    ] {
        let (is, found, why) = refused(method, path, body);
        assert_eq!((is, found.as_str()), (status, code), "{method} {path} {body}: {why}");
        assert!(why.contains(words), "{method} {path} {body}: {why}");
    }
    let long = format!(r#"{{"kind":"lock","name":"{}"}}"#, "x".repeat(256));
    let (status, _, why) = refused("PUT", "/v1/holds/1", &long);
    assert!(status == 400 && why.contains("256 bytes"), "{why}");
    let answer = daemon.ask("PATCH", "/v1/holds/1", "");
    assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "PUT, GET, DELETE"));

    let mut client = daemon.connect();
    client.say(b"GET /v1/members HTTP/1.1\r\nhost: x\r\nvorrang-api: 7\r\n\r\n").expect("taken");
    let answer = client.answer().expect("an answer");
    assert_eq!((answer.status, answer.code().as_str()), (400, "unknown-version"));
    assert_eq!(answer.headers["vorrang-api"], "1");
    assert!(answer.body.contains("speaks version 1"), "{}", answer.body);
    goes_on(&daemon, "9");
}

#[test]
fn what_is_too_long_is_refused_and_the_rest_of_it_not_read() {
    let folder = Folder::new("long");
    let daemon = Daemon::start(&folder, "s", &[]);
    let body = format!(r#"{{"kind":"lock","name":"a","label":"{}"}}"#, "x".repeat(9000));
    let answer = daemon.ask("PUT", "/v1/holds/1", &body);
    assert_eq!((answer.status, answer.code().as_str()), (413, "too-large"));
    // One that says how long it is, and one that does not.
    let mut client = daemon.connect();
    client
        .say(b"PUT /v1/holds/1 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        .expect("taken");
    let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
    for _ in 0..9 {
        // It may be closed by now.
        let _ = client.say(chunk.as_bytes());
    }
    let answer = client.answer().expect("an answer");
    assert_eq!((answer.status, answer.code().as_str()), (413, "too-large"));

    let mut client = daemon.connect();
    let _ = client.say(b"GET / HTTP/1.1\r\nhost: x\r\n");
    let header = format!("x-long: {}\r\n", "y".repeat(1000));
    for _ in 0..1000 {
        if client.say(header.as_bytes()).is_err() {
            break;
        }
    }
    // It is answered that it was too much, if the answer could be read before it was closed.
    match client.answer() {
        Ok(answer) => assert_eq!(answer.status, 431),
        Err(why) => assert!(
            matches!(
                why.kind(),
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
            ),
            "{why}"
        ),
    }
    goes_on(&daemon, "9");
}

#[test]
fn half_a_request_is_not_waited_for_for_ever() {
    let folder = Folder::new("half");
    let daemon = Daemon::start(&folder, "s", &["--http-request-within", "500ms"]);
    // In its head: the connection is closed.
    let mut client = daemon.connect();
    client.say(b"PUT /v1/holds/1 HTTP/1.1\r\nhost: x\r\ncontent-le").expect("taken");
    let rest = client.rest().expect("it is closed");
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408"), "{rest}");
    // In its body: it is said why.
    let mut client = daemon.connect();
    client
        .say(b"PUT /v1/holds/1 HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{\"kind\"")
        .expect("taken");
    let answer = client.answer().expect("an answer");
    assert_eq!((answer.status, answer.code().as_str()), (408, "too-slow"));
    assert_eq!(client.rest().expect("it is closed"), "");
    // A byte now and then is no excuse.
    let mut client = daemon.connect();
    let began = Instant::now();
    let head =
        b"GET /v1/members HTTP/1.1\r\nhost: x\r\nx-y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
    let mut bytes = head.iter().cycle();
    let cut = loop {
        assert!(began.elapsed() < PATIENCE, "it is still read");
        std::thread::sleep(Duration::from_millis(100));
        if client.say(&[*bytes.next().expect("it goes on")]).is_err() {
            break true;
        }
    };
    assert!(cut);
    goes_on(&daemon, "9");
}

#[test]
fn garbage_is_no_request() {
    let folder = Folder::new("garbage");
    let daemon = Daemon::start(&folder, "s", &[]);
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PUT /v1/holds/1 HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"PUT /v1/holds/1 HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let mut client = daemon.connect();
        client.say(garbage).expect("taken");
        let rest = client.rest().expect("it is closed");
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 400"), "{rest}");
    }
    let cut = || daemon.metric("vorrang_connections_cut_total{reason=\"bad-request\"}");
    wait_for("they are counted", || cut().filter(|it| *it >= 5.0));
    goes_on(&daemon, "9");
}

/// Its hold would otherwise be held by somebody who does not know what becomes of it.
#[test]
fn a_client_that_never_reads_is_cut_off_and_its_hold_released() {
    let folder = Folder::new("unread");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut deaf = daemon.connect();
    deaf.request("PUT", "/v1/holds/deaf", LOCK).expect("taken");
    wait_for("it is held", || {
        (daemon.get("/v1/holds/deaf").json()["state"] == "held").then_some(())
    });
    let mut next = daemon.hold("next", LOCK);
    next.expect("waiting");
    next.granted();
    assert_eq!(daemon.metric("vorrang_connections_cut_total{reason=\"not-read\"}"), Some(1.0));
    assert_eq!(daemon.get("/v1/holds/deaf").json()["state"], "over");
    drop(deaf);
}

/// An answer that is longer than all buffers, to one who does not read it.
#[test]
fn who_asks_and_does_not_listen_holds_up_nobody() {
    let folder = Folder::new("deaf");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut deaf: Vec<Client> = (0..20).map(|_| daemon.connect()).collect();
    for client in &mut deaf {
        for _ in 0..200 {
            // At some time nothing is read any more.
            let Ok(()) = client.request("GET", "/v1/openapi.json", "") else { break };
        }
    }
    goes_on(&daemon, "9");
    let cut = || daemon.metric("vorrang_connections_cut_total{reason=\"not-read\"}");
    wait_for("they are cut off", || cut().filter(|it| *it >= 20.0));
}

#[test]
fn ten_thousand_wait_for_one_lock_and_are_served_in_their_order() {
    const WAITERS: usize = 10_000;
    let folder = Folder::new("many");
    let daemon = Daemon::start(&folder, "s", &[]);
    allow_many_files();
    let mut first = daemon.hold("first", LOCK);
    first.granted();
    let mut waiters: Vec<UnixStream> = Vec::new();
    for number in 0..WAITERS {
        let mut stream = wait_for("a connection", || UnixStream::connect(&daemon.socket).ok());
        stream.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
        let request = format!(
            "PUT /v1/holds/w{number} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{LOCK}",
            LOCK.len()
        );
        stream.write_all(request.as_bytes()).expect("taken");
        // So that the order is known.
        read_until(&mut stream, "\"waiting\"");
        waiters.push(stream);
    }
    assert_eq!(daemon.metric("vorrang_waiters{kind=\"lock\"}"), Some(WAITERS as f64));
    first.close();
    let mut last = String::new();
    for (number, mut stream) in waiters.into_iter().enumerate() {
        let text = read_until(&mut stream, "\"granted\"");
        let token = text.split("\"token\":\"").nth(1).expect("a token")[..32].to_owned();
        assert!(token > last, "{number}: {token} after {last}");
        last = token;
        // To close the connection hands it on.
    }
    wait_for("nobody waits any more", || {
        (daemon.metric("vorrang_waiters{kind=\"lock\"}") == Some(0.0)
            && daemon.metric("vorrang_holds{kind=\"lock\"}") == Some(0.0))
        .then_some(())
    });
    goes_on(&daemon, "9");
}

fn read_until(stream: &mut UnixStream, words: &str) -> String {
    let mut text = String::new();
    let mut some = [0; 4096];
    while !text.contains(words) || !text.ends_with("\r\n") {
        let length = stream.read(&mut some).expect("it comes in time");
        assert!(length > 0, "closed before {words}: {text}");
        text += std::str::from_utf8(&some[..length]).expect("text");
    }
    text
}

fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("a limit");
}

#[test]
fn one_hold_too_many_is_refused_and_room_comes_back() {
    let folder = Folder::new("holds-limit");
    let daemon = Daemon::start(&folder, "s", &["--holds", "3"]);
    let body = |number: usize| format!(r#"{{"kind":"lock","name":"n{number}"}}"#);
    let mut held: Vec<_> =
        (0..3).map(|number| daemon.hold(&format!("h{number}"), &body(number))).collect();
    for hold in &mut held {
        hold.granted();
    }
    let answer = daemon.ask("PUT", "/v1/holds/h3", &body(3));
    assert_eq!((answer.status, answer.code().as_str()), (429, "too-many"));
    assert!(answer.body.contains("3 holds"), "{}", answer.body);
    held.pop();
    wait_for("there is room again", || {
        let mut client = daemon.connect();
        client.request("PUT", "/v1/holds/h4", &body(4)).expect("taken");
        let (status, _) = client.head().expect("an answer");
        (status == 200).then_some(())
    });
}

#[test]
fn one_connection_too_many_is_told_so() {
    let folder = Folder::new("connections");
    let daemon = Daemon::start(&folder, "s", &["--holds", "1"]);
    // Besides those of holds there may be 256.
    let idle: Vec<UnixStream> = (0..257)
        .map(|_| wait_for("a connection", || UnixStream::connect(&daemon.socket).ok()))
        .collect();
    wait_for("one is too many", || {
        let mut client = daemon.connect();
        let answer = client.ask("GET", "/healthz", "").ok()?;
        (answer.status == 503 && answer.code() == "unavailable").then_some(())
    });
    drop(idle);
    wait_for("there is room again", || {
        let answer = daemon.connect().ask("GET", "/healthz", "").ok()?;
        (answer.status == 200).then_some(())
    });
    goes_on(&daemon, "9");
}

/// What a daemon keeps of holds that are over has a bound, and so have the names that it knows.
#[test]
fn what_was_used_once_is_forgotten() {
    const USED: usize = 1500;
    let folder = Folder::new("once");
    let daemon = Daemon::start(&folder, "s", &["--idle-names", "100"]);
    daemon.wait_until_it_is_ready();
    let view = daemon.metric("vorrang_view").expect("there is one");
    let mut asking = daemon.connect();
    for number in 0..USED {
        let body = format!(r#"{{"kind":"lock","name":"used-{number}"}}"#);
        let mut hold = daemon.hold(&format!("h{number}"), &body);
        hold.granted();
        let path = format!("/v1/holds/h{number}");
        assert_eq!(asking.ask("DELETE", &path, "").expect("an answer").status, 204);
    }
    let status = |number: usize| daemon.get(&format!("/v1/holds/h{number}")).status;
    assert_eq!((status(0), status(USED - 1024 - 1)), (404, 404));
    assert_eq!((status(USED - 1024), status(USED - 1)), (200, 200));
    let views = daemon.metric("vorrang_view").expect("there is one") - view;
    assert!((7.0..=20.0).contains(&views), "{views}");
    // An id that was forgotten is as good as new.
    daemon.hold("h0", LOCK).granted();
}
