//! Members that are cut off, killed, replaced or whose disk fails.

use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::time::sleep;
use vorrang_lock::{Config, Group, LockError, Loss};

use crate::cut::Cuttable;
use crate::support::{Places, group, patient, soon, together};

const fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Short times, and long enough for a busy machine.
fn leased() -> Config {
    Config {
        beat: ms(100),
        margin: ms(1400),
        lease: Some(ms(1200)),
        grace: ms(400),
        ..Config::default()
    }
}

async fn with_a_cuttable(founders: usize, config: &Config) -> (Vec<Group>, Cuttable) {
    let transport = Cuttable::default();
    let mut places = Places::new(founders, config).await.0;
    let (listener, config) = places.remove(0);
    let listener = transport.listener(listener);
    let first = Group::start_over(transport.clone(), Some(listener), config).await.unwrap();
    let mut groups = vec![first];
    groups.extend(Places(places).start().await);
    for group in &groups {
        together(group, founders).await;
    }
    (groups, transport)
}

#[tokio::test]
async fn one_that_is_cut_off_loses_its_lock_before_another_gets_it_and_learns_why() {
    let (members, wire) = with_a_cuttable(3, &leased()).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    assert!(guard.is_lost().is_none());
    let until = guard.deadline().expect("there are leases");
    assert!(until > Instant::now() && until < Instant::now() + ms(1200));
    let next = tokio::spawn({
        let other = members[1].clone();
        async move { (other.lock("a").await.unwrap(), Instant::now()) }
    });
    wire.cut(true);
    soon("a warning", guard.at_risk()).await;
    let (warned, deadline) = (Instant::now(), guard.deadline().unwrap());
    assert!(warned + ms(50) >= deadline, "not before the grace begins");
    let loss = soon("the loss", guard.lost()).await;
    let ended = Instant::now();
    assert_eq!((loss.clone(), loss.code()), (Loss::LeaseOver, "lease-over"));
    assert_eq!(guard.is_lost(), Some(Loss::LeaseOver));
    let (other, granted) = soon("the next", next).await.unwrap();
    assert!(ended <= granted && deadline <= granted, "{ended:?} {deadline:?} {granted:?}");
    assert!(other.token() > guard.token());
    assert_eq!(guard.release().await, Err(Loss::LeaseOver));

    // Alone it has no majority, and says so.
    let mut changes = members[0].changes();
    soon("no majority", changes.wait_for(|it| !it.has_majority)).await.unwrap();
    let why = members[0].lock_within("b", ms(10)).await.unwrap_err();
    assert!(matches!(why, LockError::NoMajority(_)) && why.code() == "no-majority");
    let why = why.to_string();
    assert!(why.contains("no majority of view") && why.contains("silent: b, c"), "{why}");
    // The others have gone on without it.
    together(&members[1], 2).await;
    let suspected = |it: &vorrang_lock::Members| {
        it.members.iter().filter(|it| !it.is_in_view).map(|it| it.name.clone()).collect()
    };
    let out: Vec<String> = suspected(&members[1].members());
    assert_eq!(out, ["a"]);

    wire.cut(false);
    let mut changes = members[0].changes();
    let evicted = soon("the eviction", changes.wait_for(|it| it.evicted.is_some())).await.unwrap();
    let why = evicted.evicted.clone().unwrap().why;
    drop(evicted);
    assert!(why.starts_with("the others had not heard this member in time"), "{why}");
    together(&members[0], 3).await;
    drop(other);
    soon("a grant again", members[0].lock("a")).await.unwrap();
    soon("no trouble", members[0].changes().wait_for(|it| it.trouble.is_none())).await.unwrap();
}

#[tokio::test]
async fn a_short_cut_is_a_warning_that_is_taken_back() {
    let (members, wire) = with_a_cuttable(3, &Config { margin: ms(8000), ..leased() }).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    soon("no risk", guard.safe()).await;
    // Connections that were cut are made anew when they have been silent for long, so that this is
    // not taken back but lost.
    wire.cut(true);
    soon("a warning", guard.at_risk()).await;
    assert!(tokio::time::timeout(ms(1), guard.safe()).await.is_err());
    soon("the loss", guard.lost()).await;
    soon("a risk, of one that is lost", guard.at_risk()).await;
}

#[tokio::test]
async fn a_process_that_stands_still_finds_out_by_the_clock() {
    let config = Config { max_hold: Some(ms(700)), ..leased() };
    let members = group(1, &config).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    let deadline = guard.deadline().unwrap();
    // The whole program stands still, the member's task as well.
    std::thread::sleep(ms(2000));
    assert!(Instant::now() > deadline);
    let loss = guard.is_lost().expect("its time is over");
    assert!(matches!(loss, Loss::LeaseOver | Loss::MaxHold(_)), "{loss}");
    assert_eq!(soon("the same", guard.lost()).await, loss);
    assert_eq!(guard.release().await, Err(loss));
    soon("another", members[0].lock("a")).await.unwrap();
}

