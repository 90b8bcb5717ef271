//! A line that is typed on a terminal: keys come in, and what there is to see goes out. Nothing
//! here reads or writes.

/// More letters than any line that means something has.
const LONGEST: usize = 4096;

/// A key, as far as it means something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Letter(char),
    Enter,
    /// Ctrl-C
    Interrupt,
    /// Ctrl-D
    End,
    Left,
    Right,
    WordLeft,
    WordRight,
    ToStart,
    ToEnd,
    Up,
    Down,
    Backspace,
    Delete,
    KillToEnd,
    KillToStart,
    KillWord,
    Yank,
    Clear,
    /// One that means nothing here.
    Other,
}

/// Makes keys of the bytes that a terminal sends.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// The key that ends with this byte, if one does.
    pub(super) fn feed(&mut self, byte: u8) -> Option<Key> {
        self.pending.push(byte);
        let key = match &self.pending[..] {
            [0x1b] => return None,
            [0x1b, rest @ ..] => after_escape(rest)?,
            [control] if *control < 0x20 || *control == 0x7f => of_control(*control),
            bytes => match std::str::from_utf8(bytes) {
                Ok(text) => text.chars().next().map_or(Key::Other, Key::Letter),
                // The rest of the letter is still to come.
                Err(error) if error.error_len().is_none() => return None,
                Err(_) => Key::Other,
            },
        };
        self.pending.clear();
        Some(key)
    }
}

const fn of_control(byte: u8) -> Key {
    match byte {
        b'\r' | b'\n' => Key::Enter,
        0x03 => Key::Interrupt,
        0x04 => Key::End,
        0x08 | 0x7f => Key::Backspace,
        0x01 => Key::ToStart,
        0x05 => Key::ToEnd,
        0x02 => Key::Left,
        0x06 => Key::Right,
        0x10 => Key::Up,
        0x0e => Key::Down,
        0x0b => Key::KillToEnd,
        0x15 => Key::KillToStart,
        0x17 => Key::KillWord,
        0x19 => Key::Yank,
        0x0c => Key::Clear,
        _ => Key::Other,
    }
}

/// The key of a sequence, without its escape; none if more is to come.
fn after_escape(rest: &[u8]) -> Option<Key> {
    let key = match rest {
        [b'[' | b'O'] => return None,
        [b'[' | b'O', parameters @ .., last] => match (parameters, last) {
            ([], b'A') => Key::Up,
            ([], b'B') => Key::Down,
            ([], b'C') => Key::Right,
            ([], b'D') => Key::Left,
            // With Ctrl or Alt.
            ([b'1', b';', b'3' | b'5'], b'C') => Key::WordRight,
            ([b'1', b';', b'3' | b'5'], b'D') => Key::WordLeft,
            ([], b'H') | ([b'1' | b'7'], b'~') => Key::ToStart,
            ([], b'F') | ([b'4' | b'8'], b'~') => Key::ToEnd,
            ([b'3'], b'~') => Key::Delete,
            (_, 0x40..=0x7e) => Key::Other,
            _ => return None,
        },
        [b'b'] => Key::WordLeft,
        [b'f'] => Key::WordRight,
        [0x7f | 0x08] => Key::KillWord,
        _ => Key::Other,
    };
    Some(key)
}

/// What came of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Typed {
    /// The line goes on.
    GoesOn,
    /// The screen is to be cleared.
    Clears,
    /// The line is done.
    Line(String),
    /// It was given up with Ctrl-C.
    GivenUp,
    /// Ctrl-D on an empty line.
    End,
}

/// A line, and those before it.
#[derive(Debug, Default)]
pub(super) struct LineEditor {
    letters: Vec<char>,
    cursor: usize,
    history: Vec<String>,
    /// Which line of the history is shown; behind its end, the one that is being typed.
    place: usize,
    /// The line that is being typed, while one of the history is shown.
    aside: Vec<char>,
    /// What was cut out last.
    killed: Vec<char>,
}

