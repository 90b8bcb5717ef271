//! The page for people: that it is served and cannot be misused, and what it shows in a browser.

use std::collections::BTreeSet;

use rustix::process::Signal;
use vorrang_testkit::Folder;

use crate::programs::browser::Browser;
use crate::support::{Client, Daemon, Three, ports};

const NAME: &str = "<script>alert(1)</script>";

/// One whose page is at this port.
fn start(folder: &Folder, port: &str) -> Daemon {
    let daemon = Daemon::start(folder, "s", &["--http-listen", port]);
    daemon.wait_until_it_is_ready();
    daemon
}

/// What stands between quotes and begins as a path does.
fn paths(page: &str) -> BTreeSet<&str> {
    let after = page.match_indices("\"/").map(|(place, _)| &page[place + 1..]);
    after.filter_map(|it| it.split('"').next()).collect()
}

#[test]
fn the_page_is_one_file_and_runs_nothing_but_what_stands_in_it() {
    let folder = Folder::new("page");
    let daemon = Daemon::start(&folder, "s", &[]);
    let page = daemon.get("/");
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["cache-control"], "no-store");
    let policy = &page.headers["content-security-policy"];
    let nonce = policy.split_once("script-src 'nonce-").expect("a nonce").1;
    let nonce = nonce.split('\'').next().expect("its end");
    assert_eq!(nonce.len(), 32, "{policy}");
    assert_eq!(page.body.matches(&format!("nonce=\"{nonce}\">")).count(), 2, "{policy}");
    for part in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.split("; ").any(|it| it == part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_ne!(daemon.get("/").headers["content-security-policy"], *policy, "it can be guessed");
    for word in ["http://", "https://", "innerHTML", "outerHTML", "insertAdjacent", "eval("] {
        assert!(!page.body.contains(word), "{word}");
    }

    let paths = paths(&page.body);
    assert!(paths.contains("/v1/events") && paths.contains("/v1/locks"), "{paths:?}");
    for path in paths {
        let mut client = daemon.connect();
        client.request("GET", path, "").expect("it is taken");
        assert_eq!(client.head().expect("an answer").0, 200, "{path}");
    }
}

/// A name of somebody else's that leads to this machine makes his page one of the same origin.
#[test]
fn a_page_of_somebody_else_reads_nothing_by_a_name_that_leads_here() {
    let folder = Folder::new("rebinding");
    let [port] = ports();
    let _daemon = start(&folder, &port);
    for path in ["/", "/v1/members", "/v1/locks", "/v1/events", "/metrics"] {
        let status = |host: &str| {
            let mut client = Client::tcp(&port);
            let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
            client.say(request.as_bytes()).expect("it is taken");
            client.head().expect("an answer").0
        };
        for host in ["example.org", "localhost.example.org:7480", "127.0.0.1.example.org", ""] {
            assert_eq!(status(host), 403, "{path} {host}");
        }
        for host in [port.as_str(), "localhost:7480", "[::1]:7480"] {
            assert_eq!(status(host), 200, "{path} {host}");
        }
    }
}

#[test]
fn a_browser_shows_members_locks_and_queues_and_that_there_is_no_majority() {
    let folder = Folder::new("browser");
    let three = Three::new(&folder, "");
    let [a, b] = ["a", "b"].map(|name| three.member(&folder, name, &[]));
    // Nobody else can ask it what its clients hold.
    let c = three.local_member(&folder, "c", &[]);
    for daemon in [&a, &b, &c] {
        daemon.wait_until_it_answers();
        daemon.wait_until_it_is_ready();
    }
    let address = format!("http://{}/", three.http("a"));
    let Some(mut browser) = Browser::open(&folder, &address) else { return };
    browser.shows("#link", &["live"]);
    browser.shows("#members", &["a\nthis one", "b\nvoter", "c\nvoter"]);
    browser.shows("#verdict", &["✔ Majority", "3 of 3 known members"]);
    browser.shows("#unreached", &["c is missing: no daemon answers"]);
    assert_eq!(browser.text("#offline"), "");

    let wish = |label: &str| format!(r#"{{"kind":"lock","name":"{NAME}","label":"{label}"}}"#);
    let mut held = a.hold("1", &wish("<img src=x onerror=alert(2)>"));
    let token = held.granted();
    let mut waits = b.hold("2", &wish("who waits"));
    waits.expect("waiting");
    browser.shows("#locks h3", &[NAME]);
    browser.shows("#locks article", &["lock", "held", "at member a", &token, "for "]);
    browser.shows("#locks article", &["<img src=x onerror=alert(2)>", "1 waiting"]);
    browser.shows("#locks .queue", &["who waits", "at member b"]);
    browser.shows("#events", &[&format!("lock {NAME} granted to <img")]);
    assert_eq!(browser.evaluate("document.querySelectorAll('img, main script').length"), 0);
    // A phone needs to be moved in one direction alone.
    let phone = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.evaluate(phone), true);

    b.signal(Signal::KILL);
    c.signal(Signal::KILL);
    browser.shows("#verdict", &["NO MAJORITY"]);
    browser.shows("#events", &["no majority: nothing is granted", &format!("{NAME} lost by <img")]);
    let red = "getComputedStyle(document.getElementById('verdict')).backgroundColor";
    assert_eq!(browser.evaluate(red), "rgb(176, 0, 32)");
}

#[test]
fn a_browser_says_that_it_is_not_connected_and_connects_again() {
    let folder = Folder::new("reconnects");
    let [port] = ports();
    let mut daemon = start(&folder, &port);
    let Some(mut browser) = Browser::open(&folder, &format!("http://{port}/")) else { return };
    browser.shows("#link", &["live"]);
    let mut hold = daemon.hold("1", r#"{"kind":"lock","name":"taken"}"#);
    hold.granted();
    browser.shows("#locks", &["taken"]);
    assert_eq!(daemon.ask("DELETE", "/v1/holds/1?force=true", "").status, 204);
    browser.shows("#events", &["lock taken lost by uid "]);
    browser.shows("#locks", &["Nobody holds or wants anything."]);

    daemon.signal(Signal::KILL);
    daemon.ends();
    browser.shows("#offline", &["Not connected", "What is shown is"]);
    browser.shows("#link", &["not connected"]);
    let daemon = start(&folder, &port);
    browser.shows("#link", &["live"]);
    assert_eq!(browser.text("#offline"), "");
    daemon.hold("2", r#"{"kind":"lock","name":"again"}"#).granted();
    browser.shows("#events", &["lock again granted to uid ", "lock again released by uid "]);
}
