//! A job that runs at every full period on one of several machines, and on another when that one is
//! gone: who holds the lock runs it.
//!
//! ```sh
//! cron vorrang.toml 60 ./backup.sh /srv
//! ```
//!
//! The job is told its fencing token in `VORRANG_TOKEN`. It is killed if the lock may be lost, so
//! that it never runs twice at a time.
#![forbid(unsafe_code)]

use std::error::Error;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep, sleep_until};
use vorrang::lock::{Config, Group, Guard};

/// How often a job is looked at, whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, seconds, program, rest @ ..] = &arguments[..] else {
        eprintln!("usage: cron CONFIG SECONDS PROGRAM [ARGUMENT...]");
        return Ok(ExitCode::from(64));
    };
    let period = Duration::from_secs(seconds.parse()?);
    let group = Group::start(Config::read(path)?).await?;
    run(&group, period, || start(program, rest), None).await?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the job at every full period while this machine holds the lock; so often, if there is a
/// limit.
async fn run(
    group: &Group,
    period: Duration,
    mut job: impl FnMut() -> Command,
    times: Option<u32>,
) -> Result<(), Box<dyn Error>> {
    let mut left = times;
    loop {
        println!("waits for the other machines");
        let guard = group.lock("cron").await?;
        println!("it is this machine's turn, with token {}", guard.token());
        loop {
            if left == Some(0) {
                return Ok(());
            }
            sleep_until(next(period)).await;
            if let Some(loss) = guard.is_lost() {
                println!("lost the lock: {loss}");
                break;
            }
            let child = job().env("VORRANG_TOKEN", guard.token().to_string()).spawn()?;
            left = left.map(|left| left - 1);
            if !watch(child, &guard).await? {
                break;
            }
        }
    }
}

fn start(program: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Waits for a job, and kills it if the lock may be lost. True if it has ended by itself.
async fn watch(mut child: Child, guard: &Guard) -> Result<bool, Box<dyn Error>> {
    loop {
        if let Some(status) = child.try_wait()? {
            println!("the job has ended: {status}");
            return Ok(true);
        }
        tokio::select! {
            () = guard.at_risk() => {
                child.kill()?;
                child.wait()?;
                println!("the lock may be lost: the job was killed");
                return Ok(false);
            }
            () = sleep(LOOK) => {}
        }
    }
}

/// When the next period begins, by the clock on the wall.
fn next(period: Duration) -> Instant {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = now.as_nanos() % period.as_nanos().max(1);
    Instant::now() + period.saturating_sub(Duration::from_nanos(since as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_runs_at_every_full_period() {
        let group = Group::start(Config { lease: None, ..Config::default() }).await.unwrap();
        let mut jobs = 0;
        let job = || {
            jobs += 1;
            start("true", &[])
        };
        run(&group, Duration::from_millis(20), job, Some(3)).await.unwrap();
        assert_eq!(jobs, 3);
        assert!(group.holds().is_empty());
    }
}
