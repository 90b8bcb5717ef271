//! Fault plans: nodes that crash, restart or pause; messages that are lost, duplicated or
//! reordered; partitions, links that are cut, and slow links.
//!
//! Random faults of messages are drawn from generators of their own, so that all other draws stay
//! as they are: a run in which message 17 was lost by chance is the run in which message 17 is lost
//! by plan. Faults of nodes and links are a script; random ones are drawn as [a
//! script](Faults::drawn) as well.

use std::fmt;
use std::str::FromStr;

use vorrang_protocol::{NodeId, show_duration_ns};

use crate::{Link, Random, Skew, parse_duration_ns};

/// The fault plan of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Faults {
    /// Faults with their times, in nanoseconds: before all other events of that instant, and within
    /// one instant in this order.
    pub script: Vec<(u64, Fault)>,
    /// How many messages are lost.
    pub loss: Share,
    /// How many messages arrive twice.
    pub duplication: Share,
    /// How many messages are overtaken by those behind them, also on links that keep their order:
    /// they take [so much longer](Self::late_ns).
    pub reordering: Share,
    /// How much longer a message takes that is to be overtaken.
    pub late_ns: u64,
    /// From when on nothing befalls messages by chance any more.
    pub until_ns: Option<u64>,
    /// Messages that are lost on order, by the numbers that a trace gives them.
    pub lost: Vec<u64>,
    /// Messages that arrive twice on order.
    pub doubled: Vec<u64>,
    /// Messages that are overtaken on order.
    pub delayed: Vec<u64>,
    /// Clocks that are wrong: by them timers run out.
    pub clocks: Vec<Skew>,
}

impl Faults {
    /// Whether all faults are in the script.
    pub fn is_scripted(&self) -> bool {
        self.clone().script(Vec::new()) == Self::default().late_ns(self.late_ns)
    }

    /// The crashes, in the order of the script.
    pub fn crashes(&self) -> impl Iterator<Item = (u64, NodeId)> {
        self.script.iter().filter_map(|(at_ns, fault)| match fault {
            Fault::Crash(node) => Some((*at_ns, *node)),
            Fault::Restart(_)
            | Fault::Pause(_)
            | Fault::Resume(_)
            | Fault::Partition(_)
            | Fault::Heal(_)
            | Fault::Cut(_)
            | Fault::Mend(_)
            | Fault::Slow(_)
            | Fault::Recover(_) => None,
        })
    }

    /// When the last of the script happens.
    pub fn last_ns(&self) -> Option<u64> {
        self.script.iter().map(|(at_ns, _)| *at_ns).max()
    }

    /// How long a message takes at most that would take so long if nothing went wrong: on slow
    /// links, and if it is overtaken.
    pub fn longest_ns(&self, in_ns: u64) -> u64 {
        let mut script: Vec<&(u64, Fault)> = self.script.iter().collect();
        script.sort_by_key(|(at_ns, _)| *at_ns);
        let (mut slow, mut longest_ns): (Vec<Slow>, u64) = (Vec::new(), in_ns);
        for (_, fault) in script {
            match fault {
                Fault::Slow(it) => slow.push(*it),
                Fault::Recover(over) => {
                    if let Some(place) = slow.iter().position(|it| it == over) {
                        slow.remove(place);
                    }
                }
                Fault::Crash(_)
                | Fault::Restart(_)
                | Fault::Pause(_)
                | Fault::Resume(_)
                | Fault::Partition(_)
                | Fault::Heal(_)
                | Fault::Cut(_)
                | Fault::Mend(_) => {}
            }
            let slowed_ns = slow.iter().fold(in_ns, |in_ns, slow| slow.by.after(in_ns));
            longest_ns = longest_ns.max(slowed_ns);
        }
        let is_overtaken = !self.delayed.is_empty() || self.reordering != Share::default();
        longest_ns.saturating_add(if is_overtaken { self.late_ns } else { 0 })
    }

    /// The same, with this happening at these times.
    #[must_use]
    pub fn script(self, script: Vec<(u64, Fault)>) -> Self {
        Self { script, ..self }
    }

