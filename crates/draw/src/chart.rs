//! The elements of a diagram: arrows, bars, marks, and violations.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::story::{Bar, Look, Mark, Story, What};

/// The elements of a diagram.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// Messages.
    pub arrows: Vec<Arrow>,
    /// States of nodes for a while.
    pub spans: Vec<Span>,
    /// When nodes were down or stood still.
    pub outages: Vec<Outage>,
    /// When something was the matter with the whole network.
    pub bands: Vec<Band>,
    /// What nodes were in, such as views.
    pub eras: Vec<Era>,
    /// Moments, each with the place of its event.
    pub points: Vec<Point>,
    /// The kinds of messages, in the order in which they first come.
    pub kinds: Vec<String>,
}

/// A message on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// When it was sent.
    pub sent: u64,
    /// When it arrived, if it did.
    pub got: Option<u64>,
    /// Its fate.
    pub fate: Fate,
    /// The place of its kind.
    pub kind: usize,
    /// Whether it carries a token.
    pub is_token: bool,
    /// Whether its receiver hangs below its sender in a tree because of it.
    pub is_tree: bool,
    /// The place of its send event; of its arrival, if that was not recorded.
    pub event: usize,
    /// The place of the event of its arrival.
    pub arrival: Option<usize>,
}

/// The fate of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrived.
    Arrived,
    /// It was lost on the way, at that time.
    Lost(u64),
    /// The receiver was down when it came.
    TooLate(u64),
    /// It was still under way when the run was over.
    UnderWay,
}

/// A state of a node for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Which node.
    pub node: usize,
    /// From when.
    pub from: u64,
    /// Until when; none if it never ended.
    pub until: Option<u64>,
    /// What.
    pub bar: Bar,
}

/// When a node was down or stood still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// Which node.
    pub node: usize,
    /// From when.
    pub from: u64,
    /// Until when; none if it never ended.
    pub until: Option<u64>,
    /// Whether it was down.
    pub is_down: bool,
}

/// When something was the matter with the whole network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Band {
    /// From when.
    pub from: u64,
    /// Until when; none if it never ended.
    pub until: Option<u64>,
    /// What.
    pub text: String,
}

/// What a node was in for a while, such as a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Era {
    /// Which node.
    pub node: usize,
    /// From when.
    pub from: u64,
    /// Until when; none if it never ended.
    pub until: Option<u64>,
    /// Its name; nodes in eras of one name are in one.
    pub text: String,
    /// The place of its name among all, from 0.
    pub number: usize,
    /// What it is.
    pub name: &'static str,
    /// Whether its beginning has a mark.
    pub is_marked: bool,
}

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Which node.
    pub node: usize,
    /// When.
    pub at: u64,
    /// What.
    pub what: Moment,
    /// The place of its event.
    pub event: usize,
}

/// The kind of a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Something was asked or told.
    Said,
    /// The same, with a mark.
    Marked(Mark),
    /// A timer ran out.
    Timer,
    /// A message was sent or arrived, or something was drawn.
    Event,
}

impl Chart {
    /// The elements of a diagram of a run.
    pub fn of(story: &Story) -> Self {
        let mut making = Making::default();
        making.bars.resize(story.lanes.len(), None);
        making.outages.resize(story.lanes.len(), [None; 2]);
        for place in 0..story.events.len() {
            making.see(story, place);
        }
        making.finish(story)
    }

    /// What of it lies between two moments; the second is left out, unless the picture ends there.
    #[must_use]
    pub fn within(&self, from: u64, until: u64, is_last: bool) -> Self {
        let has = |at: u64| at >= from && (at < until || is_last && at == until);
        let meets = |begin: u64, end: Option<u64>| {
            has(begin) || begin < from && end.is_none_or(|end| end > from)
        };
        let mut part = self.clone();
        part.arrows.retain(|it| {
            let end = match it.fate {
                Fate::Arrived => it.got.unwrap_or(it.sent),
                Fate::Lost(at) | Fate::TooLate(at) => at,
                // It is drawn as going on for a little.
                Fate::UnderWay => it.sent,
            };
            meets(it.sent, Some(end))
        });
        part.spans.retain(|it| meets(it.from, it.until));
        part.outages.retain(|it| meets(it.from, it.until));
        part.bands.retain(|it| meets(it.from, it.until));
        part.eras.retain(|it| meets(it.from, it.until));
        part.points.retain(|it| has(it.at));
        part
    }

