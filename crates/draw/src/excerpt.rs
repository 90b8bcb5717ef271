//! A part of a run: some of its nodes, and some kinds of messages.

use std::collections::{HashMap, HashSet};

use crate::captions::waiting;
use crate::chart::Chart;
use crate::story::{Clock, Event, Mark, Story, What};
use crate::words::grouped;

/// Which part of a run is shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Excerpt {
    /// The kinds of messages that are shown; all if there are none here.
    pub only: Vec<String>,
    /// Those that are not.
    pub hidden: Vec<String>,
    /// Whether timers after which nothing was sent, asked or told are not shown either.
    pub hides_idle_timers: bool,
    /// The nodes that are shown; all if there are none here.
    pub nodes: Vec<usize>,
    /// From when to when, for those who list events; a diagram is told by its own options.
    pub between: Option<(u64, u64)>,
}

/// The kinds of messages of a run, and how many of each were sent, in the order of their first.
pub fn kinds(story: &Story) -> Vec<(&str, usize)> {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for event in &story.events {
        let (What::Sent { letter, .. } | What::Got { letter, .. }) = &event.what else { continue };
        let sent = usize::from(matches!(event.what, What::Sent { .. }));
        match kinds.iter_mut().find(|it| it.0 == letter.kind) {
            Some((_, count)) => *count += sent,
            None => kinds.push((&letter.kind, sent)),
        }
    }
    kinds
}

/// One message in so many is a heartbeat where these drown the rest; one event in so many is a
/// timer of which nothing comes.
const DROWN: usize = 4;

/// So many timers hide nothing.
const FEW: usize = 12;

impl Excerpt {
    /// What is shown if nobody says anything: no heartbeats where they drown the rest, i.e. other
    /// messages or what nodes come to, and no timers of which nothing comes where these do.
    pub fn usual(story: &Story) -> Self {
        let kinds = kinds(story);
        let is_beat = |it: &&(&str, usize)| story.beats.iter().any(|beat| *beat == it.0);
        let all: usize = kinds.iter().map(|it| it.1).sum();
        let beats: usize = kinds.iter().filter(is_beat).map(|it| it.1).sum();
        let drown = beats * DROWN >= all && (beats < all || all > 0 && comes_to_something(story));
        let hidden = if drown { story.beats.clone() } else { Vec::new() };
        let idle = idle_timers(story).into_iter().filter(|it| *it).count();
        // A step of a counterexample is there because it matters.
        let hides_idle_timers =
            idle > FEW && idle * DROWN >= story.events.len() && story.clock == Clock::Nanoseconds;
        Self { hidden, hides_idle_timers, ..Self::default() }
    }

    /// The part of a run, with a remark on what is not shown.
    pub fn of(&self, story: Story) -> Story {
        if *self == Self::default() {
            return story;
        }
        let waits = waiting(&story, &Chart::of(&story)).unwrap_or_default();
        let (remarks, end) = (self.remarks(&story), story.end());
        let shown = self.shown(&story);
        let Story { events, stamps, lanes, .. } = story;
        let place: HashMap<usize, usize> = match &self.nodes[..] {
            [] => (0..lanes.len()).map(|it| (it, it)).collect(),
            some => some.iter().enumerate().map(|(place, &node)| (node, place)).collect(),
        };
        let mut order: Vec<usize> = place.keys().copied().collect();
        order.sort_by_key(|node| place[node]);
        let keep = |(it, event): (Event, bool)| {
            event.then_some(it).and_then(|it| at_another_place(it, &place))
        };
        // Where no message is left to be seen, time is all that there is.
        let is_message = |it: &Event| matches!(it.what, What::Sent { .. } | What::Got { .. });
        let has_message =
            events.iter().zip(&shown).any(|(it, is_shown)| *is_shown && is_message(it));
        let until = (!has_message && self.between.is_none()).then_some(end);
        let stamps = stamps.into_iter().zip(&shown).filter(|it| *it.1).map(|it| it.0).collect();
        Story {
            events: events.into_iter().zip(shown.iter().copied()).filter_map(keep).collect(),
            stamps,
            lanes: order.into_iter().map(|node| lanes[node].clone()).collect(),
            waits: Some(waits),
            until,
            remarks: [story.remarks, remarks].concat(),
            ..story
        }
    }

