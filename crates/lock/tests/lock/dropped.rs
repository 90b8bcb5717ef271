//! Any future may be dropped at any moment: nothing is held or waited for afterwards.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::task::yield_now;
use tokio::time::sleep;
use vorrang_lock::{Config, Group, Guard};

use crate::support::{group, patient, soon};

/// Polls a future so often, unless it is done before, and waits for nothing.
async fn poll_at_most<T>(polls: u32, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let polled = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        if let Poll::Ready(done) = polled {
            return Some(done);
        }
    }
    None
}

/// Polls it, some of the time, until the last poll is due; and sometimes drops it without one.
async fn drop_somewhere<T>(
    rng: &mut Xoshiro256PlusPlus,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..rng.next_u32() % 6 {
        if let Some(done) = poll_at_most(1, future.as_mut()).await {
            return Some(done);
        }
        match rng.next_u32() % 3 {
            0 => {}
            1 => yield_now().await,
            _ => sleep(Duration::from_micros(u64::from(rng.next_u32() % 2000))).await,
        }
    }
    None
}

async fn one_of_all(rng: &mut Xoshiro256PlusPlus, member: &Group, held: &mut Vec<Guard>) {
    let name = ["a", "b"][(rng.next_u32() % 2) as usize];
    match rng.next_u32() % 8 {
        0 => held.extend(drop_somewhere(rng, member.lock(name)).await.map(Result::unwrap)),
        1 => held.extend(drop_somewhere(rng, member.semaphore(name, 2)).await.map(Result::unwrap)),
        2 => held.extend(drop_somewhere(rng, member.campaign(name, "v")).await.map(Result::unwrap)),
        3 => {
            let within = Duration::from_micros(u64::from(rng.next_u32() % 3000));
            let tried = drop_somewhere(rng, member.lock_within(name, within)).await;
            held.extend(tried.and_then(Result::unwrap));
        }
        4 => {
            // It waits for what this task may hold.
            held.clear();
            let all = drop_somewhere(rng, member.lock_all(["b", "a"])).await;
            held.extend(all.into_iter().flat_map(Result::unwrap));
        }
        5 => {
            let _ = drop_somewhere(rng, member.observe(name)).await.map(Result::unwrap);
        }
        6 => {
            if let Some(guard) = held.pop() {
                let _ = drop_somewhere(rng, guard.release()).await.map(Result::unwrap);
            }
        }
        _ => {
            held.pop();
        }
    }
    if held.len() > 1 {
        held.remove(0);
    }
}

/// Whether the machines of the members know of nobody who holds or waits for anything.
async fn is_at_rest(members: &[Group]) -> bool {
    for member in members {
        let state = format!("{:?}", member.status().await.unwrap().machine);
        let is_empty = |word: &str| {
            let mut places = state.match_indices(word);
            places.all(|(at, _)| {
                let rest = &state[at + word.len()..];
                rest.trim_start_matches(['"', ',', ' ']).starts_with("List([])")
            })
        };
        if !["clients inside", "clients waiting"].into_iter().all(is_empty) {
            return false;
        }
    }
    true
}

/// A thousand requests of two members are dropped at drawn moments.
#[tokio::test]
async fn nothing_is_left_of_what_was_dropped() {
    let seed = vorrang_testkit::number("VORRANG_SEED").unwrap_or(7);
    let config = Config { batch_clients: 3, ..patient() };
    let members = group(2, &config).await;
    let mut tasks = Vec::new();
    for (number, member) in (0_u64..).zip(members.iter().cycle().take(4).cloned()) {
        tasks.push(tokio::spawn(async move {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ (number << 32));
            let mut held = Vec::new();
            for _ in 0..250 {
                one_of_all(&mut rng, &member, &mut held).await;
            }
        }));
    }
    for task in tasks {
        soon("all requests", task).await.unwrap();
    }
    for member in &members {
        assert!(member.holds().is_empty(), "seed {seed}: {:?}", member.holds());
    }
    let at_rest = async {
        while !is_at_rest(&members).await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the machines to know it", at_rest).await;
    for member in &members {
        for name in ["a", "b"] {
            soon("a fresh lock", member.lock(name)).await.unwrap();
            soon("a fresh permit", member.semaphore(name, 1)).await.unwrap();
            soon("a fresh leadership", member.campaign(name, "v")).await.unwrap();
        }
    }
}

/// What the test above rests on: a lock that is held is seen.
#[tokio::test]
async fn a_machine_in_which_somebody_waits_is_not_at_rest() {
    let members = group(1, &patient()).await;
    assert!(is_at_rest(&members).await);
    let guard = members[0].lock("a").await.unwrap();
    assert!(!is_at_rest(&members).await);
    let mut waits = Box::pin(members[0].lock("a"));
    assert!(poll_at_most(1, waits.as_mut()).await.is_none());
    std::mem::forget(waits);
    drop(guard);
    sleep(Duration::from_millis(50)).await;
    assert!(!is_at_rest(&members).await, "the future was not dropped");
}

#[tokio::test]
async fn a_guard_that_is_dropped_releases_and_so_does_one_whose_release_is_dropped() {
    let members = group(2, &patient()).await;
    for round in 0..20 {
        let guard = soon("a grant", members[0].lock("a")).await.unwrap();
        if round % 2 == 0 {
            drop(guard);
        } else {
            let _ = poll_at_most(round % 3, guard.release()).await;
        }
        soon("the next", members[1].lock("a")).await.unwrap();
    }
}
