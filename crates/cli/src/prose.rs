//! Documentation for a terminal.

use std::mem;

use vorrang_node::terminal::{BOLD, RESET, wrapped};

use crate::table::table;

/// Documentation as plain text: without the marks of Markdown that a terminal does not show, its
/// tables aligned, its paragraphs no wider than the screen. Pictures stay as they are.
pub(crate) fn readable(text: &str) -> String {
    let (mut readable, mut rows, mut is_picture) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_picture = !is_picture;
            continue;
        }
        if is_picture {
            readable.push_str(&format!("{line}\n"));
            continue;
        }
        if line.starts_with("| ---") {
            continue;
        }
        // A cell may be empty: `| layer | does | |`.
        if let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix('|')) {
            rows.push(cells.split(" | ").map(|cell| plain(cell.trim_end())).collect());
            continue;
        }
        readable.push_str(&table(&mem::take(&mut rows)));
        readable.push_str(&match line.trim_start_matches('#') {
            heading if heading != line => format!("{BOLD}{}{RESET}\n", plain(heading.trim())),
            _ => wrapped(&format!("{}\n", plain(line))),
        });
    }
    readable + &table(&rows)
}

fn plain(text: &str) -> String {
    text.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_does_not_show_is_left_out() {
        let shown = |text: &str| anstream::adapter::strip_str(&readable(text)).to_string();
        let text = "# A\n\nthe `b` **c**\n\n| d | e |\n| --- | --- |\n| long | `f` |\n\n\
                    ```text\n**->**\n```\n";
        assert_eq!(shown(text), "A\n\nthe b c\n\nd     e\nlong  f\n\n**->**\n");
        let empty = "| d | e | |\n| --- | --- | --- |\n| long | f | g |\n";
        assert_eq!(shown(empty), "d     e\nlong  f  g\n");
    }
}