    /// The place of a kind of message.
    fn kind(&mut self, kind: &str) -> usize {
        self.kinds.iter().position(|it| it == kind).unwrap_or_else(|| {
            self.kinds.push(kind.to_owned());
            self.kinds.len() - 1
        })
    }

    /// The wait-for graph when the run is over: a node in an outlined bar waits for answers of the
    /// nodes that it has sent messages to since, and from which it has received none since.
    pub fn waits(&self, story: &Story) -> Vec<(usize, usize)> {
        let is_open = |span: &&Span| span.until.is_none() && matches!(span.bar, Bar::Outlined(_));
        let mut waits = Vec::new();
        for span in self.spans.iter().filter(is_open) {
            // The nodes that it has asked, by kinds of messages, and whether they have answered: a
            // message of the same kind is no answer, since the other asks as well.
            let mut asked: BTreeMap<usize, (Vec<&str>, bool)> = BTreeMap::new();
            let since = story.events.iter().filter(|it| it.node == span.node && it.at >= span.from);
            for event in since {
                match &event.what {
                    What::Sent { to, letter } if *to != span.node => {
                        asked.entry(*to).or_default().0.push(&letter.kind);
                    }
                    What::Got { from, letter } => {
                        if let Some((kinds, has_answered)) = asked.get_mut(from) {
                            *has_answered |= !kinds.contains(&&*letter.kind);
                        }
                    }
                    _ => {}
                }
            }
            let silent = asked.into_iter().filter(|(_, (_, has_answered))| !has_answered);
            waits.extend(silent.map(|(whom, _)| (span.node, whom)));
        }
        waits.sort_unstable();
        waits.dedup();
        waits
    }

    /// A circle among those who wait for each other, if there is one.
    pub fn circle(waits: &[(usize, usize)]) -> Option<Vec<usize>> {
        let starts: Vec<usize> = waits.iter().map(|it| it.0).collect();
        starts.iter().find_map(|&start| {
            let mut ways = VecDeque::from([vec![start]]);
            let mut seen = Vec::new();
            while let Some(way) = ways.pop_front() {
                let last = way[way.len() - 1];
                for &(_, whom) in waits.iter().filter(|it| it.0 == last) {
                    if whom == start {
                        return Some(way);
                    }
                    if !seen.contains(&whom) {
                        seen.push(whom);
                        ways.push_back([&way[..], &[whom]].concat());
                    }
                }
            }
            None
        })
    }
}

/// A chart that is being made.
#[derive(Default)]
struct Making {
    chart: Chart,
    /// The arrows of messages that are under way, by sender, receiver and number; first those that
    /// were sent first.
    flight: HashMap<(usize, usize, u64), VecDeque<usize>>,
    /// The last message that came from one to another.
    came: HashMap<(usize, usize), usize>,
    bars: Vec<Option<usize>>,
    /// When each node went down, and when it stood still.
    outages: Vec<[Option<usize>; 2]>,
}

impl Making {
    fn see(&mut self, story: &Story, place: usize) {
        let event = &story.events[place];
        let (node, at) = (event.node, event.at);
        let mut point = Moment::Event;
        match &event.what {
            What::Said { look, text, .. } => {
                point = look.mark.map_or(Moment::Said, Moment::Marked);
                self.look((node, at), look, text);
            }
            What::Sent { to, letter } => {
                let arrow = Arrow {
                    from: node,
                    to: *to,
                    sent: at,
                    got: None,
                    fate: Fate::UnderWay,
                    kind: self.chart.kind(&letter.kind),
                    is_token: letter.is_token,
                    is_tree: false,
                    event: place,
                    arrival: None,
                };
                self.add((node, *to, letter.number), arrow);
            }
            What::Got { from, letter } => {
                let kind = self.chart.kind(&letter.kind);
                self.arrive((*from, node, letter.number), at, place, kind, letter.is_token);
            }
            What::Doubled { to, number } => {
                let key = (node, *to, *number);
                let first = self.flight.get(&key).and_then(|all| all.front());
                if let Some(&first) = first {
                    let copy = self.chart.arrows[first];
                    self.add(key, copy);
                }
                return;
            }
            What::Lost { to, number, why } => {
                let all = self.flight.get_mut(&(node, *to, *number));
                if let Some(arrow) = all.and_then(VecDeque::pop_front) {
                    let is_there = *why == DOWN;
                    let fate = if is_there { Fate::TooLate(at) } else { Fate::Lost(at) };
                    self.chart.arrows[arrow].fate = fate;
                }
                return;
            }
            What::Timer(_) => point = Moment::Timer,
            What::Choice(_) => {}
            What::Crash => {
                self.enter(node, at, Bar::Ends);
                self.end_era(node, at);
                self.fail(node, at, true);
            }
            What::Restart => self.recover(node, at, true),
            What::Pause => self.fail(node, at, false),
            What::Resume => self.recover(node, at, false),
            What::Network { text, begins } => {
                self.befall(at, text, *begins);
                return;
            }
            What::Remark(_) => return,
        }
        self.chart.points.push(Point { node, at, what: point, event: place });
    }

