//! `vorrang explain`: an opening of ten lines, and the whole page, on any screen.

use crate::support;

use support::{run, run_wide};
use vorrang_catalogue::abouts;

#[test]
fn an_explanation_opens_with_idea_costs_and_use_in_ten_lines() {
    for about in abouts() {
        let name = about.name;
        let (code, out) = run_wide(80, &["explain", name]);
        assert_eq!(code, 0);
        assert!(out.lines().count() <= 10, "{name}:\n{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{name}:\n{out}");
        assert!(out.starts_with(&format!("{} (", about.title)), "{out}");
        let lines: Vec<&str> = out.lines().collect();
        let place = |begin: &str| lines.iter().position(|line| line.starts_with(begin));
        let (costs, used) = (place("Costs with --nodes 13"), place("Use it "));
        let (costs, used) = (costs.expect("costs"), used.expect("its use"));
        assert!(1 < costs && costs < used && used + 1 < lines.len(), "{name}:\n{out}");
        assert!(lines[costs - 1].ends_with('.') || lines[costs - 1].ends_with(':'), "{out}");
        assert!(lines[used - 1].ends_with('.'), "{out}");
        let last = format!("The rest: vorrang explain {name} --all");
        assert_eq!(lines.last(), Some(&&*last), "{out}");
        let (_, all, _) = run(&["explain", name, "--all"]);
        assert!(all.lines().count() > 20, "{name}");
        assert!(all.starts_with(about.title), "{all}");
    }
}

#[test]
fn the_costs_of_an_opening_are_those_of_the_group() {
    let (_, out, _) = run(&["explain", "ricart-agrawala"]);
    assert!(out.contains("Costs with --nodes 13, E = T: messages per entry 24;"), "{out}");
    let (_, out, _) = run(&["explain", "ricart-agrawala", "--nodes", "4"]);
    assert!(out.contains("Costs with --nodes 4, E = T: messages per entry 6;"), "{out}");
    let (_, out, _) = run(&["explain", "raymond"]);
    assert!(out.contains(" one at a time, "), "{out}");
}

/// On a narrow screen there are more lines and no fewer words, and none is broken.
#[test]
fn words_are_whole_on_a_narrow_screen() {
    for about in abouts() {
        for more in [&[][..], &["--all"]] {
            let args = [&["explain", about.name][..], more].concat();
            let (_, narrow) = run_wide(40, &args);
            for line in narrow.lines() {
                let is_word = line.split_whitespace().count() <= 1;
                assert!(line.chars().count() <= 40 || is_word, "{args:?}: {line}");
            }
        }
        let words = |columns| -> Vec<String> {
            let (_, out) = run_wide(columns, &["explain", about.name]);
            out.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(words(40), words(400));
    }
}
