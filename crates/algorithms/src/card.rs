//! The card of an algorithm: its page, assumptions, costs, known mistakes.

use alloc::string::String;
use alloc::vec::Vec;

pub use vorrang_protocol::Order;
use vorrang_protocol::{Graph, Group, NodeId};

use crate::problem::Problem;
use crate::setup::{Ordering, Parameter, Setup, Unfit};
use crate::topology::Topology;

/// An algorithm's card: what can be said of any algorithm, and what only its problem has terms for.
/// Every algorithm's file ends its public part with one.
#[derive(Debug)]
pub struct Card<Q: Problem> {
    /// How the command line calls it.
    pub name: &'static str,
    /// How people call it.
    pub title: &'static str,
    /// The problem that it solves: its title, or the variant of it.
    pub solves: &'static str,
    /// The publication.
    pub citation: &'static str,
    /// Its assumptions about the links between its nodes.
    pub assumes: Assumes,
    /// The parameters that it takes besides the group.
    pub takes: &'static [Parameter],
    /// Its properties in the terms of its problem.
    pub terms: Q::Terms,
    /// Its costs by the literature.
    pub theory: &'static [Cost<Q::Setting>],
    /// Known mistakes in it, for the checker to find.
    pub flaws: &'static [Flaw<Q>],
    /// The module documentation of the algorithm's own file, which [`About::text`] returns.
    pub page: &'static str,
}

impl<Q: Problem> Card<Q> {
    /// The part of a card that does not depend on the problem.
    pub fn about(&self) -> About {
        About {
            name: self.name,
            title: self.title,
            problem: Q::NAME,
            problem_title: Q::TITLE,
            solves: self.solves,
            citation: self.citation,
            assumes: self.assumes,
            takes: self.takes,
            mistakes: self.flaws.iter().map(|flaw| flaw.mistake(self.name)).collect(),
            page: self.page,
        }
    }

    /// The set-up of a group that is usual for it.
    pub fn setup(&self, group: Group) -> Setup {
        self.assumes.setup(group)
    }

    /// The flaw of that name.
    pub fn flaw(&self, name: &str) -> Option<&'static Flaw<Q>> {
        self.flaws.iter().find(|flaw| flaw.name == name)
    }

    /// The theory of a quantity; none if there is none.
    pub fn cost(&self, of: Quantity, at: &Q::Setting) -> Option<Span> {
        self.theory.iter().find(|cost| cost.of == of).map(|cost| (cost.span)(at))
    }
}

/// A card without what only its problem has terms for.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "as on the card")]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    /// The problem, as the command line calls it.
    pub problem: &'static str,
    /// The problem, as people call it.
    pub problem_title: &'static str,
    pub solves: &'static str,
    pub citation: &'static str,
    pub assumes: Assumes,
    pub takes: &'static [Parameter],
    pub mistakes: Vec<Mistake>,
    pub page: &'static str,
}

impl About {
    /// The module documentation of the algorithm's file: the explanation that readers of the code,
    /// of the API documentation and of `vorrang explain` share. A link of the API documentation is
    /// left out but for what it says.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in self.page.lines().filter_map(|line| line.strip_prefix("//!")) {
            text.push_str(line.strip_prefix(' ').unwrap_or(line));
            text.push('\n');
        }
        without_links(&text)
    }
}

