//! Groups with keys in their configuration.

use std::path::Path;

use tokio::net::TcpListener;
use vorrang_lock::tls::{Holder, MemberList};
use vorrang_lock::{Config, Group, MemberAddress, OpenError, TlsFiles};

use super::support::{Keys, NAMES};
use crate::support::{patient, soon, together};

fn tls(keys: &Keys, name: &str) -> TlsFiles {
    let files = keys.files(&Holder::member(name));
    let (authority, certificate, key) = (files.authority, files.certificate, files.key);
    TlsFiles { authority, certificate, key, newcomers: Vec::new() }
}

/// Three founders with keys, each with its listener.
async fn founders(keys: &Keys) -> Vec<(TcpListener, Config)> {
    let (mut listeners, mut members) = (Vec::new(), Vec::new());
    for name in NAMES {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        members.push(MemberAddress { name: name.to_owned(), address, http: None });
        listeners.push(listener);
    }
    let of = |name: &str| Config {
        name: Some(name.to_owned()),
        members: members.clone(),
        tls: Some(tls(keys, name)),
        ..patient()
    };
    listeners.into_iter().zip(NAMES.map(of)).collect()
}

async fn start(founders: Vec<(TcpListener, Config)>) -> Vec<Group> {
    let mut groups = Vec::new();
    for (listener, config) in founders {
        groups.push(Group::start_with(listener, config).await.unwrap());
    }
    for group in &groups {
        together(group, NAMES.len()).await;
    }
    groups
}

#[tokio::test]
async fn a_group_with_keys_hands_locks_over() {
    let keys = Keys::new();
    let groups = start(founders(&keys).await).await;
    let mut last = None;
    for _ in 0..5 {
        for group in &groups {
            let guard = soon("a lock", group.lock("invoices")).await.unwrap();
            assert!(last < Some(guard.token()));
            last = Some(guard.token());
        }
    }
    let tls = groups[1].tls().unwrap();
    assert_eq!(tls.certificate().holder, Some(Holder::member("b")));
}

/// A member without keys, or with those of another, does not start.
#[tokio::test]
async fn a_member_starts_with_its_own_keys_alone() {
    let keys = Keys::new();
    let mut founders = founders(&keys).await;
    let (listener, config) = founders.remove(0);
    let wrong = Config { tls: Some(tls(&keys, "b")), ..config.clone() };
    let error = Group::start_with(listener, wrong).await.unwrap_err();
    assert!(matches!(error, OpenError::Keys(_)), "{error}");
    let words = "the certificate is that of member b, and this is member a";
    assert!(error.to_string().contains(words), "{error}");

    let missing = TlsFiles { key: "missing/a.key".into(), ..config.tls.clone().unwrap() };
    let error = Group::start(Config { tls: Some(missing), ..config }).await.unwrap_err();
    assert!(error.to_string().contains("keys: missing/a.key: cannot read"), "{error}");
}

/// A group of one has keys for its remote clients, and nobody else is a member of it.
#[tokio::test]
async fn a_group_of_one_may_have_keys() {
    let keys = Keys::new();
    let config = Config { name: Some("a".into()), tls: Some(tls(&keys, "a")), ..patient() };
    assert!(MemberList::of(&config).has("a") && !MemberList::of(&config).has("b"));
    let group = Group::start(config).await.unwrap();
    drop(soon("a lock", group.lock("invoices")).await.unwrap());
    assert!(group.tls().is_some());
}

#[tokio::test]
async fn who_may_join_stands_in_the_configuration() {
    let keys = Keys::new();
    let founders = founders(&keys).await;
    let config = founders[0].1.clone();
    let groups = start(founders).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let newcomer = Config {
        name: Some("d".to_owned()),
        address: Some(address.clone()),
        join: vec![config.members[0].address.clone()],
        tls: Some(tls(&keys, "d")),
        ..config.clone()
    };
    let error = Group::start(newcomer.clone()).await.unwrap_err().to_string();
    assert!(error.contains("it does not accept our certificate, that of member d"), "{error}");

    // All members read again who may join.
    let newcomers = vec![("d".to_owned(), address.clone())];
    let known = TlsFiles { newcomers, ..config.tls.clone().unwrap() };
    let list = MemberList::of(&Config { tls: Some(known), ..config });
    for group in &groups {
        group.tls().unwrap().accept_members(list.clone());
    }
    // Only where it said that it would be.
    let elsewhere = Config { address: Some("127.0.0.1:9".to_owned()), ..newcomer.clone() };
    let error = Group::start(elsewhere).await.unwrap_err().to_string();
    assert!(error.contains("our certificate is that of member d, which is not"), "{error}");
    let joined = Group::start_with(listener, newcomer).await.unwrap();
    together(&joined, 4).await;
    drop(soon("a lock", joined.lock("invoices")).await.unwrap());
}

#[test]
fn without_keys_only_this_machine_is_listened_to() {
    let complaint = |text: &str| {
        let config = Config::parse(text, Path::new(""));
        config.and_then(|config| config.check()).unwrap_err().to_string()
    };
    let here = "[http]\nlisten = '127.0.0.1:7480'";
    Config::parse(here, Path::new("")).unwrap().check().unwrap();
    let said = complaint("[http]\nlisten = '10.0.0.1:7480'");
    assert!(said.contains("http.listen = \"10.0.0.1:7480\" is not on this machine"), "{said}");
    let said = complaint("name = 'a'\n[[member]]\nname = 'a'\naddress = 'db1:7400'");
    assert!(said.contains("member.address = \"db1:7400\" is not on this machine"), "{said}");
    let said = complaint("[tls]\nnewcomers = ['d=10.0.0.4:7400']");
    assert_eq!(said, "[tls] has no authority: it takes authority, certificate and key");
    let said = complaint("[tls]\nnewcomers = ['10.0.0.4:7400']");
    assert!(said.contains("write NAME=HOST:PORT, as in a=127.0.0.1:7400"), "{said}");
    let keys = "http.listen = '10.0.0.1:7480'\n[tls]\nauthority = 'ca.pem'\ncertificate = 'a.pem'\n\
                key = 'a.key'\nnewcomers = ['d=10.0.0.4:7400', 'e=10.0.0.5:7400']\n\
                [[member]]\nname = 'a'\naddress = 'db1:7400'";
    let config = Config::parse(keys, Path::new("/etc")).unwrap();
    let config = Config { name: Some("a".to_owned()), ..config };
    config.check().unwrap();
    assert_eq!(Config::parse(&config.to_toml(), Path::new("/etc")).unwrap(), config);
}
