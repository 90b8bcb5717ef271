//! Which part of a run is drawn.

use std::str::FromStr;

use vorrang_draw::excerpt::kinds;
use vorrang_draw::story::Clock;
use vorrang_draw::{Excerpt, Story};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::names::unknown;
use vorrang_protocol::parse_duration_ns;

/// The options that choose it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Part of a run")]
pub(crate) struct Part {
    /// Kinds of messages that are not shown, as in STATUS,RECEIPT; none for all to be shown. What
    /// drowns the rest is not shown either, unless it is asked for with --only: heartbeats that are
    /// a quarter of all messages or more, and timers after which nothing is sent or told, if they
    /// are a quarter of all that happens
    #[arg(long, value_name = "KINDS", value_delimiter = ',', global = true)]
    hide: Vec<String>,
    /// From when on: a time, as in 20ms, or a step of a counterexample, as in 3
    #[arg(long, value_name = "WHEN", global = true)]
    from: Option<When>,
    /// Until when [default: to the end, or as far as there is room]
    #[arg(long, value_name = "WHEN", global = true)]
    to: Option<When>,
    /// The nodes that are shown, as in 0,2,5-7 [default: all]
    #[arg(long, value_name = "NODES", global = true)]
    nodes_shown: Option<Nodes>,
}

/// An option that `draw check` has for something else.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Part of a run")]
pub(crate) struct Only {
    /// The kinds of messages that are shown, as in REQUEST,REPLY [default: all]
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    only: Vec<String>,
}

/// A moment of a run, as it is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// A time.
    At(u64),
    /// A number, which is a step; 0 is a time as well.
    Step(u64),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(step) = text.parse() {
            return Ok(Self::Step(step));
        }
        parse_duration_ns(text).map(Self::At).map_err(|_| {
            format!("'{text}' is neither a time, as in 20ms, nor the number of a step, as in 3")
        })
    }
}

impl When {
    /// The moment in the unit of a run.
    fn of(self, story: &Story, option: &str) -> Result<u64, Failure> {
        match (self, story.clock) {
            (Self::At(ns), Clock::Nanoseconds) => Ok(ns),
            (Self::Step(step), Clock::Steps) => Ok(step),
            (Self::Step(0), Clock::Nanoseconds) => Ok(0),
            (Self::Step(step), Clock::Nanoseconds) => {
                Err(Failure::usage(format!("{option} {step}: a time has a unit, as in {step}ms")))
            }
            (Self::At(_), Clock::Steps) => Err(Failure::usage(format!(
                "{option} is a time: this run is counted in steps, as in {option} 3"
            ))),
        }
    }
}

/// Numbers of nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Nodes(Vec<usize>);

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            |part: &str| format!("'{part}' is neither a node, as in 3, nor several, as in 3-5");
        let mut nodes = Vec::new();
        for part in text.split(',') {
            let number = |text: &str| text.trim().parse::<u16>().map_err(|_| wrong(part));
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if last < first {
                return Err(wrong(part));
            }
            nodes.extend((first..=last).map(usize::from));
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Self(nodes))
    }
}

/// For all kinds of messages to be shown.
const NONE: &str = "none";

impl Part {
    /// Which kinds of messages are shown: what is said comes to what is usual.
    fn kinds_shown(&self, only: &[String], story: &Story) -> Result<Excerpt, Failure> {
        if only.iter().any(|it| it == NONE) {
            return Err(Failure::usage(
                "--only none would show no message: leave out --only, or name the kinds to show",
            ));
        }
        let shows_all = self.hide.iter().any(|it| it == NONE);
        if shows_all && let Some(other) = self.hide.iter().find(|it| *it != NONE) {
            return Err(Failure::usage(format!(
                "--hide none,{other}: none is for all to be shown, so it stands alone"
            )));
        }
        if shows_all {
            return Ok(Excerpt { only: only.to_vec(), ..Excerpt::default() });
        }
        let mut excerpt = Excerpt::usual(story);
        if !only.is_empty() {
            // Heartbeats that are asked for are shown.
            excerpt.hidden.clear();
        }
        excerpt.hidden.extend(self.hide.iter().cloned());
        excerpt.only.extend_from_slice(only);
        Ok(excerpt)
    }

    /// What is shown, from when and to when; events outside are left out, if that is wanted.
    pub(crate) fn of(
        &self,
        Only { only }: &Only,
        story: &Story,
        leaves_out: bool,
    ) -> Result<(Excerpt, Option<u64>, Option<u64>), Failure> {
        let end = story.end();
        let at = |when: Option<When>, option| when.map(|it| it.of(story, option)).transpose();
        let (from, to) = (at(self.from, "--from")?, at(self.to, "--to")?);
        if let Some(from) = from.filter(|it| *it >= end) {
            let (from, end) = (story.when(from), story.when(end));
            return Err(Failure::usage(format!("--from {from}: the run ends at {end}")));
        }
        if let (Some(from), Some(to)) = (from, to)
            && to <= from
        {
            let (from, to) = (story.when(from), story.when(to));
            return Err(Failure::usage(format!("--to {to} is not after --from {from}")));
        }
        let mut excerpt = self.kinds_shown(only, story)?;
        let known = kinds(story);
        for (option, kind) in
            self.hide.iter().map(|it| ("--hide", it)).chain(only.iter().map(|it| ("--only", it)))
        {
            let is_it = |name: &str| name.eq_ignore_ascii_case(kind);
            if kind != NONE && !known.iter().any(|it| is_it(it.0)) {
                let what = format!("kind of messages in this run for {option}");
                return Err(unknown(&what, kind, known.iter().map(|it| it.0)));
            }
        }
        if let Some(Nodes(nodes)) = &self.nodes_shown {
            if let Some(node) = nodes.iter().find(|it| **it >= story.lanes.len()) {
                let last = story.lanes.len() - 1;
                return Err(Failure::usage(format!(
                    "--nodes-shown: there is no node {node}: the last is {last}"
                )));
            }
            excerpt.nodes.clone_from(nodes);
        }
        if leaves_out && (from.is_some() || to.is_some()) {
            excerpt.between = Some((from.unwrap_or(0), to.unwrap_or(end)));
        }
        Ok((excerpt, from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbers_and_ranges() {
        let nodes = |text: &str| text.parse::<Nodes>().map(|it| it.0);
        assert_eq!(nodes("5-7,0,6"), Ok(vec![0, 5, 6, 7]));
        assert_eq!(nodes("3"), Ok(vec![3]));
        assert!(nodes("7-5").unwrap_err().contains("'7-5' is neither"));
        assert!(nodes("0,x").unwrap_err().contains("'x' is neither"));
    }

    #[test]
    fn moments_are_times_or_steps() {
        assert_eq!("20ms".parse(), Ok(When::At(20_000_000)));
        assert_eq!("3".parse(), Ok(When::Step(3)));
        assert!("soon".parse::<When>().unwrap_err().contains("neither a time"));
    }
}