    /// The same, with so many messages lost.
    #[must_use]
    pub fn loss(self, loss: Share) -> Self {
        Self { loss, ..self }
    }

    /// The same, with so many messages arriving twice.
    #[must_use]
    pub fn duplication(self, duplication: Share) -> Self {
        Self { duplication, ..self }
    }

    /// The same, with so many messages overtaken.
    #[must_use]
    pub fn reordering(self, reordering: Share) -> Self {
        Self { reordering, ..self }
    }

    /// The same, with these clocks wrong.
    #[must_use]
    pub fn clocks(self, clocks: Vec<Skew>) -> Self {
        Self { clocks, ..self }
    }

    /// The same, with so much time for others to overtake.
    #[must_use]
    pub fn late_ns(self, late_ns: u64) -> Self {
        Self { late_ns, ..self }
    }

    /// The same, with nothing befalling messages by chance from then on.
    #[must_use]
    pub fn until_ns(self, until_ns: impl Into<Option<u64>>) -> Self {
        Self { until_ns: until_ns.into(), ..self }
    }

    /// The same, with these messages lost.
    #[must_use]
    pub fn lost(self, lost: Vec<u64>) -> Self {
        Self { lost, ..self }
    }

    /// The same, with these messages arriving twice.
    #[must_use]
    pub fn doubled(self, doubled: Vec<u64>) -> Self {
        Self { doubled, ..self }
    }

    /// The same, with these messages overtaken.
    #[must_use]
    pub fn delayed(self, delayed: Vec<u64>) -> Self {
        Self { delayed, ..self }
    }
}

/// A fault of a node or of the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// The node forgets all that it does not keep, and hears nothing.
    Crash(NodeId),
    /// It comes up again.
    Restart(NodeId),
    /// The node stands still: what arrives, runs out or is asked of it waits.
    Pause(NodeId),
    /// It goes on, with what has waited, in the order in which it came.
    Resume(NodeId),
    /// A partition begins. Messages between sides are lost, those in flight included. Several
    /// partitions may be in effect at a time.
    Partition(Partition),
    /// It is whole again, as far as this partition goes.
    Heal(Partition),
    /// A link is cut: messages over it are lost, those in flight included. Both ends hear all
    /// others.
    Cut(Link),
    /// It is mended.
    Mend(Link),
    /// These links become slow, for messages sent from now on. Several slow-downs add up.
    Slow(Slow),
    /// They are no longer.
    Recover(Slow),
}

impl Fault {
    /// The largest node that it names, if it names any.
    pub(crate) fn largest(&self) -> Option<NodeId> {
        match self {
            Self::Crash(node) | Self::Restart(node) | Self::Pause(node) | Self::Resume(node) => {
                Some(*node)
            }
            Self::Partition(partition) | Self::Heal(partition) => partition.named().max(),
            Self::Cut(link) | Self::Mend(link) => Some(link.from.max(link.to)),
            Self::Slow(slow) | Self::Recover(slow) => slow.from.max(slow.to),
        }
    }
}

/// A network that has fallen apart: `0,1|2,3,4`. Nodes that are not named are one more side.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Partition {
    /// Each node that is named, with the number of its side, by node.
    sides: Vec<(NodeId, u32)>,
}

