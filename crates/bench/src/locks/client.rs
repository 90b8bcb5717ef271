//! A client in a process of its own, which does what it is told line by line:
//!
//! - `turn SECONDS`: takes the lock and gives it back, again and again. The answer is `turned` and
//!   four figures: how often it was granted the lock, for how many nanoseconds it has asked, how
//!   often it was another who had the lock last, and how long such a hand-over takes.
//! - `hold` takes the lock (`held`), and `free` gives it back (`freed`).
//! - `take COUNT` takes so many locks of other names, and keeps them (`took`).
//! - `watch MEMBERS` (`watching`) waits for another view, of so many members, and takes a new lock
//!   in it. The answer is `changed` and three figures: the number of the view, how often a member
//!   was suspected meanwhile, and how many locks are still held.
//! - `leave` leaves the group (`left`).
//!
//! When it has taken the lock once and given it back, it says `ready`. It ends with its input. The
//! clients of other services in `bench/peers` understand the first three, and have no last figure.
//!
//! Who asks again at once may be granted the lock before the others have been heard. So it is also
//! counted how often it was another who had it last: under the lock, in a file that all share. The
//! last figure is how long such a hand-over has taken, in nanoseconds, from the moment at which the
//! one began to give it back until the other, which waited for it then, was granted it.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use vorrang_lock::{Config, Group, Guard, Members, TlsFiles};
use vorrang_service::api::{HoldEvent, HoldRequest};
use vorrang_service::client::{Client, HoldStream, Target, new_id};

use crate::Outcome;
use crate::last::{Last, Moment, Tally};
use crate::views::Views;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClientArgs {
    /// What the client is
    kind: Kind,
    /// The socket of a daemon
    #[arg(long, value_name = "FILE", required_if_eq("kind", "socket"))]
    socket: Option<PathBuf>,
    /// The members of the group, of which it is one
    #[arg(long, value_name = "NAME=HOST:PORT,…", default_value = "", hide_default_value = true)]
    pub(crate) members: String,
    /// Which of them
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) name: String,
    /// The directory of its keys
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// The directory of its stable storage
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How long the leases of a member are, or `off`
    #[arg(long, value_name = "TIME")]
    lease: Option<String>,
    /// The name of the lock
    #[arg(long, value_name = "NAME", default_value = "contended")]
    lock: String,
    /// The file in which those who ask for the lock say who had it last
    #[arg(long, value_name = "FILE")]
    last: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Kind {
    /// A member of the group, by the library
    Library,
    /// One that asks a daemon at its socket
    Socket,
    /// What the library is compared with: one lock on views, with nothing around it
    Views,
}

/// Asks for one lock.
pub(crate) trait Locks: Send {
    fn take(&mut self) -> impl Future<Output = Outcome<()>> + Send;
    fn give_back(&mut self) -> impl Future<Output = Outcome<()>> + Send;
}

pub(crate) fn run(arguments: &ClientArgs) -> Outcome<()> {
    // Whoever starts it may be killed while it does what it was told.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // As a program has it that does nothing else meanwhile.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // In a task of its own: a runtime treats its main future differently.
    let client = runtime.spawn(client(arguments.clone()));
    runtime.block_on(client)?
}

async fn client(arguments: ClientArgs) -> Outcome<()> {
    let mut orders = orders();
    let name = arguments.lock.clone();
    let last = Last::open(arguments.last.as_deref())?;
    match arguments.kind {
        Kind::Views => obey(&mut Views::start(&arguments).await?, &last, &mut orders).await,
        Kind::Socket => {
            let socket = arguments.socket.clone().ok_or("a client needs --socket")?;
            let client = Client::new(Target::Socket(socket));
            let mut socket = Socket { client, name, held: None };
            obey(&mut socket, &last, &mut orders).await
        }
        Kind::Library => {
            let group = Group::start(config(&arguments)?).await?;
            let mut library = Library { group, name, held: None };
            obey_as_member(&mut library, &last, &mut orders).await
        }
    }
}

/// Its standard input, line by line.
fn orders() -> UnboundedReceiver<String> {
    let (sender, orders) = unbounded_channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    orders
}

fn config(arguments: &ClientArgs) -> Outcome<Config> {
    let mut config = Config { name: Some(arguments.name.clone()), ..Config::default() };
    config.set("member", &arguments.members)?;
    config.data.clone_from(&arguments.data);
    if let Some(lease) = &arguments.lease {
        config.set("lease", lease)?;
    }
    config.tls = arguments.keys.as_ref().map(|keys| TlsFiles {
        authority: keys.join("ca.pem"),
        certificate: keys.join(format!("{}.pem", arguments.name)),
        key: keys.join(format!("{}.key", arguments.name)),
        newcomers: Vec::new(),
    });
    Ok(config)
}

async fn obey(
    locks: &mut impl Locks,
    last: &Last,
    orders: &mut UnboundedReceiver<String>,
) -> Outcome<()> {
    begin(locks).await?;
    while let Some(line) = orders.recv().await {
        order(locks, last, &line).await?;
    }
    Ok(())
}

async fn begin(locks: &mut impl Locks) -> Outcome<()> {
    locks.take().await?;
    locks.give_back().await?;
    println!("ready");
    Ok(())
}

