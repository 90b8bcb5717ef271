//! The fault options, the same for all problems.

use std::fmt::{self, Display, Write as _};

use serde_json::{Value, json};
use vorrang_protocol::{NodeId, show_duration_ns};
use vorrang_sim::{Fault, Faults, Link, Partition, Severity, Share, Skew, Slow, parse_duration_ns};

use super::choice::{Choice, name};
use super::whom::Whom;
use crate::failure::Failure;
#[cfg(feature = "clap")]
use crate::values::whole;

/// How much longer a message takes that is to be overtaken, in T.
const LATE: u64 = 10;
/// For how long things go wrong at random if nothing is said, in T.
const WINDOW: u64 = 1000;

/// The fault options.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct FaultArgs {
    /// The share of messages that are lost, such as 1%
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    pub loss: Option<Share>,
    /// The share of messages that arrive twice, such as 0.1%
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    pub duplicate: Option<Share>,
    /// The share of messages that are reordered: they take 10 T longer than others, also on FIFO
    /// links, so that later ones overtake them
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    pub reorder: Option<Share>,
    /// Nodes that crash, and when: 2@50ms; a time of 0 is before anything happens. For a lock,
    /// holder@50ms is the node that is inside then, or else the next to enter
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_mishap)
    )]
    pub crash: Vec<(Whom, u64)>,
    /// Nodes that restart, and when: 2@80ms; their memory is lost but for what the algorithm keeps
    /// on stable storage. Of several holders that have crashed, the first restarts first
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_mishap)
    )]
    pub restart: Vec<(Whom, u64)>,
    /// Nodes that pause: 3@10ms..40ms, or holder@10ms..40ms; messages and timers wait until the
    /// pause is over
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE@FROM..TO", value_delimiter = ',', value_parser = parse_pause)
    )]
    pub pause: Vec<During<Whom>>,
    /// Nodes whose clocks run at a wrong rate: 2:x8 is eight times too slow, 2:x0.5 twice as fast
    /// as it should be
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODE:xTIMES", value_delimiter = ','))]
    pub skew: Vec<Skew>,
    /// Network partitions: 0,1|2,3,4@10ms..30ms; without an end, for ever. Nodes that are not named
    /// form one more side. Messages across, those in flight included, are lost
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SIDES@FROM..TO", value_parser = parse_during::<Partition>)
    )]
    pub partition: Vec<During<Partition>>,
    /// Links that are cut: 1-2@10ms..50ms, in one direction 1->2; without an end, for ever. Both
    /// ends
    /// hear all others, and messages over the link, those in flight included, are lost
    #[cfg_attr(feature = "clap", arg(long, value_name = "LINK@FROM..TO", value_delimiter = ','))]
    #[cfg_attr(feature = "clap", arg(value_parser = parse_during::<Link>))]
    pub cut: Vec<During<Link>>,
    /// Links that are slow for a while: 0-1:x10@10ms..20ms, in one direction 0->1:+5ms, all of a
    /// node *-3:x2; without a time, always
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "LINK:HOW@FROM..TO", value_delimiter = ',')
    )]
    #[cfg_attr(feature = "clap", arg(value_parser = parse_during::<Slow>))]
    pub slow: Vec<During<Slow>>,
    /// Messages that are lost, by their numbers in a trace
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBERS", value_delimiter = ','))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=u64::MAX)))]
    pub lose: Vec<u64>,
    /// Messages that arrive twice, by number
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBERS", value_delimiter = ','))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=u64::MAX)))]
    pub double: Vec<u64>,
    /// Messages that are reordered, by number
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBERS", value_delimiter = ','))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=u64::MAX)))]
    pub delay: Vec<u64>,
    /// Random faults, drawn from the seed: mild loses, duplicates and reorders 1 % of all messages
    /// each, and now and then pauses a node or slows a link; harsh does so to 5 % and more often,
    /// crashes and restarts nodes, and partitions the network
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "HOW"))]
    pub random_faults: Option<Random>,
    /// When the random faults of --loss, --duplicate, --reorder and --random-faults end [default:
    /// never; with --random-faults after 1000 T]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", value_parser = parse_time))]
    pub faults_until: Option<u64>,
}

