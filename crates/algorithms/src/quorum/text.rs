//! Quorum systems as people write them.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use vorrang_protocol::NodeId;

use super::{Quorums, Scheme, sets};

impl Quorums {
    /// All ways to write one.
    pub const FORMS: &'static str = "plane, plane:printed (13 nodes as in Maekawa's paper), \
        plane:reduced, cyclic, grid, majority, weighted:2,1,1 (a weight a node), triangle, \
        triangle:columns, triangle:rows, wall, wall:1,2,3 (the widths of its rows), tree, all, \
        singleton, sets:0-1,1-2,0-2 (a set a node), sets-from-1:1-2,2-3,1-3 (the same, counted \
        from 1) or a file of sets";

    /// Reads a set a line, that of node 0 first: nodes with spaces between them. What follows a `#`
    /// is not read, and lines with nothing else do not count. A line `from 1` says that nodes are
    /// counted from 1 below it.
    ///
    /// # Errors
    ///
    /// If a line is no set, or two do not meet, with their numbers.
    pub fn of_lines(text: &str) -> Result<Self, String> {
        let (all, numbers) = lines(text)?;
        sets::check(&all, |at| format!("node {at} (line {})", numbers[at]))?;
        Ok(Self::Sets(all.into()))
    }

    /// The same, whether any two sets meet or not.
    ///
    /// # Errors
    ///
    /// If a line is no set of nodes.
    pub fn of_any_lines(text: &str) -> Result<Self, String> {
        let (all, numbers) = lines(text)?;
        sets::are_sets(&all, |at| format!("node {at} (line {})", numbers[at]))?;
        Ok(Self::Sets(all.into()))
    }

    /// As it is written, but for a list of sets or a long list of numbers, of which only the number
    /// is told.
    pub fn in_short(&self) -> String {
        const LONG: usize = 16;
        match self {
            Self::Sets(sets) => format!("of {} sets", sets.len()),
            Self::Weighted(weights) if weights.len() > LONG => {
                format!("of {} weights", weights.len())
            }
            Self::Wall(Some(widths)) if widths.len() > LONG => format!("of {} rows", widths.len()),
            written => written.to_string(),
        }
    }
}

/// A set a line, and the number of each line.
fn lines(text: &str) -> Result<(Vec<Vec<NodeId>>, Vec<usize>), String> {
    let (mut all, mut numbers, mut first) = (Vec::new(), Vec::new(), 0);
    for (number, line) in (1_usize..).zip(text.lines()) {
        let said = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = said.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        if words == ["from", "1"] {
            first = 1;
            continue;
        }
        all.push(set(&words, first).map_err(|why| format!("line {number}: {why}"))?);
        numbers.push(number);
    }
    if all.is_empty() {
        return Err("there is no set in it: write a line a node, its members with spaces between \
                    them"
            .to_owned());
    }
    Ok((all, numbers))
}

