//! What all tests of the command line need: the program run to its end, and a folder of their own.
#![allow(dead_code, reason = "every test uses some of it")]

pub(crate) mod mistakes;
pub(crate) mod node;
#[cfg(unix)]
pub(crate) mod terminal;

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use vorrang_algorithms::card::Assumes;
pub(crate) use vorrang_testkit::Folder;

/// Bounds hanging, nothing else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The folder of the whole project.
pub(crate) fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate is a member of the workspace")
}

/// The program, with nothing of the caller's surroundings that would change what it prints.
pub(crate) fn vorrang(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vorrang"));
    command.args(args).env_remove("VORRANG_LOG").env_remove("COLUMNS").env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

/// Runs the program to its end: exit code, standard output and standard error.
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    let child = vorrang(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    end_of(child.expect("the program starts"), args)
}

/// The same on a screen of that width; the exit code and standard output.
pub(crate) fn run_wide(columns: usize, args: &[&str]) -> (i32, String) {
    let mut command = vorrang(args);
    command.env("COLUMNS", columns.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (code, out, _) = end_of(command.spawn().expect("the program starts"), args);
    (code, out)
}

/// Waits for the end of the program.
pub(crate) fn end_of(mut child: Child, args: &[&str]) -> (i32, String, String) {
    let out = read(child.stdout.take().expect("a pipe"));
    let err = read(child.stderr.take().expect("a pipe"));
    let (Ok(out), Ok(err)) = (out.recv_timeout(PATIENCE), err.recv_timeout(PATIENCE)) else {
        child.kill().expect("it can be ended");
        panic!("vorrang {} does not come to an end", args.join(" "));
    };
    let status = child.wait().expect("it has ended");
    let code = status.code().unwrap_or_else(|| panic!("vorrang {args:?} was killed: {status}"));
    assert!(!err.contains("panicked"), "vorrang {}: {err}", args.join(" "));
    (code, out, err)
}

fn read(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).expect("the program writes UTF-8");
        // The test may have given up.
        let _ = sender.send(text);
    });
    receiver
}

/// Runs the program with `--json` and reads what it prints.
pub(crate) fn json(args: &[&str]) -> (i32, Value) {
    let (code, out, err) = run(&[args, &["--json"]].concat());
    let value = serde_json::from_str(&out);
    (code, value.unwrap_or_else(|why| panic!("vorrang {}: {why}: {out}{err}", args.join(" "))))
}

/// Runs the program with `--json`, which must end well.
pub(crate) fn json_of(args: &[&str]) -> Value {
    let (code, value) = json(args);
    assert_eq!(code, 0, "vorrang {}: {value:#}", args.join(" "));
    value
}

/// The busiest load that an algorithm is made for.
pub(crate) fn busiest(assumes: Assumes) -> &'static str {
    if assumes.one_at_a_time { "light" } else { "heavy" }
}

/// Comma-separated values as records, the header first; every record must be as long as that.
pub(crate) fn csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = |record: Result<csv::StringRecord, csv::Error>| {
        record.expect("records of one length").iter().map(str::to_owned).collect()
    };
    reader.records().map(record).collect()
}

/// Runs the program to its end on what it reads from standard input: exit code, standard output
/// and standard error.
pub(crate) fn run_on(input: &str, args: &[&str]) -> (i32, String, String) {
    let mut child = vorrang(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    thread::spawn(move || {
        // The program may quit before it has read everything.
        let _ = pipe.write_all(input.as_bytes());
    });
    end_of(child, args)
}
