//! Typed lines, of bounded length.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// How long a line may be, in bytes; of a longer one nothing is kept.
pub(super) const MAX_LINE: usize = 4096;

/// Lines of bounded length.
pub(super) struct Input<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    is_too_long: bool,
}

/// A line, or the end of input.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Typed {
    Line(String),
    /// More than fits.
    TooLong,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), line: Vec::new(), is_too_long: false }
    }

    /// The next line; none at the end. Nothing is lost if it is not waited for to the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Typed>> {
        loop {
            let bytes = self.from.fill_buf().await?;
            let is_end = bytes.is_empty();
            let newline = bytes.iter().position(|&byte| byte == b'\n');
            let (part, used) = match newline {
                Some(at) => (&bytes[..at], at + 1),
                None => (bytes, bytes.len()),
            };
            if self.line.len() + part.len() > MAX_LINE {
                self.is_too_long = true;
                self.line.clear();
            } else if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            self.from.consume(used);
            if is_end && self.line.is_empty() && !self.is_too_long {
                return Ok(None);
            }
            if is_end || newline.is_some() {
                let line = std::mem::take(&mut self.line);
                return Ok(Some(if std::mem::take(&mut self.is_too_long) {
                    Typed::TooLong
                } else {
                    Typed::Line(String::from_utf8_lossy(&line).into_owned())
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Typed {
        Typed::Line(text.to_owned())
    }

    #[tokio::test]
    async fn lines_come_whole_and_the_last_needs_no_end() {
        let mut input = Input::new(&b"a\r\n\nb\xff\nlast"[..]);
        for expected in ["a\r", "", "b\u{fffd}", "last"] {
            assert_eq!(input.next().await.unwrap(), Some(line(expected)));
        }
        assert_eq!(input.next().await.unwrap(), None);
        assert_eq!(input.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn of_a_line_that_is_too_long_nothing_is_kept_and_the_next_is_read() {
        let mut text = vec![b'x'; MAX_LINE];
        text.push(b'\n');
        text.extend(vec![b'y'; 50 * MAX_LINE]);
        text.extend_from_slice(b"\nacquire\n");
        text.extend(vec![b'z'; MAX_LINE + 1]);
        let mut input = Input::new(&text[..]);
        assert_eq!(input.next().await.unwrap(), Some(line(&"x".repeat(MAX_LINE))));
        assert_eq!(input.next().await.unwrap(), Some(Typed::TooLong));
        assert!(input.line.capacity() <= 2 * MAX_LINE, "{}", input.line.capacity());
        assert_eq!(input.next().await.unwrap(), Some(line("acquire")));
        assert_eq!(input.next().await.unwrap(), Some(Typed::TooLong));
        assert_eq!(input.next().await.unwrap(), None);
    }
}
