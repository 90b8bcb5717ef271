//! What TLS costs: one lock between three members, each on a thread of its own, over TCP and over
//! TLS in turns.
//!
//! ```sh
//! cargo run --release -p vorrang-lock --features keys --example handovers -- [ROUNDS [SECONDS]]
//! ```
//!
//! A hand-over is a grant to another member than the last holder. Rounds alternate, since a machine
//! has other things to do as well; the medians are compared.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use vorrang_lock::tls::Holder;
use vorrang_lock::tls::issue::{Authority, Validity};
use vorrang_lock::{Config, Group, MemberAddress, TlsFiles};
use vorrang_testkit::Folder;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// How much longer a hand-over may take with TLS.
const TARGET: f64 = 1.6;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What the members of a round share.
#[derive(Debug, Default)]
struct Round {
    /// Who was granted the lock last.
    last: AtomicU32,
    handovers: AtomicU64,
    is_over: AtomicBool,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(5), |it| it.parse())?;
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |it| it.parse())?;
    let folder = Folder::new("handovers");
    make_keys(&folder)?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..rounds.max(1) {
        for (with_tls, rates) in [false, true].into_iter().zip(&mut rates) {
            let keys = with_tls.then_some(folder.as_ref());
            rates.push(measure(keys, Duration::from_secs_f64(seconds))?);
        }
    }
    let [plain, tls] = rates.map(median);
    let ratio = plain / tls;
    println!("over TCP  {plain:>8.0} hand-overs a second");
    println!(
        "over TLS  {tls:>8.0} hand-overs a second: {ratio:.2} times as long (target {TARGET})"
    );
    Ok(())
}

fn make_keys(folder: &Folder) -> Outcome<()> {
    let (authority, files) = Authority::create(Validity::days(1))?;
    std::fs::write(folder.file("ca.pem"), files.certificate)?;
    for name in NAMES {
        let issued = authority.issue(&Holder::member(name), &[], Validity::days(1))?;
        std::fs::write(folder.file(&format!("{name}.pem")), issued.certificate)?;
        let key = folder.file(&format!("{name}.key"));
        std::fs::write(&key, issued.key)?;
        restrict(&key)?;
    }
    Ok(())
}

#[cfg(unix)]
fn restrict(key: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn restrict(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// How many hand-overs there were in a second.
fn measure(keys: Option<&Path>, time: Duration) -> Outcome<f64> {
    let mut listeners = Vec::new();
    let mut members = Vec::new();
    for name in NAMES {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.to_string();
        members.push(MemberAddress { name: name.to_owned(), address, http: None });
        listeners.push(listener);
    }
    let round = Arc::new(Round::default());
    let mut threads = Vec::new();
    for ((number, name), listener) in (1..).zip(NAMES).zip(listeners) {
        let tls = keys.map(|folder| TlsFiles {
            authority: folder.join("ca.pem"),
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
            newcomers: Vec::new(),
        });
        let (name, members) = (Some(name.to_owned()), members.clone());
        let config = Config { name, members, tls, ..Config::default() };
        let round = Arc::clone(&round);
        threads.push(thread::spawn(move || run(number, listener, config, &round)));
    }
    // They meet meanwhile.
    thread::sleep(Duration::from_secs(1));
    let (start, before) = (Instant::now(), round.handovers.load(Ordering::Relaxed));
    thread::sleep(time);
    let made = round.handovers.load(Ordering::Relaxed) - before;
    let rate = made as f64 / start.elapsed().as_secs_f64();
    round.is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a member panicked")??;
    }
    Ok(rate)
}

/// One member, as if it were alone in its process.
fn run(number: u32, listener: std::net::TcpListener, config: Config, round: &Round) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let group = Group::start_with(TcpListener::from_std(listener)?, config).await?;
        while !round.is_over.load(Ordering::Relaxed) {
            let guard = group.lock("handovers").await?;
            if round.last.swap(number, Ordering::Relaxed) != number {
                round.handovers.fetch_add(1, Ordering::Relaxed);
            }
            // It is gone by the time that it is asked for again.
            guard.release().await?;
        }
        group.leave(Duration::ZERO).await?;
        Ok(())
    })
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
