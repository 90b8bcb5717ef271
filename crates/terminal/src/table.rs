//! Tables for people: as wide as the terminal allows, and readable below that.

use crate::{BOLD, RESET, broken, length, screen, wrap};

/// A column is not made narrower than this where that would break its text into single words.
const NARROW: usize = 12;
/// A row of more lines than this is read more easily as a card.
const TALL: usize = 8;
/// The gap between two columns.
const GAP: usize = 2;
/// How much further to the right a card goes on.
const FURTHER: usize = 2;

/// Rows of cells, aligned; the first row is the header.
pub fn table(rows: &[Vec<String>]) -> String {
    fitted(rows, &[], screen())
}

/// The same, with these columns flush right.
pub fn table_right(rows: &[Vec<String>], right: &[usize]) -> String {
    fitted(rows, right, screen())
}

/// As many tables as it takes to show all columns, each with the first one. `groups` says how many
/// of the columns after the first belong together.
pub fn tables(rows: &[Vec<String>], groups: &[usize], screen: usize) -> String {
    let widths = widths(rows);
    let mut texts = Vec::new();
    let mut groups = groups.iter().copied().peekable();
    let mut from = 1;
    while groups.peek().is_some() {
        let mut to = from;
        let mut total = widths[0];
        while let Some(&many) = groups.peek() {
            total += widths[to..to + many].iter().map(|width| width + GAP).sum::<usize>();
            if total > screen && to > from {
                break;
            }
            to += many;
            groups.next();
        }
        let part: Vec<Vec<String>> =
            rows.iter().map(|row| [&row[..1], &row[from..to]].concat()).collect();
        texts.push(fitted(&part, &[], Some(screen)));
        from = to;
    }
    texts.join("\n")
}

fn fitted(rows: &[Vec<String>], right: &[usize], screen: Option<usize>) -> String {
    let natural = widths(rows);
    let Some(screen) = screen else { return aligned(rows, right, &natural) };
    match shrunk(rows, natural, screen) {
        Some(widths) if tallest(rows, &widths) <= TALL => aligned(rows, right, &widths),
        Some(_) | None => cards(rows, screen),
    }
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    (0..columns).map(|column| cells(column).map(|it| length(it)).max().unwrap_or(0)).collect()
}

/// Takes from the widest column until all fit; none if that would leave too little of them.
fn shrunk(rows: &[Vec<String>], mut widths: Vec<usize>, screen: usize) -> Option<Vec<usize>> {
    let least: Vec<usize> = (0..widths.len())
        .map(|column| {
            let words = rows.iter().filter_map(|row| row.get(column)).flat_map(|it| it.split(' '));
            let longest = words.map(length).max().unwrap_or(0);
            longest.max(NARROW.min(widths[column]))
        })
        .collect();
    while widths.iter().map(|width| width + GAP).sum::<usize>() > screen + GAP {
        let can_shrink = (0..widths.len()).filter(|&column| widths[column] > least[column]);
        let widest = can_shrink.max_by_key(|&column| widths[column])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

fn tallest(rows: &[Vec<String>], widths: &[usize]) -> usize {
    let lines = |row: &Vec<String>| {
        row.iter().zip(widths).map(|(cell, &width)| wrap(cell, width).len()).max().unwrap_or(0)
    };
    rows.iter().map(lines).max().unwrap_or(0)
}

fn aligned(rows: &[Vec<String>], right: &[usize], widths: &[usize]) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<String>> =
            row.iter().zip(widths).map(|(cell, &width)| wrap(cell, width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..height {
            let mut line = String::new();
            for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
                let part = cell.get(number).map_or("", String::as_str);
                let space = " ".repeat(width.saturating_sub(length(part)));
                let gap = if column == 0 { "" } else { "  " };
                let is_right = right.contains(&column);
                let (before, after) =
                    if is_right { (space, String::new()) } else { (String::new(), space) };
                line += &format!("{gap}{before}{part}{after}");
            }
            let line = line.trim_end();
            text +=
                &if index == 0 { format!("{BOLD}{line}{RESET}\n") } else { format!("{line}\n") };
        }
    }
    text
}

/// A row after the other, each cell on a line with the name of its column. A column without a name
/// belongs to the one before it.
fn cards(rows: &[Vec<String>], screen: usize) -> String {
    let Some((header, rows)) = rows.split_first() else { return String::new() };
    let mut text = String::new();
    for row in rows {
        let mut lines: Vec<String> = Vec::new();
        for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            match (header.get(column).map_or("", String::as_str), lines.last_mut()) {
                (_, None) => lines.push(cell.clone()),
                ("", Some(before)) => *before += &format!(" {cell}"),
                (name, Some(_)) => lines.push(format!("  {name}: {cell}")),
            }
        }
        for line in lines {
            text += &broken(&line, screen, FURTHER);
        }
    }
    text
}

/// The same, as a table in Markdown.
pub fn markdown(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
        if index == 0 {
            text.push_str(&format!("|{}\n", " --- |".repeat(row.len())));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect()
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = rows(&[&["a", "b"], &["–long–", "c"]]);
        assert_eq!(plain(&fitted(&rows, &[], None)), "a       b\n–long–  c\n");
        assert_eq!(plain(&fitted(&rows, &[0], Some(80))), "     a  b\n–long–  c\n");
    }

    #[test]
    fn text_is_wrapped_where_it_does_not_fit() {
        let rows = rows(&[&["NAME", "WHAT"], &["one", "a sentence of quite some words"]]);
        let text = plain(&fitted(&rows, &[], Some(24)));
        assert_eq!(text, "NAME  WHAT\none   a sentence of\n      quite some words\n");
    }

    #[test]
    fn where_columns_do_not_fit_there_are_cards() {
        let rows =
            rows(&[&["NAME", "MEAN", "", "BYTES"], &["lamport", "36.25±0.125", "✓", "123456789"]]);
        let text = plain(&fitted(&rows, &[], Some(24)));
        assert_eq!(text, "lamport\n  MEAN: 36.25±0.125 ✓\n  BYTES: 123456789\n");
    }

    #[test]
    fn columns_that_do_not_fit_go_into_further_tables() {
        let rows = rows(&[&["NAME", "ONE", "THEORY", "TWO"], &["central", "1", "111", "2"]]);
        let text = plain(&tables(&rows, &[2, 1], 20));
        assert_eq!(text, "NAME     ONE  THEORY\ncentral  1    111\n\nNAME     TWO\ncentral  2\n");
        assert_eq!(plain(&tables(&rows, &[2, 1], 30)).lines().count(), 2);
    }
}
