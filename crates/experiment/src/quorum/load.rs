//! The least load of a quorum system (M. Naor and A. Wool, "The load, capacity, and availability of
//! quorum systems", 1998).
//!
//! The load of a way to choose quorums is how often the busiest node is asked. To find the least is
//! a linear programme: maximise Σ x, an x for every quorum, such that those of a node's quorums are
//! together no more than 1; the load is 1 / Σ x. Its dual has a weight y for every node: minimise
//! Σ y such that every quorum weighs at least 1.
//!
//! The solver is not trusted. It gives solutions of both programmes, and they are measured anew:
//! quorums chosen in proportion to x have some load, and with weights in proportion to y no load is
//! less than what the lightest quorum weighs. Where the two meet, that is the least.

use std::time::Duration;

use vorrang_protocol::NodeId;

use super::simplex::{Solution, solve};

/// As many members of quorums as a solver takes some seconds for.
const MOST_MEMBERS: usize = 50_000;

/// How long the solver may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How far what can be done and what cannot be undercut may be apart to count as one.
const CLOSE: f64 = 1e-9;

/// The least load; none if it takes too long, or the solver's answers do not prove it.
pub(super) fn least_load(nodes: u32, family: &[Vec<NodeId>]) -> Option<f64> {
    if family.iter().map(Vec::len).sum::<usize>() > MOST_MEMBERS {
        return None;
    }
    let Solution { primal, dual } = solution(nodes, family)?;
    let reached = reached(nodes, family, &primal)?;
    let bound = bound(family, &dual)?;
    (reached - bound <= CLOSE).then(|| rounded(reached))
}

fn solution(nodes: u32, family: &[Vec<NodeId>]) -> Option<Solution> {
    let members = |quorum: &Vec<NodeId>| quorum.iter().map(|id| id.index()).collect();
    let quorums: Vec<Vec<usize>> = family.iter().map(members).collect();
    solve(nodes as usize, &quorums, PATIENCE)
}

/// How often the busiest node is asked if quorums are chosen in these proportions.
fn reached(nodes: u32, family: &[Vec<NodeId>], chosen: &[f64]) -> Option<f64> {
    let mut asked = vec![0.0; nodes as usize];
    for (quorum, often) in family.iter().zip(chosen) {
        for id in quorum {
            asked[id.index()] += often;
        }
    }
    let sum: f64 = chosen.iter().sum();
    (sum > 0.0).then(|| asked.into_iter().fold(0.0, f64::max) / sum)
}

/// How often some node is asked at least, however quorums are chosen: the weighted mean of what the
/// nodes are asked is at least what the lightest quorum weighs.
fn bound(family: &[Vec<NodeId>], weights: &[f64]) -> Option<f64> {
    let sum: f64 = weights.iter().sum();
    let weight = |quorum: &Vec<NodeId>| quorum.iter().map(|id| weights[id.index()]).sum::<f64>();
    (sum > 0.0).then(|| family.iter().map(weight).fold(f64::INFINITY, f64::min) / sum)
}

/// The fraction that is meant, without what the solver's last digits add to it.
fn rounded(load: f64) -> f64 {
    let near = fraction(load).map(|(over, under)| f64::from(over) / f64::from(under));
    near.unwrap_or(load)
}

/// The fraction of small numbers that a number is, if it is one.
pub(super) fn fraction(number: f64) -> Option<(u32, u32)> {
    let near = |under: &u32| {
        let over = number * f64::from(*under);
        (over - over.round()).abs() < CLOSE
    };
    let under = (1..=1000).find(near)?;
    Some(((number * f64::from(under)).round() as u32, under))
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::quorum::Quorums;
    use vorrang_algorithms::quorum::measure::properties;
    use vorrang_protocol::Group;

    use super::*;

    fn family(text: &str, nodes: u32) -> Vec<Vec<NodeId>> {
        let system = text.parse::<Quorums>().unwrap().system(Group::of(nodes)).unwrap();
        system.family(MOST_MEMBERS).unwrap()
    }

    #[test]
    fn the_solver_agrees_with_every_formula() {
        for (text, nodes) in [
            ("singleton", 3),
            ("all", 4),
            ("majority", 9),
            ("plane", 31),
            ("grid", 25),
            ("triangle", 21),
            ("tree", 15),
            ("tree", 11),
            ("tree", 8),
            ("tree", 6),
            ("wall", 15),
            ("wall:1,2,2,2", 7),
            ("wall:4,2,2,3", 11),
            ("wall:1,5,2,2", 10),
            ("wall:2,1,3", 6),
            ("wall:5,2", 7),
        ] {
            let system = text.parse::<Quorums>().unwrap().system(Group::of(nodes)).unwrap();
            let formula = properties(&system).least_load.expect(text);
            let solved = least_load(nodes, &family(text, nodes)).expect(text);
            assert!((formula - solved).abs() < 1e-8, "{text} {nodes}: {formula}, {solved}");
        }
    }

    #[test]
    fn the_solver_finds_what_no_formula_gives() {
        // What another solver, a sparse one, found for these.
        for (text, nodes, load) in [
            ("grid", 11, 11.0 / 23.0),
            ("grid", 50, 11.0 / 46.0),
            ("grid", 155, 0.153_796_841_307_768_36),
            ("grid", 300, 0.111_005_467_078_678_59),
            ("weighted:5,3,3,2,1,1", 6, 8.0 / 15.0),
            ("weighted:9,7,5,3,1,1,1,2,2,4", 10, 18.0 / 35.0),
            ("triangle:columns", 100, 1.0 / 7.0),
            ("triangle:rows", 100, 2.0 / 13.0),
        ] {
            let solved = least_load(nodes, &family(text, nodes)).expect(text);
            assert!((solved - load).abs() < 1e-9, "{text} {nodes}: {solved}");
        }
    }

    #[test]
    fn a_wrong_answer_of_the_solver_proves_nothing() {
        let family = family("wall:1,3", 4);
        let Solution { mut primal, mut dual } = solution(4, &family).unwrap();
        assert!((reached(4, &family, &primal).unwrap() - 0.6).abs() < CLOSE);
        assert!((bound(&family, &dual).unwrap() - 0.6).abs() < CLOSE);
        primal[0] += 0.1;
        dual[3] += 0.1;
        assert!(reached(4, &family, &primal).unwrap() > 0.6 + CLOSE);
        assert!(bound(&family, &dual).unwrap() < 0.6 - CLOSE);
    }

    #[test]
    fn fractions_are_recognised() {
        assert_eq!(fraction(8.0 / 15.0), Some((8, 15)));
        assert_eq!(fraction(1.0), Some((1, 1)));
        assert_eq!(fraction(std::f64::consts::FRAC_1_SQRT_2), None);
    }
}
