//! All that is known of a quorum system, for people and for programs.

use serde_json::{Value, json};
use vorrang_algorithms::quorum::chance::{Failure as Chance, failure};
use vorrang_algorithms::quorum::conditions::{Conditions, conditions};
use vorrang_algorithms::quorum::measure::{MOST_MEMBERS, Properties, properties};
use vorrang_algorithms::quorum::{QuorumSystem, Quorums};
use vorrang_protocol::NodeId;
use vorrang_sim::Share;

use super::load::{fraction, least_load};
use crate::failure::Failure;
use crate::format::grouped;

/// The questions to every system.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// How likely a node is dead.
    pub dead: Share,
    /// Seed of what is drawn at random.
    pub seed: u64,
}

/// The findings.
#[derive(Debug)]
pub struct Report {
    quorums: Quorums,
    nodes: u32,
    properties: Properties,
    /// Maekawa's conditions; none if there are too many sets to compare.
    conditions: Option<Conditions>,
    /// The least load; unknown if that takes too long.
    load: Option<f64>,
    chance: Chance,
    asked: Asked,
}

impl Report {
    /// All that can be said of a quorum system.
    pub fn new(quorums: &Quorums, system: &QuorumSystem, asked: Asked) -> Self {
        let nodes = system.group().size();
        let properties = properties(system);
        let solved = || least_load(nodes, &system.family(MOST_MEMBERS)?);
        let load = properties.least_load.or_else(solved);
        let chance = failure(system, asked.dead.value(), asked.seed);
        let conditions = conditions(system);
        Self { quorums: quorums.clone(), nodes, properties, conditions, load, chance, asked }
    }

    /// As rows of names and values.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let it = &self.properties;
        let dead = self.asked.dead;
        vec![
            ("quorums", it.quorums.map_or_else(|| "too many".to_owned(), |n| grouped(n as u64))),
            ("size", self.sizes()),
            (
                "any two meet",
                self.of_two(it.intersecting.map_or_else(by_construction, |it| yes(Some(it)))),
            ),
            ("coterie", self.of_two(yes(it.coterie))),
            ("symmetric", yes(it.symmetric)),
            ("non-dominated", yes(it.nondominated)),
            ("ideal", self.of_two(yes(it.ideal))),
            ("Maekawa's 1 to 4", self.conditions.as_ref().map_or_else(unknown, in_words)),
            ("load as assigned", it.assigned_load.map_or_else(unknown, share_of)),
            ("least load", self.load_text()),
            ("resilience", it.resilience.map_or_else(unknown, |n| format!("any {n} may crash"))),
            ("fails", format!("{}, if each node is dead with {dead}", self.chance_text())),
        ]
    }

    /// Whether there is one quorum, so that what is said of any two is said of none.
    fn is_alone(&self) -> bool {
        self.properties.quorums == Some(1)
    }

    /// A property of any two quorums, or that there are no two. A single quorum may still lack what
    /// an ideal system needs besides: that all nodes take part.
    fn of_two(&self, value: String) -> String {
        if self.is_alone() && value.starts_with("yes") {
            return format!("{VACUOUS}: there is only one quorum");
        }
        value
    }

    /// The header of [`cells`](Self::cells).
    pub fn header() -> Vec<String> {
        const NAMES: [&str; 11] = [
            "SYSTEM",
            "QUORUMS",
            "SIZE",
            "LEAST LOAD",
            "ASSIGNED",
            "RESILIENCE",
            "FAILS",
            "COTERIE",
            "SYMMETRIC",
            "NON-DOMINATED",
            "IDEAL",
        ];
        NAMES.map(str::to_owned).to_vec()
    }

    /// A row of a table of systems.
    pub fn cells(&self) -> Vec<String> {
        let it = &self.properties;
        let in_short_of_two = |value: String| {
            if self.is_alone() && value == "yes" { VACUOUS.to_owned() } else { value }
        };
        vec![
            in_short(&self.quorums),
            it.quorums.map_or_else(|| "many".to_owned(), |n| grouped(n as u64)),
            self.sizes(),
            self.load.map_or_else(|| self.load_bounds(), load),
            it.assigned_load.map_or_else(unknown, load),
            it.resilience.map_or_else(unknown, shown),
            self.chance_text(),
            in_short_of_two(yes(it.coterie)),
            yes(it.symmetric),
            yes(it.nondominated),
            in_short_of_two(yes(it.ideal)),
        ]
    }

    /// For programs; unknown values are null.
    pub fn json(&self) -> Value {
        let it = &self.properties;
        let (chance, interval) = match self.chance {
            Chance::Exact(chance) => (chance, None),
            Chance::Drawn { failed, samples } => {
                (failed as f64 / samples as f64, Some(wilson(failed, samples)))
            }
        };
        json!({
            "construction": self.quorums.to_string(),
            "nodes": self.nodes,
            "quorums": it.quorums,
            "size_min": it.smallest,
            "size_max": it.largest,
            "intersecting": it.intersecting,
            "coterie": it.coterie,
            "symmetric": it.symmetric,
            "nondominated": it.nondominated,
            "ideal": it.ideal,
            "vacuous": self.is_alone(),
            "maekawa": self.conditions.as_ref().map(of_maekawa),
            "load": self.load,
            "load_assigned": it.assigned_load,
            "resilience": it.resilience,
            "fail": self.asked.dead.value(),
            "failure_probability": chance,
            "failure_exact": interval.is_none(),
            "failure_interval": interval,
            "seed": self.asked.seed,
        })
    }

    fn sizes(&self) -> String {
        match (self.properties.smallest, self.properties.largest) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (least, most) => {
                let end = |size: Option<usize>| size.map_or_else(|| "?".to_owned(), shown);
                format!("{}…{}", end(least), end(most))
            }
        }
    }

    fn load_text(&self) -> String {
        self.load.map_or_else(|| format!("unknown, {}", self.load_bounds()), share_of)
    }

    /// Bounds on the least load.
    fn load_bounds(&self) -> String {
        let it = &self.properties;
        let least = it.smallest.map(|size| {
            let size = size as f64;
            load((size / f64::from(self.nodes)).max(1.0 / size))
        });
        let most = it.assigned_load.map(load);
        format!("{}…{}", least.unwrap_or_default(), most.unwrap_or_else(|| "1".to_owned()))
    }

    fn chance_text(&self) -> String {
        match self.chance {
            // Where all are dead no quorum is alive, so it is not nothing.
            Chance::Exact(chance) if chance <= 0.0 && self.asked.dead.value() > 0.0 => {
                "less than 1e-300".to_owned()
            }
            Chance::Exact(chance) => digits(chance),
            Chance::Drawn { failed, samples } => {
                let [low, high] = wilson(failed, samples);
                format!("{}…{}", digits(low), digits(high))
            }
        }
    }

    /// How sure the probability of failure is, if it is not exact.
    pub fn remark(&self) -> Option<String> {
        match self.chance {
            Chance::Exact(_) => None,
            Chance::Drawn { samples, .. } => Some(format!(
                "A range of failure probabilities is a 95 % confidence interval (Wilson) from up \
                 to {} draws, --seed {}.",
                grouped(samples),
                self.asked.seed
            )),
        }
    }
}

