//! What a report says in words: columns, algorithms.

use vorrang_experiment::figures::Figure;
use vorrang_experiment::means::Row;

use crate::page::Cell;
use crate::prose::idea_and_use;

/// The words that are used everywhere.
const TERMS: &str = include_str!("terms.md");

/// What a term means, if it is one: the first that a label begins with.
fn meaning(label: &str) -> Option<&'static str> {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?.trim_end_matches(" |")))
    };
    let is_it =
        |term: &str| label.starts_with(term) || label.contains("Jain") && term.starts_with("Jain");
    TERMS.lines().filter_map(row).find(|(term, _)| term.len() > 1 && is_it(term)).map(|it| it.1)
}

/// What the columns of a comparison mean.
pub(crate) fn columns(rows: &[&Row]) -> Vec<(String, String)> {
    let shown = |figure: &Figure| {
        let column = figure.column?;
        let label = figure.label.unwrap_or(column).trim();
        let means = meaning(label).map_or_else(String::new, |it| format!(": {it}"));
        Some((column.to_owned(), format!("{label}{}", means.replace('`', ""))))
    };
    rows.first().map_or_else(Vec::new, |row| row.figures().filter_map(shown).collect())
}

/// A table whose theory and verdict stand below what was measured: a column a figure.
pub(crate) fn folded(rows: &[Vec<String>], groups: &[usize]) -> Vec<Vec<Cell>> {
    let fold = |row: &Vec<String>| {
        let mut cells = vec![Cell::from(row[0].clone())];
        let mut from = 1;
        for &many in groups {
            let notes: Vec<&str> = row[from + 1..from + many]
                .iter()
                .map(String::as_str)
                .filter(|it| !it.is_empty())
                .collect();
            cells.push(Cell { text: row[from].clone(), note: notes.join(" ") });
            from += many;
        }
        cells
    };
    rows.iter().map(fold).collect()
}

/// The paragraph of an algorithm's page that says what it does.
pub(crate) fn idea(text: &str) -> String {
    let [idea, _] = idea_and_use(text);
    idea
}

#[cfg(test)]
mod tests {
    use super::*;
    use vorrang_experiment::catalogue::catalogue;

    #[test]
    fn every_algorithm_has_a_paragraph_that_says_what_it_does() {
        for entry in catalogue() {
            let about = entry.algorithm.about();
            let idea = idea(&about.text());
            let name = about.name;
            assert!(idea.len() > 120 && idea.ends_with('.'), "{name}: {idea}");
            assert!(!idea.contains(['`', '|', '\n']), "{name}: {idea}");
        }
    }

    #[test]
    fn labels_are_explained_by_their_terms() {
        let means = |label: &str| meaning(label).expect(label);
        assert!(means("messages per entry").starts_with("all messages"));
        assert!(means("fairness (Jain)").starts_with("fairness between 1/n and 1"));
        assert!(means("synchronisation delay").starts_with("from one exit"));
        assert!(means("busiest node handles").contains("sent and received"));
        assert_eq!(meaning("no such thing"), None);
    }

    #[test]
    fn theory_stands_below_what_was_measured() {
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<_>>();
        let rows = [
            row(&["ALGORITHM", "MESSAGES", "THEORY", "", "LOAD"]),
            row(&["a", "24", "24", "✓", "2"]),
        ];
        let folded = folded(&rows, &[3, 1]);
        assert_eq!(folded[0].len(), 3);
        assert_eq!((&*folded[1][1].text, &*folded[1][1].note), ("24", "24 ✓"));
        assert_eq!((&*folded[1][2].text, &*folded[1][2].note), ("2", ""));
    }
}
