//! Who holds what, and with which tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use vorrang_lock::{Config, HoldState, Kind, LockError, Token};

use crate::support::{group, patient, soon};

#[tokio::test]
async fn one_at_a_time_in_three_members_with_growing_tokens() {
    let members = group(3, &patient()).await;
    let (inside, tokens) = (Arc::new(AtomicU32::new(0)), Arc::new(std::sync::Mutex::new(vec![])));
    let mut tasks = JoinSet::new();
    for member in members.iter().cycle().take(9) {
        let member = member.clone();
        let (inside, tokens) = (Arc::clone(&inside), Arc::clone(&tokens));
        tasks.spawn(async move {
            for _ in 0..20 {
                let guard = member.lock("a").await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "nobody else is inside");
                tokens.lock().unwrap().push(guard.token());
                tokio::task::yield_now().await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                if guard.token().number % 2 == 0 {
                    guard.release().await.unwrap();
                }
            }
        });
    }
    while let Some(done) = soon("all turns", tasks.join_next()).await {
        done.unwrap();
    }
    let tokens: Vec<Token> = tokens.lock().unwrap().clone();
    assert_eq!(tokens.len(), 180);
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "{tokens:?}");
    assert!(members.iter().all(|it| it.holds().is_empty()));
}

#[tokio::test]
async fn names_and_kinds_are_apart_and_holds_say_who_has_what() {
    let members = group(2, &patient()).await;
    let lock = members[0].lock("a").await.unwrap();
    let other = soon("another name", members[1].lock("b")).await.unwrap();
    let permit = soon("another kind", members[1].semaphore("a", 1)).await.unwrap();
    let leads = soon("a third kind", members[0].campaign("a", "x")).await.unwrap();
    let waits = tokio::spawn({
        let member = members[1].clone();
        async move { member.lock("a").await }
    });
    while members[1].holds().len() < 3 {
        sleep(Duration::from_millis(5)).await;
    }
    let holds = members[1].holds();
    let mine: Vec<_> = holds.iter().map(|it| (it.kind, it.name.as_str(), it.state)).collect();
    assert_eq!(
        mine,
        [
            (Kind::Lock, "b", HoldState::Holding),
            (Kind::Semaphore, "a", HoldState::Holding),
            (Kind::Lock, "a", HoldState::Waiting),
        ]
    );
    assert_eq!(holds[0].token, Some(other.token()));
    assert_eq!((holds[0].client, holds[2].token), (other.client(), None));
    assert_eq!((lock.kind(), lock.name().as_str()), (Kind::Lock, "a"));
    assert_eq!((permit.kind(), leads.kind()), (Kind::Semaphore, Kind::Election));
    drop(lock);
    let next = soon("the next", waits).await.unwrap().unwrap();
    drop((other, permit, leads, next));
    assert!(members[0].holds().is_empty() && members[1].holds().is_empty());
}

#[tokio::test]
async fn shared_locks_are_held_together_and_exclusive_ones_are_not() {
    let config = Config { algorithm: "readers-writers".to_owned(), ..patient() };
    let members = group(3, &config).await;
    let mut readers = Vec::new();
    for member in &members {
        readers.push(soon("a reader", member.shared("a")).await.unwrap());
    }
    assert!(members[0].try_lock("a").await.unwrap().is_none());
    let newest = readers.iter().map(vorrang_lock::Guard::token).max().unwrap();
    drop(readers);
    let writer = soon("the writer", members[0].lock("a")).await.unwrap();
    assert!(writer.token() > newest);
    let within = Duration::from_millis(100);
    assert!(tokio::time::timeout(within, members[1].shared("a")).await.is_err());
    drop(writer);
    soon("a reader again", members[1].shared("a")).await.unwrap();
}

/// As with the usual algorithm, which hands on a token.
#[tokio::test]
async fn where_members_cannot_share_the_clients_of_one_do() {
    let members = group(2, &patient()).await;
    let one = soon("a reader", members[0].shared("a")).await.unwrap();
    let other = soon("another", members[0].shared("a")).await.unwrap();
    assert!(members[1].try_lock("a").await.unwrap().is_none());
    drop((one, other));
    soon("a reader of the other member", members[1].shared("a")).await.unwrap();
}

