//! Daemons, and clients of them that say exactly what a test wants to be said.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use vorrang_testkit::{Folder, addresses};

/// As long as anything may take on a machine with much else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How often is looked whether something has come true.
const LOOK: Duration = Duration::from_millis(10);

/// Waits until something is there.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain: {what}");
        sleep(LOOK);
    }
}

/// A program that ignores no signal, also if these tests do: whoever runs them in the background
/// ignores some, and what is ignored stays so in a program that is started.
pub(crate) fn heeding_signals(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT", program]);
    command
}

/// The program with these arguments, and nothing in its environment that others have put there.
pub(crate) fn vorrang(arguments: &[&str]) -> Command {
    let mut command = heeding_signals(env!("CARGO_BIN_EXE_vorrang-service"));
    command.args(arguments).stdin(Stdio::null());
    let ours = |name: &str| name.starts_with("VORRANG_") || name == "XDG_RUNTIME_DIR";
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC");
    command
}

/// Runs it to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program can be run");
    wait_for("the end of the program", || child.try_wait().expect("it can be asked"));
    child.wait_with_output().expect("its output")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A daemon that runs. It is killed if it still does when this is dropped.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) socket: PathBuf,
    log: PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // What is stopped can be killed as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of {}\n{}", self.socket.display(), self.log());
        }
    }
}

impl Daemon {
    /// One that listens at this file of the folder, with these options.
    pub(crate) fn start(folder: &Folder, name: &str, options: &[&str]) -> Self {
        let daemon = Self::spawn(folder, name, options, |_| ());
        daemon.wait_until_it_answers();
        daemon
    }

    /// The same, without waiting for it.
    pub(crate) fn spawn(
        folder: &Folder,
        name: &str,
        options: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let socket = folder.file(&format!("{name}.sock"));
        let log = folder.file(&format!("{name}.log"));
        let mut command = vorrang(&["serve", "--socket"]);
        command.arg(&socket).args(options);
        prepare(&mut command);
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        let child = command.stdout(Stdio::null()).stderr(file).spawn();
        Self { child: child.expect("the daemon can be started"), socket, log }
    }

    pub(crate) fn wait_until_it_answers(&self) {
        wait_for("the daemon answers", || {
            let stream = UnixStream::connect(&self.socket).ok()?;
            let mut client = Client::over(Link::Unix(stream));
            let answer = client.ask("GET", "/healthz", "").ok()?;
            (answer.status == 200).then_some(())
        });
    }

    /// Waits until it can grant something.
    pub(crate) fn wait_until_it_is_ready(&self) {
        wait_for("the daemon is ready", || (self.get("/readyz").status == 200).then_some(()));
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// A connection of its own.
    pub(crate) fn connect(&self) -> Client {
        Client::over(Link::Unix(UnixStream::connect(&self.socket).expect("the daemon listens")))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.connect().ask("GET", path, "").expect("an answer")
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.connect().ask(method, path, body).expect("an answer")
    }

    /// Asks for a hold; its lines.
    pub(crate) fn hold(&self, id: &str, body: &str) -> Lines {
        self.connect().lines("PUT", &format!("/v1/holds/{id}"), body)
    }

    pub(crate) fn metric(&self, line: &str) -> Option<f64> {
        let text = self.get("/metrics").body;
        text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(' ')?.parse().ok())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(id, signal).expect("it is there");
    }

    /// Waits until it has ended.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        wait_for("the end of the daemon", || self.child.try_wait().expect("it can be asked"))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_some()
    }
}

/// A connection of either kind.
pub(crate) enum Link {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An answer as a whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The code of an answer that says no.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_else(|| panic!("no code: {self:?}")).to_owned()
    }
}

/// A client, byte for byte.
pub(crate) struct Client {
    link: BufReader<Link>,
}

impl Client {
    pub(crate) fn over(link: Link) -> Self {
        match &link {
            Link::Unix(stream) => stream.set_read_timeout(Some(PATIENCE)),
            Link::Tcp(stream) => stream.set_read_timeout(Some(PATIENCE)),
        }
        .expect("a time can be set");
        Self { link: BufReader::new(link) }
    }

    pub(crate) fn tcp(address: &str) -> Self {
        let stream = wait_for("the port is open", || TcpStream::connect(address).ok());
        Self::over(Link::Tcp(stream))
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.link.get_mut().write_all(bytes)
    }