    /// What a command or a notice changes at its node.
    fn look(&mut self, (node, at): (usize, u64), look: &Look, text: &str) {
        if let Some(bar) = look.bar {
            self.enter(node, at, bar);
        }
        if let Some(name) = look.era {
            self.begin_era((node, at), text, name, look.mark.is_some());
        }
        let parent = look.parent.and_then(|parent| self.came.get(&(parent, node)));
        if let Some(&arrow) = parent {
            self.chart.arrows[arrow].is_tree = true;
        }
    }

    fn add(&mut self, key: (usize, usize, u64), arrow: Arrow) {
        self.flight.entry(key).or_default().push_back(self.chart.arrows.len());
        self.chart.arrows.push(arrow);
    }

    fn arrive(
        &mut self,
        key: (usize, usize, u64),
        at: u64,
        event: usize,
        kind: usize,
        is_token: bool,
    ) {
        let found = self.flight.get_mut(&key).and_then(VecDeque::pop_front);
        if let Some(arrow) = found {
            self.came.insert((key.0, key.1), arrow);
            let arrow = &mut self.chart.arrows[arrow];
            (arrow.got, arrow.fate, arrow.arrival) = (Some(at), Fate::Arrived, Some(event));
            return;
        }
        // Its send event was not recorded.
        let (from, to, _) = key;
        let (got, fate, arrival) = (Some(at), Fate::Arrived, Some(event));
        let is_tree = false;
        let arrow =
            Arrow { from, to, sent: at, got, fate, kind, is_token, is_tree, event, arrival };
        self.chart.arrows.push(arrow);
    }

    fn enter(&mut self, node: usize, at: u64, bar: Bar) {
        if let Some(span) = self.bars[node].take() {
            self.chart.spans[span].until = Some(at);
        }
        if bar != Bar::Ends {
            self.bars[node] = Some(self.chart.spans.len());
            self.chart.spans.push(Span { node, from: at, until: None, bar });
        }
    }

    fn begin_era(
        &mut self,
        (node, at): (usize, u64),
        text: &str,
        name: &'static str,
        is_marked: bool,
    ) {
        self.end_era(node, at);
        let text = text.to_owned();
        let known = self.chart.eras.iter().find(|it| it.text == text).map(|it| it.number);
        let most = self.chart.eras.iter().map(|it| it.number + 1).max().unwrap_or(0);
        let number = known.unwrap_or(most);
        let until = None;
        self.chart.eras.push(Era { node, from: at, until, text, number, name, is_marked });
    }

    fn end_era(&mut self, node: usize, at: u64) {
        let is_open = |era: &&mut Era| era.node == node && era.until.is_none();
        if let Some(era) = self.chart.eras.iter_mut().find(is_open) {
            era.until = Some(at);
        }
    }

    fn fail(&mut self, node: usize, at: u64, is_down: bool) {
        self.outages[node][usize::from(is_down)] = Some(self.chart.outages.len());
        self.chart.outages.push(Outage { node, from: at, until: None, is_down });
    }

    fn recover(&mut self, node: usize, at: u64, is_down: bool) {
        if let Some(outage) = self.outages[node][usize::from(is_down)].take() {
            self.chart.outages[outage].until = Some(at);
        }
    }

    fn befall(&mut self, at: u64, text: &str, begins: bool) {
        if begins {
            let text = text.to_owned();
            self.chart.bands.push(Band { from: at, until: None, text });
        } else {
            let is_it = |band: &&mut Band| band.until.is_none() && band.text == text;
            if let Some(band) = self.chart.bands.iter_mut().find(is_it) {
                band.until = Some(at);
            }
        }
    }