/// How much goes wrong at random.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Random {
    /// Faults that reliable channels mask
    Mild,
    /// Crashes and partitions as well
    Harsh,
}

impl Choice for Random {
    const ALL: &'static [(Self, &'static str)] = &[(Self::Mild, "mild"), (Self::Harsh, "harsh")];
}

impl From<Random> for Severity {
    fn from(random: Random) -> Self {
        match random {
            Random::Mild => Self::Mild,
            Random::Harsh => Self::Harsh,
        }
    }
}

/// Something, and from when to when; to the end if there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct During<T> {
    /// The fault.
    pub what: T,
    /// From when, in nanoseconds.
    pub from_ns: u64,
    /// To when, if it ends.
    pub to_ns: Option<u64>,
}

impl<T: Display> Display for During<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = self.to_ns.map_or_else(String::new, show_duration_ns);
        write!(f, "{}@{}..{to}", self.what, show_duration_ns(self.from_ns))
    }
}

/// Reads a time, in nanoseconds.
pub fn parse_time(text: &str) -> Result<u64, String> {
    parse_duration_ns(text).map_err(|error| error.to_string())
}

/// Reads `2@50ms`.
pub fn parse_moment(text: &str) -> Result<(NodeId, u64), String> {
    let (whom, at_ns) = parse_mishap(text)?;
    let node = whom.node().ok_or_else(|| format!("'{text}' names no node: write 2@50ms"))?;
    Ok((node, at_ns))
}

/// Reads `2@50ms` or `holder@50ms`.
pub fn parse_mishap(text: &str) -> Result<(Whom, u64), String> {
    let wrong = || format!("'{text}' is not a node and a time: write 2@50ms");
    let (node, time) = text.split_once('@').ok_or_else(wrong)?;
    Ok((Whom::read(node).ok_or_else(wrong)?, parse_time(time.trim())?))
}

/// Reads `10ms..40ms` or `10ms..`.
pub fn parse_range(text: &str) -> Result<(u64, Option<u64>), String> {
    let wrong = || format!("'{text}' is not a range of time: write 10ms..40ms");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let from_ns = parse_time(from.trim())?;
    let to_ns = match to.trim() {
        "" => None,
        to => Some(parse_time(to)?),
    };
    if to_ns.is_some_and(|to_ns| to_ns <= from_ns) {
        return Err(format!("the range '{text}' is empty"));
    }
    Ok((from_ns, to_ns))
}

/// Reads `3@10ms..40ms` or `holder@10ms..40ms`.
pub fn parse_pause(text: &str) -> Result<During<Whom>, String> {
    let wrong = || format!("'{text}' is not a node and a range of time: write 3@10ms..40ms");
    let (node, range) = text.split_once('@').ok_or_else(wrong)?;
    let what = Whom::read(node).ok_or_else(wrong)?;
    match parse_range(range)? {
        (_, None) => {
            Err(format!("'{text}' has no end: use --crash for a node that is not to go on"))
        }
        (from_ns, to_ns) => Ok(During { what, from_ns, to_ns }),
    }
}

/// Without a time, it is always so.
pub fn parse_during<T: std::str::FromStr<Err = String>>(text: &str) -> Result<During<T>, String> {
    let (what, (from_ns, to_ns)) = match text.split_once('@') {
        Some((what, range)) => (what, parse_range(range)?),
        None => (text, (0, None)),
    };
    Ok(During { what: what.parse()?, from_ns, to_ns })
}

/// Something that was typed: when it happens, in which order at one instant, and how it was typed.
type Typed = (u64, u8, Fault, String);

