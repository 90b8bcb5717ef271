//! Lines of any length, without keeping more of them than is worth it.

use std::io::{self, BufRead};

/// No line that means anything is longer.
const LONGEST: usize = 4096;
/// The excerpt of a line in an error message.
const SHOWN: usize = 60;

/// Reads a line, of which so much is kept as can mean anything; none at the end of the input.
pub(super) fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut kept = Vec::new();
    let mut is_line = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        is_line = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let text = &chunk[..end.unwrap_or(chunk.len())];
        let room = LONGEST - kept.len();
        kept.extend_from_slice(&text[..text.len().min(room)]);
        let used = text.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    // Control characters in a line are not printed.
    let plain = |it: char| if it.is_control() && it != '\t' { ' ' } else { it };
    let text = || String::from_utf8_lossy(&kept).chars().map(plain).collect();
    Ok(is_line.then(text))
}

/// The beginning of a text, for a sentence about it.
pub(super) fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_and_the_last_needs_no_end() {
        let mut input = &b"one\r\n\ntwo"[..];
        let mut next = || read_line(&mut input).unwrap();
        assert_eq!(next().as_deref(), Some("one "));
        assert_eq!(next().as_deref(), Some(""));
        assert_eq!(next().as_deref(), Some("two"));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_line_that_is_much_too_long_is_cut_and_the_next_is_whole() {
        let text = format!("{}\nnext\n", "x".repeat(3 * LONGEST));
        let mut input = io::BufReader::with_capacity(1000, text.as_bytes());
        let line = read_line(&mut input).unwrap().unwrap();
        assert_eq!(line.len(), LONGEST);
        assert_eq!(cut(&line).chars().count(), SHOWN + 1);
        assert_eq!(read_line(&mut input).unwrap().as_deref(), Some("next"));
    }
}
