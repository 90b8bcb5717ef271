//! The simplex method for the linear programmes of quorum systems: maximise Σ x, an x for every
//! quorum, such that the x of each node's quorums add up to at most 1; and the dual: minimise Σ y,
//! a y for every node, such that the y of each quorum's members add up to at least 1.
//!
//! A dense tableau is enough: rows are nodes, columns are quorums, and both are some thousands at
//! most. All x = 0 is feasible, so no first phase is needed.

use std::mem::{replace, swap};
use std::time::{Duration, Instant};

/// Rounding errors are smaller, and everything else in a tableau of zeros and ones is larger.
const EPSILON: f64 = 1e-10;

/// After so many pivots in a row that add nothing to Σ x, Bland's rule takes over.
const MOST_DEGENERATE: u32 = 100;

/// An optimal solution of the programme and of its dual.
#[derive(Debug)]
pub(super) struct Solution {
    /// The x of every quorum.
    pub(super) primal: Vec<f64>,
    /// The y of every node.
    pub(super) dual: Vec<f64>,
}

/// Solves both programmes, for quorums as lists of nodes below `nodes`; none if it takes too long.
pub(super) fn solve(nodes: usize, quorums: &[Vec<usize>], time: Duration) -> Option<Solution> {
    let start = Instant::now();
    let mut tableau = Tableau::new(nodes, quorums);
    let mut degenerate = 0;
    loop {
        let rule = if degenerate < MOST_DEGENERATE { Rule::Dantzig } else { Rule::Bland };
        let Some(column) = tableau.entering(rule) else { return Some(tableau.solution()) };
        let row = tableau.leaving(column, rule)?;
        degenerate = if tableau.value(row) > EPSILON { 0 } else { degenerate + 1 };
        tableau.pivot(row, column);
        if start.elapsed() > time {
            return None;
        }
    }
}

/// How a pivot is chosen.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// The largest reduced cost: few pivots as a rule, but it can go in circles.
    Dantzig,
    /// The first variable: it always ends (R. Bland, "New finite pivoting rules for the simplex
    /// method", 1977).
    Bland,
}

/// A row for every basic variable and a column for every other one, which is 0. Variables are the
/// x, and after them the slacks of the nodes, which are the basis at first.
#[derive(Debug)]
struct Tableau {
    nodes: usize,
    quorums: usize,
    /// Row by row; behind the columns stands the row's value. The last row has the reduced costs.
    cells: Vec<f64>,
    /// The variable of each row.
    basic: Vec<usize>,
    /// The variable of each column.
    nonbasic: Vec<usize>,
}

impl Tableau {
    fn new(nodes: usize, members: &[Vec<usize>]) -> Self {
        let quorums = members.len();
        let width = quorums + 1;
        let mut cells = vec![0.0; (nodes + 1) * width];
        for (quorum, members) in members.iter().enumerate() {
            for node in members {
                cells[node * width + quorum] = 1.0;
            }
            cells[nodes * width + quorum] = 1.0;
        }
        for node in 0..nodes {
            cells[node * width + quorums] = 1.0;
        }
        let (nonbasic, basic) = ((0..quorums).collect(), (quorums..quorums + nodes).collect());
        Self { nodes, quorums, cells, basic, nonbasic }
    }

    fn row(&self, row: usize) -> &[f64] {
        let width = self.quorums + 1;
        &self.cells[row * width..][..width]
    }

    /// The variable of the row.
    fn value(&self, row: usize) -> f64 {
        self.row(row)[self.quorums]
    }

    fn reduced_costs(&self) -> &[f64] {
        &self.row(self.nodes)[..self.quorums]
    }

    /// The column of a variable that would add to the sum; none if the sum is optimal.
    fn entering(&self, rule: Rule) -> Option<usize> {
        let costs = self.reduced_costs();
        let adding = (0..self.quorums).filter(|&column| costs[column] > EPSILON);
        match rule {
            // The first of several: the result does not depend on how a maximum is searched for.
            Rule::Dantzig => adding.max_by(|&a, &b| costs[a].total_cmp(&costs[b]).then(b.cmp(&a))),
            Rule::Bland => adding.min_by_key(|&column| self.nonbasic[column]),
        }
    }

    /// The row whose variable is the first to become 0 when that of the column grows.
    fn leaving(&self, column: usize, rule: Rule) -> Option<usize> {
        let cell = |row: usize| self.row(row)[column];
        let ratio = |row: usize| self.value(row) / cell(row);
        let limiting = || (0..self.nodes).filter(|&row| cell(row) > EPSILON);
        let least = limiting().map(ratio).min_by(f64::total_cmp)?;
        let first = limiting().filter(|&row| ratio(row) <= least + EPSILON);
        match rule {
            // A large pivot keeps rounding errors small.
            Rule::Dantzig => first.max_by(|&a, &b| cell(a).total_cmp(&cell(b))),
            Rule::Bland => first.min_by_key(|&row| self.basic[row]),
        }
    }