    pub(crate) fn request(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<()> {
        let length = body.len();
        self.say(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\n\
                 content-length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        )
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<Answer> {
        self.request(method, path, body)?;
        self.answer()
    }

    /// The head of an answer: its status and headers.
    pub(crate) fn head(&mut self) -> std::io::Result<(u16, BTreeMap<String, String>)> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.link.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let status = lines[0].split(' ').nth(1).and_then(|it| it.parse().ok());
        let headers = lines[1..].iter().filter_map(|it| it.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok((status.expect("a status"), headers.collect()))
    }

    pub(crate) fn answer(&mut self) -> std::io::Result<Answer> {
        let (status, headers) = self.head()?;
        let length = headers.get("content-length").and_then(|it| it.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.link.read_exact(&mut body)?;
        Ok(Answer { status, headers, body: String::from_utf8(body).expect("text") })
    }

    /// Asks for lines.
    #[track_caller]
    pub(crate) fn lines(mut self, method: &str, path: &str, body: &str) -> Lines {
        self.request(method, path, body).expect("it is taken");
        let (status, headers) = self.head().expect("an answer");
        assert_eq!(status, 200, "{path} {body}");
        assert_eq!(headers["transfer-encoding"], "chunked");
        Lines { client: self, headers, rest: String::new() }
    }

    /// Whatever comes until the end.
    pub(crate) fn rest(&mut self) -> std::io::Result<String> {
        let mut rest = Vec::new();
        self.link.read_to_end(&mut rest)?;
        Ok(String::from_utf8_lossy(&rest).into_owned())
    }
}

/// The lines of an answer.
pub(crate) struct Lines {
    client: Client,
    pub(crate) headers: BTreeMap<String, String>,
    rest: String,
}

impl Lines {
    /// The next line as it is; none after the last one.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let line = line.to_owned();
                self.rest = rest.to_owned();
                return Some(line);
            }
            let mut size = String::new();
            let read = self.client.link.read_line(&mut size).expect("a line in time");
            assert!(read > 0, "the connection was closed before the last line");
            let size = usize::from_str_radix(size.trim_end(), 16).expect("the size of a chunk");
            let mut chunk = vec![0; size + 2];
            self.client.link.read_exact(&mut chunk).expect("a whole chunk");
            if size == 0 {
                return None;
            }
            self.rest += std::str::from_utf8(&chunk[..size]).expect("text");
        }
    }

    /// The next line that says something, which is another one than `alive`.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.next_line()?;
            let event: Value = serde_json::from_str(&line).expect("a line of JSON");
            if event["event"] != "alive" {
                return Some(event);
            }
        }
    }

    /// The next line of this name, after others or none.
    #[track_caller]
    pub(crate) fn until(&mut self, name: &str) -> Value {
        loop {
            let line = self.next_line().unwrap_or_else(|| panic!("it ends without {name}"));
            let event: Value = serde_json::from_str(&line).expect("a line of JSON");
            if event["event"] == name {
                return event;
            }
        }
    }

    /// The line of this name, which comes next.
    #[track_caller]
    pub(crate) fn expect(&mut self, name: &str) -> Value {
        let event = self.next().unwrap_or_else(|| panic!("it ends without {name}"));
        assert_eq!(event["event"], name, "{event}");
        event
    }

    #[track_caller]
    pub(crate) fn granted(&mut self) -> String {
        let event = self.until("granted");
        event["token"].as_str().expect("a token").to_owned()
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.next().is_none()
    }

    /// Has the other end wait for its reads.
    pub(crate) fn close(self) {
        drop(self);
    }
}

/// Addresses that nobody has.
pub(crate) fn ports<const N: usize>() -> [String; N] {
    addresses(N).try_into().expect("so many")
}

/// Three members with their HTTP interfaces, as options.
pub(crate) struct Three {
    file: PathBuf,
    http: [String; 3],
}

impl Three {
    /// Writes their configuration into the folder, with more lines at its top.
    pub(crate) fn new(folder: &Folder, more: &str) -> Self {
        let [a, b, c, ah, bh, ch] = ports();
        let members = [("a", a, &ah), ("b", b, &bh), ("c", c, &ch)];
        let member = |(name, address, http): &(&str, String, &String)| {
            format!("[[member]]\nname = '{name}'\naddress = '{address}'\nhttp = '{http}'\n")
        };
        let members: String = members.iter().map(member).collect();
        let file = folder.file("group.toml");
        std::fs::write(&file, format!("{more}\n{members}")).expect("it can be written");
        Self { file, http: [ah, bh, ch] }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Where one listens for clients that are not on its machine.
    pub(crate) fn http(&self, name: &str) -> &str {
        let place = ["a", "b", "c"].iter().position(|it| *it == name);
        &self.http[place.expect("a, b or c")]
    }

    /// Starts one.
    pub(crate) fn member(&self, folder: &Folder, name: &str, options: &[&str]) -> Daemon {
        let mut all = vec!["--http-listen", self.http(name)];
        all.extend_from_slice(options);
        self.local_member(folder, name, &all)
    }

    /// Starts one that listens at its Unix socket alone.
    pub(crate) fn local_member(&self, folder: &Folder, name: &str, options: &[&str]) -> Daemon {
        let config = self.file.to_str().expect("UTF-8");
        let mut all = vec!["--config", config, "--name", name];
        all.extend_from_slice(options);
        Daemon::spawn(folder, name, &all, |_| ())
    }

    /// Starts all, and waits until they are a group.
    pub(crate) fn start(&self, folder: &Folder) -> [Daemon; 3] {
        let all = ["a", "b", "c"].map(|name| self.member(folder, name, &[]));
        for daemon in &all {
            daemon.wait_until_it_answers();
            wait_for("all three are members of one view", || {
                let members = daemon.get("/v1/members").json();
                let list = members["members"].as_array()?;
                let is_in = |it: &&Value| it["state"] == "member";
                (members["majority"] == true && list.iter().filter(is_in).count() == 3)
                    .then_some(())
            });
        }
        all
    }
}