#[tokio::test]
async fn a_semaphore_has_so_many_permits_whoever_asks() {
    let members = group(3, &patient()).await;
    let first = soon("a permit", members[0].semaphore("s", 2)).await.unwrap();
    let second = soon("a permit", members[1].semaphore("s", 2)).await.unwrap();
    let why = soon("a refusal", members[2].semaphore("s", 3)).await.unwrap_err();
    assert!(matches!(why, LockError::Permits { asked: 3, bound: 2, .. }), "{why}");
    assert!(why.to_string().starts_with("semaphore 's' was asked for as one of 3 permits"));
    let third = tokio::spawn({
        let member = members[2].clone();
        async move { member.semaphore("s", 2).await }
    });
    sleep(Duration::from_millis(100)).await;
    assert!(!third.is_finished());
    drop(first);
    let third = soon("the third", third).await.unwrap().unwrap();
    drop((second, third));
    // With nobody inside, the next one says how many there are.
    while let Err(why) = soon("an answer", members[0].semaphore("s", 3)).await {
        assert!(matches!(why, LockError::Permits { .. }), "{why}");
    }
    let why = members[0].semaphore("s", 0).await.unwrap_err();
    assert_eq!(why.to_string(), "semaphore 's' was asked for with 0 permits: it has at least one");
}

#[tokio::test]
async fn several_names_at_once_are_taken_in_their_order() {
    let members = group(2, &patient()).await;
    let mut tasks = JoinSet::new();
    for (member, names) in members.iter().zip([["a", "b", "c"], ["c", "b", "a"]]) {
        let member = member.clone();
        tasks.spawn(async move {
            for _ in 0..20 {
                let guards = member.lock_all(names).await.unwrap();
                let held: Vec<&str> = guards.iter().map(|it| it.name().as_str()).collect();
                assert_eq!(held, ["a", "b", "c"]);
            }
        });
    }
    while let Some(done) = soon("no deadlock", tasks.join_next()).await {
        done.unwrap();
    }
    let why = members[0].lock_all(["x", "y", "x"]).await.unwrap_err();
    assert_eq!(why.to_string(), "'x' is wanted twice at once: locks are not re-entrant");
    assert!(members[0].lock_all([]).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_no_name_is_refused_and_named() {
    let members = group(1, &patient()).await;
    for (text, words) in [
        ("", "'' is no name: it is empty"),
        ("a\nb", "'a\\nb' is no name: it has the control character \\n at byte 1"),
        (&"x".repeat(256), "xxx…' is no name: it is 256 bytes long: at most 255 are allowed"),
    ] {
        for outcome in [
            members[0].lock(text).await,
            members[0].shared(text).await,
            members[0].semaphore(text, 1).await,
            members[0].campaign(text, "x").await,
        ] {
            let why = outcome.unwrap_err();
            assert!(why.to_string().contains(words) && why.code() == "bad-name", "{why}");
        }
        assert!(members[0].observe(text).await.is_err());
        assert!(members[0].lock_all(["fine", text]).await.is_err());
    }
    members[0].lock(&"ä".repeat(127)).await.unwrap();
    let why = members[0].campaign("e", &"x".repeat(1025)).await.unwrap_err().to_string();
    assert!(why.contains("candidate of 'e'") && why.contains("1025 bytes"), "{why}");
    assert!(members[0].holds().is_empty(), "{:?}", members[0].holds());
}

/// Nobody asks twice for any of them: what is kept are those of the last view.
#[tokio::test]
async fn names_that_were_used_once_are_forgotten() {
    let idle_names = 100;
    let members = group(2, &Config { idle_names, ..patient() }).await;
    let first = members[0].members().view;
    for number in 0..2000 {
        let name = format!("used-{number}");
        let guard = soon("a grant", members[number % 2].lock(&name)).await.unwrap();
        soon("a release", guard.release()).await.unwrap();
    }
    for member in &members {
        assert_eq!(member.holds(), []);
        let state = format!("{:?}", soon("its state", member.status()).await.unwrap().machine);
        // A name may be shown as our own and as that of a number of another member.
        let kept = state.matches("used-").count();
        assert!(kept > 0 && kept < 10 * idle_names, "{kept}");
    }
    let views = members[0].members().view - first;
    assert!((5..=25).contains(&views), "{views}");
}