impl Partition {
    /// These are the sides, besides one of all others.
    ///
    /// # Errors
    ///
    /// If a side is empty, or a node is on two of them: in a sentence.
    pub fn new(sides: &[Vec<NodeId>]) -> Result<Self, String> {
        let mut all: Vec<(NodeId, u32)> = Vec::new();
        for (side, nodes) in (0..).zip(sides) {
            if nodes.is_empty() {
                return Err("a side has at least one node".to_owned());
            }
            all.extend(nodes.iter().map(|&node| (node, side)));
        }
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(format!("node {} is named twice", pair[0].0)),
            None => Ok(Self { sides: all }),
        }
    }

    /// Whether the two cannot hear each other.
    pub fn separates(&self, one: NodeId, other: NodeId) -> bool {
        self.side(one) != self.side(other)
    }

    /// Whether any two of so many nodes cannot hear each other.
    pub fn is_real(&self, nodes: u32) -> bool {
        let first = self.side(NodeId(0));
        (self.sides.len() as u64) < u64::from(nodes) && first.is_some()
            || self.named().any(|node| self.side(node) != first)
    }

    /// The nodes that are named, lowest first.
    pub fn named(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.sides.iter().map(|&(node, _)| node)
    }

    /// The sides that are named.
    pub fn sides(&self) -> Vec<Vec<NodeId>> {
        let count = self.sides.iter().map(|&(_, side)| side as usize + 1).max().unwrap_or(0);
        let mut sides = vec![Vec::new(); count];
        for &(node, side) in &self.sides {
            sides[side as usize].push(node);
        }
        sides
    }

    /// The number of a node's side; none for those that are not named.
    fn side(&self, node: NodeId) -> Option<u32> {
        let place = self.sides.binary_search_by_key(&node, |&(named, _)| named).ok()?;
        Some(self.sides[place].1)
    }
}

/// Reads `0,1|2,3,4`.
impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a partition: write 0,1|2,3,4");
        let node = |text: &str| text.trim().parse().map(NodeId).map_err(|_| wrong());
        let side = |text: &str| text.split(',').map(node).collect();
        let sides = text.split('|').map(side).collect::<Result<Vec<_>, _>>()?;
        Self::new(&sides).map_err(|why| format!("'{text}': {why}"))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, side) in self.sides().iter().enumerate() {
            f.write_str(if index > 0 { "|" } else { "" })?;
            let nodes: Vec<String> = side.iter().map(ToString::to_string).collect();
            f.write_str(&nodes.join(","))?;
        }
        Ok(())
    }
}

/// Links that are slow: `0-1:x10` in both directions, `0->1:+5ms` in one; `*` is every node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slow {
    /// The sender; none for all.
    pub from: Option<NodeId>,
    /// The receiver; none for all.
    pub to: Option<NodeId>,
    /// Whether it goes for the other direction as well.
    pub both_ways: bool,
    /// How slow.
    pub by: Slowness,
}

/// How slow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Slowness {
    /// A message takes so many times as long.
    Times(u32),
    /// A message takes so many nanoseconds longer.
    Plus(u64),
}

impl Slow {
    /// A node that it names, if it names any: where a trace notes it.
    pub(crate) fn noted_at(&self) -> NodeId {
        self.from.or(self.to).unwrap_or_default()
    }

    /// Whether it is about messages from one to the other.
    pub fn concerns(&self, from: NodeId, to: NodeId) -> bool {
        let fits = |side: Option<NodeId>, node| side.is_none_or(|it| it == node);
        let is_this_way = fits(self.from, from) && fits(self.to, to);
        is_this_way || self.both_ways && fits(self.from, to) && fits(self.to, from)
    }
}

impl Slowness {
    /// How long a message takes that would take so long. What no number holds is cut to the
    /// largest, which lies beyond the end of time.
    pub(crate) const fn after(self, in_ns: u64) -> u64 {
        match self {
            Self::Times(times) => in_ns.saturating_mul(times as u64),
            Self::Plus(ns) => in_ns.saturating_add(ns),
        }
    }
}

