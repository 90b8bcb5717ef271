//! Members that are evicted and let vote by hand, and a group that goes on from one directory.

use std::fs;
use std::time::Duration;

use tokio::time::timeout;
use vorrang_lock::{Config, Group, LockError, Loss, MemberInfo, Recovery, RecoveryError};
use vorrang_testkit::Folder;

use crate::support::{Places, group, patient, soon, together};

fn member(group: &Group, name: &str) -> MemberInfo {
    let members = group.members().members;
    members.into_iter().find(|it| it.name == name).expect("it is known")
}

#[tokio::test]
async fn whoever_is_evicted_loses_what_it_holds_and_votes_when_it_is_added() {
    let folder = Folder::new("lock-evict");
    let members = Places::with_data(3, &patient(), &folder).await.start().await;
    for member in &members {
        together(member, 3).await;
    }
    let guard = soon("a grant", members[1].lock("a")).await.unwrap();
    let before = member(&members[0], "b").life;
    soon("the eviction", members[0].evict("b")).await.unwrap();
    // It is so when that returns.
    let now = member(&members[0], "b");
    assert!(now.life != before && !now.is_voter, "{now:?}");
    assert_eq!(soon("the loss", guard.lost()).await, Loss::Removed);
    assert_eq!(guard.is_lost().map(|it| it.code()), Some("evicted"));
    let evicted = members[1].members().evicted.expect("it is told");
    assert!(evicted.why.contains("asked a member to evict this one"), "{}", evicted.why);
    together(&members[1], 3).await;
    together(&members[0], 3).await;
    let after = member(&members[0], "b");
    assert!(after.is_in_view && !after.is_voter && after.life > before, "{after:?}");
    soon("a grant", members[1].lock("a")).await.unwrap();
    // Any member may say it, also of itself; and once is enough.
    for _ in 0..2 {
        soon("a vote", members[1].add_voter("b")).await.unwrap();
        assert!(member(&members[1], "b").is_voter);
    }
    soon("the eviction", members[2].evict("c")).await.unwrap();
    let why = members[0].evict("zorro").await.unwrap_err();
    assert_eq!(why, LockError::NotAMember("zorro".to_owned()));
    let why = members[0].add_voter(&"\x1bz".repeat(300)).await.unwrap_err().to_string();
    assert!(why.len() < 600 && why.contains(r"\u{1b}z") && !why.contains('\x1b'), "{why}");
}

#[tokio::test]
async fn without_data_nobody_is_let_vote_and_the_last_one_stays() {
    let members = group(2, &patient()).await;
    let why = members[0].add_voter("b").await.unwrap_err();
    assert!(why.to_string().contains("keeps nothing on disk"), "{why}");
    let before = member(&members[0], "b").life;
    soon("the eviction", members[0].evict("b")).await.unwrap();
    assert_ne!(member(&members[0], "b").life, before);
    together(&members[1], 2).await;
    let alone = Group::start(patient()).await.unwrap();
    soon("a view", alone.lock("a")).await.unwrap();
    let why = alone.evict("a").await.unwrap_err();
    assert_eq!(why.to_string(), "'a' is the only member of the group");
    let why = Recovery::look(&patient()).unwrap_err();
    assert!(matches!(why, RecoveryError::NoData), "{why}");
}

#[tokio::test]
async fn the_one_that_is_left_goes_on_alone_when_it_is_told_to() {
    let folder = Folder::new("lock-recover");
    let config = Config { margin: Duration::from_millis(1500), ..patient() };
    let places = Places::with_data(3, &config, &folder).await;
    let configs: Vec<Config> = places.0.iter().map(|it| it.1.clone()).collect();
    let mut members = places.start().await;
    for member in &members {
        together(member, 3).await;
    }
    let token = soon("a grant", members[0].lock("a")).await.unwrap().token();
    let why = Recovery::look(&configs[0]).unwrap_err();
    assert!(why.to_string().contains("is used by another process"), "{why}");
    for lost in ["c", "b"] {
        members.pop().expect("one").kill().await;
        fs::remove_dir_all(folder.file(lost)).unwrap();
    }
    let evicts = members[0].evict("b");
    assert!(timeout(Duration::from_millis(200), evicts).await.is_err(), "there is no majority");
    members.remove(0).kill().await;
    let expected = Recovery::look(&configs[0]).unwrap();
    assert_eq!((expected.member.as_str(), expected.others.join(", ").as_str()), ("a", "b, c"));
    let done = Recovery::force(&configs[0]).await.unwrap();
    assert!(done.view > done.before && done.before >= expected.before, "{done:?}");
    let alone = Group::start(configs[0].clone()).await.unwrap();
    assert!(soon("a grant", alone.lock("a")).await.unwrap().token() > token);
    assert!(alone.members().view > done.before);
    let again = Group::start(configs[1].clone()).await.unwrap();
    together(&again, 2).await;
    soon("a vote", alone.add_voter("b")).await.unwrap();
}