    fn finish(mut self, story: &Story) -> Chart {
        // A message in flight to a node that is down when the run is over never arrives.
        let end = story.end();
        let is_down = |node: usize| {
            let mut outages = self.chart.outages.iter();
            outages.any(|it| it.node == node && it.is_down && it.until.is_none())
        };
        let down: Vec<bool> = (0..story.lanes.len()).map(is_down).collect();
        for arrow in &mut self.chart.arrows {
            let is_late = arrow.sent < end && down.get(arrow.to) == Some(&true);
            if arrow.fate == Fate::UnderWay && is_late {
                arrow.fate = Fate::TooLate(end);
            }
        }
        self.chart
    }
}

/// The reason why a message did not arrive: the receiver was down.
pub const DOWN: &str = "the receiver is down";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::{Event, MessageLabel};

    fn letter(number: u64) -> MessageLabel {
        let (kind, text) = ("ASK".to_owned(), format!("ASK({number})"));
        MessageLabel { number, kind, text, is_token: false }
    }

    fn story(events: &[(u64, usize, What)]) -> Story {
        let event = |(at, node, what): &(u64, usize, What)| Event {
            at: *at,
            node: *node,
            what: what.clone(),
            state: None,
        };
        let lanes = (0..3).map(|it| it.to_string()).collect();
        Story { lanes, events: events.iter().map(event).collect(), ..Story::default() }
    }

    fn waits() -> What {
        let look = Look::bar(Bar::Outlined("waits"));
        What::Said { text: "acquire".to_owned(), is_command: true, look }
    }

    #[test]
    fn messages_find_their_ends_and_fates() {
        let events = [
            (0, 0, What::Sent { to: 1, letter: letter(1) }),
            (0, 0, What::Sent { to: 1, letter: letter(2) }),
            (1, 0, What::Sent { to: 2, letter: letter(3) }),
            (1, 0, What::Doubled { to: 2, number: 3 }),
            (2, 0, What::Lost { to: 1, number: 2, why: "chance" }),
            (5, 2, What::Got { from: 0, letter: letter(3) }),
            (6, 1, What::Got { from: 0, letter: letter(1) }),
            (7, 2, What::Got { from: 0, letter: letter(3) }),
            (8, 0, What::Sent { to: 1, letter: letter(4) }),
            (9, 1, What::Crash),
        ];
        let chart = Chart::of(&story(&events));
        let fates: Vec<_> = chart.arrows.iter().map(|it| (it.sent, it.got, it.fate)).collect();
        let expected = [
            (0, Some(6), Fate::Arrived),
            (0, None, Fate::Lost(2)),
            (1, Some(5), Fate::Arrived),
            (1, Some(7), Fate::Arrived),
            (8, None, Fate::TooLate(9)),
        ];
        assert_eq!(fates, expected);
    }

    #[test]
    fn who_waits_for_whom_is_seen_from_who_has_not_answered() {
        let mut events = Vec::new();
        for (node, to) in [(0, 1), (1, 2), (2, 0)] {
            events.push((1, node, waits()));
            let letter = letter(node as u64);
            events.push((1, node, What::Sent { to, letter }));
        }
        // An answer, and a question that is none.
        let answer = MessageLabel { kind: "YES".to_owned(), ..letter(8) };
        events.push((2, 0, What::Sent { to: 2, letter: letter(9) }));
        events.push((3, 0, What::Got { from: 2, letter: answer }));
        events.push((3, 0, What::Got { from: 1, letter: letter(7) }));
        let story = story(&events);
        let waits = Chart::of(&story).waits(&story);
        assert_eq!(waits, [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(Chart::circle(&waits), Some(vec![0, 1, 2]));
        assert_eq!(Chart::circle(&waits[..2]), None);
    }

    #[test]
    fn a_crash_ends_what_a_node_is_in() {
        let chart =
            Chart::of(&story(&[(1, 0, waits()), (4, 0, What::Crash), (6, 0, What::Restart)]));
        assert_eq!(chart.spans[0].until, Some(4));
        assert_eq!((chart.outages[0].from, chart.outages[0].until), (4, Some(6)));
    }
}