impl FaultArgs {
    /// The fault plan for so many nodes, with this mean latency; none without faults.
    pub fn faults(&self, nodes: u32, unit_ns: u64, seed: u64) -> Result<Option<Faults>, Failure> {
        if *self == Self::default() {
            return Ok(None);
        }
        // Where messages take no time at all, things go wrong as if they took some.
        let unit_ns = if unit_ns == 0 { 1_000_000 } else { unit_ns };
        let until_ns = match (self.random_faults, self.faults_until) {
            (Some(_), None) => Some(unit_ns.saturating_mul(WINDOW)),
            (None, Some(until_ns)) if !self.draws() => {
                return Err(Failure::usage(format!(
                    "--faults-until {}: there are no random faults; say --loss, --duplicate, \
                     --reorder or --random-faults",
                    show_duration_ns(until_ns)
                )));
            }
            (_, until_ns) => until_ns,
        };
        self.check_clocks(nodes)?;
        let mut script = self.script(nodes)?;
        let drawn = match (self.random_faults, until_ns) {
            (Some(how), Some(until_ns)) => {
                Faults::drawn(how.into(), nodes, unit_ns, until_ns, seed)
            }
            (Some(_) | None, _) => Faults::default(),
        };
        script.extend(drawn.script.iter().cloned());
        Ok(Some(
            Faults::default()
                .script(script)
                .loss(self.loss.unwrap_or(drawn.loss))
                .duplication(self.duplicate.unwrap_or(drawn.duplication))
                .reordering(self.reorder.unwrap_or(drawn.reordering))
                .late_ns(unit_ns.saturating_mul(LATE))
                .until_ns(until_ns)
                .lost(self.lose.clone())
                .doubled(self.double.clone())
                .delayed(self.delay.clone())
                .clocks(self.skew.clone()),
        ))
    }

    /// Whether all clocks that are wrong are clocks of nodes, and each is wrong once.
    fn check_clocks(&self, nodes: u32) -> Result<(), Failure> {
        for (place, skew) in self.skew.iter().enumerate() {
            let (node, last) = (skew.node, nodes - 1);
            if node.0 > last {
                let why = format!("there is no node {node}: the last node is {last}");
                return Err(Failure::usage(format!("--skew {skew}: {why}")));
            }
            if self.skew[..place].iter().any(|it| it.node == node) {
                return Err(Failure::usage(format!("--skew {skew}: node {node} is named twice")));
            }
        }
        Ok(())
    }

    /// Whether nothing goes wrong but crashes and restarts.
    pub fn is_crashes_only(&self) -> bool {
        let (crash, restart) = (self.crash.clone(), self.restart.clone());
        *self == Self { crash, restart, ..Self::default() }
    }

    /// Whether nothing goes wrong but what can be done to processes and to what connects them.
    pub fn is_of_processes(&self) -> bool {
        let Self { crash, restart, pause, partition, cut, .. } = self.clone();
        *self == Self { crash, restart, pause, partition, cut, ..Self::default() }
    }

    /// Whether messages may be lost by chance.
    pub fn loses(&self) -> bool {
        self.loss.is_some_and(|share| share.value() > 0.0) || self.random_faults.is_some()
    }

    /// Whether nodes may stand still.
    pub fn has_pauses(&self) -> bool {
        !self.pause.is_empty() || self.random_faults.is_some()
    }

    /// Clocks that are wrong.
    pub fn clocks(&self) -> &[Skew] {
        &self.skew
    }

    /// Whether anything is left to chance, besides what goes wrong at random.
    fn draws(&self) -> bool {
        self.loss.is_some() || self.duplicate.is_some() || self.reorder.is_some()
    }