/// The nodes of a set, the first of which is written as this number.
fn set(words: &[&str], first: u32) -> Result<Vec<NodeId>, String> {
    let node = |text: &&str| match text.parse::<u32>() {
        Ok(number) if number < first => Err(format!("there is no node {number}: count from 1")),
        Ok(number) => Ok(NodeId(number - first)),
        Err(_) => Err(format!("'{text}' is not a node's number")),
    };
    let mut set = words.iter().map(node).collect::<Result<Vec<_>, String>>()?;
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

fn numbers(text: &str, wrong: impl Fn(&str) -> String) -> Result<Arc<[u32]>, String> {
    let all = text.split(',').map(|it| it.parse::<u32>().map_err(|_| wrong(it)));
    all.collect::<Result<Vec<_>, String>>().map(Into::into)
}

impl FromStr for Quorums {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, it)| (name, Some(it)));
        match (name, rest) {
            ("singleton", None) => Ok(Self::Singleton),
            ("all", None) => Ok(Self::All),
            ("majority", None) => Ok(Self::Majority),
            ("grid", None) => Ok(Self::Grid),
            ("tree", None) => Ok(Self::Tree),
            ("plane", None) => Ok(Self::Plane),
            ("plane", Some("printed")) => Ok(Self::PlaneAsPrinted),
            ("plane", Some("reduced")) => Ok(Self::PlaneReduced),
            ("cyclic", None) => Ok(Self::Cyclic),
            ("triangle", None) => Ok(Self::Triangle(Scheme::InTurn)),
            ("triangle", Some("columns")) => Ok(Self::Triangle(Scheme::Columns)),
            ("triangle", Some("rows")) => Ok(Self::Triangle(Scheme::Rows)),
            ("weighted", Some(rest)) => {
                let wrong = |it: &str| {
                    format!("'{it}' is not a weight: write whole numbers, as in weighted:2,1,1")
                };
                numbers(rest, wrong).map(Self::Weighted)
            }
            ("weighted", None) => Err("'weighted': which weights? Say weighted:2,1,1".to_owned()),
            ("wall", None) => Ok(Self::Wall(None)),
            ("wall", Some(rest)) => {
                let wrong = |it: &str| {
                    format!("'{it}' is not a width: write numbers of at least 1, as in wall:1,2,3")
                };
                let widths = numbers(rest, wrong)?;
                let total = widths.iter().try_fold(0_u32, |sum, &it| sum.checked_add(it));
                match (widths.contains(&0), total) {
                    (true, _) => Err(wrong("0")),
                    (false, None) => Err(format!("'{text}' has more nodes than can be counted")),
                    (false, Some(_)) => Ok(Self::Wall(Some(widths))),
                }
            }
            ("sets" | "sets-from-1", Some(rest)) => {
                let first = u32::from(name == "sets-from-1");
                let one = |(at, it): (usize, &str)| {
                    if it.is_empty() {
                        let at = at + first as usize;
                        return Err(format!("the set of node {at} is empty"));
                    }
                    set(&it.split('-').collect::<Vec<_>>(), first)
                };
                let sets = rest.split(',').enumerate().map(one);
                let sets = sets.collect::<Result<Vec<_>, String>>()?;
                Ok(Self::Sets(sets.into()))
            }
            _ => Err(format!("'{text}' is not a quorum system: say {}", Self::FORMS)),
        }
    }
}

impl fmt::Display for Quorums {
    /// Writes what [`FromStr`] reads: the same quorums wherever it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Singleton => "singleton",
            Self::All => "all",
            Self::Majority => "majority",
            Self::Grid => "grid",
            Self::Tree => "tree",
            Self::Plane => "plane",
            Self::PlaneAsPrinted => "plane:printed",
            Self::PlaneReduced => "plane:reduced",
            Self::Cyclic => "cyclic",
            Self::Triangle(Scheme::InTurn) => "triangle",
            Self::Triangle(Scheme::Columns) => "triangle:columns",
            Self::Triangle(Scheme::Rows) => "triangle:rows",
            Self::Wall(None) => "wall",
            Self::Wall(Some(widths)) => return write!(f, "wall:{}", joined(widths, ",")),
            Self::Weighted(weights) => return write!(f, "weighted:{}", joined(weights, ",")),
            Self::Sets(sets) => {
                let sets: Vec<String> = sets.iter().map(|set| joined(set, "-")).collect();
                return write!(f, "sets:{}", sets.join(","));
            }
        };
        f.write_str(name)
    }
}

