//! Topologies as people write them.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use vorrang_protocol::NodeId;

use super::{Density, Topology};

impl Topology {
    /// All ways to write one.
    pub const FORMS: &'static str = "ring, line, star, complete, tree:2, grid, torus, hypercube, \
        random-tree, random:0.1 or a file of links";

    /// Reads a list of links, one a line: two nodes with a space between them. What follows a `#`
    /// is not read.
    ///
    /// # Errors
    ///
    /// If a line is no link, with its number.
    pub fn of_lines(text: &str) -> Result<Self, String> {
        let mut links: Vec<(NodeId, NodeId)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let said = line.split('#').next().unwrap_or_default();
            let ends: Vec<&str> = said.split_whitespace().collect();
            let link = match *ends {
                [] => continue,
                [one, other] => link(one, other),
                _ => Err(format!("'{}' is not a link: write two nodes, as in 0 1", said.trim())),
            };
            links.push(link.map_err(|why| format!("line {number}: {why}"))?);
        }
        if links.is_empty() {
            return Err("there is no link in it".to_owned());
        }
        Ok(Self::Links(links.into()))
    }

    /// As it is written, but for a list of links, of which only the number is told.
    pub fn in_short(&self) -> String {
        match self {
            Self::Links(links) => format!("of {} links", links.len()),
            shape => shape.to_string(),
        }
    }
}

fn link(one: &str, other: &str) -> Result<(NodeId, NodeId), String> {
    let node = |text: &str| {
        text.parse().map(NodeId).map_err(|_| format!("'{text}' is not a node's number"))
    };
    let (one, other) = (node(one)?, node(other)?);
    if one == other { Err(format!("node {one} is linked to itself")) } else { Ok((one, other)) }
}

impl FromStr for Topology {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, it)| (name, Some(it)));
        match (name, rest) {
            ("complete", None) => Ok(Self::Complete),
            ("ring", None) => Ok(Self::Ring),
            ("line", None) => Ok(Self::Line),
            ("star", None) => Ok(Self::Star),
            ("grid", None) => Ok(Self::Grid),
            ("torus", None) => Ok(Self::Torus),
            ("hypercube", None) => Ok(Self::Hypercube),
            ("tree", children) => match children.unwrap_or("2").parse() {
                Ok(children @ 1..) => Ok(Self::Tree(children)),
                Ok(0) | Err(_) => {
                    Err(format!("'{text}': a tree has at least 1 child a node, as in tree:2"))
                }
            },
            ("random-tree", seed) => {
                Ok(Self::RandomTree { seed: seed.map(read_seed).transpose()? })
            }
            ("random", Some(rest)) => {
                let (share, seed) =
                    rest.split_once(':').map_or((rest, None), |(share, it)| (share, Some(it)));
                let seed = seed.map(read_seed).transpose()?;
                Ok(Self::Random { density: share.parse()?, seed })
            }
            ("random", None) => Err("'random': how dense? Say random:0.1".to_owned()),
            ("links", Some(rest)) => {
                let pairs = rest.split(',').map(|pair| match pair.split_once('-') {
                    Some((one, other)) => link(one, other),
                    None => Err(format!("'{pair}' is not a link: write 0-1")),
                });
                Ok(Self::Links(pairs.collect::<Result<Vec<_>, String>>()?.into()))
            }
            _ => Err(format!("'{text}' is not a topology: say {}", Self::FORMS)),
        }
    }
}

fn read_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a seed: write a whole number"))
}

impl fmt::Display for Topology {
    /// Writes what [`FromStr`] reads: the same links wherever it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Complete => "complete",
            Self::Ring => "ring",
            Self::Line => "line",
            Self::Star => "star",
            Self::Grid => "grid",
            Self::Torus => "torus",
            Self::Hypercube => "hypercube",
            Self::Tree(children) => return write!(f, "tree:{children}"),
            Self::RandomTree { seed: None } => "random-tree",
            Self::RandomTree { seed: Some(seed) } => return write!(f, "random-tree:{seed}"),
            Self::Random { density, seed: None } => return write!(f, "random:{density}"),
            Self::Random { density, seed: Some(seed) } => {
                return write!(f, "random:{density}:{seed}");
            }
            Self::Links(links) => {
                for (place, (one, other)) in links.iter().enumerate() {
                    let before = if place == 0 { "links:" } else { "," };
                    write!(f, "{before}{one}-{other}")?;
                }
                return Ok(());
            }
        };
        f.write_str(name)
    }
}

impl FromStr for Density {
    type Err = String;

    /// Reads a number from 0 to 1, of at most six digits after the point.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a density: write a number from 0 to 1, as in 0.1");
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || part.len() > 6 {
            return Err(wrong());
        }
        let digits = format!("{part:0<6}").parse::<u32>().map_err(|_| wrong())?;
        let whole = whole.parse::<u32>().ok().and_then(|it| it.checked_mul(Self::WHOLE));
        let count = whole.and_then(|it| it.checked_add(digits)).ok_or_else(wrong)?;
        Self::millionths(count).ok_or_else(wrong)
    }
}

impl fmt::Display for Density {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:06}", self.0 % Self::WHOLE);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / Self::WHOLE),
            part => write!(f, "{}.{part}", self.0 / Self::WHOLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topologies_are_read_as_they_are_written() {
        for text in [
            "complete",
            "ring",
            "line",
            "star",
            "tree:3",
            "grid",
            "torus",
            "hypercube",
            "random-tree",
            "random-tree:7",
            "random:0.1",
            "random:1:7",
            "random:0.000001:7",
            "links:0-1,2-1",
        ] {
            assert_eq!(text.parse::<Topology>().unwrap().to_string(), text);
        }
        assert_eq!("tree".parse(), Ok(Topology::Tree(2)));
        assert_eq!("random:0.10".parse::<Topology>().unwrap().to_string(), "random:0.1");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<Topology>().unwrap_err();
        assert!(wrong("rung").starts_with("'rung' is not a topology: say ring, line"));
        assert!(wrong("ring:3").starts_with("'ring:3' is not a topology"));
        assert!(wrong("tree:0").contains("at least 1 child"));
        assert!(wrong("random").contains("random:0.1"));
        for density in ["1.1", "", "-0.1", "0.1234567", "4294967296", "4295", "0,1", "1e-1"] {
            let said = format!("'{density}' is not a density");
            assert!(wrong(&format!("random:{density}")).starts_with(&said), "{density}");
        }
        assert!(wrong("random:0.1:x").contains("'x' is not a seed"));
        assert!(wrong("links:0-1,2").contains("'2' is not a link"));
        assert!(wrong("links:3-3").contains("node 3 is linked to itself"));
    }

    #[test]
    fn a_file_of_links_is_read_line_by_line() {
        let read = Topology::of_lines("# a path\n0 1\n\n 2\t1 # and back\n");
        assert_eq!(read, "links:0-1,2-1".parse());
        let wrong = |text| Topology::of_lines(text).unwrap_err();
        assert_eq!(wrong("0 1\n0 x"), "line 2: 'x' is not a node's number");
        assert_eq!(wrong("0 1 2"), "line 1: '0 1 2' is not a link: write two nodes, as in 0 1");
        assert_eq!(wrong("\n4 4"), "line 2: node 4 is linked to itself");
        assert_eq!(wrong("# nothing"), "there is no link in it");
    }
}
