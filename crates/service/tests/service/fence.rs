//! `vorrang fence`: a resource for scripts.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;

use super::programs::{Folder, Running, lines_of, output, run, vorrang, wait_for};

fn token(number: u32) -> String {
    format!("{number:032x}")
}

/// Runs it on a file with a token.
#[track_caller]
fn fence(options: &[&str], file: &str, number: u32, command: &[&str]) -> (i32, String, String) {
    let token = token(number);
    run(&mut vorrang(&[&["fence"], options, &[file, &token, "--"], command].concat()))
}

#[test]
fn a_token_is_refused_once_a_newer_one_was_seen() {
    let folder = Folder::new("fence");
    let file = folder.path("fence");
    assert_eq!(fence(&[], &file, 5, &["echo", "five"]), (0, "five\n".into(), String::new()));
    assert_eq!(fs::read_to_string(&file).unwrap(), token(5) + "\n");
    let (code, out, err) = fence(&[], &file, 4, &["echo", "four"]);
    assert_eq!((code, out.as_str()), (75, ""), "{err}");
    assert!(err.contains(&token(4)) && err.contains(&token(5)) && err.contains(&file), "{err}");
    assert_eq!(fence(&[], &file, 5, &["true"]).0, 0, "the same one works under the same lock");
    assert_eq!(fence(&[], &file, 6, &["true"]).0, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), token(6) + "\n");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn the_command_is_that_of_the_process_and_its_code_as_well() {
    let folder = Folder::new("fence");
    let file = folder.path("fence");
    assert_eq!(fence(&[], &file, 1, &["sh", "-c", "exit 7"]).0, 7);
    let (code, _, err) = fence(&[], &file, 1, &["./nowhere"]);
    assert!(code == 127 && err.contains("cannot run './nowhere'"), "{code} {err}");
    fs::write(folder.file("text"), "no program").unwrap();
    assert_eq!(fence(&[], &file, 1, &[&folder.path("text")]).0, 126);
    let status =
        Running::start(&mut vorrang(&["fence", &file, &token(1), "sh", "-c", "kill -9 $$"])).ends();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status.0), Some(9));
}

#[test]
fn a_reader_is_refused_by_a_newer_writer_and_writes_nothing() {
    let folder = Folder::new("fence");
    let file = folder.path("fence");
    assert_eq!(fence(&["-s"], &file, 9, &["true"]).0, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "", "a reader is not recorded");
    assert_eq!(fence(&[], &file, 5, &["true"]).0, 0);
    assert_eq!(fence(&["--shared"], &file, 4, &["true"]).0, 75);
    assert_eq!(fence(&["--shared"], &file, 7, &["true"]).0, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), token(5) + "\n");
}

#[test]
fn the_file_is_locked_until_all_that_was_started_has_ended() {
    let folder = Folder::new("fence");
    let (file, started) = (folder.path("fence"), folder.file("started"));
    let script = format!("sleep 600 & echo $! > {}", started.display());
    let mut command = vorrang(&["fence", &file, &token(1), "sh", "-c", &script]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.spawn().unwrap().wait().unwrap().success());
    let sleeper = lines_of(&started).remove(0);
    for options in [&["-n"][..], &["-w", "0"], &["-w", ".02"], &["-s", "-w", "20ms"]] {
        let (code, out, _) = fence(options, &file, 2, &["echo", "no"]);
        assert_eq!((code, out.as_str()), (1, ""), "{options:?}");
    }
    assert_eq!(fence(&["-n", "-E", "99"], &file, 2, &["true"]).0, 99);
    assert!(!output("flock", &["-n", &file, "true"]).status.success(), "as flock sees it");
    assert_eq!(fs::read_to_string(&file).unwrap(), token(1) + "\n", "who did not get in left it");
    let token = token(2);
    let waits = Running::start(&mut vorrang(&["fence", &file, &token, "--", "echo", "then"]));
    output("kill", &[&sleeper]);
    assert_eq!(waits.code().1, "then\n");
    assert_eq!(fence(&["-n"], &file, 2, &["true"]).0, 0);
}

