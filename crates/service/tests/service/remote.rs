//! Clients at a port: their holds end when they are not renewed, and not with a connection.

use std::time::Duration;

use vorrang_testkit::Folder;

use crate::support::{Client, Daemon, ports, wait_for};

const LOCK: &str = r#"{"kind":"lock","name":"a"}"#;

fn start(folder: &Folder, within: &str) -> (Daemon, String) {
    let [port] = ports();
    let options = ["--http-listen", &port, "--http-renew-within", within];
    (Daemon::start(folder, "s", &options), port)
}

#[test]
fn a_hold_that_is_renewed_outlives_its_connection_and_one_that_is_not_is_lost() {
    let folder = Folder::new("renewed");
    let (daemon, port) = start(&folder, "4s");
    let mut lines = Client::tcp(&port).lines("PUT", "/v1/holds/far", LOCK);
    let waiting = lines.expect("waiting");
    assert!(waiting["since"].is_u64());
    let granted = lines.expect("granted");
    assert!(granted["deadline_boottime_ns"].is_null(), "that clock is of another machine");
    lines.close();
    let mut next = daemon.hold("next", LOCK);
    next.expect("waiting");
    let mut renewing = Client::tcp(&port);
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(500));
        let renewal = renewing.ask("POST", "/v1/holds/far/renew", "").expect("an answer").json();
        assert_eq!((&renewal["state"], &renewal["within_ms"]), (&"held".into(), &4000.into()));
        // With leases of a second nobody may count on it for longer.
        assert!(renewal["left_ms"].as_u64().is_some_and(|it| it <= 1000), "{renewal}");
        assert_eq!(daemon.get("/v1/holds/next").json()["state"], "waiting");
    }
    // Its client is gone.
    next.granted();
    let mut late = Client::tcp(&port).lines("PUT", "/v1/holds/far", LOCK);
    let lost = late.expect("lost");
    assert_eq!(lost["why"], "not-renewed");
    assert!(lost["sentence"].as_str().expect("a sentence").contains("4s"), "{lost}");
    let late = renewing.ask("POST", "/v1/holds/far/renew", "").expect("an answer");
    assert_eq!((late.status, late.code().as_str()), (410, "hold-over"));
}

#[test]
fn who_waits_and_is_gone_waits_no_more() {
    let folder = Folder::new("waits");
    let (daemon, port) = start(&folder, "1s");
    let mut first = daemon.hold("first", LOCK);
    first.granted();
    let mut lines = Client::tcp(&port).lines("PUT", "/v1/holds/far", LOCK);
    lines.expect("waiting");
    let renewal = Client::tcp(&port).ask("POST", "/v1/holds/far/renew", "").expect("an answer");
    assert_eq!(renewal.json()["state"], "waiting");
    assert!(renewal.json()["left_ms"].is_null());
    let lost = lines.expect("lost");
    assert_eq!(lost["why"], "not-renewed");
    assert_eq!(daemon.get("/v1/holds/first").json()["state"], "held");
}

#[test]
fn only_its_creator_ends_a_hold() {
    let folder = Folder::new("creator");
    let (daemon, port) = start(&folder, "1m");
    let mut local = daemon.hold("local", LOCK);
    local.granted();
    let mut far = Client::tcp(&port);
    for (method, path) in [
        ("DELETE", "/v1/holds/local"),
        ("POST", "/v1/holds/local/renew"),
        ("PUT", "/v1/holds/local"),
    ] {
        let answer = far.ask(method, path, LOCK).expect("an answer");
        let wanted = if method == "PUT" { (409, "other-hold") } else { (403, "not-yours") };
        assert_eq!((answer.status, answer.code().as_str()), wanted, "{method}");
    }
    for (method, path) in [
        ("DELETE", "/v1/holds/local?force=true"),
        ("POST", "/v1/holds/local/process"),
        ("POST", "/v1/members/a/evict"),
        ("POST", "/v1/members/a/add"),
    ] {
        let answer = far.ask(method, path, r#"{"pgid":77}"#).expect("an answer");
        assert_eq!((answer.status, answer.code().as_str()), (403, "local-only"), "{path}");
    }
    local.until("alive");
    let mut lines = Client::tcp(&port).lines("PUT", "/v1/holds/far", LOCK);
    lines.expect("waiting");
    let answer = daemon.ask("DELETE", "/v1/holds/far", "");
    assert_eq!((answer.status, answer.code().as_str()), (403, "not-yours"));
    assert_eq!(far.ask("DELETE", "/v1/holds/far", "").expect("an answer").status, 204);
    lines.expect("released");
}

#[test]
fn a_page_of_somebody_else_may_not_ask() {
    let folder = Folder::new("origin");
    let (daemon, port) = start(&folder, "1m");
    let mut client = Client::tcp(&port);
    let with = |client: &mut Client, origin: &str| {
        let request = format!("GET /v1/locks HTTP/1.1\r\nhost: {port}\r\norigin: {origin}\r\n\r\n");
        client.say(request.as_bytes()).expect("taken");
        client.answer().expect("an answer").status
    };
    assert_eq!(with(&mut client, "https://example.org"), 403);
    assert_eq!(with(&mut client, &format!("http://{port}")), 200);
    wait_for("connections are counted", || {
        daemon.metric("vorrang_connections{listener=\"tcp\"}").filter(|it| *it >= 1.0)
    });
}
