//! Fenced blocks of a page.

/// What a block is, by the words behind its fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `sh`: a command a line.
    Commands,
    /// `console`: commands and their output.
    Session,
    /// `sh terminals`: a command a line, each at a terminal of its own.
    Started,
    /// `console terminals`: what is typed and printed at several terminals.
    Transcript,
    Other,
}

pub(super) struct Fence<'p> {
    pub(super) kind: Kind,
    /// Each with its number on the page.
    pub(super) lines: Vec<(usize, &'p str)>,
}

/// The blocks of a page, in order.
pub(super) fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for (number, line) in (1..).zip(page.lines()) {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Fence { kind: kind(number, info), lines: Vec::new() });
            }
            (Some(_), Some(_)) => fences.extend(open.take()),
            (None, Some(fence)) => fence.lines.push((number, line)),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block has no end");
    fences
}

fn kind(line: usize, info: &str) -> Kind {
    match info.split_whitespace().collect::<Vec<&str>>()[..] {
        ["sh"] => Kind::Commands,
        ["console"] => Kind::Session,
        ["sh", "terminals"] => Kind::Started,
        ["console", "terminals"] => Kind::Transcript,
        ["sh" | "console", ..] => panic!("line {line}: no kind of block is called '{info}'"),
        _ => Kind::Other,
    }
}

#[test]
fn blocks_are_told_apart() {
    let page = "a\n```sh\nb\n```\n```console terminals\n1> c\n```\n```json\nd\n```\n";
    let found: Vec<(Kind, Vec<(usize, &str)>)> =
        fences(page).into_iter().map(|it| (it.kind, it.lines)).collect();
    let wanted = [
        (Kind::Commands, vec![(3, "b")]),
        (Kind::Transcript, vec![(6, "1> c")]),
        (Kind::Other, vec![(9, "d")]),
    ];
    assert_eq!(found, wanted);
}
