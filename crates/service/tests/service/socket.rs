//! Where the daemon listens, and who gets in there.

use std::io::{Write as _, copy};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::process::Signal;
use vorrang_service::api::{HoldEvent, HoldRequest};
use vorrang_service::client::{Client, Target, new_id};
use vorrang_testkit::Folder;

use crate::support::{Daemon, run, stderr, vorrang};

#[test]
fn only_its_user_may_use_the_socket_unless_it_is_told_otherwise() {
    let folder = Folder::new("mode");
    let mode = |daemon: &Daemon| {
        let found = std::fs::metadata(&daemon.socket).expect("the socket is there");
        assert!(found.file_type().is_socket());
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(&Daemon::start(&folder, "usual", &[])), 0o600);
    assert_eq!(mode(&Daemon::start(&folder, "open", &["--socket-mode", "0660"])), 0o660);
}

#[test]
fn without_a_word_it_is_in_the_folder_for_what_runs() {
    let folder = Folder::new("runtime");
    let directory = folder.file("");
    let shown = run(vorrang(&["serve", "--show-config"]).env("XDG_RUNTIME_DIR", &directory));
    let wanted = format!("socket = \"{}\"  # default", directory.join("vorrang.sock").display());
    let text = String::from_utf8(shown.stdout).expect("text");
    assert!(text.contains(&wanted), "{text}");

    let shown = run(&mut vorrang(&["serve", "--show-config"]));
    let text = String::from_utf8(shown.stdout).expect("text");
    let user = rustix::process::getuid();
    let wanted = if user.is_root() {
        "socket = \"/run/vorrang.sock\"".to_owned()
    } else {
        format!("socket = \"/tmp/vorrang-{}.sock\"", user.as_raw())
    };
    assert!(text.contains(&wanted), "{text}");
}

#[test]
fn a_second_daemon_at_one_socket_is_refused_and_the_first_goes_on() {
    let folder = Folder::new("two");
    let first = Daemon::start(&folder, "s", &[]);
    for is_stopped in [false, true] {
        // One that is stopped answers nobody, and is there all the same.
        if is_stopped {
            first.signal(Signal::STOP);
        }
        let mut second = vorrang(&["serve", "--socket"]);
        let output = run(second.arg(&first.socket));
        let why = stderr(&output);
        assert_eq!(output.status.code(), Some(74), "{why}");
        assert!(why.contains("another daemon listens at"), "{why}");
        assert!(why.contains(&format!("(process {})", first.id())), "{why}");
        if is_stopped {
            first.signal(Signal::CONT);
        }
    }
    let mut hold = first.hold("1", r#"{"kind":"lock","name":"a"}"#);
    hold.granted();
}

#[test]
fn the_socket_of_a_daemon_that_was_killed_is_taken_over_and_removed_at_the_end() {
    let folder = Folder::new("stale");
    let mut first = Daemon::start(&folder, "s", &[]);
    first.signal(Signal::KILL);
    first.ends();
    assert!(first.socket.exists(), "nobody has removed it");
    let mut second = Daemon::start(&folder, "s", &[]);
    second.hold("1", r#"{"kind":"lock","name":"a"}"#).granted();
    second.signal(Signal::TERM);
    assert_eq!(second.ends().code(), Some(0));
    assert!(!second.socket.exists());
}

#[test]
fn two_daemons_with_one_data_directory_are_one_too_many() {
    let folder = Folder::new("data");
    let data = folder.path("data");
    let first = Daemon::start(&folder, "one", &["--data", &data]);
    let mut second = vorrang(&["serve", "--data", &data, "--socket"]);
    let output = run(second.arg(folder.file("two.sock")));
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(74), "{why}");
    assert!(why.contains("data") && why.contains("another process"), "{why}");
    assert!(!folder.file("two.sock").exists());
    first.hold("1", r#"{"kind":"lock","name":"a"}"#).granted();
    drop(first);
    // It is that of a member of this group.
    let mut other = vorrang(&["serve", "--group", "other", "--data", &data, "--socket"]);
    let output = run(other.arg(folder.file("two.sock")));
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(74), "{why}");
    assert!(why.contains("belongs to the group 'default', and this node has the group 'other'"));
}

/// Something between a client and the daemon that counts connections.
struct Counting {
    socket: PathBuf,
    count: Arc<AtomicUsize>,
}

impl Counting {
    fn before(daemon: &Path, socket: PathBuf) -> Self {
        let listener = UnixListener::bind(&socket).expect("a socket");
        let count = Arc::new(AtomicUsize::new(0));
        let (daemon, counted) = (daemon.to_owned(), Arc::clone(&count));
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a connection");
                counted.fetch_add(1, Ordering::SeqCst);
                let Ok(daemon) = UnixStream::connect(&daemon) else { continue };
                let other_ends = (client.try_clone(), daemon.try_clone());
                let (to_client, to_daemon) =
                    (other_ends.0.expect("an end"), other_ends.1.expect("an end"));
                thread::spawn(move || pass_on(client, to_daemon));
                thread::spawn(move || pass_on(daemon, to_client));
            }
        });
        Self { socket, count }
    }
}

fn pass_on(mut from: UnixStream, mut to: UnixStream) {
    // However it ends, the other end is told.
    let _ = copy(&mut from, &mut to);
    let _ = to.flush();
    let _ = to.shutdown(Shutdown::Both);
}

#[tokio::test]
async fn a_client_keeps_its_connections_and_opens_others_when_the_daemon_is_another() {
    async fn lock(client: &Client) {
        let id = new_id();
        let mut hold = client.hold(&id, &HoldRequest::lock("x")).await.expect("an answer");
        loop {
            let event = hold.next().await.expect("a line").expect("another line");
            if let HoldEvent::Granted { .. } = event {
                break;
            }
        }
        client.release(&id).await.expect("it is released");
        while hold.next().await.expect("the end").is_some() {}
    }
    let folder = Folder::new("kept");
    let daemon = Daemon::start(&folder, "a", &[]);
    let between = Counting::before(&daemon.socket, folder.file("between.sock"));
    let client = Client::new(Target::Socket(between.socket.clone()));
    for _ in 0..3 {
        lock(&client).await;
    }
    // One for what is told of a hold, and one for what is asked meanwhile.
    assert_eq!(between.count.load(Ordering::SeqCst), 2);

    drop(daemon);
    let _daemon = Daemon::start(&folder, "a", &[]);
    lock(&client).await;
    assert_eq!(between.count.load(Ordering::SeqCst), 4);
}
