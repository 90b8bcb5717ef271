//! Alike mistakes end with alike exit codes, whatever the command: a file that cannot be used is 4.

use crate::support;

use std::fs;

use support::{Folder, run};

/// What a file is to each command: `FILE` stands for it, `TRACE` and `SWEEP` for good ones.
const READERS: [&str; 22] = [
    "replay FILE",
    "replay FILE --json",
    "draw FILE",
    "draw FILE --states",
    "draw FILE --format svg -o OUT.svg",
    "draw clocks FILE",
    "draw topology FILE",
    "draw quorum FILE",
    "clocks FILE",
    "plot FILE -o OUT.svg",
    "merge FILE --csv OUT.csv",
    "step --script FILE",
    "topology FILE",
    "quorum FILE",
    "run echo --nodes 3 --topology FILE",
    "check echo --nodes 3 --topology FILE",
    "compare --algorithms echo --nodes 3 --topology FILE",
    "explain echo --topology FILE",
    "run maekawa --nodes 3 --quorum FILE",
    "check echo-election --nodes 3 --topology FILE",
    "run lamport --latency-matrix FILE",
    "run echo --nodes 3 --values FILE",
];

/// Commands that write, and where.
const WRITERS: [&str; 14] = [
    "run lamport --entries 5 --trace FILE",
    "run lamport --nodes 2 --entries 5 --net --trace FILE",
    "check maekawa-basic --trace FILE",
    "survive --nodes 3 --witness central lose --trace FILE",
    "sweep --nodes 2,3 --entries 5 --algorithms lamport --csv FILE",
    "sweep --nodes 2,3 --entries 5 --algorithms lamport --csv - --plot FILE.svg",
    "merge SWEEP --csv FILE",
    "plot SWEEP -o FILE.svg",
    "draw TRACE --format svg -o FILE",
    "draw run lamport --entries 3 --format text -o FILE",
    "draw topology ring --format svg -o FILE",
    "draw clocks 1&sends&a&to&0 --format svg -o FILE",
    "report --nodes 3 --algorithms central --seeds 1 --check 1 -o FILE",
    "torture --runs 1 --algorithms bully --resume FILE",
];

/// A command with the file in its place; `&` is a space in a word.
#[track_caller]
fn ends_with(code: i32, command: &str, file: &str, good: &Good) -> String {
    let command = command.replace("FILE", file).replace("OUT", &good.folder.path("out"));
    let command = command.replace("TRACE", &good.trace).replace("SWEEP", &good.sweep);
    let words: Vec<String> = command.split(' ').map(|word| word.replace('&', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (found, out, err) = run(&words);
    assert_eq!(found, code, "vorrang {command}: {out}{err}");
    assert!(err.contains("error: "), "vorrang {command}: {err}");
    err
}

/// Files as they should be.
struct Good {
    folder: Folder,
    trace: String,
    sweep: String,
}

fn good(name: &str) -> Good {
    let folder = Folder::new(name);
    let (trace, sweep) = (folder.path("good.jsonl"), folder.path("good.csv"));
    let (code, _, err) =
        run(&["run", "lamport", "--nodes", "2", "--entries", "3", "--trace", &trace]);
    assert_eq!(code, 0, "{err}");
    let sweeping = "sweep --nodes 2,3 --entries 5 --algorithms lamport --csv";
    let words: Vec<&str> = sweeping.split(' ').chain([sweep.as_str()]).collect();
    let (code, _, err) = run(&words);
    assert_eq!(code, 0, "{err}");
    Good { folder, trace, sweep }
}

#[test]
fn a_file_of_something_else_is_a_file_that_cannot_be_used() {
    let good = good("codes-foreign");
    let (words, bytes) = (good.folder.path("words.txt"), good.folder.path("bytes.bin"));
    fs::write(&words, "root:x:0:0\nnobody:x:65534\n").expect("a file");
    fs::write(&bytes, [0xff, 0xfe, 0, 1, 2, b'\n', 0x80]).expect("a file");
    for command in READERS {
        for file in [&words, &bytes] {
            let err = ends_with(4, command, file, &good);
            let name = if file == &words { "words.txt" } else { "bytes.bin" };
            assert!(err.contains(name), "vorrang {command} names no file: {err}");
        }
    }
    // A sweep that is to be continued is read, too.
    let sweep = "sweep --nodes 2,3 --entries 5 --algorithms lamport --csv FILE --resume";
    ends_with(4, sweep, &words, &good);
    ends_with(4, "torture --runs 1 --algorithms bully --resume FILE", &words, &good);
    assert_eq!(fs::read_to_string(&words).expect("a file").lines().count(), 2, "left as it was");
}

#[test]
fn a_directory_is_a_file_that_cannot_be_used() {
    let good = good("codes-directory");
    let directory = good.folder.path("directory");
    fs::create_dir(&directory).expect("a directory");
    fs::create_dir(format!("{directory}.svg")).expect("a directory");
    for command in READERS.iter().chain(&WRITERS) {
        let err = ends_with(4, command, &directory, &good);
        assert!(err.contains("directory"), "vorrang {command} names no file: {err}");
    }
}

#[test]
fn a_file_that_is_not_there_is_a_file_that_cannot_be_used() {
    let good = good("codes-missing");
    for missing in [good.folder.path("missing.txt"), good.folder.path("no/such/missing")] {
        for command in READERS {
            let err = ends_with(4, command, &missing, &good);
            assert!(err.contains("missing"), "vorrang {command} names no file: {err}");
        }
    }
    let nowhere = good.folder.path("no/such/folder/file");
    for command in WRITERS {
        let err = ends_with(4, command, &nowhere, &good);
        assert!(err.contains("no/such/folder"), "vorrang {command} names no file: {err}");
    }
}

/// What was typed and is no word that is known is wrong use, whether a file could stand there or
/// not.
#[test]
fn a_word_that_is_unknown_is_wrong_use() {
    let good = good("codes-words");
    for command in [
        "draw topology rong",
        "topology rong",
        "quorum plain",
        "clocks nonsense",
        "run echo --topology rong",
        "run echo --nodes 3 --values 1,2",
        "run maekawa --quorum plain",
        "explain echo --topology random:x",
        "step nobody",
        "step --script nobody",
        "step maekawa-thirteen",
        "draw TRACE -o picture.unknown",
        "plot SWEEP -o picture.unknown",
        "plot SWEEP -o OUT.svg --y nothing",
        "merge SWEEP --csv SWEEP",
        "sweep --nodes 2,3 --entries 5 --algorithms lamport --csv SWEEP",
    ] {
        ends_with(2, command, "", &good);
    }
}