impl LineEditor {
    /// Does what the key means.
    pub(super) fn press(&mut self, key: Key) -> Typed {
        let (cursor, end) = (self.cursor, self.letters.len());
        match key {
            Key::Letter(letter) if end < LONGEST && !letter.is_control() => {
                self.letters.insert(cursor, letter);
                self.cursor += 1;
            }
            Key::Enter => return Typed::Line(self.done()),
            Key::Interrupt => {
                self.start_anew();
                return Typed::GivenUp;
            }
            Key::End if end == 0 => return Typed::End,
            Key::End | Key::Delete if cursor < end => {
                self.letters.remove(cursor);
            }
            Key::Left => self.cursor = cursor.saturating_sub(1),
            Key::Right => self.cursor = (cursor + 1).min(end),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::ToStart => self.cursor = 0,
            Key::ToEnd => self.cursor = end,
            Key::Up => self.recall(self.place.saturating_sub(1)),
            Key::Down => self.recall(self.place + 1),
            Key::Backspace if cursor > 0 => {
                self.letters.remove(cursor - 1);
                self.cursor -= 1;
            }
            Key::KillToEnd => self.kill(cursor, end),
            Key::KillToStart => self.kill(0, cursor),
            Key::KillWord => self.kill(self.word_before(), cursor),
            Key::Yank => {
                let room = LONGEST.saturating_sub(end);
                let killed: Vec<char> = self.killed.iter().copied().take(room).collect();
                self.cursor += killed.len();
                self.letters.splice(cursor..cursor, killed);
            }
            Key::Clear => return Typed::Clears,
            // There is no room, or nothing to take away.
            Key::Letter(_) | Key::End | Key::Delete | Key::Backspace | Key::Other => {}
        }
        Typed::GoesOn
    }

    /// What is to be seen of the line in so many columns, and where the cursor is in it.
    pub(super) fn shown(&self, columns: usize) -> (String, usize) {
        let from = (self.cursor + 1).saturating_sub(columns.max(1));
        let letters = self.letters.iter().skip(from).take(columns);
        (letters.collect(), self.cursor - from)
    }

    /// The line, which is remembered.
    fn done(&mut self) -> String {
        let line: String = self.letters.iter().collect();
        let is_new = self.history.last() != Some(&line);
        if is_new && !line.trim().is_empty() {
            self.history.push(line.clone());
        }
        self.start_anew();
        line
    }

    fn start_anew(&mut self) {
        self.letters.clear();
        self.cursor = 0;
        self.place = self.history.len();
        self.aside.clear();
    }

    fn recall(&mut self, place: usize) {
        let last = self.history.len();
        if place > last || place == self.place {
            return;
        }
        if self.place == last {
            self.aside = std::mem::take(&mut self.letters);
        }
        self.letters = match self.history.get(place) {
            Some(line) => line.chars().collect(),
            None => std::mem::take(&mut self.aside),
        };
        self.place = place;
        self.cursor = self.letters.len();
    }

    fn kill(&mut self, from: usize, to: usize) {
        self.killed = self.letters.drain(from..to).collect();
        self.cursor = from;
    }

    /// Where the word before the cursor begins.
    fn word_before(&self) -> usize {
        let before = &self.letters[..self.cursor];
        let word = before.iter().rposition(|it| !it.is_whitespace()).map_or(0, |it| it + 1);
        before[..word].iter().rposition(|it| it.is_whitespace()).map_or(0, |it| it + 1)
    }

