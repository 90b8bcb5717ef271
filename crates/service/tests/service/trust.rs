//! Who gets in over TLS, and what they may do.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tokio::runtime::Runtime;
use vorrang_lock::tls::issue::{Authority, Validity};
use vorrang_lock::tls::{ClientTls, Holder, KeyFiles};
use vorrang_service::api::{Code, HoldEvent, HoldRequest};
use vorrang_service::client::{Client, ClientError, Server, Target};
use vorrang_testkit::Folder;

use crate::support::{self, Daemon, PATIENCE, ports, wait_for};

/// Writes an authority and certificates of these holders into a folder.
fn issue(folder: &Path, holders: &[Holder]) {
    let (authority, files) = Authority::create(Validity::days(30)).expect("an authority");
    write(folder, "ca.pem", &files.certificate);
    for holder in holders {
        let issued = authority.issue(holder, &[], Validity::days(30)).expect("a certificate");
        write(folder, &format!("{}.pem", holder.name), &issued.certificate);
        write(folder, &format!("{}.key", holder.name), &issued.key);
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, text).expect("it can be written");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, private).expect("it is ours");
}

fn keys(folder: &Path, name: &str) -> ClientTls {
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    let files =
        KeyFiles { authority: folder.join("ca.pem"), certificate: file("pem"), key: file("key") };
    ClientTls::load(&files).expect("they are keys")
}

fn client(port: &str, tls: Option<ClientTls>) -> Client {
    Client::new(Target::Server(Server { address: port.to_owned(), tls }))
}

/// A member with keys, that listens at a port for the clients `ci` and `any`.
fn start(folder: &Folder) -> (Daemon, String) {
    let path = folder.file("");
    issue(&path, &[Holder::member("a"), Holder::client("ci"), Holder::client("any")]);
    let [port] = ports();
    let config = folder.file("a.toml");
    let text = format!(
        "name = 'a'\n[http]\nlisten = '{port}'\n[tls]\nauthority = 'ca.pem'\n\
         certificate = 'a.pem'\nkey = 'a.key'\n\
         [[client]]\nname = 'ci'\nprefixes = ['ci/']\nholds = 2\n"
    );
    std::fs::write(&config, text).expect("it can be written");
    let daemon = Daemon::start(folder, "s", &["--config", config.to_str().expect("UTF-8")]);
    daemon.wait_until_it_is_ready();
    (daemon, port)
}

async fn granted(client: &Client, id: &str, name: &str) -> Result<String, ClientError> {
    let mut lines = client.hold(id, &HoldRequest::lock(name)).await?;
    while let Some(event) = lines.next().await? {
        if let HoldEvent::Granted { token, .. } = event {
            return Ok(token);
        }
    }
    panic!("the lines end before it is granted");
}

fn run<T>(what: impl Future<Output = T>) -> T {
    let runtime = Runtime::new().expect("threads");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, what).await.expect("in time") })
}

#[test]
fn a_client_with_a_certificate_holds_what_it_may_and_nothing_else() {
    let folder = Folder::new("tls");
    let (daemon, port) = start(&folder);
    let path = folder.file("");
    run(async {
        let ci = client(&port, Some(keys(&path, "ci")));
        let one = granted(&ci, "1", "ci/a").await.expect("it may");
        let why = granted(&ci, "2", "prod/a").await.unwrap_err();
        assert_eq!(why.code(), Some(Code::NotAllowed));
        assert!(why.to_string().contains("'prod/a'"), "{why}");
        granted(&ci, "3", "ci/b").await.expect("it may");
        let why = granted(&ci, "4", "ci/c").await.unwrap_err();
        assert_eq!(why.code(), Some(Code::NotAllowed));
        assert!(why.to_string().contains("has 2 holds, and may have 2"), "{why}");
        // It renews and releases what is its own.
        let renewal = ci.renew("1").await.expect("it is its own");
        assert!(renewal.left_ms.is_some_and(|it| it <= 1000), "{renewal:?}");
        let any = client(&port, Some(keys(&path, "any")));
        assert_eq!(any.release("1").await.unwrap_err().code(), Some(Code::NotYours));
        let shown = any.show("1").await.expect("everybody may look");
        assert_eq!((shown.client.as_str(), shown.token), ("ci", Some(one)));
        ci.release("1").await.expect("it is its own");
        granted(&any, "5", "prod/a").await.expect("nobody has limited it");
    });
    assert!(daemon.metric("vorrang_certificate_expiry_seconds").is_some_and(|it| it > 1.7e9));
}

#[test]
fn nobody_gets_in_without_a_certificate_of_the_group() {
    let folder = Folder::new("strangers");
    let (daemon, port) = start(&folder);
    let other = Folder::new("other");
    let other_path = other.file("");
    issue(&other_path, &[Holder::client("any"), Holder::member("a")]);
    run(async {
        let why = client(&port, Some(keys(&other_path, "any"))).members().await.unwrap_err();
        assert!(
            matches!(why, ClientError::NotTrusted { .. } | ClientError::Broken { .. }),
            "{why}"
        );
        let why = client(&port, None).members().await.unwrap_err();
        assert!(matches!(why, ClientError::Broken { .. }), "{why}");
    });
    // One that says nothing holds up nobody.
    let _silent: Vec<_> =
        (0..100).map(|_| std::net::TcpStream::connect(&port).expect("it is open")).collect();
    let path = folder.file("");
    run(async {
        granted(&client(&port, Some(keys(&path, "any"))), "1", "a").await.expect("it may")
    });
    wait_for("they are counted", || {
        let cut = daemon.metric("vorrang_connections_cut_total{reason=\"handshake\"}");
        cut.filter(|it| *it >= 2.0)
    });
}

