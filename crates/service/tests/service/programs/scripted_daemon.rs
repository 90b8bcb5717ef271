//! What a daemon says, said by a test: so everything can be said, at any time.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{Folder, wait_for};

/// It has one hold at a time, of which the test decides everything.
pub(crate) struct ScriptedDaemon {
    folder: Folder,
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// All requests: method and path, and what came with them.
    requests: Vec<(String, Value)>,
    /// Where lines of the last hold go.
    stream: Option<Box<dyn Connection>>,
    /// Answers other than the usual ones, by how method and path begin, or end.
    answers: BTreeMap<&'static str, (u16, Value)>,
    /// Requests to paths that end so are not answered.
    silent: Option<&'static str>,
}

pub(crate) const TOKEN: &str = "00000000000000070000000000000001";

trait Connection: std::io::Read + Write + Send {
    fn again(&self) -> Box<dyn Connection>;
    fn hang_up(&self);
}

impl Connection for UnixStream {
    fn again(&self) -> Box<dyn Connection> {
        Box::new(self.try_clone().expect("the same connection"))
    }
    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Connection for TcpStream {
    fn again(&self) -> Box<dyn Connection> {
        Box::new(self.try_clone().expect("the same connection"))
    }
    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl ScriptedDaemon {
    pub(crate) fn start() -> Self {
        let folder = Folder::new("scripted");
        let local = UnixListener::bind(folder.file("socket")).expect("a socket");
        let remote = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = remote.local_addr().expect("it has one").to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in local.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&connection, &shared));
            }
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in remote.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&connection, &shared));
            }
        });
        Self { folder, address, state }
    }

    /// As an argument.
    pub(crate) fn socket(&self) -> String {
        self.folder.path("socket")
    }

    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().expect("no test has failed"))
    }

    /// What such requests are answered from now on.
    pub(crate) fn answers(&self, what: &'static str, status: u16, body: Value) {
        self.state(|it| it.answers.insert(what, (status, body)));
    }

    /// Such requests are not answered from now on, or all are again.
    pub(crate) fn is_silent_to(&self, path_end: Option<&'static str>) {
        self.state(|it| it.silent = path_end);
    }

    /// What came with the requests of this method and path, whose end may be left out.
    pub(crate) fn requests(&self, begin: &str, end: &str) -> Vec<Value> {
        self.state(|it| {
            let these = it.requests.iter();
            let these = these.filter(|it| it.0.starts_with(begin) && it.0.ends_with(end));
            these.map(|it| it.1.clone()).collect()
        })
    }

    /// Waits for the next request for a hold, and returns it.
    #[track_caller]
    pub(crate) fn asked(&self) -> Value {
        wait_for("somebody asks for a hold", || {
            self.state(|it| it.stream.is_some()).then_some(())?;
            self.requests("PUT /v1/holds/", "").last().cloned()
        })
    }

    /// Says a line to whoever has asked last.
    #[track_caller]
    pub(crate) fn says(&self, line: &Value) {
        self.to_listener(|stream| drop(write_chunk(stream.as_mut().expect("one"), line)));
    }

    /// The same as the last line: whoever asks next is another one.
    #[track_caller]
    pub(crate) fn says_at_last(&self, line: &Value) {
        self.to_listener(|stream| {
            let mut stream = stream.take().expect("one");
            let _ = write_chunk(&mut stream, line).and_then(|()| stream.write_all(b"0\r\n\r\n"));
        });
    }

    #[track_caller]
    fn to_listener(&self, mut say: impl FnMut(&mut Option<Box<dyn Connection>>)) {
        wait_for("somebody listens", || {
            self.state(|it| it.stream.is_some().then(|| say(&mut it.stream)))
        });
    }

    /// Grants it, without leases.
    #[track_caller]
    pub(crate) fn grants(&self) {
        self.grants_until(None);
    }

    #[track_caller]
    pub(crate) fn grants_until(&self, deadline_ns: Option<u64>) {
        self.says(&json!({
            "event": "granted", "token": TOKEN, "view": 7, "number": 1, "lease_ms": 1000,
            "deadline_boottime_ns": deadline_ns,
        }));
    }

    /// The connection of the hold breaks; the next one may ask.
    #[track_caller]
    pub(crate) fn hangs_up(&self) {
        self.to_listener(|stream| stream.take().expect("one").hang_up());
    }

    /// The next hold is another one.
    pub(crate) fn forgets(&self) {
        self.state(|it| it.stream = None);
    }

    /// Waits until the process group was registered, and returns it.
    #[track_caller]
    pub(crate) fn knows_process(&self) -> u32 {
        wait_for("the daemon knows the process group", || {
            let told = self.requests("POST /v1/holds/", "/process");
            told.last()?["pgid"].as_u64().map(|it| it as u32)
        })
    }

    /// Whether a hold was given back.
    pub(crate) fn was_released(&self) -> bool {
        !self.requests("DELETE /v1/holds/", "").is_empty()
    }
}

fn write_chunk(to: &mut Box<dyn Connection>, line: &Value) -> std::io::Result<()> {
    let text = format!("{line}\n");
    write!(to, "{:x}\r\n{text}\r\n", text.len())?;
    to.flush()
}

/// Answers the requests of one connection.
fn serve(connection: &dyn Connection, state: &Mutex<State>) {
    let mut reader = BufReader::new(connection.again());
    let mut writer = connection.again();
    while let Some((what, body)) = request(&mut reader) {
        let is_hold = what.starts_with("PUT /v1/holds/") || what.starts_with("GET /v1/elections/");
        let answer = {
            let mut state = state.lock().expect("no test has failed");
            state.requests.push((what.clone(), body));
            if state.silent.is_some_and(|it| what.ends_with(it)) {
                continue;
            }
            let key = state.answers.keys().copied();
            let key = key.into_iter().find(|it| what.starts_with(it) || what.ends_with(it));
            if is_hold && key.is_none() {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\
                            transfer-encoding: chunked\r\n\r\n";
                let _ = writer.write_all(head.as_bytes());
                state.stream = Some(connection.again());
                continue;
            }
            key.map_or((204, Value::Null), |it| state.answers[it].clone())
        };
        let (status, body) = answer;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Of the test\r\ncontent-length: {length}\r\n\r\n");
        let head = if status == 204 { "HTTP/1.1 204 No Content\r\n\r\n".to_owned() } else { head };
        if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
            break;
        }
    }
}

/// Method and path, and the body.
fn request(reader: &mut dyn BufRead) -> Option<(String, Value)> {
    let mut line = String::new();
    let next = |line: &mut String, reader: &mut dyn BufRead| {
        line.clear();
        (reader.read_line(line).ok()? > 0).then_some(())
    };
    next(&mut line, reader)?;
    let what = line.rsplit_once(' ')?.0.to_owned();
    let mut length = 0;
    loop {
        next(&mut line, reader)?;
        let (name, value) = line.trim().split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((what, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}