    fn hides(&self, kind: &str) -> bool {
        let is_in = |all: &[String]| all.iter().any(|it| it.eq_ignore_ascii_case(kind));
        is_in(&self.hidden) || !self.only.is_empty() && !is_in(&self.only)
    }

    fn has(&self, node: usize) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }

    /// Which events are shown.
    fn shown(&self, story: &Story) -> Vec<bool> {
        let mut hidden: HashSet<(usize, usize, u64)> = HashSet::new();
        // Where and when a node sent something hidden, and nothing else happened.
        let mut idle: HashMap<(usize, u64), bool> = HashMap::new();
        let mut shown = Vec::with_capacity(story.events.len());
        for event in &story.events {
            let (node, moment) = (event.node, (event.node, event.at));
            let is_shown = match &event.what {
                What::Sent { to, letter } => {
                    let hides = self.hides(&letter.kind);
                    if hides {
                        hidden.insert((node, *to, letter.number));
                    }
                    *idle.entry(moment).or_insert(true) &= hides;
                    !hides && self.has(*to)
                }
                What::Got { from, letter } => !self.hides(&letter.kind) && self.has(*from),
                What::Lost { to, number, .. } | What::Doubled { to, number } => {
                    !hidden.contains(&(node, *to, *number)) && self.has(*to)
                }
                What::Said { .. } => {
                    idle.insert(moment, false);
                    true
                }
                // What befalls the network is told at some node.
                What::Network { .. } => {
                    shown.push(self.within(event.at));
                    continue;
                }
                _ => true,
            };
            shown.push(is_shown && self.has(node) && self.within(event.at));
        }
        for (event, is_shown) in story.events.iter().zip(&mut shown) {
            let is_timer = matches!(event.what, What::Timer(_));
            *is_shown &= !is_timer || idle.get(&(event.node, event.at)) != Some(&true);
        }
        if self.hides_idle_timers {
            for (is_shown, is_idle) in shown.iter_mut().zip(idle_timers(story)) {
                *is_shown &= !is_idle;
            }
        }
        shown
    }

    fn within(&self, at: u64) -> bool {
        self.between.is_none_or(|(from, to)| at >= from && at <= to)
    }

    fn remarks(&self, story: &Story) -> Vec<String> {
        let mut remarks = Vec::new();
        let hidden: Vec<(&str, usize)> =
            kinds(story).into_iter().filter(|it| self.hides(it.0)).collect();
        let is_beat = |it: &(&str, usize)| story.beats.iter().any(|beat| beat == it.0);
        let (beats, others): (Vec<_>, Vec<_>) = hidden.into_iter().partition(is_beat);
        let shown = |(kind, count): &(&str, usize)| format!("{} {kind}", grouped(*count));
        let list = |all: &[(&str, usize)]| all.iter().map(shown).collect::<Vec<_>>().join(", ");
        if !others.is_empty() {
            remarks.push(format!("Not shown: {}.", list(&others)));
        }
        if !beats.is_empty() {
            remarks.push(format!(
                "Not shown: {}, which only say that their senders are up (--hide none shows them).",
                list(&beats)
            ));
        }
        if self.hides_idle_timers {
            let idle = idle_timers(story).into_iter().filter(|it| *it).count();
            remarks.push(format!(
                "Not shown: {} timers after which nothing was sent or told (--hide none shows \
                 them).",
                grouped(idle)
            ));
        }
        match (0..story.lanes.len()).filter(|&it| !self.has(it)).count() {
            0 => {}
            1 => remarks.push("Not shown: one node, and messages with it.".to_owned()),
            many => remarks.push(format!("Not shown: {many} nodes, and messages with them.")),
        }
        remarks
    }
}

/// Whether there is something to see besides messages: what nodes come to, as whom they follow or
/// which view they are in. Suspicions are all that heartbeats are for.
fn comes_to_something(story: &Story) -> bool {
    story.events.iter().any(|event| match &event.what {
        What::Said { look, .. } => {
            look.era.is_some() || matches!(look.mark, Some(Mark::Star(_) | Mark::Flag(_)))
        }
        _ => false,
    })
}

