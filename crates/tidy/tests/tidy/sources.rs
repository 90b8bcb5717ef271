//! What may and may not stand in a Rust file.

use vorrang_tidy::{Offences, Tree};

#[test]
fn every_source_file_says_what_it_is() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for source in tree.sources() {
        let in_src = source.path.split('/').nth(2) == Some("src");
        if in_src && !source.text.starts_with("//!") {
            let what = "begins without a word: say in a line of //! what is here, and why";
            offences.add(source.path, 1, what);
        }
    }
    offences.assert_none();
}

#[test]
fn nothing_is_left_undone() {
    const IN_CODE: [(&str, &str); 4] = [
        ("todo!(", "is not done: do it"),
        ("unimplemented!(", "is not done: do it"),
        ("dbg!(", "is left from looking for a mistake: remove it"),
        ("#[ignore", "is a test that nobody runs: make it fast, or a command that README.md names"),
    ];
    const IN_COMMENTS: [&str; 2] = ["FIXME", "XXX"];
    let tree = Tree::read();
    let mut offences = Offences::default();
    for source in tree.sources() {
        for (pattern, what) in IN_CODE {
            for place in source.in_code(pattern) {
                offences.add(source.path, source.line_of(place), format!("{pattern} {what}"));
            }
        }
        for pattern in IN_COMMENTS {
            for place in source.in_comments(pattern) {
                let what = format!("{pattern}: mend it, or say plainly what the limit is");
                offences.add(source.path, source.line_of(place), what);
            }
        }
    }
    offences.assert_none();
}

#[test]
fn what_cannot_fail_says_why() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for source in tree.sources() {
        for place in source.in_code(".unwrap()") {
            if !source.is_test(place) {
                let what = "unwrap gives no reason: use expect and say why it cannot fail";
                offences.add(source.path, source.line_of(place), what);
            }
        }
    }
    offences.assert_none();
}

#[test]
fn an_exception_from_a_lint_has_a_reason() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for source in tree.sources() {
        for pattern in ["#[allow(", "#[expect(", "#![allow(", "#![expect("] {
            for place in source.in_code(pattern) {
                let open = place + pattern.find('[').expect("every pattern is an attribute");
                if !source.inside(open).contains("reason =") {
                    let what = format!("{pattern}...)] gives none: add reason = \"...\"");
                    offences.add(source.path, source.line_of(place), what);
                }
            }
        }
    }
    offences.assert_none();
}
