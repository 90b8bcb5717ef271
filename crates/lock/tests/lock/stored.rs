//! Members with a data directory.

use std::fs;
use std::time::Duration;

use vorrang_lock::{Config, Group, LockError, OpenError};
use vorrang_testkit::Folder;

use crate::support::{Places, patient, soon, together};

#[tokio::test]
async fn when_all_are_killed_and_start_again_tokens_grow() {
    let folder = Folder::new("lock-stored");
    let places = Places::with_data(3, &patient(), &folder).await;
    let configs: Vec<Config> = places.0.iter().map(|it| it.1.clone()).collect();
    let mut members = places.start().await;
    let mut newest = None;
    for _ in 0..3 {
        for member in &members {
            together(member, 3).await;
        }
        let guard = soon("a grant", members[1].lock("a")).await.unwrap();
        assert!(newest < Some(guard.token()), "{newest:?} {guard:?}");
        newest = Some(guard.token());
        for member in members.drain(..) {
            member.kill().await;
        }
        drop(guard);
        for config in &configs {
            members.push(Group::start(config.clone()).await.unwrap());
        }
    }
}

#[tokio::test]
async fn whoever_has_left_comes_back() {
    let folder = Folder::new("lock-left");
    let places = Places::with_data(3, &patient(), &folder).await;
    let config = places.0[0].1.clone();
    let mut members = places.start().await;
    together(&members[0], 3).await;
    members.remove(0).leave(Duration::from_secs(1)).await.unwrap();
    together(&members[0], 2).await;
    let again = Group::start(config).await.unwrap();
    together(&again, 3).await;
    soon("a grant", again.lock("a")).await.unwrap();
}

#[tokio::test]
async fn a_directory_is_for_one_process_and_one_group() {
    let folder = Folder::new("lock-owned");
    let data = Some(folder.file("one"));
    let config = Config { data, ..patient() };
    let first = Group::start(config.clone()).await.unwrap();
    let why = Group::start(config.clone()).await.unwrap_err();
    assert!(matches!(why, OpenError::Storage(_)), "{why}");
    let why = why.to_string();
    assert!(why.starts_with("data: ") && why.contains("is used by another process"), "{why}");
    first.kill().await;
    let other = Config { group: "other".to_owned(), ..config.clone() };
    let why = Group::start(other).await.unwrap_err().to_string();
    assert!(why.contains("belongs to the group 'default'"), "{why}");
    let other = Config { batch_clients: 99, ..config.clone() };
    let why = Group::start(other).await.unwrap_err().to_string();
    assert!(why.contains("batch-clients=99"), "{why}");
    Group::start(config).await.unwrap();
}

#[tokio::test]
async fn if_the_disk_fails_the_member_stops_and_says_why() {
    let folder = Folder::new("lock-broken");
    let places = Places::with_data(3, &patient(), &folder).await;
    let mut members = places.start().await;
    for member in &members {
        together(member, 3).await;
    }
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    // The next view must be stored before it begins.
    fs::remove_dir_all(folder.file("a")).unwrap();
    members.remove(2).kill().await;
    let loss = soon("the loss", guard.lost()).await;
    assert_eq!(loss.code(), "stopped");
    let words = loss.to_string();
    assert!(words.contains("cannot write") && words.contains("state.new"), "{words}");
    let why = members[0].lock("b").await.unwrap_err();
    assert!(matches!(why, LockError::Stopped(_)), "{why}");
    assert!(why.to_string().contains("cannot write"), "{why}");
    assert!(members[0].members().stopped.is_some_and(|it| it.contains("cannot write")));
}