    /// The faults in order, if they are possible.
    fn script(&self, nodes: u32) -> Result<Vec<(u64, Fault)>, Failure> {
        let mut typed = self.typed();
        // Faults that end at an instant end before others begin.
        typed.sort_by_key(|&(at_ns, rank, ..)| (at_ns, rank));
        let (mut down, mut still): (Vec<NodeId>, Vec<NodeId>) = Default::default();
        for (at_ns, _, fault, text) in &typed {
            check_nodes(fault, nodes).map_err(|why| Failure::Usage(format!("{text}: {why}")))?;
            let why = match fault {
                Fault::Crash(node) if down.contains(node) => "is down already",
                Fault::Crash(node) => {
                    down.push(*node);
                    still.retain(|it| it != node);
                    continue;
                }
                Fault::Restart(node) if !down.contains(node) => "is not down",
                Fault::Restart(node) => {
                    down.retain(|it| it != node);
                    continue;
                }
                Fault::Pause(node) if down.contains(node) => "is down",
                Fault::Pause(node) if still.contains(node) => "is paused already",
                Fault::Pause(node) => {
                    still.push(*node);
                    continue;
                }
                Fault::Resume(node) => {
                    still.retain(|it| it != node);
                    continue;
                }
                Fault::Partition(_)
                | Fault::Heal(_)
                | Fault::Cut(_)
                | Fault::Mend(_)
                | Fault::Slow(_)
                | Fault::Recover(_) => continue,
            };
            let (node, at) = (named(fault), show_duration_ns(*at_ns));
            return Err(Failure::usage(format!("{text}: node {node} {why} at {at}")));
        }
        Ok(typed.into_iter().map(|(at_ns, _, fault, _)| (at_ns, fault)).collect())
    }

    fn typed(&self) -> Vec<Typed> {
        let moment = |node, at_ns| format!("{node}@{}", show_duration_ns(at_ns));
        let mut all: Vec<Typed> = Vec::new();
        for (node, at_ns) in nodes_of(&self.crash) {
            let text = format!("--crash {}", moment(node, at_ns));
            all.push((at_ns, 1, Fault::Crash(node), text));
        }
        for (node, at_ns) in nodes_of(&self.restart) {
            let text = format!("--restart {}", moment(node, at_ns));
            all.push((at_ns, 2, Fault::Restart(node), text));
        }
        let mut span = |from_ns, to_ns: Option<u64>, begins, ends, text: String| {
            all.extend(to_ns.map(|to_ns| (to_ns, 0, ends, text.clone())));
            all.push((from_ns, 3, begins, text));
        };
        for it in &self.pause {
            let Whom::Node(node) = it.what else { continue };
            let (begins, ends) = (Fault::Pause(node), Fault::Resume(node));
            span(it.from_ns, it.to_ns, begins, ends, format!("--pause {it}"));
        }
        for it in &self.partition {
            let (begins, ends) = (Fault::Partition(it.what.clone()), Fault::Heal(it.what.clone()));
            span(it.from_ns, it.to_ns, begins, ends, format!("--partition {it}"));
        }
        for it in &self.cut {
            let (begins, ends) = (Fault::Cut(it.what), Fault::Mend(it.what));
            span(it.from_ns, it.to_ns, begins, ends, format!("--cut {it}"));
        }
        for it in &self.slow {
            let (begins, ends) = (Fault::Slow(it.what), Fault::Recover(it.what));
            span(it.from_ns, it.to_ns, begins, ends, format!("--slow {it}"));
        }
        all
    }