#[test]
fn certificates_are_read_again_on_a_hang_up() {
    let folder = Folder::new("again");
    let (daemon, port) = start(&folder);
    let path = folder.file("");
    let before = daemon.metric("vorrang_certificate_expiry_seconds").expect("it has one");
    // Another authority, and with it certificates for all.
    std::thread::sleep(Duration::from_secs(1));
    issue(&path, &[Holder::member("a"), Holder::client("any")]);
    daemon.signal(Signal::HUP);
    wait_for("it has another one", || {
        daemon.metric("vorrang_certificate_expiry_seconds").filter(|it| *it > before)
    });
    run(async {
        granted(&client(&port, Some(keys(&path, "any"))), "1", "a").await.expect("it may")
    });
    std::fs::write(folder.file("a.pem"), "nonsense").expect("it can be written");
    daemon.signal(Signal::HUP);
    wait_for("it is said", || daemon.log().contains("the keys stay as they were").then_some(()));
    run(async {
        granted(&client(&port, Some(keys(&path, "any"))), "2", "b").await.expect("it may")
    });
}

#[test]
fn keys_that_are_wrong_are_named_before_anything_is_done() {
    let folder = Folder::new("wrong");
    let (daemon, _) = start(&folder);
    drop(daemon);
    std::fs::copy(folder.file("ci.key"), folder.file("a.key")).expect("it can be copied");
    let config = folder.path("a.toml");
    for option in ["--check-config", "--leave-within=1s"] {
        let output = support::run(&mut support::vorrang(&["serve", option, "--config", &config]));
        let why = support::stderr(&output);
        assert_eq!(output.status.code(), Some(78), "{why}");
        assert!(why.contains("a.key"), "{why}");
    }
}

/// Members ask each other who holds what with their own certificates.
#[test]
fn lists_are_gathered_over_tls() {
    let folder = Folder::new("gathered-tls");
    let path = folder.file("");
    issue(&path, &[Holder::member("a"), Holder::member("b")]);
    let [a, b, ah, bh] = ports();
    let start = |name: &str, http: &str| {
        let config = folder.file(&format!("{name}.toml"));
        let text = format!(
            "name = '{name}'\n[http]\nlisten = '{http}'\n[tls]\nauthority = 'ca.pem'\n\
             certificate = '{name}.pem'\nkey = '{name}.key'\n\
             [[member]]\nname = 'a'\naddress = '{a}'\nhttp = '{ah}'\n\
             [[member]]\nname = 'b'\naddress = '{b}'\nhttp = '{bh}'\n"
        );
        std::fs::write(&config, text).expect("it can be written");
        Daemon::spawn(&folder, name, &["--config", config.to_str().expect("UTF-8")], |_| ())
    };
    let (one, two) = (start("a", &ah), start("b", &bh));
    one.wait_until_it_answers();
    two.wait_until_it_answers();
    one.wait_until_it_is_ready();
    two.wait_until_it_is_ready();
    let mut hold = two.hold("1", r#"{"kind":"lock","name":"x"}"#);
    hold.granted();
    let locks = one.get("/v1/locks").json();
    assert_eq!(locks["unreached"], serde_json::json!([]), "{locks}");
    assert_eq!(locks["holds"][0]["member"], "b");
}

/// Who may join stands in the configuration, which is read again on a hang-up; so do those who are
/// not in it any more stay out.
#[test]
fn who_may_join_is_read_again_on_a_hang_up() {
    let folder = Folder::new("newcomers");
    issue(&folder.file(""), &[Holder::member("a"), Holder::member("d")]);
    let [a, d] = ports();
    let write = |name: &str, more: &str, newcomers: &str| {
        let text = format!(
            "name = '{name}'\nmargin = '3s'\n{more}\n[[member]]\nname = 'a'\naddress = '{a}'\n\
             [tls]\nauthority = 'ca.pem'\ncertificate = '{name}.pem'\nkey = '{name}.key'\n\
             newcomers = [{newcomers}]\n"
        );
        std::fs::write(folder.file(&format!("{name}.toml")), text).expect("it can be written");
    };
    let start = |name: &str| {
        let config = folder.path(&format!("{name}.toml"));
        Daemon::spawn(&folder, name, &["--config", &config], |_| ())
    };
    write("a", "", "");
    write("d", &format!("address = '{d}'\njoin = ['{a}']"), "");
    let first = start("a");
    first.wait_until_it_answers();
    let mut refused = start("d");
    assert_eq!(refused.ends().code(), Some(69), "{}", refused.log());
    let why = "does not accept our certificate, that of member d";
    assert!(refused.log().contains(why), "{}", refused.log());

    write("a", "max-hold = '7s'", &format!("'d={d}'"));
    first.signal(Signal::HUP);
    wait_for("it is said", || first.log().contains("these may join: [d]").then_some(()));
    // All else waits for a new start, which is said.
    let is_said = first.log().lines().any(|it| it.ends_with("other values count of max-hold"));
    assert!(is_said, "{}", first.log());
    let joined = start("d");
    joined.wait_until_it_answers();
    let is_in = |daemon: &Daemon| {
        let members = daemon.get("/v1/members").json();
        let list = members["members"].as_array()?.clone();
        // It is known by the name in its certificate.
        list.iter().find(|it| it["name"] == "d" && it["state"] == "member").map(|_| ())
    };
    wait_for("both know", || is_in(&first).and(is_in(&joined)));
    joined.hold("1", r#"{"kind":"lock","name":"x"}"#).granted();

    std::fs::write(folder.file("a.toml"), "lease = 'soon'").expect("it can be written");
    first.signal(Signal::HUP);
    wait_for("it is said", || {
        first.log().contains("the configuration stays as it was").then_some(())
    });
    assert_eq!(is_in(&first), Some(()));
}
