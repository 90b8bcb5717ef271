//! How long a message takes on each link, as a matrix: nodes need not be equally far apart, and the
//! way back may be longer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use vorrang_protocol::{NodeId, parse_duration_ns, show_duration_ns};

/// For every sender a row, and in it for every receiver how long a message takes, always the same.
///
/// The diagonal is not read: a node sends itself nothing through the network.
///
/// ```
/// use vorrang_sim::LatencyMatrix;
///
/// let far_apart = LatencyMatrix::of_lines("# from 0\n - 1ms\n# from 1\n 3ms -\n").unwrap();
/// assert_eq!(far_apart.to_string(), "rows:0-1ms/3ms-0");
/// assert_eq!(far_apart.mean_ns(), 2_000_000.0);
/// assert_eq!("rows:0-1ms/3ms-0".parse(), Ok(far_apart));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatencyMatrix {
    nodes: usize,
    /// Row after row; 0 on the diagonal.
    ns: Arc<[u64]>,
}

/// Where a value stands in what was read, for errors.
type Place<'a> = &'a dyn Fn(usize) -> String;

impl LatencyMatrix {
    /// All ways to write one.
    pub const FORMS: &'static str = "a file with a line a sender, that of node 0 first, and on it \
        for every receiver how long a message takes, with spaces between them, as in '0 1ms 2.5ms' \
        (the diagonal is not read: write 0 or -; # begins a comment), or \
        rows:0-1ms-2ms/1ms-0-3ms/2ms-3ms-0";

    /// Reads a line a sender. What follows a `#` is not read, and lines with nothing else do not
    /// count.
    ///
    /// # Errors
    ///
    /// If something is not a duration, or there are not as many columns as rows, with the line, the
    /// column and the value.
    pub fn of_lines(text: &str) -> Result<Self, String> {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in (1_usize..).zip(text.lines()) {
            let said = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = said.split_whitespace().collect();
            if !words.is_empty() {
                rows.push(words);
                lines.push(number);
            }
        }
        Self::of_rows(&rows, &|row| format!("line {}", lines[row]))
    }

    fn of_rows(rows: &[Vec<&str>], line: Place<'_>) -> Result<Self, String> {
        let nodes = rows.len();
        if nodes == 0 {
            return Err(format!("there is no latency in it: write {}", Self::FORMS));
        }
        let mut ns = Vec::with_capacity(nodes * nodes);
        for (row, words) in rows.iter().enumerate() {
            for (column, word) in words.iter().enumerate() {
                let at = || format!("{}, column {}: '{word}'", line(row), column + 1);
                if column >= nodes {
                    return Err(format!(
                        "{} is one too many: {nodes} rows are for {nodes} nodes, so each has \
                         {nodes} columns",
                        at()
                    ));
                }
                if column == row {
                    ns.push(0);
                } else {
                    ns.push(parse_duration_ns(word).map_err(|why| format!("{}: {why}", at()))?);
                }
            }
            if words.len() < nodes {
                return Err(format!(
                    "{} has {} columns: {nodes} rows are for {nodes} nodes, so each has {nodes} \
                     columns",
                    line(row),
                    words.len()
                ));
            }
        }
        Ok(Self { nodes, ns: ns.into() })
    }

    /// Of how many nodes it is.
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// How long a message takes from one node to another, in nanoseconds.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[inline]
    pub fn takes_ns(&self, from: NodeId, to: NodeId) -> u64 {
        self.ns[from.index() * self.nodes + to.index()]
    }

    /// The latencies of all links, in both directions.
    pub fn links(&self) -> impl Iterator<Item = u64> + '_ {
        let is_link = |place: usize| !place.is_multiple_of(self.nodes + 1);
        self.ns.iter().enumerate().filter(move |(place, _)| is_link(*place)).map(|(_, &ns)| ns)
    }

    /// The mean over all links, both directions of each counted, in nanoseconds; 0 if there are
    /// none.
    pub fn mean_ns(&self) -> f64 {
        let count = self.nodes * (self.nodes - 1);
        self.links().map(|ns| ns as f64).sum::<f64>() / count.max(1) as f64
    }

    /// The shortest and the longest of all links; 0 if there are none.
    pub fn ends_ns(&self) -> (u64, u64) {
        (self.links().min().unwrap_or(0), self.links().max().unwrap_or(0))
    }
}

/// Reads `rows:0-1ms/3ms-0`.
impl FromStr for LatencyMatrix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rows = text
            .strip_prefix("rows:")
            .ok_or_else(|| format!("'{text}' is not a latency matrix: write {}", Self::FORMS))?;
        let rows: Vec<Vec<&str>> = rows.split('/').map(|row| row.split('-').collect()).collect();
        Self::of_rows(&rows, &|row| format!("row {}", row + 1))
    }
}

impl fmt::Display for LatencyMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows:")?;
        for (row, all) in self.ns.chunks(self.nodes).enumerate() {
            for (column, &ns) in all.iter().enumerate() {
                let before = match (row, column) {
                    (0, 0) => "",
                    (_, 0) => "/",
                    (_, _) => "-",
                };
                write!(f, "{before}{}", show_duration_ns(ns))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        LatencyMatrix::of_lines(text).unwrap_err()
    }

    #[test]
    fn a_matrix_is_read_as_it_is_written() {
        let text = "# rows send\n 0 1ms 2.5ms # from 0\n\n4ms - 1ms\n 1ms 0 x\n";
        let matrix = LatencyMatrix::of_lines(text).unwrap();
        assert_eq!(matrix.to_string(), "rows:0-1ms-2500us/4ms-0-1ms/1ms-0-0");
        assert_eq!(matrix.to_string().parse(), Ok(matrix.clone()));
        assert_eq!(matrix.takes_ns(NodeId(0), NodeId(2)), 2_500_000);
        assert_eq!(matrix.takes_ns(NodeId(2), NodeId(0)), 1_000_000);
        assert_eq!(matrix.ends_ns(), (0, 4_000_000));
        assert_eq!(matrix.mean_ns() as u64, 9_500_000 / 6);
    }

    #[test]
    fn a_node_alone_has_no_link() {
        let alone = LatencyMatrix::of_lines("5ms").unwrap();
        assert_eq!((alone.mean_ns(), alone.ends_ns(), alone.nodes()), (0.0, (0, 0), 1));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        assert_eq!(
            wrong("0 1ms\n# a comment\n-2ms 0"),
            "line 3, column 1: '-2ms': a duration is at least 0 and at most some 290 years"
        );
        assert!(wrong("0 1\n1ms 0").starts_with("line 1, column 2: '1': "), "a unit is missing");
        assert_eq!(
            wrong("0 1ms 2ms\n1ms 0"),
            "line 1, column 3: '2ms' is one too many: 2 rows are for 2 nodes, so each has 2 columns"
        );
        assert_eq!(
            wrong("0 1ms\n\n1ms"),
            "line 3 has 1 columns: 2 rows are for 2 nodes, so each has 2 columns"
        );
        assert!(wrong("# nothing\n").starts_with("there is no latency in it: write a file with"));
        let row: Result<LatencyMatrix, String> = "rows:0-1ms/x-0".parse();
        assert!(row.unwrap_err().starts_with("row 2, column 1: 'x': "));
        let name: Result<LatencyMatrix, String> = "far".parse();
        assert!(name.unwrap_err().starts_with("'far' is not a latency matrix: write a file with"));
    }
}