/// Of every event whether it is a timer after which its node did nothing that is seen.
fn idle_timers(story: &Story) -> Vec<bool> {
    let acts =
        |it: &&Event| matches!(it.what, What::Sent { .. } | What::Said { .. } | What::Remark(_));
    let moments: HashSet<(usize, u64)> =
        story.events.iter().filter(acts).map(|it| (it.node, it.at)).collect();
    let is_idle =
        |it: &Event| matches!(it.what, What::Timer(_)) && !moments.contains(&(it.node, it.at));
    story.events.iter().map(is_idle).collect()
}

/// An event with the new places of nodes; none if its node has none.
fn at_another_place(mut event: Event, place: &HashMap<usize, usize>) -> Option<Event> {
    match &mut event.what {
        What::Sent { to, .. } | What::Lost { to, .. } | What::Doubled { to, .. } => {
            *to = *place.get(to)?;
        }
        What::Got { from, .. } => *from = *place.get(from)?,
        What::Said { look, .. } => {
            look.parent = look.parent.and_then(|parent| place.get(&parent).copied());
        }
        What::Network { .. } => {
            event.node = place.get(&event.node).copied().unwrap_or(0);
            return Some(event);
        }
        _ => {}
    }
    event.node = *place.get(&event.node)?;
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Clocks;
    use crate::story::{Bar, Look, MessageLabel, Wrong};

    fn letter(kind: &str, number: u64) -> MessageLabel {
        let kind = kind.to_owned();
        MessageLabel { number, text: format!("{kind}({number})"), kind, is_token: false }
    }

    /// Three beats of node 0, in answer to a timer, and a question of node 2 that is lost.
    fn story() -> Story {
        let mut events = Vec::new();
        let mut add = |at, node, what| events.push(Event { at, node, what, state: None });
        let look = Look::bar(Bar::Outlined("waits"));
        add(0, 2, What::Said { text: "acquire".to_owned(), is_command: true, look });
        add(0, 2, What::Sent { to: 1, letter: letter("ASK", 1) });
        for number in 1..4 {
            add(number, 0, What::Timer("beat".to_owned()));
            add(number, 0, What::Sent { to: 2, letter: letter("BEAT", number) });
            add(number, 2, What::Got { from: 0, letter: letter("BEAT", number) });
        }
        add(5, 0, What::Lost { to: 2, number: 3, why: "chance" });
        add(5, 2, What::Lost { to: 1, number: 1, why: "chance" });
        add(6, 1, What::Timer("late".to_owned()));
        let lanes = (0..3).map(|it| format!("node {it}")).collect();
        let wrong = Some(Wrong { at: Some(6), what: "stuck".to_owned() });
        let beats = vec!["BEAT".to_owned()];
        Story { lanes, events, wrong, beats, ..Story::default() }
    }

    #[test]
    fn heartbeats_that_drown_the_rest_are_hidden_with_their_timers_and_losses() {
        let excerpt = Excerpt::usual(&story());
        let part = excerpt.of(story());
        let said: Vec<String> = part.events.iter().map(|it| part.says(it)).collect();
        let expected = [
            "node 2 acquire",
            "node 2 → node 1 ASK(1)",
            "node 2 → node 1 is lost: chance",
            "node 1 timer late",
        ];
        assert_eq!(said, expected);
        let remark = "Not shown: 3 BEAT, which only say that their senders are up (--hide none \
                      shows them).";
        assert_eq!(part.remarks, [remark]);
    }

    #[test]
    fn heartbeats_are_shown_where_there_is_little_else_or_nothing() {
        let mut alone = story();
        alone.events.retain(|it| it.node == 0);
        assert_eq!(Excerpt::usual(&alone), Excerpt::default(), "there is nothing else");
        let mut few = story();
        few.events.retain(|it| it.at != 1 && it.at != 2);
        for number in 5..8 {
            let what = What::Sent { to: 1, letter: letter("ASK", number) };
            few.events.push(Event { at: 7, node: 2, what, state: None });
        }
        assert_eq!(Excerpt::usual(&few), Excerpt::default(), "one of five");
    }

    #[test]
    fn heartbeats_are_hidden_where_nothing_else_is_sent_but_nodes_come_to_something() {
        let mut story = Story { wrong: None, ..story() };
        story.events.retain(|event| match &event.what {
            What::Sent { letter, .. } | What::Got { letter, .. } => letter.kind == "BEAT",
            _ => false,
        });
        assert_eq!(Excerpt::usual(&story), Excerpt::default());
        let mut says = |mark| {
            let what =
                What::Said { text: "x".to_owned(), is_command: false, look: Look::mark(mark) };
            story.events.push(Event { at: 9, node: 1, what, state: None });
            Excerpt::usual(&story).hidden
        };
        assert_eq!(says(Mark::Warns("suspects")), [""; 0]);
        assert_eq!(says(Mark::Star("leads")), ["BEAT"]);
        let end = story.end();
        story.events.iter_mut().filter(|it| it.at == 9).for_each(|it| it.at = 0);
        let part = Excerpt::usual(&story).of(story);
        assert!(part.events.iter().all(|it| it.at == 0) && part.end() < end, "{part:?}");
        assert_eq!(part.end(), 3, "as long as there were heartbeats");
    }

    #[test]
    fn timers_of_which_nothing_comes_are_hidden_where_they_drown_the_rest() {
        let mut story = story();
        story.events.truncate(4);
        let late = What::Timer("late".to_owned());
        story.events.push(Event { at: 6, node: 1, what: late, state: None });
        assert!(!Excerpt::usual(&story).hides_idle_timers, "one is no crowd");
        for at in 20..1_220 {
            let what = What::Timer("idle".to_owned());
            story.events.push(Event { at, node: 1, what, state: None });
        }
        let excerpt = Excerpt::usual(&story);
        let part = excerpt.of(story.clone());
        let said: Vec<String> = part.events.iter().map(|it| part.says(it)).collect();
        assert_eq!(said.iter().filter(|it| it.contains("timer")).count(), 0, "{said:?}");
        assert_eq!(said.len(), 2, "all else is there: {said:?}");
        let remark = "Not shown: 1,201 timers after which nothing was sent or told (--hide none \
                      shows them).";
        assert_eq!(part.remarks.last().map(String::as_str), Some(remark));
        story.clock = Clock::Steps;
        assert!(!Excerpt::usual(&story).hides_idle_timers, "steps are few");
        assert_eq!(Excerpt::default().of(story.clone()).events.len(), story.events.len());
    }

    #[test]
    fn who_waits_for_whom_is_known_though_the_question_is_not_shown() {
        let excerpt = Excerpt { hidden: vec!["ask".to_owned()], ..Excerpt::default() };
        let part = excerpt.of(story());
        assert!(part.waits.as_ref().is_some_and(|it| it.contains("node 2 waits for node 1")));
        let drawn = crate::spacetime::svg(&part, &crate::spacetime::Options::default());
        assert!(drawn.contains("node 2 waits for node 1"), "{drawn}");
        assert!(drawn.contains("Not shown: 1 ASK.<"), "{drawn}");
    }

    #[test]
    fn clocks_are_those_of_the_whole_run() {
        let mut story = story();
        story.stamps = Clocks::Lamport.of(&story);
        let part = Excerpt { only: vec!["ASK".to_owned()], ..Excerpt::default() }.of(story);
        assert_eq!(part.stamps.len(), part.events.len());
        assert_eq!(part.stamps[..2], ["1", "2"]);
        assert_eq!(part.stamps[3], "1", "the late timer is the first event of its node");
    }

    #[test]
    fn some_nodes_are_shown_with_what_is_between_them() {
        let part = Excerpt { nodes: vec![1, 2], ..Excerpt::default() }.of(story());
        assert_eq!(part.lanes, ["node 1", "node 2"]);
        let said: Vec<String> = part.events.iter().map(|it| part.says(it)).collect();
        assert_eq!(said[1], "node 2 → node 1 ASK(1)");
        assert!(said.iter().all(|it| !it.contains("BEAT")), "{said:?}");
        assert_eq!(part.remarks, ["Not shown: one node, and messages with it."]);
    }
}
