//! Whether output is what a page quotes of it. How far columns are apart does not count, and
//! neither do empty lines.

/// Marks what is left out: lines if it is alone in one, else a part of a line.
const OMISSION: &str = "…";

/// The first line that is quoted and was not printed in its place, and what is wrong with it.
/// Where nothing is quoted, nothing is.
pub(super) fn difference(quoted: &[(usize, &str)], output: &str) -> Option<(usize, String)> {
    let printed: Vec<String> = output.lines().map(evened).filter(|it| !it.is_empty()).collect();
    let quoted: Vec<(usize, String)> = quoted
        .iter()
        .map(|(line, text)| (*line, evened(text)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let &(last, _) = quoted.last()?;
    let groups: Vec<&[(usize, String)]> = quoted.split(|(_, text)| is_omission(text)).collect();
    let mut from = 0;
    for (which, group) in groups.iter().enumerate() {
        let is_exactly_here = which == 0;
        match place(group, &printed[from..], is_exactly_here) {
            Ok(at) => from += at + group.len(),
            Err(missing) => {
                let (line, text) = &group[missing];
                return Some((*line, format!("'{text}' is not printed here")));
            }
        }
    }
    let is_open = groups.last().is_none_or(|group| group.is_empty());
    // The last group may also be found nearer to the end.
    let ends = |group: &[(usize, String)]| {
        let at = printed.len().checked_sub(group.len());
        groups.len() > 1 && at.is_some_and(|at| place(group, &printed[at..], true).is_ok())
    };
    let is_over = is_open || from == printed.len() || groups.last().is_some_and(|it| ends(it));
    (!is_over).then(|| (last, format!("more is printed: end with {OMISSION}")))
}

/// Where the lines are among those that were printed, one after the other; or which of them is
/// missing.
fn place(group: &[(usize, String)], printed: &[String], is_at_begin: bool) -> Result<usize, usize> {
    let starts = if is_at_begin { 0..=0 } else { 0..=printed.len() };
    let mut most = 0;
    for start in starts {
        let pairs = group.iter().zip(&printed[start..]);
        let alike = pairs.take_while(|((_, wanted), line)| is_like(wanted, line)).count();
        if alike == group.len() {
            return Ok(start);
        }
        most = most.max(alike);
    }
    Err(most)
}

fn is_omission(text: &str) -> bool {
    text == OMISSION || text == "..."
}

fn evened(line: &str) -> String {
    line.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Whether a line is what is wanted, of which parts may be left out.
pub(super) fn is_like(wanted: &str, line: &str) -> bool {
    let parts: Vec<&str> = wanted.split(OMISSION).collect();
    let [first, middle @ .., last] = &parts[..] else { return wanted == line };
    let Some(rest) = line.strip_prefix(first).and_then(|it| it.strip_suffix(last)) else {
        return false;
    };
    let after = |rest: &str, part: &&str| Some(rest[rest.find(part)? + part.len()..].to_owned());
    middle.iter().try_fold(rest.to_owned(), |rest, part| after(&rest, part)).is_some()
}

#[test]
fn what_is_not_printed_as_quoted_is_found() {
    let output = "one\n\ntwo  2\nthree\none\nfour 3…4\n";
    let line_of = |quoted: &str| {
        let quoted: Vec<(usize, &str)> = (1..).zip(quoted.lines()).collect();
        difference(&quoted, output).map(|(line, _)| line)
    };
    let fine = [
        "",
        "one\ntwo 2\nthree\none\nfour 3…4",
        "one\n...",
        "…\none\nfour …",
        "…\ntwo …\nthree\n…",
        "one\n…\none\n…",
        "…\none\n…\none\nf…r …",
        "…",
    ];
    for quoted in fine {
        assert_eq!(line_of(quoted), None, "{quoted}");
    }
    let wrong = [
        ("two 2\n…", 1),
        ("one\nthree\n…", 2),
        ("…\nthree\ntwo 2\n…", 3),
        ("…\nfour 3\n…", 2),
        ("one\ntwo 2", 2),
        ("…\none\n…\none\n…\none\n…", 6),
        ("…\nfour 3…4\nfive", 3),
    ];
    for (quoted, line) in wrong {
        assert_eq!(line_of(quoted), Some(line), "{quoted}");
    }
}
