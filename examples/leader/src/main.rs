//! A leader among several machines, and another one when it is gone.
//!
//! ```sh
//! leader vorrang.toml 10.0.0.1:80
//! ```
//!
//! Every machine says who leads, whenever that changes.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use vorrang::lock::{Config, Group, LockError, Observer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, address] = &arguments[..] else {
        eprintln!("usage: leader CONFIG ADDRESS");
        return Ok(ExitCode::from(64));
    };
    let group = Group::start(Config::read(path)?).await?;
    let observer = group.observe("leader").await?;
    tokio::select! {
        outcome = follow(observer) => outcome?,
        outcome = stand(&group, address) => outcome?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Says who leads.
async fn follow(mut observer: Observer) -> Result<(), LockError> {
    loop {
        match observer.next().await? {
            Some(leader) => println!("{} leads, at {}", leader.member, leader.value),
            None => println!("nobody leads"),
        }
    }
}

/// Stands for election, leads, and stands again when that is over.
async fn stand(group: &Group, address: &str) -> Result<(), LockError> {
    loop {
        let leadership = group.campaign("leader", address).await?;
        println!("leads here, with token {}", leadership.token());
        tokio::select! {
            () = leadership.at_risk() => println!("stops leading: {:?}", leadership.is_lost()),
            () = lead() => {}
        }
    }
}

/// What only the leader does.
async fn lead() {
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_stands_leads_and_who_observes_knows() {
        let group = Group::start(Config { lease: None, ..Config::default() }).await.unwrap();
        let mut observer = group.observe("leader").await.unwrap();
        let leads = async {
            loop {
                if let Some(leader) = observer.next().await.unwrap() {
                    return leader;
                }
            }
        };
        let leader = tokio::select! {
            leader = leads => leader,
            outcome = stand(&group, "10.0.0.1:80") => panic!("{outcome:?}"),
        };
        assert_eq!((leader.member.as_str(), leader.value.as_str()), ("a", "10.0.0.1:80"));
    }
}
