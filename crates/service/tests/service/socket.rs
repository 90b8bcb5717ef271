//! Where the daemon listens, and who gets in there.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

use rustix::process::Signal;
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
