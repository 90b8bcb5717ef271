//! The states of nodes as a table: a row for each node, a column for each variable. Text and
//! pictures lay it out in the same way.

/// The table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateTable {
    /// The names of the variables.
    pub names: Vec<String>,
    /// The nodes, each with a cell for every name.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// The value of a variable at a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// The value; nothing, if the node has no such variable.
    pub text: String,
    /// Whether it has just changed.
    pub is_new: bool,
}

/// A piece of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Where it begins, in characters.
    pub column: usize,
    /// Its text.
    pub text: String,
    /// What it is.
    pub kind: PieceKind,
}

/// What a piece of a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PieceKind {
    /// The name of a node or of a variable.
    Name,
    /// A value.
    Value,
    /// A value that has just changed.
    NewValue,
}

/// Characters between two columns: the second one has the mark of what has changed.
const GAP: usize = 2;
/// Before the names of columns in which no node has anything.
const EMPTY: &str = "empty";
/// A column is not made narrower than this.
const NARROWEST: usize = 8;

impl StateTable {
    /// Its lines, none of them longer than so many characters (twenty at least). If not all columns
    /// fit, those in which no node has anything are only named, and the others come below, with the
    /// nodes' names again. A single node has a line for each variable.
    pub fn lines(&self, width: usize) -> Vec<Vec<Piece>> {
        if let [(_, cells)] = &self.rows[..] {
            let rows = self.names.iter().cloned();
            let rows = rows.zip(cells.iter().map(|cell| vec![cell.clone()])).collect();
            return Self { names: vec![String::new()], rows }.blocks(width);
        }
        let label = self.rows.iter().map(|(name, _)| length(name)).max().unwrap_or(0);
        let all = (0..self.names.len()).map(|at| GAP + self.wide(at)).sum::<usize>();
        let (empty, rest): (Vec<usize>, Vec<usize>) =
            (0..self.names.len()).partition(|&at| self.is_empty(at));
        if label + all <= width || empty.is_empty() {
            return self.blocks(width);
        }
        let mut lines = self.only(&rest).blocks(width);
        let empty: Vec<&str> = empty.into_iter().map(|at| &*self.names[at]).collect();
        let label = label.max(length(EMPTY)).min(width.saturating_sub(GAP + NARROWEST));
        let room = width.saturating_sub(label + GAP).max(NARROWEST);
        row(&mut lines, (EMPTY, label), &[(&empty.join(", "), PieceKind::Value)], &[room]);
        lines
    }

    /// The table of some of its columns.
    fn only(&self, columns: &[usize]) -> Self {
        let cells = |cells: &[Cell]| columns.iter().map(|&at| cells[at].clone()).collect();
        Self {
            names: columns.iter().map(|&at| self.names[at].clone()).collect(),
            rows: self.rows.iter().map(|(name, of)| (name.clone(), cells(of))).collect(),
        }
    }

    /// Whether no node has anything in a column, or had.
    fn is_empty(&self, at: usize) -> bool {
        let is_empty = |cell: &Cell| !cell.is_new && matches!(&*cell.text, "" | "–" | "{}");
        self.rows.iter().all(|(_, cells)| is_empty(&cells[at]))
    }

    /// The same as text, coloured by `paint`; what has just changed has a star before it.
    pub fn text(&self, width: usize, paint: &dyn Fn(PieceKind, &str) -> String) -> String {
        let mut text = String::new();
        for line in self.lines(width) {
            let mut at = 0;
            for piece in line {
                let gap = piece.column - at;
                at = piece.column + length(&piece.text);
                let mark = if piece.kind == PieceKind::NewValue { "*" } else { " " };
                text.push_str(&" ".repeat(gap.saturating_sub(1)));
                text.push_str(&mark.repeat(gap.min(1)));
                text.push_str(&paint(piece.kind, &piece.text));
            }
            text.push('\n');
        }
        text
    }

    fn blocks(&self, width: usize) -> Vec<Vec<Piece>> {
        let most = width.saturating_sub(GAP + NARROWEST);
        let label = self.rows.iter().map(|(name, _)| length(name)).max().unwrap_or(0).min(most);
        let room = width.saturating_sub(label + GAP).max(NARROWEST);
        let widths: Vec<usize> = (0..self.names.len()).map(|at| self.wide(at).min(room)).collect();
        let (mut lines, mut first) = (Vec::new(), 0);
        while first < widths.len() {
            let (mut last, mut used) = (first + 1, widths[first]);
            while last < widths.len() && used + GAP + widths[last] <= room {
                used += GAP + widths[last];
                last += 1;
            }
            if first > 0 {
                lines.push(Vec::new());
            }
            let names = self.names[first..last].iter().map(|name| (&**name, PieceKind::Name));
            let names: Vec<_> = names.collect();
            if names.iter().any(|(name, _)| !name.is_empty()) {
                row(&mut lines, ("", label), &names, &widths[first..last]);
            }
            for (name, cells) in &self.rows {
                let kind = |is_new| if is_new { PieceKind::NewValue } else { PieceKind::Value };
                let cells = cells[first..last].iter().map(|it| (&*it.text, kind(it.is_new)));
                row(&mut lines, (name, label), &cells.collect::<Vec<_>>(), &widths[first..last]);
            }
            first = last;
        }
        lines
    }