/// Reads `0-1:x10`, `0->1:+5ms` or `*-3:x2`.
impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a slow link: write 0-1:x10, or 0->1:+5ms for one direction, or \
                 *-3:x2 for all links of a node"
            )
        };
        let (link, by) = text.split_once(':').ok_or_else(wrong)?;
        let (from, to, both_ways) = match (link.split_once("->"), link.split_once('-')) {
            (Some((from, to)), _) => (from, to, false),
            (None, Some((from, to))) => (from, to, true),
            (None, None) => return Err(wrong()),
        };
        let end = |text: &str| match text.trim() {
            "*" => Ok(None),
            node => node.parse().map(|id| Some(NodeId(id))).map_err(|_| wrong()),
        };
        let (from, to) = (end(from)?, end(to)?);
        let by = if let Some(times) = by.strip_prefix('x') {
            match times.parse() {
                Ok(times @ 2..) => Slowness::Times(times),
                Ok(0 | 1) | Err(_) => {
                    return Err(format!("'{text}': x is a whole number of at least 2, as in x10"));
                }
            }
        } else if let Some(time) = by.strip_prefix('+') {
            match parse_duration_ns(time).map_err(|why| format!("'{text}': {why}"))? {
                0 => return Err(format!("'{text}': that is not slower")),
                ns => Slowness::Plus(ns),
            }
        } else {
            return Err(wrong());
        };
        if from.is_some() && from == to {
            return Err(format!("'{text}': a link is between two nodes"));
        }
        Ok(Self { from, to, both_ways, by })
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |end: Option<NodeId>| end.map_or_else(|| "*".to_owned(), |id| id.to_string());
        let arrow = if self.both_ways { "-" } else { "->" };
        write!(f, "{}{arrow}{}:{}", end(self.from), end(self.to), self.by)
    }
}

impl fmt::Display for Slowness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Times(times) => write!(f, "x{times}"),
            Self::Plus(ns) => write!(f, "+{}", show_duration_ns(ns)),
        }
    }
}

/// A probability, in parts of 2⁶⁴.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Share(u64);

impl Share {
    /// So many in a hundred.
    pub(crate) const fn percent(percent: u64) -> Self {
        Self(u64::MAX / 100 * percent)
    }

    /// As a number from 0 to 1.
    pub fn value(self) -> f64 {
        self.0 as f64 / u64::MAX as f64
    }

    /// Whether a draw falls into it. Nothing is drawn for a share of nothing.
    pub(crate) fn draw(self, random: &mut Random) -> bool {
        self.0 > 0 && random.below(u64::MAX) < self.0
    }
}