#[test]
fn readers_run_together_and_a_writer_waits_for_them() {
    let folder = Folder::new("fence");
    let file = folder.path("fence");
    let token = token(3);
    let reader = || {
        let mut command = vorrang(&["fence", "-s", &file, &token, "sh", "-c", "echo in; cat"]);
        command.stdin(Stdio::piped());
        Running::start(&mut command)
    };
    let (mut one, mut other) = (reader(), reader());
    let are_in = || output("flock", &["-n", &file, "true"]).status.success();
    wait_for("a reader is in", || (!are_in()).then_some(()));
    assert_eq!(fence(&["-s", "-n"], &file, 3, &["true"]).0, 0);
    assert_eq!(fence(&["-n"], &file, 3, &["true"]).0, 1);
    one.close_input();
    other.close_input();
    assert_eq!((one.code().1, other.code().1), ("in\n".to_owned(), "in\n".to_owned()));
    assert_eq!(fence(&["-w", "60"], &file, 3, &["true"]).0, 0);
}

#[test]
fn many_at_once_run_one_by_one_and_never_an_older_one_after_a_newer_one() {
    let folder = Folder::new("fence");
    let (file, log) = (folder.path("fence"), folder.path("log"));
    let running: Vec<_> = (1..=24)
        .map(|number| {
            let number = number * 7 % 25;
            let script = format!("echo in {number} >> {log}; sleep 0.01; echo out >> {log}");
            let token = token(number);
            (number, Running::start(&mut vorrang(&["fence", &file, &token, "sh", "-c", &script])))
        })
        .collect();
    let mut allowed = Vec::new();
    for (number, running) in running {
        match running.code().0 {
            0 => allowed.push(number),
            code => assert_eq!(code, 75),
        }
    }
    let log = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let order: Vec<u32> = lines
        .chunks(2)
        .map(|pair| {
            assert_eq!(pair[1], "out", "nobody is in between: {log}");
            pair[0].strip_prefix("in ").expect("one is in").parse().unwrap()
        })
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(order.len(), allowed.len());
    assert_eq!(fs::read_to_string(file).unwrap(), token(*order.last().unwrap()) + "\n");
}

#[test]
fn whoever_was_killed_has_recorded_its_token_before_it_did_anything() {
    let folder = Folder::new("fence");
    let (file, begun) = (folder.path("fence"), folder.file("begun"));
    let script = format!("cat {file} > {}; exec sleep 600", begun.display());
    let token = token(8);
    let running = Running::start(&mut vorrang(&["fence", &file, &token, "sh", "-c", &script]));
    assert_eq!(lines_of(&begun), [token]);
    running.signal(Signal::KILL);
    assert_eq!(fence(&[], &file, 7, &["true"]).0, 75);
}

#[test]
fn wrong_use_is_answered_with_what_is_wrong() {
    let folder = Folder::new("fence");
    let file = folder.path("fence");
    for wrong in ["7", "", "x", &"g".repeat(32), &"0".repeat(33)] {
        let (code, _, err) = run(&mut vorrang(&["fence", &file, wrong, "--", "true"]));
        assert_eq!(code, 64, "{err}");
        assert!(err.contains(&format!("'{wrong}' is no fencing token")), "{err}");
    }
    let (code, _, err) = run(&mut vorrang(&["fence", &file, &token(1)]));
    assert!(code == 64 && err.contains("COMMAND"), "{err}");
    assert!(!folder.file("fence").exists(), "nothing was done");
    fs::write(&file, "root:x:0:0\n").unwrap();
    let (code, _, err) = fence(&[], &file, 1, &["true"]);
    assert!(code == 65 && err.contains("'root:x:0:0'"), "{code} {err}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "root:x:0:0\n", "it is left alone");
    let nowhere = folder.path("nowhere/fence");
    let (code, _, err) = fence(&[], &nowhere, 1, &["true"]);
    assert!(code == 74 && err.contains(&nowhere), "{code} {err}");
}

#[test]
fn a_link_stays_one_and_permissions_stay_as_they_were() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("fence");
    let (file, link) = (folder.path("fence"), folder.path("link"));
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    // What is left of a process that was killed.
    fs::write(folder.file("fence.new"), "half").unwrap();
    assert_eq!(fence(&[], &link, 3, &["true"]).0, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), token(3) + "\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(!folder.file("fence.new").exists());
}
