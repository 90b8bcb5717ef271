//! Daemons, as `vorrang serve` starts them, and clients at their sockets.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use vorrang_service::api::MemberState;
use vorrang_service::client::{Client, Target};

use crate::place::{NAMES, Place};
use crate::process::{Process, Worker};
use crate::{Outcome, TableArgs};

/// How long daemons may take to be a group.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) process: Process,
    pub(crate) socket: PathBuf,
}

impl Daemon {
    /// Starts one, with its log beside its socket.
    pub(crate) fn start(program: &Path, socket: PathBuf, arguments: &[&str]) -> Outcome<Self> {
        let log = File::options().create(true).append(true).open(socket.with_extension("log"))?;
        // However this program ends, the daemon is not left behind.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        command.args(["serve", "--socket"]).arg(&socket).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Ok(Self { process: Process::start(&mut command)?, socket })
    }

    /// Waits until it is in a view of so many members.
    pub(crate) fn wait_for(&self, members: usize) -> Outcome<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = Client::new(Target::Socket(self.socket.clone()));
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = runtime.block_on(client.members());
            if let Ok(seen) = &seen
                && seen.majority
                && seen.members.iter().filter(|it| it.state == MemberState::Member).count()
                    == members
            {
                return Ok(());
            }
            if Instant::now() > until {
                let log = self.socket.with_extension("log");
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("no group of {members}: {seen:?}\n{log}").into());
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// A client in a process of its own.
    pub(crate) fn client(&self, more: &[&str]) -> Outcome<Worker> {
        let socket = self.socket.display().to_string();
        let mut arguments = vec!["socket".to_owned(), "--socket".to_owned(), socket];
        arguments.extend(more.iter().map(|&it| it.to_owned()));
        Worker::start(&arguments)
    }
}

/// Three of them.
#[derive(Debug)]
pub(crate) struct Daemons {
    program: PathBuf,
    directory: PathBuf,
    place: Place,
    more: Vec<String>,
    pub(crate) all: Vec<Daemon>,
}

impl Daemons {
    /// Starts them in a directory of this name, and waits until they are a group.
    pub(crate) fn start(
        arguments: &TableArgs,
        name: &str,
        place: Place,
        more: &[&str],
    ) -> Outcome<Self> {
        let directory = arguments.directory.join(name);
        std::fs::create_dir(&directory)?;
        let more = more.iter().map(|&it| it.to_owned()).collect();
        let program = arguments.program.clone();
        let mut daemons = Self { program, directory, place, more, all: Vec::new() };
        for number in 0..NAMES.len() {
            let daemon = daemons.one(number)?;
            daemons.all.push(daemon);
        }
        daemons.wait()?;
        Ok(daemons)
    }

    /// Starts the one of this number.
    pub(crate) fn one(&self, number: usize) -> Outcome<Daemon> {
        let name = NAMES[number];
        let members = self.place.members();
        let mut options: Vec<String> =
            ["--member", &members, "--name", name].map(str::to_owned).to_vec();
        if let Some(keys) = self.place.keys() {
            let file = |name: &str| keys.join(name).display().to_string();
            let (own, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
            let files = [("authority", file("ca.pem")), ("certificate", own), ("key", key)];
            options.extend(files.into_iter().flat_map(|(it, path)| [format!("--tls-{it}"), path]));
        }
        options.extend_from_slice(&self.more);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Daemon::start(&self.program, self.directory.join(format!("{name}.sock")), &options)
    }

    /// Waits until all see each other.
    pub(crate) fn wait(&self) -> Outcome<()> {
        self.all.iter().try_for_each(|daemon| daemon.wait_for(self.all.len()))
    }

    /// A client of each.
    pub(crate) fn clients(&self, more: &[&str]) -> Outcome<Vec<Worker>> {
        let clients = self.all.iter().map(|it| it.client(more));
        let mut clients = clients.collect::<Outcome<Vec<_>>>()?;
        for client in &mut clients {
            client.answer("ready")?;
        }
        Ok(clients)
    }
}