#[tokio::test]
async fn nobody_holds_longer_than_is_allowed() {
    let config = Config { max_hold: Some(ms(900)), grace: ms(300), ..patient() };
    let members = group(2, &config).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    let granted = Instant::now();
    let next = tokio::spawn({
        let other = members[1].clone();
        async move { other.lock("a").await.unwrap() }
    });
    soon("a warning", guard.at_risk()).await;
    assert!(granted.elapsed() >= ms(500), "{:?}", granted.elapsed());
    assert!(guard.is_lost().is_none() || granted.elapsed() >= ms(900));
    assert_eq!(soon("the loss", guard.lost()).await, Loss::MaxHold(ms(900)));
    assert!(granted.elapsed() >= ms(850));
    let next = soon("the next", next).await.unwrap();
    assert!(next.token() > guard.token());
    let why = guard.release().await.unwrap_err();
    assert_eq!(why.to_string(), "it was held for 900ms, and no longer is allowed (max-hold)");
}

#[tokio::test]
async fn when_the_holders_member_is_killed_the_next_has_a_larger_token() {
    let config = Config { margin: ms(1400), ..leased() };
    let mut members = group(3, &config).await;
    let guard = soon("a grant", members[0].lock("a")).await.unwrap();
    let leads = soon("an election", members[0].campaign("e", "first")).await.unwrap();
    let mut observer = members[1].observe("e").await.unwrap();
    let leader = soon("the leader", async {
        loop {
            if let Some(leader) = observer.next().await.unwrap() {
                return leader;
            }
        }
    });
    let leader = leader.await;
    assert_eq!((leader.member.as_str(), leader.value.as_str()), ("a", "first"));
    assert_eq!(leader.token, leads.token());
    let candidate = tokio::spawn({
        let member = members[2].clone();
        async move { member.campaign("e", "second").await.unwrap() }
    });
    let next = tokio::spawn({
        let member = members[1].clone();
        async move { member.lock("a").await.unwrap() }
    });
    sleep(ms(200)).await;
    assert!(!candidate.is_finished() && !next.is_finished());
    let (token, led) = (guard.token(), leads.token());
    members.remove(0).kill().await;
    assert_eq!(soon("the loss", guard.lost()).await, Loss::Stopped("it was killed".to_owned()));
    assert_eq!(soon("the loss", leads.lost()).await.code(), "stopped");
    let next = soon("the next", next).await.unwrap();
    assert!(next.token() > token);
    let candidate = soon("the next leader", candidate).await.unwrap();
    assert!(candidate.token() > led);
    let leader = soon("the next leader", async {
        loop {
            if let Some(leader) = observer.next().await.unwrap().filter(|it| it.member != "a") {
                return leader;
            }
        }
    });
    let leader = leader.await;
    assert_eq!((leader.member.as_str(), leader.value.as_str()), ("c", "second"));
    assert_eq!(leader.token, candidate.token());
    members.remove(0).kill().await;
    assert!(matches!(observer.next().await, Err(LockError::Stopped(_)) | Ok(None)));
}

#[tokio::test]
async fn another_process_under_the_same_name_ends_the_first() {
    let places = Places::new(3, &patient()).await;
    let config = places.0[1].1.clone();
    let members = places.start().await;
    together(&members[1], 3).await;
    let guard = soon("a grant", members[1].lock("a")).await.unwrap();
    let waits = tokio::spawn({
        let (other, member) = (members[0].lock("b").await.unwrap(), members[1].clone());
        async move { (member.lock("b").await, other) }
    });
    // The same member elsewhere.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = config;
    config.members[1].address = listener.local_addr().unwrap().to_string();
    let later = Group::start_with(listener, config).await.unwrap();
    let loss = soon("the loss", guard.lost()).await;
    assert_eq!(loss.code(), "replaced", "{loss}");
    assert!(loss.to_string().contains("later incarnation"), "{loss}");
    let (waited, _other) = soon("a refusal", waits).await.unwrap();
    assert_eq!(waited.unwrap_err().code(), "replaced");
    let why = members[1].lock("c").await.unwrap_err();
    assert!(matches!(why, LockError::Replaced(_)), "{why}");
    assert!(!members[1].members().is_in);
    together(&later, 3).await;
    soon("its lock", later.lock("a")).await.unwrap();
}