    /// Lets the variables of a row and a column change places.
    fn pivot(&mut self, row: usize, column: usize) {
        let width = self.quorums + 1;
        let pivot_row = &mut self.cells[row * width..][..width];
        let pivot = replace(&mut pivot_row[column], 1.0);
        for cell in pivot_row.iter_mut() {
            *cell /= pivot;
        }
        let pivot_row = pivot_row.to_vec();
        for (_, cells) in self.cells.chunks_mut(width).enumerate().filter(|(at, _)| *at != row) {
            let factor = replace(&mut cells[column], 0.0);
            if factor != 0.0 {
                for (cell, own) in cells.iter_mut().zip(&pivot_row) {
                    let left = *cell - factor * own;
                    *cell = if left.abs() < EPSILON { 0.0 } else { left };
                }
            }
        }
        swap(&mut self.basic[row], &mut self.nonbasic[column]);
    }

    fn solution(&self) -> Solution {
        let mut found = Solution { primal: vec![0.0; self.quorums], dual: vec![0.0; self.nodes] };
        for (row, &variable) in self.basic.iter().enumerate() {
            if variable < self.quorums {
                found.primal[variable] = self.value(row).max(0.0);
            }
        }
        for (&variable, cost) in self.nonbasic.iter().zip(self.reduced_costs()) {
            if variable >= self.quorums {
                found.dual[variable - self.quorums] = (-cost).max(0.0);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use vorrang_sim::Random;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Σ x, if what was found is feasible in both programmes and the sums are equal: then both are
    /// optimal.
    fn optimum(nodes: usize, quorums: &[Vec<usize>], found: &Solution) -> f64 {
        let mut asked = vec![0.0; nodes];
        for (quorum, x) in quorums.iter().zip(&found.primal) {
            assert!(*x >= 0.0);
            for &node in quorum {
                asked[node] += x;
            }
            let weight: f64 = quorum.iter().map(|&node| found.dual[node]).sum();
            assert!(weight > 1.0 - 1e-9, "a quorum weighs {weight}");
        }
        assert!(asked.iter().all(|&sum| sum < 1.0 + 1e-9), "{asked:?}");
        assert!(found.dual.iter().all(|&y| y >= 0.0));
        let (primal, dual): (f64, f64) = (found.primal.iter().sum(), found.dual.iter().sum());
        assert!((primal - dual).abs() < 1e-9, "{primal}, {dual}");
        primal
    }

    fn load(nodes: usize, quorums: &[Vec<usize>]) -> f64 {
        1.0 / optimum(nodes, quorums, &solve(nodes, quorums, LONG).expect("it ends"))
    }

    #[test]
    fn a_wheel_has_the_load_of_its_hub_and_rim() {
        for nodes in 4..40 {
            let spokes = (1..nodes).map(|node| vec![0, node]);
            let wheel: Vec<_> = spokes.chain([(1..nodes).collect()]).collect();
            // Each spoke is taken as often as any other, the rim as often as leaves the hub and
            // each rim node equally busy.
            let expected = (nodes - 1) as f64 / (2 * nodes - 3) as f64;
            assert!((load(nodes, &wheel) - expected).abs() < 1e-9, "{nodes}");
        }
    }

    #[test]
    fn any_sets_have_a_primal_and_a_dual_solution_that_meet() {
        let mut random = Random::new(1);
        for _ in 0..2_000 {
            let nodes = random.below(14) as usize + 1;
            let quorums: Vec<Vec<usize>> = (0..=random.below(30))
                .map(|_| {
                    let mut quorum: Vec<_> = (0..nodes).filter(|_| random.below(3) == 0).collect();
                    if quorum.is_empty() {
                        quorum.push(random.below(nodes as u64) as usize);
                    }
                    quorum
                })
                .collect();
            load(nodes, &quorums);
        }
    }

    #[test]
    fn bland_s_rule_finds_the_same() {
        let quorums: Vec<Vec<usize>> =
            (0..13).map(|of| [0, 1, 3, 9].map(|step| (of + step) % 13).to_vec()).collect();
        let mut tableau = Tableau::new(13, &quorums);
        while let Some(column) = tableau.entering(Rule::Bland) {
            let row = tableau.leaving(column, Rule::Bland).expect("the sum is bounded");
            tableau.pivot(row, column);
        }
        let sum = optimum(13, &quorums, &tableau.solution());
        assert!((sum - 13.0 / 4.0).abs() < 1e-9, "{sum}");
        assert!((1.0 / sum - load(13, &quorums)).abs() < 1e-9);
    }

    #[test]
    fn it_gives_up_in_time() {
        let quorums: Vec<Vec<usize>> = (0..50).map(|of| vec![of, (of + 1) % 50]).collect();
        assert!(solve(50, &quorums, Duration::ZERO).is_none());
    }
}
