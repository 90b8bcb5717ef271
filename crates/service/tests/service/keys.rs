//! `vorrang keys`, as a program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use vorrang_lock::tls::issue::{AUTHORITY_DAYS, DAYS};
use vorrang_lock::tls::{Certificate, ClientTls, Holder, KeyFiles, MemberList, Tls};
use vorrang_testkit::Folder;

fn keys(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vorrang-service"));
    command.current_dir(folder).arg("keys").args(arguments).output().unwrap()
}

/// What it prints if all is well.
fn fine(folder: &Folder, arguments: &[&str]) -> String {
    let output = keys(folder, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The exit code and what it complains about.
fn wrong(folder: &Folder, arguments: &[&str]) -> (i32, String) {
    let output = keys(folder, arguments);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn files(folder: &Folder, name: &str) -> KeyFiles {
    KeyFiles {
        authority: folder.file("keys/ca.pem"),
        certificate: folder.file(&format!("keys/{name}.pem")),
        key: folder.file(&format!("keys/{name}.key")),
    }
}

fn certificate(path: &Path) -> Certificate {
    Certificate::read_file(path).unwrap().remove(0)
}

/// For how many days it is valid from now on.
fn days(path: &Path) -> u64 {
    let left = certificate(path).valid_for(SystemTime::now()).unwrap();
    // Issued a moment ago.
    (left + Duration::from_secs(3600)).as_secs() / 86_400
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_authority_and_members_are_made_in_one_go() {
    let folder = Folder::new("keys");
    let said = fine(&folder, &["init", "keys", "--members", "a,b=10.0.0.2,c"]);
    let all = ["a.key", "a.pem", "b.key", "b.pem", "c.key", "c.pem", "ca.key", "ca.pem"];
    assert_eq!(names(&folder.file("keys")), all);
    for name in all {
        assert!(said.contains(&format!("keys/{name}  ")), "{said}");
        let mode = fs::metadata(folder.file(&format!("keys/{name}"))).unwrap().permissions().mode();
        let expected = if name.contains(".key") { 0o600 } else { 0o644 };
        assert_eq!(mode & 0o777, expected, "{name}");
    }
    let mode = fs::metadata(folder.file("keys")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(said.contains("keys/a.pem  member a, valid from 2"), "{said}");
    for name in ["a", "b", "c"] {
        let list = MemberList::new([("a", "h:1"), ("b", "h:2"), ("c", "h:3")]);
        Tls::load(files(&folder, name), name, list).unwrap();
    }
    assert_eq!(certificate(&folder.file("keys/a.pem")).hosts, ["a"]);
    assert_eq!(certificate(&folder.file("keys/b.pem")).hosts, ["b", "10.0.0.2"]);
}

/// A year, and ten for the authority.
#[test]
fn certificates_are_valid_for_as_long_as_is_said() {
    assert_eq!((DAYS, AUTHORITY_DAYS), (365, 3653));
    let folder = Folder::new("keys");
    fine(&folder, &["init", "keys", "--members", "a"]);
    fine(&folder, &["client", "keys", "ci"]);
    fine(&folder, &["member", "keys", "d", "--days", "7"]);
    let valid = |name: &str| days(&folder.file(&format!("keys/{name}.pem")));
    assert_eq!([valid("a"), valid("ci"), valid("d"), valid("ca")], [365, 365, 7, 3653]);
    let help = fine(&folder, &["init", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[default: 365]") && help.contains("[default: 3653]"), "{help}");
    let begins = certificate(&folder.file("keys/a.pem")).not_before;
    let before = SystemTime::now().duration_since(begins).unwrap();
    assert!(before >= Duration::from_secs(3600), "clocks of machines differ");

    let short = Folder::new("keys");
    fine(&short, &["init", "keys", "--members", "a", "--authority-days", "9"]);
    assert_eq!(days(&short.file("keys/ca.pem")), 9);
    assert_eq!(days(&short.file("keys/a.pem")), 9, "no longer than the authority");
}

#[test]
fn clients_are_no_members() {
    let folder = Folder::new("keys");
    fine(&folder, &["init", "keys", "--members", "a"]);
    let said = fine(&folder, &["client", "keys", "ci", "laptop"]);
    assert!(said.contains("keys/laptop.pem  client laptop, valid from"), "{said}");
    let client = files(&folder, "ci");
    assert_eq!(ClientTls::load(&client).unwrap().certificate().holder, Some(Holder::client("ci")));
    let error = Tls::load(client, "ci", MemberList::new([("ci", "h:1")])).unwrap_err();
    assert!(error.to_string().contains("that of client ci, and this is member ci"), "{error}");
}

#[test]
fn nothing_is_overwritten_and_what_fails_leaves_nothing() {
    let folder = Folder::new("keys");
    fine(&folder, &["init", "keys", "--members", "a"]);
    let before: Vec<_> = names(&folder.file("keys"));
    let contents = |name: &str| fs::read(folder.file(&format!("keys/{name}"))).unwrap();
    let (authority, key) = (contents("ca.key"), contents("a.key"));
    for arguments in [
        &["init", "keys", "--members", "b"][..],
        &["init", "keys", "--members", "a"],
        &["client", "keys", "a"],
        &["member", "keys", "d", "a"],
    ] {
        let (code, why) = wrong(&folder, arguments);
        assert_eq!(code, 74, "{why}");
        assert!(why.contains("is there already, and keys are never overwritten"), "{why}");
    }
    assert_eq!(names(&folder.file("keys")), before);
    assert_eq!((contents("ca.key"), contents("a.key")), (authority, key));

    // A directory that was made for it goes as well.
    let (code, why) = wrong(&folder, &["init", "other", "--members", "a=not a host"]);
    assert_eq!(code, 64, "{why}");
    assert!(why.contains("'not a host' is neither the name of a host nor an IP address"), "{why}");
    assert!(!folder.file("other").exists());
}

#[test]
fn names_are_checked() {
    let folder = Folder::new("keys");
    for (members, words) in [
        ("a,a", "the name 'a' is there twice"),
        ("a,A", "the name 'A' is there twice"),
        ("a,ca", "the name 'ca' is that of the files of the authority"),
        ("a,../b", "the name '../b' has '.' in it"),
        ("a,b/c", "the name 'b/c' has '/' in it"),
        ("a,", "the name is empty"),
    ] {
        let (code, why) = wrong(&folder, &["init", "keys", "--members", members]);
        assert_eq!(code, 64, "{why}");
        assert!(why.contains(words), "{why}");
    }
    assert!(!folder.file("keys").exists());
    let (code, why) = wrong(&folder, &["client", "keys", "ci"]);
    assert_eq!(code, 74, "{why}");
    assert!(
        why.contains("keys has no authority (ca.pem): make one with 'vorrang keys init'"),
        "{why}"
    );
    for days in ["0", "36501", "x"] {
        let (code, why) = wrong(&folder, &["init", "keys", "--members", "a", "--days", days]);
        assert!(code == 64 && why.contains(days), "{why}");
    }
}

#[test]
fn a_certificate_is_renewed_for_the_same_key() {
    let folder = Folder::new("keys");
    fine(&folder, &["init", "keys", "--members", "a=10.0.0.1", "--days", "2"]);
    let path = folder.file("keys/a.pem");
    let (before, key) = (certificate(&path), fs::read(folder.file("keys/a.key")).unwrap());
    let said = fine(&folder, &["renew", "keys", "a"]);
    assert!(said.contains("keys/a.pem  member a, valid from"), "{said}");
    let after = certificate(&path);
    assert_eq!(days(&path), 365);
    assert_eq!((&after.holder, &after.hosts), (&before.holder, &before.hosts));
    assert_eq!(fs::read(folder.file("keys/a.key")).unwrap(), key);
    Tls::load(files(&folder, "a"), "a", MemberList::new([("a", "h:1")])).unwrap();
    assert_eq!(names(&folder.file("keys")), ["a.key", "a.pem", "ca.key", "ca.pem"]);

    let (code, why) = wrong(&folder, &["renew", "keys", "a", "b"]);
    assert!(code == 74 && why.contains("keys/b.pem: cannot read the certificate"), "{why}");
    let (code, why) = wrong(&folder, &["renew", "keys", "ca"]);
    assert!(code == 64 && why.contains("that of the files of the authority"), "{why}");

    // With the key of another authority nothing is issued at all.
    fine(&folder, &["init", "other", "--members", "a"]);
    fs::copy(folder.file("other/ca.key"), folder.file("keys/ca.key")).unwrap();
    let (code, why) = wrong(&folder, &["renew", "keys", "a"]);
    assert!(
        code == 74 && why.contains("this is not the key of the authority in keys/ca.pem"),
        "{why}"
    );
    fs::copy(folder.file("other/a.pem"), folder.file("keys/a.pem")).unwrap();
    fs::copy(folder.file("keys/ca.pem"), folder.file("other/ca.pem")).unwrap();
}

/// The certificate of another authority is not renewed.
#[test]
fn an_authority_renews_only_what_it_has_issued() {
    let folder = Folder::new("keys");
    fine(&folder, &["init", "keys", "--members", "a"]);
    fine(&folder, &["init", "other", "--members", "a"]);
    fs::copy(folder.file("other/a.pem"), folder.file("keys/a.pem")).unwrap();
    let (code, why) = wrong(&folder, &["renew", "keys", "a"]);
    assert!(
        code == 74 && why.contains("the certificate of member a was issued by 'vorrang"),
        "{why}"
    );
}

#[test]
fn what_stands_in_certificates_is_shown() {
    let folder = Folder::new("keys");
    fine(&folder, &["init", "keys", "--members", "a=h.example", "--days", "30"]);
    let authority = certificate(&folder.file("keys/ca.pem")).subject;
    let said = fine(&folder, &["show", "keys/a.pem", "keys/ca.pem"]);
    assert!(said.starts_with("keys/a.pem: member a\n  valid from 2"), "{said}");
    assert!(said.contains(": 29 days left\n"), "{said}");
    assert!(said.contains(&format!("  issued by '{authority}'\n")), "{said}");
    assert!(said.contains("  also for the hosts a, h.example\n"), "{said}");
    assert!(said.contains(&format!("keys/ca.pem: the authority '{authority}'\n")), "{said}");
    let (code, why) = wrong(&folder, &["show", "keys/a.key"]);
    assert!(code == 74 && why.contains("keys/a.key: there is no certificate in it"), "{why}");
    let (code, why) = wrong(&folder, &["show", "keys/x.pem"]);
    assert!(
        code == 74 && why.contains("keys/x.pem: cannot read the certificate: No such"),
        "{why}"
    );
}