/// `[what](where)` becomes `what`, and so does ``[`what`]``. Other brackets are left as they are.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        plain.push_str(before);
        let Some(close) = link.find(']') else {
            rest = link;
            break;
        };
        let (what, after) = (&link[1..close], &link[close + 1..]);
        let target = after.strip_prefix('(').and_then(|it| it.split_once(')'));
        let is_code = what.starts_with('`') && what.ends_with('`');
        match target {
            Some((_, after)) => {
                plain.push_str(what);
                rest = after;
            }
            None if is_code => {
                plain.push_str(what);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = &link[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The assumptions of an algorithm about links and applications.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumes {
    /// The order in which messages from one node to another arrive.
    pub order: Order,
    /// No message is lost or doubled.
    pub reliable: bool,
    /// No message takes longer than a known time ([`Setup::within`]).
    pub timely: bool,
    /// The topology that it needs.
    pub layout: Layout,
    /// Requests come one at a time: else it may deadlock.
    pub one_at_a_time: bool,
    /// The order in which multicasts are delivered, where it is not told another.
    pub ordering: Ordering,
}

impl Assumes {
    /// Between any two nodes messages arrive, once, at some time, in any order.
    pub const ANY_ORDER: Self = Self {
        order: Order::Any,
        reliable: true,
        timely: false,
        layout: Layout::Complete,
        one_at_a_time: false,
        ordering: Ordering::Fifo,
    };

    /// As [`ANY_ORDER`](Self::ANY_ORDER), and those from one node to another keep their order.
    pub const FIFO: Self = Self { order: Order::Fifo, ..Self::ANY_ORDER };

    /// As [`ANY_ORDER`](Self::ANY_ORDER), and no later than a known time.
    pub const TIMELY: Self = Self { timely: true, ..Self::ANY_ORDER };

    /// The same, between these nodes only.
    #[must_use]
    pub const fn on(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The same, for those who never ask at the same time.
    #[must_use]
    pub const fn one_at_a_time(self) -> Self {
        Self { one_at_a_time: true, ..self }
    }

    /// The same, with multicasts that are delivered in this order unless another is chosen.
    #[must_use]
    pub const fn ordering(self, ordering: Ordering) -> Self {
        Self { ordering, ..self }
    }

    /// The set-up of a group that is usual where this is assumed.
    pub fn setup(self, group: Group) -> Setup {
        let topology = self.layout.usual();
        Setup { topology, ordering: self.ordering, ..Setup::new(group) }
    }

    /// In a few words, as for a table.
    pub const fn in_short(self) -> &'static str {
        match (self.order, self.timely, self.reliable) {
            (Order::Any, _, _) if self.one_at_a_time => "any order, one at a time",
            (Order::Fifo, _, _) if self.one_at_a_time => "FIFO, one at a time",
            (Order::Any, false, true) => "any order",
            (Order::Fifo, false, true) => "FIFO",
            (Order::Any, true, true) => "any order, timely",
            (Order::Fifo, true, true) => "FIFO, timely",
            (_, false, false) => "lossy",
            (_, true, false) => "lossy, timely",
        }
    }

    /// In a sentence, without its full stop.
    pub fn sentence(self) -> String {
        let order = match self.order {
            Order::Any => "messages may be reordered",
            Order::Fifo => "messages from one node to another keep their order",
        };
        let loss = if self.reliable { "none is lost or duplicated" } else { "some may be lost" };
        let time = if self.timely { ", none takes longer than --within" } else { "" };
        let alone = if self.one_at_a_time { "; requests come one at a time" } else { "" };
        alloc::format!("{order}, {loss}{time}; {}{alone}", self.layout.sentence())
    }
}

/// The topology that an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Everyone to everyone.
    Complete,
    /// The last node to everyone, and everyone to it.
    ThroughTheLast,
    /// Each node to the next, and the last to the first, in the order of [`Setup::ring`].
    Ring,
    /// The links of [`Setup::topology`], a connected graph; by default this one.
    Connected(&'static Topology),
    /// The same, and there is only one way between any two nodes.
    Tree(&'static Topology),
}

impl Layout {
    /// The default topology.
    pub fn usual(self) -> Topology {
        match self {
            Self::Complete | Self::ThroughTheLast | Self::Ring => Topology::Complete,
            Self::Connected(usual) | Self::Tree(usual) => usual.clone(),
        }
    }

    /// The links of a set-up; none if everyone is linked to everyone.
    ///
    /// # Errors
    ///
    /// If the set-up's topology is not what the algorithm needs.
    pub fn graph(self, setup: &Setup) -> Result<Option<Graph>, Unfit> {
        let group = setup.group;
        match self {
            Self::Complete => Ok(None),
            Self::ThroughTheLast => {
                let last = NodeId(group.size() - 1);
                Ok(Some(Graph::new(group, group.others(last).map(|id| (id, last)))))
            }
            Self::Ring => Ok(Some(setup.ring.graph(group))),
            Self::Connected(_) => setup.topology.graph(group).map(Some),
            Self::Tree(_) => setup.topology.tree(group).map(Some),
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Complete => "every node can reach every other",
            Self::ThroughTheLast => "every node can reach the last one",
            Self::Ring => "every node can reach the next",
            Self::Connected(_) => "any topology that holds together will do",
            Self::Tree(_) => "any tree will do",
        }
    }
}

/// Something that a run costs, as measured and as the theory has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantity {
    /// Its name for programs.
    pub key: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Whether it is a time, in units of the one-way delay T. Other quantities do not depend on
    /// delays.
    pub is_time: bool,
}

impl Quantity {
    /// A number, independent of latency.
    pub const fn number(key: &'static str, name: &'static str) -> Self {
        Self { key, name, is_time: false }
    }

    /// A time, in units of T.
    pub const fn time(key: &'static str, name: &'static str) -> Self {
        Self { key, name, is_time: true }
    }

    /// Its theory.
    pub const fn costs<S>(self, span: fn(&S) -> Span) -> Cost<S> {
        Cost { of: self, span }
    }
}

/// The theory of a quantity.
#[derive(Debug)]
pub struct Cost<S> {
    /// The quantity.
    pub of: Quantity,
    /// How much, as a function of what it depends on.
    pub span: fn(&S) -> Span,
}

/// A mistake that the literature knows, or that people make, and what shows it.
#[derive(Debug)]
pub struct Flaw<Q: Problem> {
    /// How the command line calls it.
    pub name: &'static str,
    /// The mistake, in a sentence.
    pub what: &'static str,
    /// The property that it breaks.
    pub breaks: &'static str,
    /// The smallest system that shows it.
    pub shown_by: Q::Demonstration,
}

impl<Q: Problem> Flaw<Q> {
    /// The mistake of this algorithm, without the system that shows it.
    pub fn mistake(&self, algorithm: &str) -> Mistake {
        let steps = shortest(algorithm, self.name);
        Mistake { name: self.name, what: self.what, breaks: self.breaks, steps }
    }
}

/// A mistake, without the system that shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// How the command line calls it.
    pub name: &'static str,
    /// The mistake, in a sentence.
    pub what: &'static str,
    /// The property that it breaks.
    pub breaks: &'static str,
    /// How many steps the shortest run to it takes, once the checker has found it.
    pub steps: Option<u32>,
}

/// The length of the shortest run to a mistake, as the checker found it: `algorithm flaw steps`, a
/// line each. A test writes the file.
fn shortest(algorithm: &str, flaw: &str) -> Option<u32> {
    // Asked for every run: a line of another algorithm is told by its first letters.
    include_str!("shortest.txt").lines().find_map(|line| {
        let of_it = line.strip_prefix(algorithm)?.strip_prefix(' ')?;
        of_it.strip_prefix(flaw)?.strip_prefix(' ')?.trim().parse().ok()
    })
}

/// A range of costs: at best, typically, at worst. Exact where all are the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// At least this.
    pub low: f64,
    /// The value in a long run, where it is known.
    pub typical: Option<f64>,
    /// At most this.
    pub high: f64,
}

/// How a measured mean stands to the theory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// It is what the theory says, exactly or within what chance allows.
    Agrees,
    /// It lies in the range that the theory gives, which says no more.
    Within,
    /// It does not.
    Disagrees,
}

