//! What a report says in words: columns, algorithms.

use vorrang_experiment::figures::Figure;
use vorrang_experiment::means::Row;

use crate::page::Cell;
use crate::prose::idea_and_use;

/// The words that are used everywhere.
const TERMS: &str = include_str!("terms.md");

/// The terms of the tables, each with what it means. Several may share a line, with commas between.
fn terms() -> impl Iterator<Item = (&'static str, &'static str)> {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?.trim_end_matches(" |")))
    };
    let is_row = |it: &(&str, &str)| it.0 != "term" && !it.0.starts_with("---");
    TERMS.lines().filter_map(row).filter(is_row)
}

/// What a label means, if it is explained: by the longest term that it is or begins with.
fn meaning(label: &str) -> Option<&'static str> {
    let label = label.trim();
    let is_it = |term: &str| {
        let rest = label.strip_prefix(term);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
    };
    // A term with a comma in it may be a whole label.
    let fits = |terms: &str| {
        let all = terms.split(", ").chain([terms]).filter(|it| is_it(it));
        all.map(str::len).max()
    };
    let found = terms().filter_map(|(terms, means)| Some((fits(terms)?, means)));
    // Of equals the first.
    found.reduce(|best, it| if it.0 > best.0 { it } else { best }).map(|it| it.1)
}

/// What the columns of a comparison mean.
pub(crate) fn columns(rows: &[&Row]) -> Vec<(String, String)> {
    let shown = |figure: &Figure| {
        let column = figure.column?;
        let means = meaning(figure.label.unwrap_or(column)).unwrap_or_default().replace('`', "");
        let text = match figure.label.map(str::trim) {
            Some(label) => format!("{label}: {means}"),
            None => means,
        };
        Some((column.to_owned(), text))
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
    use vorrang_experiment::figures::Measured;
    use vorrang_experiment::options::RunArgs;
    use vorrang_sim::Distribution;

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
        assert!(means("fairness (Jain)").starts_with("Jain's index, between 1/n and 1"));
        assert!(means("stale writes, unfenced").starts_with("writes of somebody"));
        assert!(means("  refused by fencing").starts_with("writes with a lower fencing token"));
        assert!(means("P99/T").contains("99 in a hundred"));
        assert!(means("messages").starts_with("all messages between different nodes; what"));
        assert!(means("synchronisation delay").starts_with("from one exit"));
        assert!(means("busiest node handles").contains("sent and received"));
        assert_eq!(meaning("no such thing"), None);
    }

    /// A run of every problem, and those in which more is measured than usual.
    fn runs() -> Vec<Measured> {
        let all = ["lamport", "token-ring", "maekawa", "ring-election", "bus-reset", "echo"];
        let more = ["dijkstra-scholten", "heartbeat", "nack", "srm", "virtual-synchrony"];
        let mut runs = Vec::new();
        let mut add = |name: &str, change: &dyn Fn(&mut RunArgs)| {
            let mut args = RunArgs::default();
            (args.common.nodes, args.mutex.entries) = (4, 8);
            args.multicast.multicasts = Some(4);
            change(&mut args);
            let entry = vorrang_experiment::lookup::algorithm(name).expect("it is known");
            let run = entry.algorithm.run(&args).unwrap_or_else(|why| panic!("{name}: {why}"));
            runs.push(run.simulate(None, None).unwrap_or_else(|why| panic!("{name}: {why}")));
        };
        for name in all.into_iter().chain(more) {
            add(name, &|_| {});
        }
        add("lamport", &|args| args.views.on_views = true);
        add("lamport", &|args| args.mutex.broadcast_medium = true);
        add("lamport", &|args| args.common.latency = Some(Distribution::Exponential(1_000_000)));
        runs
    }

    #[test]
    fn every_figure_that_is_shown_is_explained() {
        let runs = runs();
        let mut labels: Vec<&str> = Vec::new();
        for figure in runs.iter().flat_map(|it| &it.figures) {
            let Some(label) = figure.label.or(figure.column) else { continue };
            assert!(meaning(label).is_some(), "{}: no term explains '{label}'", figure.key);
            labels.push(label.trim());
        }
        // What is said of figures says it of some.
        let costs = TERMS.split("\n## ").find(|it| it.starts_with("What a run costs"));
        for line in costs.expect("a part of the page").lines() {
            let Some(terms) = line.strip_prefix("| ").and_then(|it| it.split(" | ").next()) else {
                continue;
            };
            if terms == "term" || terms.starts_with("---") {
                continue;
            }
            for term in terms.split(", ") {
                let is_rare = RARE.contains(&term);
                let is_known = labels.iter().any(|label| label.starts_with(term));
                assert!(is_known != is_rare, "'{term}' is the name of no figure");
            }
        }
    }

    /// Figures of runs that are not among those above.
    const RARE: [&str; 4] = [
        "since the last cable came or went",
        "of their values",
        "values by node",
        "missed for ever",
    ];

    #[test]
    fn no_term_speaks_of_what_is_called_otherwise() {
        for old in ["put out", "desk", "life of a node", "by number", "without numbers"] {
            assert!(!TERMS.contains(old), "'{old}' is no word of the program any more");
        }
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