fn joined<T: ToString>(items: &[T], between: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;

    #[test]
    fn quorum_systems_are_read_as_they_are_written() {
        for text in [
            "singleton",
            "all",
            "majority",
            "weighted:2,1,1",
            "grid",
            "triangle",
            "triangle:columns",
            "triangle:rows",
            "wall",
            "wall:1,2,3",
            "tree",
            "plane",
            "plane:printed",
            "plane:reduced",
            "cyclic",
            "sets:0-1,1-2,0-2",
        ] {
            assert_eq!(text.parse::<Quorums>().unwrap().to_string(), text);
        }
        // One text for one value.
        let sets: Quorums = "sets:1-0-1,02-1,2-0".parse().unwrap();
        assert_eq!(sets.to_string(), "sets:0-1,1-2,0-2");
        assert_eq!(sets.in_short(), "of 3 sets");
        assert_eq!("sets-from-1:1-2,2-3,1-3".parse(), Ok(sets));
    }

    #[test]
    fn the_printed_plane_can_be_typed_as_it_is_printed() {
        let typed = "sets-from-1:1-2-3-4,2-5-8-11,3-6-8-13,4-6-10-11,1-5-6-7,2-6-9-12,2-7-10-13,\
                     1-8-9-10,3-7-9-11,3-5-10-12,1-11-12-13,4-7-8-12,4-5-9-13";
        let system = |text: &str| text.parse::<Quorums>().unwrap().system(Group::of(13)).unwrap();
        let (typed, named) = (system(typed), system("plane:printed"));
        for id in named.group().members() {
            assert_eq!(typed.of(id), named.of(id), "node {id}");
            assert!(named.of(id).contains(&id), "node {id}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<Quorums>().unwrap_err();
        assert!(
            wrong("plain").starts_with("'plain' is not a quorum system: say plane, plane:printed")
        );
        assert!(wrong("grid:3").starts_with("'grid:3' is not a quorum system"));
        assert!(wrong("triangle:3").starts_with("'triangle:3' is not a quorum system"));
        assert!(wrong("weighted").contains("weighted:2,1,1"));
        assert!(wrong("weighted:1,x").starts_with("'x' is not a weight"));
        assert!(wrong("wall:1,0").starts_with("'0' is not a width"));
        assert!(wrong("wall:4294967295,1").contains("more nodes than can be counted"));
        assert!(wrong("sets:0-y").starts_with("'y' is not a node's number"));
        assert_eq!(wrong("sets:0,,1"), "the set of node 1 is empty");
        assert_eq!(wrong("sets-from-1:1,,1"), "the set of node 2 is empty");
        assert_eq!(wrong("sets-from-1:0"), "there is no node 0: count from 1");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_reason() {
        let wrong = |text: &str, nodes| {
            text.parse::<Quorums>().unwrap().system(Group::of(nodes)).unwrap_err().0
        };
        assert_eq!(
            wrong("plane", 14),
            "--quorum plane: 14 nodes do not make a projective plane: that takes q² + q + 1 with a \
             prime power q; the nearest are 13 and 21"
        );
        assert!(wrong("plane", 3).ends_with("the nearest is 7"));
        // Order 6, which is no power of a prime.
        assert!(wrong("plane", 43).ends_with("the nearest are 31 and 57"));
        assert!(wrong("plane", 99_999).ends_with("the nearest is 98283"));
        assert!(wrong("plane", 100_001).ends_with("more than 100000"));
        assert!(wrong("wall:1,2", 4).ends_with("it is for 3 nodes, not 4: say --nodes 3"));
        let many = "weighted:1".to_owned() + &",1".repeat(20_000);
        assert_eq!(
            wrong(&many, 20_001),
            "--quorum of 20001 weights: 20001 weights are more than 20000"
        );
        assert!(wrong("weighted:0,0", 2).ends_with("a weight of more than 0"));
        assert_eq!(
            wrong("sets:0-1,1,2", 3),
            "--quorum of 3 sets: the sets of node 0 and node 2 do not meet: 0-1 and 2"
        );
        assert!(wrong("sets:0-3,0", 2).contains("there is no node 3"));
    }

    #[test]
    fn a_file_of_sets_is_read_line_by_line() {
        let read = Quorums::of_lines("# a triangle\n0 1\n\n 2\t1 # of node 1\n0 2\n");
        assert_eq!(read, "sets:0-1,1-2,0-2".parse());
        assert_eq!(Quorums::of_lines("from 1\n1 2\n2 3\n1 3"), "sets:0-1,1-2,0-2".parse());
        let wrong = |text| Quorums::of_lines(text).unwrap_err();
        assert_eq!(wrong("0 1\n0 x"), "line 2: 'x' is not a node's number");
        assert!(wrong("# nothing").starts_with("there is no set in it"));
        assert_eq!(
            wrong("0\n\n1"),
            "the sets of node 0 (line 1) and node 1 (line 3) do not meet: 0 and 1"
        );
        assert!(wrong("0 7").starts_with("node 0 (line 1): there is no node 7"));
    }
}
