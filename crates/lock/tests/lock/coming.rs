//! Members that join, leave, and do not fit.

use std::future::Future;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::sleep;
use vorrang_lock::{Config, Group, LockError, Loss, Members, OpenError};
use vorrang_testkit::Folder;

use crate::support::{Places, patient, soon, together};

/// An address of this machine that is free.
async fn free_address() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

async fn join(by: Vec<String>) -> (Group, String) {
    let (listener, address) = free_address().await;
    let config = Config { join: by, address: Some(address.clone()), ..patient() };
    (soon("to be let in", Group::start_with(listener, config)).await.unwrap(), address)
}

#[tokio::test]
async fn those_who_know_one_member_join_and_are_known_by_their_address() {
    let places = Places::new(2, &patient()).await;
    let addresses: Vec<String> =
        places.0[0].1.members.iter().map(|it| it.address.clone()).collect();
    let members = places.start().await;
    together(&members[0], 2).await;
    // Nobody is at the first address.
    let (_, nobody) = free_address().await;
    let (one, at) = join(vec![nobody.clone(), addresses[0].clone()]).await;
    // At once, by two members.
    let (two, three) =
        tokio::join!(join(vec![addresses[0].clone()]), join(vec![addresses[1].clone()]));
    for member in members.iter().chain([&one, &two.0, &three.0]) {
        together(member, 5).await;
    }
    // Who is in a view is known before where it is.
    let mut changes = members[1].changes();
    let joined = [&at, &two.1, &three.1];
    let are_known = |it: &Members| {
        let names: Vec<&str> = it.members.iter().map(|it| it.name.as_str()).collect();
        names[..2] == ["a", "b"] && joined.iter().all(|it| names.contains(&it.as_str()))
    };
    soon("all names", changes.wait_for(are_known)).await.unwrap();
    let guard = soon("a grant", one.lock("a")).await.unwrap();
    let mut observer = members[0].observe("e").await.unwrap();
    let leads = soon("to lead", one.campaign("e", "v")).await.unwrap();
    let leader = soon("the leader", async {
        loop {
            if let Some(leader) = observer.next().await.unwrap() {
                return leader;
            }
        }
    });
    assert_eq!(leader.await.member, at);
    drop((guard, leads));
    soon("a grant", three.0.lock("a")).await.unwrap();

    let config = Config { join: vec![nobody.clone()], address: Some(at), ..patient() };
    let why = Group::start(config).await.unwrap_err();
    assert!(matches!(why, OpenError::Join(_)) && why.to_string().contains(&nobody), "{why}");
}

#[tokio::test]
async fn a_group_of_one_with_an_address_can_be_joined() {
    let (listener, address) = free_address().await;
    let config = Config { address: Some(address.clone()), ..patient() };
    let first = Group::start_with(listener, config).await.unwrap();
    let guard = soon("a grant", first.lock("a")).await.unwrap();
    let (second, _) = join(vec![address]).await;
    together(&second, 2).await;
    assert!(second.try_lock("a").await.unwrap().is_none());
    drop(guard);
    soon("a grant", second.lock("a")).await.unwrap();
}

/// Nobody is suspected for half a minute.
fn unsuspecting() -> Config {
    Config { margin: Duration::from_secs(30), ..patient() }
}

/// The others need not find out by themselves.
async fn before_suspicion<T>(future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(Duration::from_secs(20), future).await;
    outcome.expect("they were told")
}

#[tokio::test]
async fn whoever_leaves_waits_for_its_clients_and_the_others_go_on_at_once() {
    let folder = Folder::new("lock-leaves");
    let places = Places::with_data(3, &unsuspecting(), &folder).await;
    let mut members = places.start().await;
    together(&members[0], 3).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    let busy = soon("a grant", members[0].lock("busy")).await.unwrap();
    let other = soon("a grant", members[1].lock("b")).await.unwrap();
    let waits = tokio::spawn({
        let member = members[0].clone();
        async move { member.lock("b").await }
    });
    while members[0].holds().len() < 3 {
        sleep(Duration::from_millis(5)).await;
    }
    let leaves = members.remove(0);
    let left = tokio::spawn({
        let leaves = leaves.clone();
        async move { leaves.leave(Duration::from_secs(1)).await }
    });
    let refused = soon("a refusal", waits).await.unwrap().unwrap_err();
    assert_eq!(refused, LockError::Leaving);
    assert_eq!(leaves.lock("c").await.unwrap_err(), LockError::Leaving);
    assert!(guard.is_lost().is_none(), "it has time to release");
    guard.release().await.unwrap();
    assert_eq!(soon("the loss", busy.lost()).await, Loss::Left);
    soon("it has left", left).await.unwrap().unwrap();
    before_suspicion(members[0].lock("busy")).await.unwrap();
    assert!(other.is_lost().is_none());
    let known = members[0].members();
    assert_eq!(known.members.iter().filter(|it| it.is_in_view).count(), 2);
}

#[tokio::test]
async fn a_group_of_one_is_left_at_once() {
    let group = Group::start(patient()).await.unwrap();
    let (other, held) = (group.clone(), soon("a grant", group.lock("a")).await.unwrap());
    let left = tokio::spawn(group.leave(Duration::from_secs(60)));
    soon("the time to release", async {
        while other.lock("b").await.map(drop) != Err(LockError::Leaving) {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(!left.is_finished());
    drop(held);
    soon("it has left", left).await.unwrap().unwrap();
    let why = other.leave(Duration::ZERO).await.unwrap_err();
    assert!(matches!(why, LockError::Stopped(_)), "{why}");
}

#[tokio::test]
async fn a_member_that_is_dropped_leaves() {
    let folder = Folder::new("lock-dropped");
    let mut members = Places::with_data(2, &unsuspecting(), &folder).await.start().await;
    together(&members[0], 2).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    drop(members.remove(0));
    assert!(guard.is_lost().is_none(), "a guard keeps its member");
    drop(guard);
    before_suspicion(members[0].lock("a")).await.unwrap();
    together(&members[0], 1).await;
}

#[tokio::test]
async fn those_who_are_set_up_differently_refuse_each_other_and_name_what_differs() {
    let mut places = Places::new(2, &patient()).await;
    places.0[1].1.batch_clients = 17;
    let members = places.start().await;
    let mut changes = members[0].changes();
    let is_told = |it: &Members| it.members.iter().any(|it| it.name == "b" && it.trouble.is_some());
    let told = soon("the trouble", async {
        loop {
            let now = changes.borrow_and_update().clone();
            let words = now.members.iter().find_map(|it| it.trouble.clone());
            if words.as_ref().is_some_and(|it| it.contains("batch-clients")) && is_told(&now) {
                return words.unwrap();
            }
            changes.changed().await.unwrap();
        }
    });
    let told = told.await;
    assert!(told.contains("batch-clients=16") && told.contains("batch-clients=17"), "{told}");
    let why = members[0].lock_within("a", Duration::from_millis(10)).await.unwrap_err();
    assert!(why.to_string().contains("there is no view yet: the founders (a, b)"), "{why}");
}
