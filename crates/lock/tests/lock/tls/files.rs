//! The files of keys: what is wrong with them is said when they are read, with the file's name.

use std::fs;
use std::time::{Duration, SystemTime};

use rustls::version::TLS13;
use tokio::io::AsyncWriteExt as _;
use vorrang_lock::tls::{Holder, KeyError, KeyFiles, MemberList, Tls};
use vorrang_net::wire::Frame;
use vorrang_testkit::Folder;

use super::support::{
    Keys, Shown, bytes, call, config, first_frame, hello, list, places, start, write_key,
};

fn load(files: &KeyFiles) -> Result<Tls, KeyError> {
    Tls::load(files.clone(), "a", MemberList::new([("a", "h:1"), ("b", "h:2")]))
}

#[test]
fn what_is_wrong_with_keys_is_said_when_they_are_read() {
    let (keys, others) = (Keys::new(), Keys::new());
    let a = Holder::member("a");
    let good = keys.files(&a);
    load(&good).unwrap();

    let complaint = |files: &KeyFiles| load(files).unwrap_err().to_string();
    let expired = keys.write(&keys.issue_at(&a, -2));
    let early = keys.write(&keys.issue_at(&a, 2));
    let folder = Folder::new("files");
    let text = folder.file("empty.pem");
    fs::write(&text, "nothing\n").unwrap();
    let missing = folder.file("missing.pem");
    let is_about = |files: KeyFiles, words: &[&str]| {
        let said = complaint(&files);
        for word in words {
            assert!(said.contains(word), "{said} does not say {word}");
        }
    };
    let path = |path: &std::path::Path| path.display().to_string();

    is_about(
        KeyFiles { authority: others.ca(), ..good.clone() },
        &[
            &path(&good.certificate),
            "of member a was issued by 'vorrang authority",
            "cannot be verified",
        ],
    );
    is_about(expired, &["the certificate of member a expired on 2", "'vorrang keys renew'"]);
    is_about(
        early,
        &["the certificate of member a is not valid before 2", "clock of this machine"],
    );
    is_about(
        KeyFiles { key: keys.files(&a).key, ..good.clone() },
        &["this is not the key of the certificate in", &path(&good.certificate)],
    );
    is_about(keys.files(&Holder::member("b")), &["that of member b, and this is member a"]);
    is_about(keys.files(&Holder::client("a")), &["that of client a, and this is member a"]);
    is_about(
        KeyFiles { authority: good.certificate.clone(), ..good.clone() },
        &["the certificate of member a is not that of an authority"],
    );
    is_about(KeyFiles { certificate: keys.ca(), ..good.clone() }, &["is not the key of"]);
    is_about(
        KeyFiles { authority: text.clone(), ..good.clone() },
        &[&path(&text), "no certificate in it"],
    );
    is_about(KeyFiles { certificate: text.clone(), ..good.clone() }, &["no certificate in it"]);
    is_about(
        KeyFiles { key: good.certificate.clone(), ..good.clone() },
        &[
            // Certificates may be read by everybody, which keys may not.
            &path(&good.certificate),
            "chmod 600",
        ],
    );
    is_about(
        KeyFiles { key: missing.clone(), ..good.clone() },
        &[&path(&missing), "cannot read the private key: No such file"],
    );
    let error = Tls::load(good, "a", MemberList::new([("b", "h:2")])).unwrap_err().to_string();
    assert!(error.contains("member a, which is not one of the members b"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_key_that_everybody_can_read_is_refused_and_one_of_a_group_is_not() {
    use std::os::unix::fs::PermissionsExt as _;

    let keys = Keys::new();
    let files = keys.files(&Holder::member("a"));
    for (mode, is_fine) in
        [(0o600, true), (0o640, true), (0o400, true), (0o644, false), (0o602, false)]
    {
        fs::set_permissions(&files.key, fs::Permissions::from_mode(mode)).unwrap();
        match load(&files) {
            Ok(_) => assert!(is_fine, "{mode:o}"),
            Err(error) => {
                let said = error.to_string();
                let words = format!("(mode {mode:04o}): say 'chmod 600 {}'", files.key.display());
                assert!(!is_fine && said.contains(&words), "{said}");
            }
        }
    }
}

#[test]
fn how_long_a_certificate_is_valid_can_be_asked() {
    let keys = Keys::new();
    let tls = load(&keys.files(&Holder::member("a"))).unwrap();
    let left = tls.certificate().valid_for(SystemTime::now()).unwrap();
    let days = Duration::from_secs(86_400);
    assert!(left <= days * 5 && left > days * 4, "{left:?}");
    let left = tls.authority().valid_for(SystemTime::now()).unwrap();
    assert!(left <= days * 10 && left > days * 9, "{left:?}");
    assert_eq!(tls.certificate().valid_for(SystemTime::now() + days * 6), None);
}

/// The files are those of another authority by now: whoever is accepted with the one is refused
/// with the other.
#[tokio::test]
async fn keys_are_read_again_on_request_and_stay_as_they_were_if_they_are_wrong() {
    let (keys, next) = (Keys::new(), Keys::new());
    let (mut listeners, peers) = places(3).await;
    let files = keys.files(&Holder::member("a"));
    let tls = Tls::load(files.clone(), "a", list(&peers)).unwrap();
    let _node = start(&tls, listeners.remove(0), config(0, &peers)).await;

    let is_let_in = async |keys: &Keys| {
        let shown = Shown::from(&keys.issue(&Holder::member("c")));
        // An alert comes, or nothing until the stranger says something.
        let Ok(mut stream) = call(&peers[0], Some(&shown), &TLS13).await else { return false };
        let _ = stream.write_all(&bytes(&Frame::Hello(hello(2, 0, &peers)))).await;
        first_frame(&mut stream).await.is_ok()
    };
    assert!(is_let_in(&keys).await && !is_let_in(&next).await);

    let before = tls.certificate();
    fs::write(&files.certificate, "nothing\n").unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("there is no certificate in it"), "{error}");
    assert_eq!(tls.certificate(), before);
    assert!(is_let_in(&keys).await && !is_let_in(&next).await, "as before");

    let issued = next.issue(&Holder::member("a"));
    let ours = fs::read_to_string(&files.authority).unwrap();
    fs::copy(next.ca(), &files.authority).unwrap();
    fs::write(&files.certificate, &issued.certificate).unwrap();
    write_key(&files.key, &issued.key);
    let read = tls.reload().unwrap();
    assert_eq!(read, tls.certificate());
    assert_ne!(read, before);
    assert!(!is_let_in(&keys).await && is_let_in(&next).await);

    // Both authorities, while the one takes over from the other.
    let both = [fs::read_to_string(next.ca()).unwrap(), ours].concat();
    fs::write(&files.authority, both).unwrap();
    tls.reload().unwrap();
    assert!(is_let_in(&keys).await && is_let_in(&next).await);

    // A name that is taken off the list.
    tls.accept_members(MemberList::new([("a", &peers[0]), ("b", &peers[1])]));
    assert!(!is_let_in(&keys).await);
}
