//! Output on a terminal, and its width; [tables](table).
#![forbid(unsafe_code)]

pub mod table;

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Reset, Style};

/// Emphasis.
pub const BOLD: Style = Style::new().bold();
/// Lines on standard error.
pub const DIM: Style = Style::new().dimmed();
/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// The end of a style.
pub const RESET: Reset = Reset;

/// Whether standard output went away, as it does in `vorrang list | head -1`.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Prints to standard output; colours only where a terminal shows them and `NO_COLOR` is not set.
///
/// A reader that goes away ends the printing and nothing else: the exit code still has a verdict to
/// give.
///
/// # Errors
///
/// If it cannot be written, for any other reason.
pub fn print(text: &str) -> io::Result<()> {
    if is_closed() {
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        printed => printed,
    }
}

/// Prints a line on standard error, if that is open.
pub fn say_aside(line: &str) {
    let choice = AutoStream::choice(&std::io::stderr());
    let _ = write_whole(&mut std::io::stderr().lock(), choice, &format!("{line}\n"));
}

/// Writes a text in one piece: where standard output goes to the same place, it must not come
/// between a line and its end. Without colours a stream writes what is between them piece by piece,
/// so they are taken out before.
fn write_whole(to: &mut impl Write, choice: ColorChoice, text: &str) -> io::Result<()> {
    let mut whole = AutoStream::new(Vec::new(), choice);
    whole.write_all(text.as_bytes())?;
    to.write_all(&whole.into_inner())
}

/// How wide a line may be: what `COLUMNS` says, or the terminal. None if there is neither, as in a
/// file or a pipe: then nothing is wrapped.
pub fn screen() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let of_terminal = || {
        let out = std::io::stdout();
        let size = out.is_terminal().then(|| terminal_size::terminal_size_of(out)).flatten();
        size.map(|(width, _)| usize::from(width.0))
    };
    said.or_else(of_terminal).filter(|&width| width > 0)
}

/// Lines that are no wider than the screen; what goes on in the next line is as far to the right as
/// its beginning.
pub fn wrapped(text: &str) -> String {
    wrapped_to(text, screen())
}

fn wrapped_to(text: &str, screen: Option<usize>) -> String {
    let Some(screen) = screen else { return text.to_owned() };
    text.lines().map(|line| broken(line, screen, 0)).collect()
}

/// One line as several; those after the first begin so much further to the right than it does.
pub fn broken(line: &str, screen: usize, further: usize) -> String {
    let words = line.trim_start();
    let indent = line.len() - words.len();
    let first = " ".repeat(indent);
    if length(line) <= screen {
        return format!("{line}\n");
    }
    let parts = wrap(words, screen.saturating_sub(indent + further));
    first + &parts.join(&format!("\n{}", " ".repeat(indent + further))) + "\n"
}

/// Breaks a text between words; a word that is longer than a line is left whole.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if length(line) + 1 + length(word) <= width {
            *line += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// A text without anything that a terminal would obey: control characters, and those that turn
/// writing around, are shown and do nothing.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' '..='~' => shown.push(character),
            _ if character.is_control() => {
                shown.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

/// How many columns a text takes, its colours aside.
pub fn length(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(harmless("a\x1b[2J\r\nb\u{9b}é\u{202e}"), "a\\x1b[2J\\x0d\\x0ab\\x9bé\\u{202e}");
        assert_eq!(harmless("it's \"fine\" \\ …"), "it's \"fine\" \\ …");
    }

    #[test]
    fn what_goes_on_is_indented_alike() {
        assert_eq!(wrapped_to("  one two three\nx\n", Some(9)), "  one two\n  three\nx\n");
        assert_eq!(wrapped_to("one two three\n", None), "one two three\n");
    }

    /// Keeps what each call wrote.
    #[derive(Default)]
    struct Pieces(Vec<String>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_and_its_end_are_written_at_once_with_colours_and_without() {
        let line = format!("{DIM}view 2 {{0, 2}}{RESET}, {BAD}…{RESET}\n");
        for (choice, wanted) in
            [(ColorChoice::Never, "view 2 {0, 2}, …\n"), (ColorChoice::AlwaysAnsi, &line)]
        {
            let mut pieces = Pieces::default();
            write_whole(&mut pieces, choice, &line).expect("it is written");
            assert_eq!(pieces.0, [wanted], "{choice:?}");
        }
    }
}