    /// The same, as it would have to be typed.
    pub fn options(&self) -> String {
        let mut text = String::new();
        for (key, value) in self.values() {
            let option = key.replace('_', "-");
            let mut add = |value: &Value| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let quote = if value.contains(['|', '>', '*']) { "'" } else { "" };
                let _ = write!(text, " --{option} {quote}{value}{quote}");
            };
            match &value {
                Value::Null => {}
                Value::Array(values) => values.iter().for_each(add),
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    add(&value);
                }
            }
        }
        text
    }

    /// The same, as figures begin with it; with the plan that was made of it.
    pub fn head(&self, faults: Option<&Faults>) -> Vec<(&'static str, Value)> {
        let none = Faults::default();
        let faults = faults.unwrap_or(&none);
        let mut values = self.values();
        for (key, value) in &mut values {
            // A share is one even if nothing was said of it.
            match *key {
                "loss" => *value = json!(faults.loss.to_string()),
                "duplicate" => *value = json!(faults.duplication.to_string()),
                "reorder" => *value = json!(faults.reordering.to_string()),
                _ => {}
            }
        }
        values
    }

    /// Every option with its value; none, or an empty list, where nothing was said.
    fn values(&self) -> Vec<(&'static str, Value)> {
        let share = |share: Option<Share>| share.map(|it| it.to_string());
        let moments = |all: &[(Whom, u64)]| -> Vec<String> {
            let at = |&(whom, ns): &(Whom, u64)| format!("{whom}@{}", show_duration_ns(ns));
            all.iter().map(at).collect()
        };
        vec![
            ("crash", json!(moments(&self.crash))),
            ("restart", json!(moments(&self.restart))),
            ("pause", json!(shown(&self.pause))),
            ("partition", json!(shown(&self.partition))),
            ("cut", json!(shown(&self.cut))),
            ("slow", json!(shown(&self.slow))),
            ("skew", json!(self.skew.iter().map(ToString::to_string).collect::<Vec<_>>())),
            ("loss", json!(share(self.loss))),
            ("duplicate", json!(share(self.duplicate))),
            ("reorder", json!(share(self.reorder))),
            ("lose", json!(self.lose)),
            ("double", json!(self.double)),
            ("delay", json!(self.delay)),
            ("random_faults", json!(self.random_faults.map(|it| name(&it)))),
            ("faults_until", json!(self.faults_until.map(show_duration_ns))),
        ]
    }
}

/// Those that are known by their numbers.
fn nodes_of(all: &[(Whom, u64)]) -> impl Iterator<Item = (NodeId, u64)> {
    all.iter().filter_map(|&(whom, at_ns)| Some((whom.node()?, at_ns)))
}

fn shown<T: Display>(all: &[During<T>]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// The node that something happens to.
fn named(fault: &Fault) -> NodeId {
    match fault {
        Fault::Crash(node) | Fault::Restart(node) | Fault::Pause(node) | Fault::Resume(node) => {
            *node
        }
        Fault::Partition(it) | Fault::Heal(it) => it.named().max().unwrap_or_default(),
        Fault::Cut(it) | Fault::Mend(it) => it.from.max(it.to),
        Fault::Slow(it) | Fault::Recover(it) => it.from.max(it.to).unwrap_or_default(),
    }
}

/// Whether all nodes that are named exist, and those of a partition are cut off from any others.
fn check_nodes(fault: &Fault, nodes: u32) -> Result<(), String> {
    let (node, last) = (named(fault), nodes - 1);
    if node.0 > last {
        return Err(format!("there is no node {node}: the last node is {last}"));
    }
    if let Fault::Partition(partition) = fault
        && !partition.is_real(nodes)
    {
        return Err("all nodes are on one side: nobody is cut off".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_for_a_while_is_read_as_it_is_written() {
        let text = "3@10ms..40ms";
        assert_eq!(parse_pause(text).unwrap().to_string(), text);
        for text in ["0,1|2,3,4@10ms..30ms", "0|1@0..2s", "0@5ms.."] {
            assert_eq!(parse_during::<Partition>(text).unwrap().to_string(), text);
        }
        for text in ["0-1:x10@10ms..20ms", "*-3:x2@0.."] {
            assert_eq!(parse_during::<Slow>(text).unwrap().to_string(), text);
        }
        assert_eq!(parse_during::<Slow>("0-1:x2").unwrap().to_string(), "0-1:x2@0..");
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said() {
        let wrong = |text| parse_pause(text).unwrap_err();
        assert_eq!(wrong("3@40ms..10ms"), "the range '40ms..10ms' is empty");
        assert_eq!(wrong("3@10ms..10ms"), "the range '10ms..10ms' is empty");
        assert_eq!(wrong("3@10ms"), "'10ms' is not a range of time: write 10ms..40ms");
        assert!(wrong("3@10ms..").contains("has no end"), "{}", wrong("3@10ms.."));
        assert!(wrong("3@10..40ms").contains("a number with a unit"), "{}", wrong("3@10..40ms"));
        for text in ["3", "x@1ms..2ms", ""] {
            assert!(wrong(text).contains("is not a node and a range of time"), "{text}");
        }
    }
}
