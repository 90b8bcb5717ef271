//! Where the lines of a session come from: a terminal with a line that can be edited, or anything
//! that has lines.

use std::io::{self, BufRead, IsTerminal as _, Write as _, stdin, stdout};

use anstream::{AutoStream, ColorChoice};
use vorrang_node::terminal::{BOLD, RESET, print, screen};

use super::Surface;
use super::input::read_line;
use super::line_editor::{Decoder, LineEditor, Typed};
use super::raw_mode::RawMode;
use crate::interrupt;

/// What came in place of a line, or with it.
pub(super) enum Entered {
    Line(String),
    /// Ctrl-C, and what was typed is gone.
    GivenUp,
    End,
}

/// The input of a session.
pub(crate) struct Console {
    input: Box<dyn BufRead>,
    /// On a terminal that can move its cursor.
    editor: Option<LineEditor>,
    surface: Surface,
}

/// Before the cursor.
const PROMPT: &str = "> ";

impl Console {
    /// Standard input; edited if it and standard output are terminals.
    pub(crate) fn standard() -> Self {
        let is_terminal = stdin().is_terminal();
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let edits = is_terminal && stdout().is_terminal() && !is_dumb && RawMode::IS_KNOWN;
        Self {
            input: Box::new(stdin().lock()),
            editor: edits.then(LineEditor::default),
            surface: if is_terminal { Surface::Terminal } else { Surface::Pipe },
        }
    }

    pub(crate) const fn surface(&self) -> Surface {
        self.surface
    }

    /// The next line. Ctrl-C while it was typed concerns nothing that comes of it.
    pub(super) fn next(&mut self) -> io::Result<Entered> {
        interrupt::forget();
        let entered = self.read();
        interrupt::forget();
        entered
    }

    fn read(&mut self) -> io::Result<Entered> {
        let Some(editor) = &mut self.editor else {
            if self.surface == Surface::Terminal {
                print(&format!("{BOLD}{PROMPT}{RESET}")).map_err(io::Error::other)?;
            }
            let line = read_line(&mut self.input)?;
            return Ok(line.map_or(Entered::End, Entered::Line));
        };
        let _raw = RawMode::begin()?;
        let mut decoder = Decoder::default();
        show(editor, "")?;
        loop {
            let Some(&byte) = fill(&mut self.input)?.first() else {
                return Ok(Entered::End);
            };
            self.input.consume(1);
            let Some(key) = decoder.feed(byte) else { continue };
            match editor.press(key) {
                Typed::GoesOn => show(editor, "")?,
                Typed::Clears => show(editor, "\x1b[H\x1b[2J")?,
                Typed::Line(line) => {
                    end_line()?;
                    return Ok(Entered::Line(line));
                }
                Typed::GivenUp => {
                    end_line()?;
                    return Ok(Entered::GivenUp);
                }
                Typed::End => return Ok(Entered::End),
            }
        }
    }
}

/// What can be read, at least a byte but at the end. A signal is none of its business.
fn fill(input: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    input.fill_buf()
}

/// Shows the line anew, with the cursor where it is.
fn show(editor: &LineEditor, before: &str) -> io::Result<()> {
    let columns = screen().unwrap_or(80).saturating_sub(PROMPT.len() + 1);
    let (text, cursor) = editor.shown(columns);
    let is_plain = AutoStream::choice(&stdout()) == ColorChoice::Never;
    let prompt = if is_plain { PROMPT.to_owned() } else { format!("{BOLD}{PROMPT}{RESET}") };
    let right = PROMPT.len() + cursor;
    // Not by way of what strips colours: it would strip the cursor's moves as well.
    let mut out = stdout().lock();
    write!(out, "{before}\r{prompt}{text}\x1b[K\r\x1b[{right}C")?;
    out.flush()
}

fn end_line() -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(b"\r\n")?;
    out.flush()
}