/// Which of Maekawa's conditions hold, and how far the assignment is from the others.
fn in_words(it: &Conditions) -> String {
    let range = |(low, high): (usize, usize)| format!("{low}…{high}");
    let missed = [
        "two sets do not meet".to_owned(),
        format!("{} nodes are not in their own", it.outsiders),
        format!("sizes {}", range(it.sizes)),
        format!("a node is in {} sets", range(it.memberships)),
    ];
    let (mut holding, mut failing) = (Vec::new(), Vec::new());
    for ((number, holds), how) in (1..).zip(it.hold()).zip(missed) {
        if holds {
            holding.push(number.to_string());
        } else {
            failing.push(format!("{number} ({how})"));
        }
    }
    match (holding.is_empty(), failing.is_empty()) {
        (_, true) => "all hold".to_owned(),
        (true, false) => format!("not {}", failing.join(", ")),
        (false, false) => format!("{} hold, not {}", holding.join(", "), failing.join(", ")),
    }
}

/// What each of the conditions says, and who is to blame if it does not hold.
pub fn conditions_in_words(it: &Conditions) -> [(&'static str, Option<String>); 4] {
    const MOST: usize = 10;
    let listed = || {
        let more = if it.outside.len() > MOST { ", …" } else { "" };
        let names: Vec<String> = it.outside.iter().take(MOST).map(ToString::to_string).collect();
        names.join(", ") + more
    };
    let uneven = |(low, high): (usize, usize), (least, most): (NodeId, NodeId)| {
        (low < high).then_some((low, high, least, most))
    };
    let sizes = uneven(it.sizes, it.smallest_of).map(|(low, high, least, most)| {
        format!("that of node {least} has {low}, that of node {most} has {high}")
    });
    let memberships = uneven(it.memberships, it.rarest).map(|(low, high, least, most)| {
        format!("node {least} is in {low}, node {most} is in {high}")
    });
    [
        (
            "any two sets meet",
            it.apart.map(|(one, other)| format!("those of nodes {one} and {other} do not")),
        ),
        ("every node is in its own set", (it.outsiders > 0).then(|| format!("not {}", listed()))),
        ("all sets are of one size", sizes),
        ("every node is in as many sets", memberships),
    ]
}

/// Maekawa's conditions, for programs.
pub fn of_maekawa(it: &Conditions) -> Value {
    let [meet, own, equal_size, equal_work] = it.hold();
    json!({
        "any_two_meet": meet,
        "in_own_set": own,
        "equal_size": equal_size,
        "equal_work": equal_work,
        "sizes": it.sizes,
        "memberships": it.memberships,
        "shared": it.shared,
        "apart": it.apart.map(|(one, other)| [one.0, other.0]),
        "outside": it.outside.iter().map(|id| id.0).collect::<Vec<_>>(),
    })
}

/// As it is written, cut where it is long.
fn in_short(quorums: &Quorums) -> String {
    const MOST: usize = 24;
    let text = quorums.in_short();
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// What is true because it is said of nothing.
const VACUOUS: &str = "vacuous";

fn yes(it: Option<bool>) -> String {
    match it {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => unknown(),
    }
}

/// True of every system, and not looked at in one as large as this.
fn by_construction() -> String {
    "yes, by construction".to_owned()
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[expect(clippy::needless_pass_by_value, reason = "as options are mapped")]
fn shown<T: ToString>(it: T) -> String {
    it.to_string()
}

/// A share as a figure and, if it is one, as a fraction.
fn share_of(share: f64) -> String {
    match fraction(share) {
        Some((over, under)) if under > 1 && under <= 100 => {
            format!("{} ({over}/{under})", load(share))
        }
        Some(_) | None => load(share),
    }
}

fn load(share: f64) -> String {
    significant(share, 4)
}

/// A probability, with a few digits.
fn digits(chance: f64) -> String {
    significant(chance, 6)
}

/// A number from 0 to 1 with so many digits that count, and none that are idle.
fn significant(number: f64, count: i32) -> String {
    if number <= 0.0 || number >= 1.0 {
        return format!("{number}");
    }
    if number < 1e-4 {
        return format!("{number:.3e}");
    }
    let places = (count - 1 - number.log10().floor() as i32).clamp(1, 12) as usize;
    let text = format!("{number:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The ends of the 95 % confidence interval of a share (E. B. Wilson, "Probable inference, the law
/// of succession, and statistical inference", 1927): good also where nothing or everything failed.
fn wilson(failed: u64, samples: u64) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    let (count, share) = (samples as f64, failed as f64 / samples as f64);
    let whole = 1.0 + Z * Z / count;
    let middle = (share + Z * Z / (2.0 * count)) / whole;
    let half = Z / whole * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    // At the ends the sum is zero or one but for the last digit.
    let low = if failed == 0 { 0.0 } else { middle - half };
    [low, if failed == samples { 1.0 } else { middle + half }]
}

/// The quorum of every node, for programs.
pub fn assignment(system: &QuorumSystem, turn: u64) -> Result<Value, Failure> {
    const MOST: u64 = 20_000_000;
    let (nodes, size) = (system.group().size(), system.of_turn(NodeId(0), turn).len() as u64);
    let total = u64::from(nodes) * size;
    if total > MOST {
        return Err(Failure::usage(format!(
            "--nodes {nodes}: the quorums have some {} members in all, more than {} for --json",
            grouped(total),
            grouped(MOST)
        )));
    }
    let members = |id: NodeId| system.of_turn(id, turn).iter().map(|id| id.0).collect::<Vec<_>>();
    Ok(system.group().members().map(members).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_have_six_digits() {
        assert_eq!(digits(0.001_416_774), "0.00141677");
        assert_eq!(digits(0.5), "0.5");
        assert_eq!((digits(0.0), digits(1.0)), ("0".to_owned(), "1".to_owned()));
        assert_eq!(digits(0.000_012_345), "1.234e-5");
        assert_eq!(share_of(3.0 / 7.0), "0.4286 (3/7)");
        assert_eq!((share_of(1.0), load(0.0199)), ("1".to_owned(), "0.0199".to_owned()));
    }

    #[test]
    fn an_interval_is_wilsons() {
        // 10 of 100: the example of many textbooks.
        let [low, high] = wilson(10, 100);
        assert!((low - 0.0552).abs() < 1e-4 && (high - 0.1744).abs() < 1e-4, "{low} {high}");
        let [low, high] = wilson(0, 100);
        assert!(low == 0.0 && (high - 0.037).abs() < 1e-3, "{low} {high}");
        let [low, high] = wilson(100, 100);
        assert!((low - 0.963).abs() < 1e-3 && (high - 1.0).abs() < 1e-12, "{low} {high}");
    }
}