/// Reads `1%`, `0.1%` or `0.01`.
impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 0.01),
            None => (text, 1.0),
        };
        let wrong = || format!("'{text}' is not a share: write 1%, 0.1% or 0.01");
        let share = number.parse::<f64>().map_err(|_| wrong())? * scale;
        if !(0.0..=1.0).contains(&share) {
            return Err(wrong());
        }
        Ok(Self((share * u64::MAX as f64) as u64))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve digits are fewer than a share holds, so that what was written as 1% reads as 1%.
        let percent = format!("{:.12}", self.0 as f64 / u64::MAX as f64 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// How often which fault really happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Nodes that were up and crashed.
    pub crashes: u64,
    /// Nodes that were down and came up again.
    pub restarts: u64,
    /// Nodes that were up and stood still for a while.
    pub pauses: u64,
    /// How often the network fell apart, or a link was cut.
    pub partitions: u64,
    /// Messages that were lost, by chance or on order.
    pub lost: u64,
    /// Messages that a partition kept from arriving.
    pub cut_off: u64,
    /// Messages that were sent once and arrive twice.
    pub duplicated: u64,
    /// Messages that were held back for others to overtake them.
    pub reordered: u64,
    /// Messages that were sent on a link while it was slow.
    pub slowed: u64,
    /// Messages that arrived at a node that was down.
    pub to_the_dead: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_asked_who_crashes_and_whether_anything_is_left_to_chance() {
        let script = vec![(5, Fault::Crash(NodeId(1))), (9, Fault::Restart(NodeId(1)))];
        let plan = Faults::default().script(script).late_ns(7);
        assert!(plan.is_scripted() && Faults::default().is_scripted());
        assert_eq!(plan.crashes().collect::<Vec<_>>(), [(5, NodeId(1))]);
        assert_eq!((plan.last_ns(), Faults::default().last_ns()), (Some(9), None));
        assert!(!plan.clone().lost(vec![3]).is_scripted());
        assert!(!plan.loss("1%".parse().unwrap()).is_scripted());
    }

    #[test]
    fn shares_are_read_as_they_are_written() {
        for text in ["0%", "1%", "0.1%", "33%", "12.5%", "0.001%", "99.9%", "100%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        assert_eq!(Share::percent(5).to_string(), "5%");
        assert_eq!("0.01".parse::<Share>(), "1%".parse());
        assert!(("10%".parse::<Share>().unwrap().value() - 0.1).abs() < 1e-15);
        for text in ["-1%", "101%", "1.5", "NaN", "half", "%"] {
            let error = text.parse::<Share>().unwrap_err();
            assert_eq!(error, format!("'{text}' is not a share: write 1%, 0.1% or 0.01"));
        }
    }

    #[test]
    fn a_share_is_drawn_as_often_as_it_says() {
        let drawn = |text: &str| {
            let (share, mut random) = (text.parse::<Share>().unwrap(), Random::new(1));
            (0..100_000).filter(|_| share.draw(&mut random)).count()
        };
        assert_eq!((drawn("0%"), drawn("100%")), (0, 100_000));
        assert!((9_700..10_300).contains(&drawn("10%")), "{}", drawn("10%"));
    }

    #[test]
    fn partitions_are_read_as_they_are_written() {
        for text in ["0,1|2,3,4", "7", "3|1|2"] {
            assert_eq!(text.parse::<Partition>().unwrap().to_string(), text);
        }
        let wrong = |text: &str| text.parse::<Partition>().unwrap_err();
        assert_eq!(wrong("0,1|1"), "'0,1|1': node 1 is named twice");
        for text in ["", "0,1|", "0;1", "a|b", "|"] {
            assert_eq!(wrong(text), format!("'{text}' is not a partition: write 0,1|2,3,4"));
        }
    }

    #[test]
    fn a_partition_separates_its_sides_and_those_that_are_not_named_are_one_more() {
        let partition: Partition = "0,1|4".parse().unwrap();
        let separates = |one, other| partition.separates(NodeId(one), NodeId(other));
        assert!(separates(0, 4) && separates(1, 2) && separates(3, 4));
        assert!(!separates(0, 1) && !separates(2, 3) && !separates(4, 4));
        let is_real = |text: &str, nodes| text.parse::<Partition>().unwrap().is_real(nodes);
        assert!(is_real("0,1|2", 3) && is_real("0,1", 3) && is_real("1", 2));
        assert!(!is_real("0,1,2", 3) && !is_real("0", 1));
    }

    #[test]
    fn slow_links_are_read_as_they_are_written() {
        for text in ["0-1:x10", "0->1:+5ms", "*-3:x2", "*-*:x7", "2->*:+1us"] {
            assert_eq!(text.parse::<Slow>().unwrap().to_string(), text);
        }
        let wrong = |text: &str| text.parse::<Slow>().unwrap_err();
        for text in ["", "0-1", "0:x2", "0-1:10", "a-b:x2", "0-1:"] {
            assert!(wrong(text).contains("is not a slow link: write 0-1:x10"), "{text}");
        }
        assert_eq!(wrong("1-1:x2"), "'1-1:x2': a link is between two nodes");
        assert!(wrong("0-1:x1").contains("at least 2"), "{}", wrong("0-1:x1"));
        assert_eq!(wrong("0-1:+0"), "'0-1:+0': that is not slower");
        assert!(wrong("0-1:+5").contains("a number with a unit"), "{}", wrong("0-1:+5"));
    }

    #[test]
    fn a_slow_link_is_slow_in_the_directions_that_it_says() {
        let concerns =
            |text: &str, from, to| text.parse::<Slow>().unwrap().concerns(NodeId(from), NodeId(to));
        assert!(concerns("0-1:x2", 0, 1) && concerns("0-1:x2", 1, 0));
        assert!(!concerns("0-1:x2", 0, 2));
        assert!(concerns("0->1:x2", 0, 1) && !concerns("0->1:x2", 1, 0));
        assert!(concerns("*-3:x2", 3, 5) && concerns("*-3:x2", 5, 3));
        assert!(concerns("*->3:x2", 5, 3) && !concerns("*->3:x2", 3, 5));
        assert_eq!(Slowness::Times(3).after(7), 21);
        assert_eq!(Slowness::Plus(3).after(7), 10);
        assert_eq!(Slowness::Times(9).after(u64::MAX), u64::MAX);
    }
}