async fn order(locks: &mut impl Locks, last: &Last, line: &str) -> Outcome<()> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("turn", seconds) => {
            let (start, length) = (Instant::now(), Duration::from_secs_f64(seconds.parse()?));
            let mut tally = Tally::default();
            while start.elapsed() < length {
                let asked = Moment::now();
                locks.take().await?;
                tally.granted(last, asked)?;
                last.gives_back()?;
                locks.give_back().await?;
            }
            println!("turned {}", tally.figures(start.elapsed()));
        }
        ("hold", _) => {
            locks.take().await?;
            println!("held");
        }
        ("free", _) => {
            locks.give_back().await?;
            println!("freed");
        }
        _ => return Err(format!("not understood: '{line}'").into()),
    }
    Ok(())
}

/// What a member can be told besides.
async fn obey_as_member(
    library: &mut Library,
    last: &Last,
    orders: &mut UnboundedReceiver<String>,
) -> Outcome<()> {
    begin(library).await?;
    let mut taken: Vec<Guard> = Vec::new();
    while let Some(line) = orders.recv().await {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("take", count) => {
                let me = library.group.members().this;
                taken.extend(library.take_many(&me, count.parse()?).await?);
                if let Some(loss) = taken.iter().find_map(Guard::is_lost) {
                    // It is counted with those that are lost in a change of the view.
                    eprintln!("lost while more were taken: {loss}");
                }
                println!("took");
            }
            ("watch", members) => {
                let change = library.watch(members.parse()?).await?;
                let held = taken.iter().filter(|it| it.is_lost().is_none()).count();
                println!("changed {} {} {held}", change.view, change.suspected);
                if let Some(loss) = taken.iter().find_map(Guard::is_lost) {
                    eprintln!("{} of {} were lost: {loss}", taken.len() - held, taken.len());
                }
            }
            ("leave", _) => {
                taken.clear();
                library.group.clone().leave(Duration::ZERO).await?;
                println!("left");
            }
            _ => order(library, last, &line).await?,
        }
    }
    Ok(())
}

/// A member.
struct Library {
    group: Group,
    name: String,
    held: Option<Guard>,
}

impl Locks for Library {
    async fn take(&mut self) -> Outcome<()> {
        self.held = Some(self.group.lock(&self.name).await?);
        Ok(())
    }

    async fn give_back(&mut self) -> Outcome<()> {
        match self.held.take() {
            Some(guard) => Ok(guard.release().await?),
            None => Err("nothing is held".into()),
        }
    }
}

/// Another view.
struct Change {
    view: u64,
    /// How often a member that stays was suspected meanwhile.
    suspected: usize,
}

impl Library {
    /// Takes locks that nobody else asks for, many at a time.
    async fn take_many(&self, prefix: &str, count: usize) -> Outcome<Vec<Guard>> {
        const AT_ONCE: usize = 200;
        let mut taken = Vec::with_capacity(count);
        let mut begun = 0;
        while taken.len() < count {
            let some = begun..count.min(begun + AT_ONCE);
            begun = some.end;
            let asking: Vec<_> = some
                .map(|number| {
                    let (group, name) = (self.group.clone(), format!("name-{prefix}-{number}"));
                    tokio::spawn(async move { group.lock(&name).await })
                })
                .collect();
            for one in asking {
                taken.push(one.await??);
            }
        }
        Ok(taken)
    }

    async fn watch(&self, members: usize) -> Outcome<Change> {
        let mut changes = self.group.changes();
        let before = changes.borrow_and_update().view;
        println!("watching");
        let stays = |members: &Members| {
            let others = members.members.iter().filter(|it| !it.is_this && it.is_in_view);
            others.filter(|it| it.is_suspected).count()
        };
        let mut suspected = 0;
        let view = loop {
            changes.changed().await?;
            let now = changes.borrow_and_update();
            suspected += stays(&now);
            let in_view = now.members.iter().filter(|it| it.is_in_view).count();
            if now.view > before && now.is_in && in_view == members {
                break now.view;
            }
        };
        drop(self.group.lock(&format!("view-{view}")).await?);
        Ok(Change { view, suspected })
    }
}

/// A client of a daemon.
struct Socket {
    client: Client,
    name: String,
    held: Option<(String, HoldStream)>,
}

impl Locks for Socket {
    async fn take(&mut self) -> Outcome<()> {
        let id = new_id();
        let mut stream = self.client.hold(&id, &HoldRequest::lock(&*self.name)).await?;
        while let Some(event) = stream.next().await? {
            match event {
                HoldEvent::Granted { .. } => {
                    self.held = Some((id, stream));
                    return Ok(());
                }
                HoldEvent::Waiting { .. } | HoldEvent::Alive { .. } => {}
                other => return Err(format!("not granted: {other:?}").into()),
            }
        }
        Err("not granted".into())
    }

    async fn give_back(&mut self) -> Outcome<()> {
        let Some((id, mut stream)) = self.held.take() else { return Err("nothing is held".into()) };
        self.client.release(&id).await?;
        // So that what was said of it is read, as by a program that heeds it.
        while stream.next().await?.is_some() {}
        Ok(())
    }
}
