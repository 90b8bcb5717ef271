//! `vorrang step` on a terminal: lines that can be edited, Ctrl-C, the diagram beside the list.
#![cfg(unix)]

use crate::support::terminal::{self, Terminal};

use rustix::process::Signal;
use rustix::termios::{LocalModes, SpecialCodeIndex};

const LAMPORT: &[&str] = &["step", "lamport", "--nodes", "3"];

/// A prompt at which nothing has been typed.
const PROMPT: &str = "\r> \x1b[K\r\x1b[2C";

fn start() -> Terminal {
    terminal::start(100, &[], LAMPORT)
}

/// What the last step did is in the list of what can be taken back.
fn history(terminal: &mut Terminal) -> String {
    terminal.types("history\r");
    terminal.shows("lamport --nodes 3\r\n");
    terminal.shows(PROMPT)
}

#[test]
fn a_line_is_edited_and_former_lines_come_back() {
    let mut terminal = start();
    terminal.shows(PROMPT);
    // "aqire 0", mended in the middle, with a letter at the end taken back.
    terminal.types("aqire 0x\x7f\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[3~cqu\r");
    terminal.shows("0 -> 1 REQUEST(1)");
    terminal.shows(PROMPT);
    terminal.types("undo\r");
    terminal.shows("back to 0 steps");
    terminal.shows(PROMPT);
    terminal.types("\x1b[A\x1b[A\r");
    terminal.shows("0 -> 1 REQUEST(1)");
    assert!(history(&mut terminal).contains("acquire 0"));
    terminal.types("\x04");
    assert_eq!(terminal.ends(), Some(0), "{}", terminal.all());
}

#[test]
fn what_is_typed_ahead_or_pasted_is_done_line_by_line() {
    let mut terminal = start();
    terminal.shows(PROMPT);
    terminal.types("acquire 0\rsettle\rrelease 0\rquit\r");
    assert_eq!(terminal.ends(), Some(0));
    terminal.shows("0 entered");
    terminal.shows("0 -> 2 RELEASE");
}

#[test]
fn ctrl_c_gives_up_a_line_and_keeps_the_run() {
    let mut terminal = start();
    terminal.shows(PROMPT);
    terminal.types("acquire 0\r");
    terminal.shows("REQUEST(1)");
    terminal.shows(PROMPT);
    for _ in 0..5 {
        terminal.types("release\x03");
        terminal.shows("The run is kept. quit or Ctrl-D ends it");
        // Between two lines the terminal has its usual settings, and takes Ctrl-C itself.
        terminal.shows(PROMPT);
    }
    let lines = history(&mut terminal);
    assert!(lines.contains("acquire 0") && !lines.contains("release"), "{lines}");
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn ctrl_c_ends_a_search_and_keeps_the_run() {
    let args = ["step", "ricart-agrawala", "--nodes", "5"];
    let mut terminal = terminal::start(100, &[], &args);
    terminal.shows(PROMPT);
    terminal.types("acquire 0\r");
    terminal.shows(PROMPT);
    terminal.types("check --requests 5 --max-states 100000000 --max-memory 100000\r");
    terminal.shows("states, ");
    terminal::signal(&terminal, Signal::INT);
    terminal.shows("bounded by interrupt");
    terminal.shows(PROMPT);
    // It was that search's end, and not that of the next.
    terminal.types("check --requests 0\r");
    terminal.shows("verified");
    terminal.types("history\r");
    terminal.shows("acquire 0");
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn the_terminal_is_left_as_it_was_found() {
    for ends in ["quit\r", "\x04"] {
        let mut terminal = start();
        let before = terminal.settings();
        terminal.shows(PROMPT);
        let during = terminal.settings();
        assert!(before.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
        assert!(!during.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO));
        terminal.types(ends);
        terminal.ends();
        same(&before, &terminal.settings());
    }
    let mut terminal = start();
    let before = terminal.settings();
    terminal.shows(PROMPT);
    terminal::signal(&terminal, Signal::TERM);
    assert_eq!(terminal.ends(), Some(130));
    same(&before, &terminal.settings());
}

#[track_caller]
fn same(before: &rustix::termios::Termios, after: &rustix::termios::Termios) {
    let of = |it: &rustix::termios::Termios| {
        let codes = [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME];
        (it.local_modes, it.input_modes, it.output_modes, codes.map(|code| it.special_codes[code]))
    };
    assert_eq!(of(before), of(after));
}

#[test]
fn the_last_steps_are_drawn_beside_the_list() {
    let mut terminal = start();
    terminal.shows(PROMPT);
    terminal.types("acquire 0\r");
    terminal.shows(PROMPT);
    terminal.types("deliver 0->1\r");
    let shown = terminal.shows(PROMPT);
    let beside = shown.lines().find(|line| line.contains("──▶")).expect("an arrow");
    assert!(beside.trim_start().starts_with("3  "), "it is beside the list: {shown}");
    assert!(beside.contains("REQUEST(1), ACK(2) to 0"), "{shown}");
    let under_way = shown.lines().find(|line| line.contains("◀╌")).expect("an answer");
    assert!(under_way.contains("ACK(2), since 2"), "{shown}");
    terminal.types("diagram off\r");
    terminal.shows(PROMPT);
    terminal.types("deliver 0->2\r");
    assert!(!terminal.shows(PROMPT).contains('▶'));
    terminal.types("diagram\r");
    assert!(terminal.shows(PROMPT).contains("──▶"), "it is shown once if it is asked for");
}

#[test]
fn a_narrow_terminal_has_the_diagram_above_and_no_line_that_is_too_long() {
    for columns in [40, 60, 80, 200] {
        let mut terminal = terminal::start(columns, &[], &["step", "maekawa", "--nodes", "7"]);
        terminal.shows(PROMPT);
        terminal.types("random 30 3\r");
        terminal.shows(PROMPT);
        terminal.types("acquire 6\r");
        let shown = terminal.shows(PROMPT);
        assert!(shown.contains('│'), "{columns}: {shown}");
        for line in shown.lines().filter(|line| line.contains('│')) {
            let width = line.trim_end().chars().count();
            assert!(width <= usize::from(columns), "{width} of {columns}: {line}\n{shown}");
        }
    }
}

#[test]
fn where_there_is_no_unicode_or_no_cursor_there_is_ascii_and_there_are_plain_lines() {
    let mut terminal = terminal::start(100, &[("LC_ALL", "C")], LAMPORT);
    terminal.shows(PROMPT);
    terminal.types("acquire 0\r");
    terminal.shows(PROMPT);
    terminal.types("deliver 0->1\rquit\r");
    terminal.shows("-->");
    let drawn = ['│', '║', '█', '●', '─', '╌', '▶', '◀'];
    assert!(!terminal.all().contains(drawn), "{}", terminal.all());

    let mut terminal = terminal::start(100, &[("TERM", "dumb")], LAMPORT);
    terminal.shows("help\r\n> ");
    terminal.types("acquire 0\n");
    terminal.shows("0 -> 1 REQUEST(1)");
    terminal.shows("\n> ");
    // Ctrl-C comes as a signal then; three of them in a row are an end.
    terminal::signal(&terminal, Signal::INT);
    terminal.shows("The run is kept");
    terminal.types("history\n");
    terminal.shows("acquire 0");
    assert!(!terminal.all().contains('\x1b'), "{}", terminal.all());
    terminal.types("quit\n");
    assert_eq!(terminal.ends(), Some(0));
}
