//! The scope of a checker's answer, as text, and warnings where it covers less than it seems.

use vorrang_algorithms::card::About;
use vorrang_algorithms::setup::{Detector, Parameter, Setup};
use vorrang_check::{Faults, Links};
use vorrang_protocol::{Order, show_duration_ns};

use crate::options::list;

/// Remarks about a question.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    /// Notes.
    pub notes: Vec<String>,
    /// Warnings that the answer covers less than it seems.
    pub warnings: Vec<String>,
    /// Why it does if nothing turns out to be wrong.
    pub if_fine: Vec<String>,
    /// What is to be known if something is.
    pub if_violated: Vec<String>,
}

/// What an algorithm assumes, in the words of its documentation: which faults it stands, and which
/// it does not. With --tries also what that assumes.
pub(crate) fn assumptions(about: &About, setup: &Setup) -> String {
    let text = about.text();
    let of = |heading: &str| {
        let paragraph = text.split("\n\n").find(|it| it.starts_with(heading))?;
        let plain = paragraph.replace("**", "").replace('`', "");
        Some(plain.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let assumed = of("**Assumes").and_then(|it| it.strip_prefix("Assumes ").map(str::to_owned));
    let assumed = assumed.unwrap_or_else(|| format!("that {}", about.assumes.sentence()));
    let tries = setup.tries.and_then(|_| of("**Crashes"));
    let all = format!("{} assumes {assumed} {}", about.name, tries.unwrap_or_default());
    all.trim_end().trim_end_matches('.').to_owned()
}

impl Remarks {
    /// The remark about a flaw and its demonstration: `falls_short` if the question is smaller.
    pub fn of_flaw(&mut self, flaw: &str, shown_by: &str, falls_short: bool) {
        self.if_fine.push(if falls_short {
            format!(
                "the flaw {flaw} cannot show here: this is less than {shown_by}, which shows it"
            )
        } else {
            format!("the flaw {flaw} was not found: it is shown by {shown_by}")
        });
    }

    /// Remarks about time.
    pub fn of_time(&mut self, about: &About, setup: &Setup, links: &Links) {
        if let Some(within) = links.within
            && about.assumes.timely
            && within > setup.within
        {
            self.warnings.push(format!(
                "{} believes that no message takes longer than {}, and here some take {}",
                about.name,
                show_duration_ns(setup.within.as_nanos() as u64),
                show_duration_ns(within.as_nanos() as u64)
            ));
        }
    }
}

/// Links and faults, as in `any order, no faults`.
pub(super) fn surroundings(about: &About, setup: &Setup, links: &Links, faults: Faults) -> String {
    let mut parts = Vec::new();
    let is_news = |it: &&Parameter| match it {
        Parameter::Within => false,
        Parameter::Late => !setup.late.is_zero(),
        Parameter::Gather => !setup.gather.is_zero(),
        Parameter::Scope => setup.scope.is_some(),
        Parameter::History => setup.history.is_some(),
        Parameter::Tries => setup.tries.is_some(),
        // A node that is told suspicions does not use heartbeats.
        Parameter::Beat
        | Parameter::Margin
        | Parameter::MarginCap
        | Parameter::MarginHalvesAfter => setup.detector == Detector::Heartbeats,
        Parameter::K
        | Parameter::Holder
        | Parameter::Topology
        | Parameter::Greedy
        | Parameter::Arbitration
        | Parameter::Rest
        | Parameter::Resources
        | Parameter::Initiator
        | Parameter::Priorities
        | Parameter::Quorum
        | Parameter::Structure
        | Parameter::Ring
        | Parameter::Contention
        | Parameter::Acknowledge
        | Parameter::Window
        | Parameter::Tail
        | Parameter::Ordering
        | Parameter::Waits
        | Parameter::Distances
        | Parameter::Draws
        | Parameter::Founders
        | Parameter::Detector
        | Parameter::Work
        | Parameter::Aggregate
        | Parameter::Values => true,
    };
    for parameter in about.takes.iter().filter(is_news) {
        let text = setup.text(&[*parameter]);
        parts.extend(text.split_once(" --").map(|(_, it)| it.to_owned()));
    }
    parts.push(match links.order {
        Order::Any => "any order".to_owned(),
        Order::Fifo => "FIFO order".to_owned(),
    });
    match links.within {
        Some(time) => {
            let time = show_duration_ns(time.as_nanos() as u64);
            parts.push(format!("messages within {time}"));
        }
        None if about.assumes.timely => parts.push("messages without a bound on delay".to_owned()),
        None => {}
    }
    parts.push(faults_in_words(faults));
    parts.join(", ")
}

fn faults_in_words(faults: Faults) -> String {
    let count = |count: u8, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let crash =
        if faults.severing { ("severing crash", "severing crashes") } else { ("crash", "crashes") };
    let all = [
        count(faults.crashes, crash.0, crash.1),
        count(faults.restarts, "restart", "restarts"),
        count(faults.losses, "lost message", "lost messages"),
        count(faults.duplicates, "duplicated message", "duplicated messages"),
    ];
    let mut all: Vec<String> = all.into_iter().flatten().collect();
    let spared: Vec<u32> = (0..u64::BITS).filter(|it| faults.spared >> it & 1 == 1).collect();
    if let (Some(crashes), true) = (all.first_mut(), faults.crashes > 0 && !spared.is_empty()) {
        *crashes = format!("{crashes} of others than {}", list(&spared));
    }
    if all.is_empty() { "no faults".to_owned() } else { format!("up to {}", all.join(" and ")) }
}

/// A number of nodes.
pub(super) fn nodes_in_words(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::NodeId;

    use super::*;

    #[test]
    fn what_may_go_wrong_is_counted() {
        assert_eq!(faults_in_words(Faults::NONE), "no faults");
        let some = Faults::NONE.crashes(1).losses(2);
        assert_eq!(faults_in_words(some), "up to 1 crash and 2 lost messages");
        let spared = Faults::NONE.crashes(1).sparing([NodeId(1), NodeId(2)]).losses(1);
        let words = "up to 1 crash of others than 1,2 and 1 lost message";
        assert_eq!(faults_in_words(spared), words);
        let severing = Faults::NONE.crashes(2).severing(true);
        assert_eq!(faults_in_words(severing), "up to 2 severing crashes");
    }
}