    /// How wide a column would be.
    fn wide(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|(_, cells)| length(&cells[at].text));
        cells.max().unwrap_or(0).max(length(&self.names[at])).max(1)
    }
}

/// One row, in as many lines as its longest cell takes.
fn row(
    lines: &mut Vec<Vec<Piece>>,
    (name, label): (&str, usize),
    cells: &[(&str, PieceKind)],
    widths: &[usize],
) {
    let name = parts(name, label.max(1));
    let cells: Vec<_> = cells
        .iter()
        .zip(widths)
        .map(|((text, kind), &width)| (parts(text, width), *kind))
        .collect();
    let height = cells.iter().map(|(parts, _)| parts.len()).max().unwrap_or(0).max(name.len());
    for place in 0..height {
        let mut line = Vec::new();
        let mut add = |column, parts: &[String], kind| {
            if let Some(text) = parts.get(place).filter(|text| !text.is_empty()) {
                line.push(Piece { column, text: text.clone(), kind });
            }
        };
        add(0, &name, PieceKind::Name);
        let mut column = label + GAP;
        for ((parts, kind), width) in cells.iter().zip(widths) {
            add(column, parts, *kind);
            column += width + GAP;
        }
        lines.push(line);
    }
}

/// A text in parts of at most so many characters, cut between words where there are any.
fn parts(text: &str, width: usize) -> Vec<String> {
    let (mut all, mut part) = (Vec::new(), String::new());
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    for word in text.split(' ') {
        let mut word = word;
        if !part.is_empty() && length(&part) + 1 + length(word) <= width {
            part.push(' ');
        } else if !part.is_empty() {
            all.push(std::mem::take(&mut part));
        }
        while length(word) > width {
            let end = word.char_indices().nth(width).map_or(word.len(), |(at, _)| at);
            all.push(word[..end].to_owned());
            word = &word[end..];
        }
        part.push_str(word);
    }
    all.push(part);
    all
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[&str], rows: &[&[&str]]) -> StateTable {
        let cell = |text: &&str| {
            let is_new = text.starts_with('*');
            Cell { text: text.trim_start_matches('*').to_owned(), is_new }
        };
        let rows = rows.iter().enumerate();
        let rows = rows.map(|(id, cells)| (format!("node {id}"), cells.iter().map(cell).collect()));
        StateTable {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            rows: rows.collect(),
        }
    }

    fn text(table: &StateTable, width: usize) -> String {
        table.text(width, &|_, text| text.to_owned())
    }

    #[test]
    fn nodes_and_names_are_aligned() {
        let table = table(&["phase", "RN"], &[&["inside", "1 0 2"], &["outside", "*1 0 0"]]);
        let expected = "        phase    RN\nnode 0  inside   1 0 2\nnode 1  outside *1 0 0\n";
        assert_eq!(text(&table, 80), expected);
    }

    #[test]
    fn no_line_is_longer_than_the_width() {
        let wide = "a value of many words that takes more than one line".repeat(2);
        let table = table(
            &["phase", "queue", "a rather long name", "RN"],
            &[&["inside", &wide, "1", "1 0 2"], &["outside", "–", &"x".repeat(70), "1 0 0"]],
        );
        for width in [20, 40, 41, 60, 200] {
            let text = text(&table, width);
            let longest = text.lines().map(length).max().unwrap();
            assert!(longest <= width, "{longest} in {width}:\n{text}");
            let letters = text.chars().filter(|&it| it == 'x').count();
            assert_eq!(letters, 70, "nothing is left out");
        }
    }

    #[test]
    fn what_is_empty_everywhere_is_named_if_there_is_no_room_for_it() {
        let rows: [&[&str]; 2] = [&["inside", "{}", "–", "7"], &["outside", "{}", "", "8"]];
        let table = table(&["phase", "failed", "queue", "clock"], &rows);
        assert!(text(&table, 80).contains("phase    failed  queue  clock\n"));
        assert_eq!(
            text(&table, 30),
            "        phase    clock\nnode 0  inside   7\nnode 1  outside  8\n\
             empty   failed, queue\n"
        );
    }

    #[test]
    fn one_node_has_a_line_for_each_variable() {
        let table = table(&["phase", "RN"], &[&["inside", "1 0 2"]]);
        assert_eq!(text(&table, 80), "phase  inside\nRN     1 0 2\n");
    }
}