impl Span {
    /// A cost that is always the same.
    pub const fn exactly(cost: f64) -> Self {
        Self { low: cost, typical: Some(cost), high: cost }
    }

    /// A cost from `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, typical: None, high }
    }

    /// This range, with what a long run comes to.
    #[must_use]
    pub const fn typically(mut self, cost: f64) -> Self {
        self.typical = Some(cost);
        self
    }

    /// The costs that lie between this one and another.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self::between(self.low.min(other.low), self.high.max(other.high))
    }

    /// The span of a mean of costs: the mean of their spans.
    pub fn mean(of: &[Self]) -> Option<Self> {
        let (first, rest) = of.split_first()?;
        if rest.iter().all(|other| other == first) {
            return Some(*first);
        }
        let mean = |part: fn(&Self) -> f64| of.iter().map(part).sum::<f64>() / of.len() as f64;
        let has_typical = of.iter().all(|it| it.typical.is_some());
        let typical = has_typical.then(|| mean(|it| it.typical.unwrap_or_default()));
        Some(Self { low: mean(|it| it.low), typical, high: mean(|it| it.high) })
    }

    /// How a measured mean stands to this, given its standard error where that is known.
    ///
    /// A cost that is always the same must be met up to the rounding of sums. One that is typical
    /// must be met up to four standard errors, or to one in a hundred if that is more: chance alone
    /// exceeds the former once in 16,000 figures, and a run that has a beginning and an end is not
    /// quite the one that the theory speaks of. A mere range can only be kept.
    pub fn compare(&self, measured: f64, error: Option<f64>) -> Agreement {
        const ROUNDING: f64 = 1e-9;
        const ERRORS: f64 = 4.0;
        const START_AND_END: f64 = 0.01;
        let scale = if self.high.is_finite() { self.high.max(1.0) } else { 1.0 };
        let slack = ROUNDING * scale;
        if measured < self.low - slack || self.high + slack < measured {
            return Agreement::Disagrees;
        }
        match (self.typical, error) {
            _ if self.high - self.low <= slack => Agreement::Agrees,
            (Some(typical), Some(error)) => {
                let allowed = (ERRORS * error).max(START_AND_END * typical) + slack;
                let distance =
                    if measured < typical { typical - measured } else { measured - typical };
                if distance <= allowed { Agreement::Agrees } else { Agreement::Disagrees }
            }
            (Some(_), None) | (None, _) => Agreement::Within,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_documentation_are_left_out_of_the_explanation() {
        assert_eq!(without_links("of [`a`](super::a), [`b`] and [c]"), "of `a`, `b` and [c]");
        assert_eq!(without_links("an open [`link"), "an open [`link");
        assert_eq!(without_links("[The lift](super::lift) ([1, 2])"), "The lift ([1, 2])");
    }

    #[test]
    fn only_what_is_predicted_is_agreed_with() {
        let exact = Span::exactly(24.0);
        assert_eq!(exact.compare(24.0, None), Agreement::Agrees);
        assert_eq!(exact.compare(24.1, Some(1.0)), Agreement::Disagrees);
        assert_eq!(Span::between(3.0, 3.0).compare(3.0, None), Agreement::Agrees);
        let range = Span::between(2.0, 14.0);
        assert_eq!(range.compare(13.0, Some(0.0)), Agreement::Within);
        assert_eq!(range.compare(14.1, Some(5.0)), Agreement::Disagrees);
        let endless = Span::between(2.0, f64::INFINITY);
        assert_eq!(endless.compare(9.0, Some(0.0)), Agreement::Within);
        assert_eq!(endless.compare(1.0, Some(0.0)), Agreement::Disagrees);
        let typical = Span::between(0.0, 24.0).typically(12.0);
        assert_eq!(typical.compare(12.3, Some(0.1)), Agreement::Agrees);
        assert_eq!(typical.compare(13.0, Some(0.1)), Agreement::Disagrees);
        assert_eq!(typical.compare(12.0, None), Agreement::Within);
    }

    #[test]
    fn a_mean_of_costs_is_predicted_where_each_is() {
        let exact = |cost| Span::exactly(cost);
        assert_eq!(Span::mean(&[]), None);
        assert_eq!(Span::mean(&[exact(0.1), exact(0.1), exact(0.1)]), Some(exact(0.1)));
        assert_eq!(Span::mean(&[exact(2.0), exact(4.0)]), Some(exact(3.0)));
        let mixed = Span::mean(&[exact(2.0), Span::between(4.0, 6.0)]);
        assert_eq!(mixed, Some(Span::between(3.0, 4.0)));
    }

    #[test]
    fn a_layout_is_what_the_set_up_makes_of_it() {
        let mut setup = Setup::new(vorrang_protocol::Group::of(4));
        let has = |layout: Layout, setup: &Setup, from, to| {
            layout.graph(setup).map(|it| it.is_none_or(|it| it.has(NodeId(from), NodeId(to))))
        };
        let last = Layout::ThroughTheLast;
        assert_eq!(has(last, &setup, 0, 3), Ok(true));
        assert_eq!(has(last, &setup, 0, 1), Ok(false));
        assert_eq!(has(Layout::Complete, &setup, 0, 1), Ok(true));
        assert_eq!(has(Layout::Ring, &setup, 3, 0), Ok(true));
        assert_eq!(has(Layout::Ring, &setup, 0, 2), Ok(false));
        setup.topology = Topology::Ring;
        assert_eq!(has(Layout::Connected(&Topology::Grid), &setup, 0, 3), Ok(true));
        assert!(has(Layout::Tree(&Topology::Line), &setup, 0, 1).is_err());
        assert_eq!(Layout::Tree(&Topology::Line).usual(), Topology::Line);
    }
}
