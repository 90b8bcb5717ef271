//! Results that are written down in files of the tree.

use std::fs;
use std::path::Path;

use crate::is_set;

/// Compares with what a file says, line by line; with `VORRANG_REWRITE=1` the file is written anew,
/// for somebody to look at every difference as if it were code.
///
/// # Panics
///
/// If it says something else, or cannot be read or written.
#[track_caller]
pub fn compare_or_rewrite(path: &Path, found: &str) {
    if is_set("VORRANG_REWRITE") {
        fs::write(path, found).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    } else {
        compare(path, found);
    }
}

#[track_caller]
fn compare(path: &Path, found: &str) {
    let known = fs::read_to_string(path);
    let known = known.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    if let Some(what) = difference(&known, found) {
        let path = path.display();
        panic!(
            "{path} {what}\nif this is meant, run the test with VORRANG_REWRITE=1 and look at the \
             change"
        );
    }
}

/// Where two texts differ first.
fn difference(known: &str, found: &str) -> Option<String> {
    let (mut before, mut now) = (known.lines(), found.lines());
    for line in 1_u32.. {
        match (before.next(), now.next()) {
            (Some(before), Some(now)) if before == now => {}
            (None, None) => break,
            (before, now) => {
                let shown = |text: Option<&str>| {
                    text.map_or_else(|| "nothing more".to_owned(), |text| format!("'{text}'"))
                };
                return Some(format!(
                    "has changed in line {line}: it says {}, found was {}",
                    shown(before),
                    shown(now)
                ));
            }
        }
    }
    (known != found).then(|| "has other ends of lines".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let changed = difference("a\nb\nc\n", "a\nx\ny\n").unwrap();
        assert_eq!(changed, "has changed in line 2: it says 'b', found was 'x'");
        let shorter = difference("a\nb\n", "a\n").unwrap();
        assert_eq!(shorter, "has changed in line 2: it says 'b', found was nothing more");
        let longer = difference("a\n", "a\nb\n").unwrap();
        assert_eq!(longer, "has changed in line 2: it says nothing more, found was 'b'");
        assert_eq!(difference("a\n", "a").unwrap(), "has other ends of lines");
    }

    #[test]
    #[should_panic(expected = "VORRANG_REWRITE=1")]
    fn a_file_that_says_something_else_is_an_offence() {
        let folder = crate::Folder::new("pinned");
        let path = folder.file("numbers.txt");
        fs::write(&path, "1\n").unwrap();
        compare(&path, "2\n");
    }
}
