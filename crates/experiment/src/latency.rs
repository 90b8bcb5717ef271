//! How long messages take in a run: on all links alike, or as a matrix says.

use std::fmt;

use serde_json::{Value, json};
use vorrang_protocol::show_duration_ns;
use vorrang_sim::{Distribution, LatencyMatrix};

use crate::failure::{Failure, named_file};

/// How long messages take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Latency {
    /// On all links alike.
    Alike(Distribution),
    /// On each as it says.
    Matrix(LatencyMatrix),
}

impl Latency {
    /// T, the mean over all links, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        match self {
            Self::Alike(latency) => latency.mean_ns(),
            Self::Matrix(matrix) => matrix.mean_ns(),
        }
    }

    /// How long every message takes, if all take equally long.
    pub fn constant_ns(&self) -> Option<u64> {
        match self {
            Self::Alike(Distribution::Constant(ns)) => Some(*ns),
            Self::Alike(Distribution::Uniform(..) | Distribution::Exponential(_)) => None,
            Self::Matrix(matrix) => {
                let (shortest, longest) = matrix.ends_ns();
                (shortest == longest).then_some(longest)
            }
        }
    }

    /// Whether all messages take equally long.
    pub fn is_constant(&self) -> bool {
        self.constant_ns().is_some()
    }

    /// How long a message takes at most, if there is a bound.
    pub fn longest_ns(&self) -> Option<u64> {
        match self {
            Self::Alike(Distribution::Constant(ns) | Distribution::Uniform(_, ns)) => Some(*ns),
            Self::Alike(Distribution::Exponential(_)) => None,
            Self::Matrix(matrix) => Some(matrix.ends_ns().1),
        }
    }

    /// How long a message takes at least.
    pub fn shortest_ns(&self) -> u64 {
        match self {
            Self::Alike(Distribution::Constant(ns) | Distribution::Uniform(ns, _)) => *ns,
            Self::Alike(Distribution::Exponential(_)) => 0,
            Self::Matrix(matrix) => matrix.ends_ns().0,
        }
    }

    /// How long nearly every message takes at most.
    pub fn nearly_longest_ns(&self) -> u64 {
        // In the exponential distribution, 2 in a hundred take more than four times the mean.
        let mean_ns = self.mean_ns() as u64;
        self.longest_ns().unwrap_or(mean_ns.saturating_mul(4)).max(1)
    }

    /// The option as it would be typed.
    pub fn typed(&self) -> String {
        match self {
            Self::Alike(_) => format!("--latency {self}"),
            Self::Matrix(_) => format!("--latency-matrix {self}"),
        }
    }

    /// The same on a page of a comparison: of a large matrix only the size, and of any what T is.
    pub fn on_page(&self) -> String {
        const LARGE: usize = 8;
        match self {
            Self::Alike(_) => self.typed(),
            Self::Matrix(matrix) => {
                let (nodes, mean) = (matrix.nodes(), self.mean());
                let typed = if nodes > LARGE {
                    format!("--latency-matrix of {nodes} rows")
                } else {
                    self.typed()
                };
                format!("{typed} (T = {mean}, its mean)")
            }
        }
    }

    /// T as it is written.
    fn mean(&self) -> String {
        show_duration_ns(self.mean_ns().round() as u64)
    }

    /// The parameters as the figures of a run have them: a matrix says what T is.
    pub(crate) fn head(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Alike(_) => vec![("latency", json!(self.to_string()))],
            Self::Matrix(_) => vec![
                ("latency", Value::Null),
                ("latency_matrix", json!(self.to_string())),
                ("latency_mean", json!(self.mean())),
            ],
        }
    }

    /// Reads a matrix as it is typed: row by row, or a file.
    pub(crate) fn matrix(text: &str, nodes: u32) -> Result<Self, Failure> {
        let at = |why: &str| format!("--latency-matrix {text}: {why}");
        let matrix: LatencyMatrix = match text.parse() {
            Ok(matrix) => matrix,
            Err(why) if text.starts_with("rows:") => {
                return Err(Failure::usage(format!("--latency-matrix: {why}")));
            }
            Err(_) => {
                let lines = named_file(text)?.ok_or_else(|| {
                    let forms = LatencyMatrix::FORMS;
                    Failure::neither(text, at(&format!("there is no such file: give {forms}")))
                })?;
                LatencyMatrix::of_lines(&lines).map_err(|why| Failure::World(at(&why)))?
            }
        };
        if matrix.nodes() == nodes as usize {
            return Ok(Self::Matrix(matrix));
        }
        let own = matrix.nodes();
        Err(Failure::usage(format!(
            "--latency-matrix of {own} rows: it is for {own} nodes, not {nodes}: say --nodes {own}"
        )))
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alike(latency) => latency.fmt(f),
            Self::Matrix(matrix) => matrix.fmt(f),
        }
    }
}