    /// Where the word after the cursor ends.
    fn word_after(&self) -> usize {
        let (cursor, end) = (self.cursor, self.letters.len());
        let letters = &self.letters[cursor..];
        let word = letters.iter().position(|it| !it.is_whitespace()).unwrap_or(end - cursor);
        let rest = letters[word..].iter().position(|it| it.is_whitespace());
        rest.map_or(end, |it| cursor + word + it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        bytes.iter().filter_map(|&byte| decoder.feed(byte)).collect()
    }

    /// The lines that come of these bytes, and what is left on the last one.
    fn lines(editor: &mut LineEditor, bytes: &str) -> (Vec<String>, String) {
        let done = keys(bytes.as_bytes()).into_iter().filter_map(|key| match editor.press(key) {
            Typed::Line(line) => Some(line),
            _ => None,
        });
        let done = done.collect();
        (done, editor.letters.iter().collect())
    }

    fn left(bytes: &str) -> String {
        lines(&mut LineEditor::default(), bytes).1
    }

    #[test]
    fn what_terminals_send_is_understood() {
        assert_eq!(keys("aé→".as_bytes()), ['a', 'é', '→'].map(Key::Letter));
        let arrows = [Key::Up, Key::Down, Key::Right, Key::Left];
        assert_eq!(keys(b"\x1b[A\x1b[B\x1b[C\x1b[D"), arrows);
        assert_eq!(keys(b"\x1bOA\x1bOB\x1bOC\x1bOD"), arrows);
        assert_eq!(
            keys(b"\x1b[3~\x1b[1~\x1b[F\x1b[1;5D"),
            [Key::Delete, Key::ToStart, Key::ToEnd, Key::WordLeft]
        );
        // What is not known is taken as a whole: nothing of it becomes a letter.
        assert_eq!(keys(b"\x1b[15~\x1b[200~a"), [Key::Other, Key::Other, Key::Letter('a')]);
        assert_eq!(keys(b"\xffa"), [Key::Other, Key::Letter('a')]);
    }

    #[test]
    fn a_line_is_mended_where_it_is_wrong() {
        assert_eq!(left("aqcuire\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x7f\x1b[Cq"), "acquire");
        assert_eq!(left("deliver 0->1\x01\x1b[3~D\x05!"), "Deliver 0->1!");
        assert_eq!(left("one two\x17three\x19"), "one threetwo");
        assert_eq!(left("one two\x1bb\x0b\x01x"), "xone ");
        assert_eq!(left("one two\x15"), "");
        assert_eq!(left("\x7f\x1b[D\x1b[3~\x04\x0b\x17"), "");
    }

    #[test]
    fn former_lines_come_back_and_the_unfinished_one_is_kept() {
        let mut editor = LineEditor::default();
        assert_eq!(lines(&mut editor, "one\rtwo\rtwo\r\r").0, ["one", "two", "two", ""]);
        assert_eq!(lines(&mut editor, "thr\x1b[A").1, "two");
        assert_eq!(lines(&mut editor, "\x1b[A").1, "one", "the same twice is there once");
        assert_eq!(lines(&mut editor, "\x1b[A\x1b[A").1, "one");
        assert_eq!(lines(&mut editor, "\x1b[B\x1b[B").1, "thr");
        assert_eq!(lines(&mut editor, "\x1b[A\x1b[A\r"), (vec!["one".to_owned()], String::new()));
    }

    #[test]
    fn control_keys_end_a_line_or_give_it_up() {
        let mut editor = LineEditor::default();
        assert_eq!(editor.press(Key::Letter('a')), Typed::GoesOn);
        assert_eq!(editor.press(Key::End), Typed::GoesOn, "it is not empty");
        assert_eq!(editor.press(Key::Interrupt), Typed::GivenUp);
        assert_eq!(editor.press(Key::End), Typed::End);
        assert_eq!(lines(&mut editor, "\x1b[A").1, "", "what was given up is not remembered");
    }

    #[test]
    fn of_a_line_longer_than_the_screen_the_part_at_the_cursor_is_shown() {
        let mut editor = LineEditor::default();
        lines(&mut editor, "0123456789");
        assert_eq!(editor.shown(20), ("0123456789".to_owned(), 10));
        assert_eq!(editor.shown(5), ("6789".to_owned(), 4));
        editor.press(Key::ToStart);
        assert_eq!(editor.shown(5), ("01234".to_owned(), 0));
        assert_eq!(editor.shown(0).1, 0);
    }

    #[test]
    fn a_line_has_an_end() {
        let mut editor = LineEditor::default();
        lines(&mut editor, &"x".repeat(2 * LONGEST));
        assert_eq!(editor.letters.len(), LONGEST);
        lines(&mut editor, "\x15\x19\x19\x19");
        assert_eq!(editor.letters.len(), LONGEST);
    }
}
