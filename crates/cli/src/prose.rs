//! Documentation for a terminal.

use std::mem;

use vorrang_node::terminal::{BOLD, RESET, broken, length, screen, wrapped};

use vorrang_terminal::table::table;

/// Documentation as plain text: without the marks of Markdown that a terminal does not show, its
/// tables aligned, its paragraphs as wide as the screen. Pictures stay as they are, and are left
/// out where they do not fit.
pub(crate) fn readable(text: &str) -> String {
    readable_on(text, screen())
}

fn readable_on(text: &str, screen: Option<usize>) -> String {
    let mut page = Page { screen, text: String::new(), paragraph: String::new() };
    let (mut rows, mut picture) = (Vec::new(), None);
    for line in text.lines() {
        if line.starts_with("```") {
            page.end_paragraph();
            match picture.take() {
                None => picture = Some(Vec::new()),
                Some(lines) => page.picture(&lines),
            }
            continue;
        }
        if let Some(lines) = &mut picture {
            lines.push(line);
            continue;
        }
        if line.starts_with("| ---") {
            continue;
        }
        // A cell may be empty: `| layer | does | |`.
        if let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix('|')) {
            page.end_paragraph();
            rows.push(cells.split(" | ").map(|cell| plain(cell.trim_end())).collect());
            continue;
        }
        page.text.push_str(&table(&mem::take(&mut rows)));
        match line.trim_start_matches('#') {
            heading if heading != line => {
                page.end_paragraph();
                page.text.push_str(&format!("{BOLD}{}{RESET}\n", plain(heading.trim())));
            }
            _ => page.prose(&plain(line)),
        }
    }
    page.end_paragraph();
    page.text + &table(&rows)
}

/// A page as far as it is set.
struct Page {
    screen: Option<usize>,
    text: String,
    /// The paragraph that goes on in the next line, in one line.
    paragraph: String,
}

impl Page {
    /// A line of a paragraph. Its source is as wide as a source file, so on a screen its words are
    /// shared out anew.
    fn prose(&mut self, line: &str) {
        if self.screen.is_none() {
            self.text.push_str(&format!("{line}\n"));
            return;
        }
        let goes_on = !line.is_empty() && !is_item(line) && !self.paragraph.is_empty();
        if goes_on {
            self.paragraph += &format!(" {}", line.trim_start());
            return;
        }
        self.end_paragraph();
        if line.is_empty() {
            self.text.push('\n');
        } else {
            line.clone_into(&mut self.paragraph);
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = mem::take(&mut self.paragraph);
        let Some(screen) = self.screen.filter(|_| !paragraph.is_empty()) else { return };
        let further = if is_item(&paragraph) { "- ".len() } else { 0 };
        self.text.push_str(&broken(&paragraph, screen, further));
    }

    fn picture(&mut self, lines: &[&str]) {
        let widest = lines.iter().map(|line| length(line)).max().unwrap_or(0);
        if self.screen.is_some_and(|screen| widest > screen) {
            self.text.push_str(&wrapped(&format!("(a picture, {widest} columns wide)\n")));
            return;
        }
        for line in lines {
            self.text.push_str(&format!("{line}\n"));
        }
    }
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|it: char| it.is_ascii_digit());
    line.starts_with("- ") || (rest.len() < line.len() && rest.starts_with(". "))
}

/// The beginning of the paragraph that says what an algorithm is good for. The one before it has
/// the idea.
const USE: &str = "**Use it** ";

/// Of the page of an algorithm, the paragraph with the idea and the one about its use, each in one
/// line and without marks.
pub(crate) fn idea_and_use(page: &str) -> [String; 2] {
    let paragraphs: Vec<&str> = page.split("\n\n").map(str::trim).collect();
    let place = paragraphs.iter().position(|it| it.starts_with(USE)).unwrap_or(0);
    let in_one_line = |place: usize| {
        let words: Vec<&str> = paragraphs[place].split_whitespace().collect();
        words.join(" ").replace(['`', '*'], "")
    };
    [place.saturating_sub(1), place].map(in_one_line)
}

fn plain(text: &str) -> String {
    text.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, screen: Option<usize>) -> String {
        anstream::adapter::strip_str(&readable_on(text, screen)).to_string()
    }

    #[test]
    fn what_a_terminal_does_not_show_is_left_out() {
        let text = "# A\n\nthe `b` **c**\n\n| d | e |\n| --- | --- |\n| long | `f` |\n\n\
                    ```text\n**->**\n```\n";
        assert_eq!(shown(text, None), "A\n\nthe b c\n\nd     e\nlong  f\n\n**->**\n");
        let empty = "| d | e | |\n| --- | --- | --- |\n| long | f | g |\n";
        assert_eq!(shown(empty, None), "d     e\nlong  f  g\n");
    }

    #[test]
    fn words_are_shared_out_anew_between_lines() {
        let text = "one two three\nfour five\n\n- six seven\n  eight\n- nine\n";
        assert_eq!(
            shown(text, Some(14)),
            "one two three\nfour five\n\n- six seven\n  eight\n- nine\n"
        );
        assert_eq!(shown(text, Some(30)), "one two three four five\n\n- six seven eight\n- nine\n");
        assert_eq!(
            shown(text, Some(9)),
            "one two\nthree\nfour five\n\n- six\n  seven\n  eight\n- nine\n"
        );
    }

    #[test]
    fn a_picture_that_does_not_fit_is_left_out_whole() {
        let text = "a\n```text\n0 ────►\n1\n```\nb\n";
        assert_eq!(shown(text, Some(40)), "a\n0 ────►\n1\nb\n");
        assert_eq!(shown(text, Some(6)), "a\n(a picture, 7 columns wide)\nb\n");
    }
}
