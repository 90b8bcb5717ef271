//! `vorrang sweep` and `vorrang merge`: one file, however it came about.

use crate::support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::{Folder, PATIENCE, csv, json, run, vorrang};
use vorrang_catalogue::abouts;

/// Sixteen points that take no time.
const QUICK: &str = "sweep --nodes 2..=5 --seeds 2 --algorithms lamport,central --entries 50";

fn sweep(what: &str, file: &str, more: &[&str]) -> (i32, String, String) {
    let args: Vec<&str> = what.split(' ').collect();
    run(&[&args[..], &["--csv", file], more].concat())
}

/// Sweeps to the end and returns the file.
#[track_caller]
fn whole(what: &str, file: &str, more: &[&str]) -> String {
    let (code, out, err) = sweep(what, file, more);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    read(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(file).expect("a file of text")
}

#[test]
fn a_sweep_writes_one_row_for_every_combination_in_order() {
    let folder = Folder::new("whole");
    let file = folder.path("all.csv");
    let (code, out, err) = sweep(QUICK, &file, &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, format!("16 of 16 points in {file}, 16 computed now\n"));
    let rows = csv(&read(&file));
    assert_eq!(rows[0][..3], ["sweep", "points", "point"]);
    assert_eq!(rows.len(), 1 + 16);
    let column = |name: &str| rows[0].iter().position(|it| it == name).expect("a column");
    for (point, row) in rows[1..].iter().enumerate() {
        assert_eq!((&*row[1], &*row[2]), ("16", &*point.to_string()));
        assert_eq!(row[0], rows[1][0], "all rows are of one sweep");
        let algorithm = if point < 8 { "lamport" } else { "central" };
        assert_eq!(row[column("algorithm")], algorithm);
        assert_eq!(row[column("nodes")], (2 + point % 8 / 2).to_string());
        assert_eq!(row[column("seed")], (1 + point % 2).to_string());
        assert_eq!((&*row[column("safe")], &*row[column("quiescent")]), ("true", "true"));
    }
    assert!(!Path::new(&format!("{file}.part")).exists(), "nothing is left lying about");
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let folder = Folder::new("refuse");
    let file = folder.path("all.csv");
    let before = whole(QUICK, &file, &[]);
    let (code, _, err) = sweep(QUICK, &file, &[]);
    assert_eq!(code, 2);
    assert!(err.contains(&format!("{file} exists: --resume continues it")), "{err}");
    let (code, _, err) = sweep(QUICK, &file, &["--resume", "--hold", "2ms"]);
    assert_eq!(code, 2, "another sweep cannot continue it");
    assert!(err.contains("belongs to a sweep with other parameters"), "{err}");
    let (code, _, err) = run(&["merge", &file, "--csv", &file]);
    assert_eq!(code, 2);
    assert!(err.contains(&format!("{file} exists")), "{err}");
    assert_eq!(read(&file), before);

    let (code, out, _) = sweep(QUICK, &file, &["--resume"]);
    assert_eq!(code, 0);
    assert!(out.contains("0 computed now"), "{out}");
    assert_eq!(read(&file), before);
}

#[test]
fn a_file_that_was_cut_anywhere_is_completed_to_the_same_bytes() {
    let folder = Folder::new("cut");
    let all = whole(QUICK, &folder.path("all.csv"), &[]);
    let header = all.find('\n').expect("a header") + 1;
    for cut in [header, header + 1, all.len() / 2, all.len() - 1, all.len()] {
        let file = folder.path("cut.csv");
        fs::write(&file, &all[..cut]).expect("a file can be written");
        assert_eq!(whole(QUICK, &file, &["--resume"]), all, "cut after {cut} bytes");
        fs::remove_file(&file).expect("it can be removed");
    }
}

/// Long enough to be interrupted.
const LONG: &str = "sweep --nodes 8..=11 --seeds 12 --algorithms ricart-agrawala --entries 6000";

/// Starts a long sweep and interrupts it when the first rows are there: its exit code and what it
/// said.
fn interrupted(sweep: &str, file: &str) -> (Option<i32>, String) {
    let args: Vec<&str> = sweep.split(' ').chain(["--csv", file]).collect();
    let child = vorrang(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    let begun = Instant::now();
    while fs::read_to_string(file).map_or(0, |text| text.lines().count()) < 3 {
        if child.try_wait().expect("a state").is_some() {
            break;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().expect("it can be ended");
            panic!("no rows in time");
        }
        thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    sent.expect("kill can be run");
    let ended = child.wait_with_output().expect("it ends");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn an_interrupted_sweep_leaves_whole_lines_and_is_completed_to_the_same_bytes() {
    let folder = Folder::new("interrupt");
    let file = folder.path("part.csv");
    // If this machine let the sweep finish before the interruption arrived: once more.
    let was_interrupted = (0..20).any(|_| {
        let _ = fs::remove_file(&file);
        let (code, err) = interrupted(LONG, &file);
        assert!(matches!(code, Some(0 | 3)), "{code:?}: {err}");
        let says_so = err.contains("interrupted after") && err.contains("--resume continues");
        assert_eq!(code == Some(3), says_so, "{err}");
        code == Some(3)
    });
    assert!(was_interrupted, "twenty sweeps ended before they could be interrupted");
    let text = read(&file);
    assert!(text.ends_with('\n'));
    let rows = csv(&text);
    assert!((3..1 + 48).contains(&rows.len()), "{} rows", rows.len());

    let resumed = whole(LONG, &file, &["--resume"]);
    assert_eq!(resumed, whole(LONG, &folder.path("all.csv"), &[]));
}

/// Every so often a run of Lamport's goes wrong; the others take their time.
const BROKEN: &str = "sweep --nodes 8..=11 --seeds 12 --algorithms lamport,ricart-agrawala \
                      --entries 6000 --order any --break-assumptions --latency exp:1ms";

#[test]
fn an_interruption_does_not_hide_what_went_wrong_before() {
    let folder = Folder::new("interrupt-broken");
    let file = folder.path("part.csv");
    let was_both = (0..20).any(|_| {
        let _ = fs::remove_file(&file);
        let (code, err) = interrupted(BROKEN, &file);
        let rows = csv(&read(&file));
        let column = |name: &str| rows[0].iter().position(|it| it == name).expect(name);
        let verdicts = [column("safe"), column("quiescent")];
        let is_wrong = rows[1..].iter().any(|row| verdicts.iter().any(|&it| row[it] == "false"));
        let is_cut = err.contains("interrupted after");
        let expected = if is_wrong { 1 } else { 3 };
        assert_eq!(code, Some(expected), "{err}");
        assert_eq!(is_wrong, err.contains("not safe or left a node waiting"), "{err}");
        is_wrong && is_cut
    });
    assert!(was_both, "no sweep was interrupted after something had gone wrong");
}

#[test]
fn parts_that_are_merged_are_the_whole() {
    let folder = Folder::new("shards");
    let all = whole(QUICK, &folder.path("all.csv"), &[]);
    let parts: Vec<String> = (1..=3).map(|part| folder.path(&format!("part{part}.csv"))).collect();
    for (number, part) in (1..).zip(&parts) {
        whole(QUICK, part, &["--shard", &format!("{number}/3")]);
    }
    let merged = folder.path("merged.csv");
    let (code, out, err) = run(&["merge", &parts[2], &parts[0], &parts[1], "--csv", &merged]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, format!("16 of 16 points in {merged}\n"));
    assert_eq!(read(&merged), all);

    let twice = folder.path("twice.csv");
    let args = ["merge", &parts[0], &parts[0], &parts[1], &parts[2], "--csv", &twice];
    assert_eq!(run(&args).0, 0, "a part that comes twice is no harm");
    assert_eq!(read(&twice), all);

    let some = folder.path("some.csv");
    let (code, out, err) = run(&["merge", &parts[0], &parts[2], "--csv", &some]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("5 of 16 points are missing, the first of them number 1"), "{err}");
    assert!(!Path::new(&some).exists(), "nothing is left that would be in the way");
    assert_eq!(run(&["merge", &parts[0], &parts[1], &parts[2], "--csv", &some]).0, 0);
    assert_eq!(read(&some), all);
}

#[test]
fn parts_of_different_sweeps_are_refused() {
    let folder = Folder::new("mismatch");
    let (one, other) = (folder.path("one.csv"), folder.path("other.csv"));
    whole(QUICK, &one, &["--shard", "1/2"]);
    whole(QUICK, &other, &["--shard", "2/2", "--hold", "2ms"]);
    let merged = folder.path("merged.csv");
    let (code, _, err) = run(&["merge", &one, &other, "--csv", &merged]);
    assert_eq!(code, 2);
    assert!(err.contains(&other) && err.contains("it belongs to another sweep"), "{err}");

    let altered = folder.path("altered.csv");
    fs::write(&altered, read(&one).replace("lamport", "raymond")).expect("it can be written");
    let (code, _, err) = run(&["merge", &one, &altered, "--csv", &merged]);
    assert_eq!(code, 2);
    assert!(err.contains("computed twice, with different results"), "{err}");

    let foreign = folder.path("foreign.csv");
    fs::write(&foreign, "a,b\n1,2\n").expect("it can be written");
    let (code, _, err) = run(&["merge", &one, &foreign, "--csv", &merged]);
    assert_eq!(code, 4);
    assert!(err.contains("this is not the file of a sweep"), "{err}");
    assert!(!Path::new(&merged).exists(), "nothing was written");
}

#[test]
fn a_hyphen_is_standard_output() {
    let folder = Folder::new("stdout");
    let all = whole(QUICK, &folder.path("all.csv"), &[]);
    let (code, out, err) = sweep(QUICK, "-", &[]);
    assert_eq!((code, out), (0, all.clone()), "{err}");
    assert!(err.contains("16 of 16 points in standard output, 16 computed now"), "{err}");
    let (code, out, err) = run(&["merge", &folder.path("all.csv"), "--csv", "-"]);
    assert_eq!((code, out), (0, all), "{err}");
    let (code, _, err) = sweep(QUICK, "-", &["--resume"]);
    assert_eq!(code, 2);
    assert!(err.contains("--resume continues a file, and --csv - is none"), "{err}");
    assert!(!Path::new("-").exists(), "no file of that name");
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through() {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = Folder::new("link");
    let (link, target) = (folder.path("link.csv"), folder.path("target.csv"));
    symlink("target.csv", &link).expect("a link can be made");
    let all = whole(QUICK, &link, &[]);
    let is_link = || fs::symlink_metadata(&link).expect("it is there").is_symlink();
    assert!(is_link(), "a link that led nowhere leads to the file now");
    assert_eq!(read(&target), all);

    fs::write(&target, &all[..all.len() / 2]).expect("it can be written");
    let mode = || fs::metadata(&target).expect("it is there").permissions().mode() & 0o777;
    fs::set_permissions(&target, Permissions::from_mode(0o640)).expect("they can be set");
    assert_eq!(whole(QUICK, &link, &["--resume"]), all);
    assert!(is_link());
    assert_eq!(mode(), 0o640, "who may read it stays as it was");
    assert_eq!(read(&target), all);

    fs::remove_file(&target).expect("it can be removed");
    fs::write(folder.path("whole.csv"), &all).expect("it can be written");
    assert_eq!(run(&["merge", &folder.path("whole.csv"), "--csv", &link]).0, 0);
    assert!(is_link());
    assert_eq!(read(&target), all);
}

#[test]
fn all_algorithms_of_all_problems_fit_one_sheet() {
    let folder = Folder::new("everything");
    let names: Vec<&str> = abouts().iter().map(|about| about.name).collect();
    let algorithms = names.join(",");
    // One at a time, which all of them stand.
    let args = "sweep --nodes 5 --entries 60 --load light --loss 0%,0.1% --seed 3";
    let args: Vec<&str> = args.split(' ').collect();
    let file = folder.path("all.csv");
    let (code, _, err) = run(&[&args[..], &["--algorithms", &algorithms, "--csv", &file]].concat());
    assert!(code < 2, "{err}");
    let rows = csv(&read(&file));
    assert_eq!(rows.len(), 1 + 2 * names.len());
    for row in &rows[1..] {
        let field = |name: &str| {
            let column = rows[0].iter().position(|it| it == name);
            row[column.unwrap_or_else(|| panic!("no column {name}"))].as_str()
        };
        let name = field("algorithm");
        let loss = format!("--loss={}", field("loss"));
        let has_entries = field("problem") == "mutex";
        let entries: &[&str] = if has_entries { &["--entries=60", "--load=light"] } else { &[] };
        let (_, run) = json(&[&["run", name, "--nodes=5", "--seed=3", &loss], entries].concat());
        for key in ["problem", "messages", "safe", "quiescent", "latency", "lost", "loss"] {
            assert_eq!(field(key), run[key].to_string().trim_matches('"'), "{key} of {name}");
        }
        let own = match field("problem") {
            "mutex" => "messages_per_entry",
            "detection" => "mistakes",
            "multicast" => "control_per_multicast",
            "group" => "messages_per_multicast",
            _ => "duration",
        };
        assert!(!field(own).is_empty() && !field(&format!("{own}_agreement")).contains('.'));
    }
}
