//! When a group without stable storage must go on.

use vorrang_sim::Distribution;

use crate::options::RunArgs;
use crate::options::fault_args::FaultArgs;
use crate::problem::minority;

/// T, the mean latency of all runs.
const T: u64 = 1_000_000;
/// So long after the last node that was down has come back, all are members again: a crash is
/// noticed after some 6 T, and a view change takes 5 T.
const UNTIL_MEMBERS: u64 = 60 * T;
/// So long after its start a group is founded, if all founders are up.
const FOUNDED: u64 = 100 * T;

/// Whether no view can come about of which most members have forgotten all. That is so if only
/// crashes befall nodes, nobody is suspected wrongly, and before all are members again no more have
/// crashed than a minority. A group that is not founded yet needs all of its founders.
pub(super) fn keeps_votes(args: &RunArgs) -> bool {
    let faults = &args.faults;
    let others = FaultArgs { crash: Vec::new(), restart: Vec::new(), ..faults.clone() }
        != FaultArgs::default();
    let is_even = match args.common.latency {
        Some(Distribution::Constant(_) | Distribution::Uniform(..)) => true,
        Some(_) | None => false,
    };
    if others || !is_even {
        return false;
    }
    let mut crashes: Vec<(u64, u64)> = Vec::new();
    for &(node, at_ns) in &faults.crash {
        let backs = faults.restart.iter().filter(|it| it.0 == node && it.1 >= at_ns);
        let back = backs.map(|it| it.1).min();
        if back.is_none() && at_ns < FOUNDED {
            return false;
        }
        crashes.push((at_ns, back.unwrap_or(u64::MAX)));
    }
    crashes.sort_unstable();
    let (mut lost, mut until) = (0, 0);
    crashes.into_iter().all(|(at_ns, back_ns)| {
        if at_ns >= until {
            lost = 0;
        }
        lost += 1;
        until = until.max(back_ns.saturating_add(UNTIL_MEMBERS));
        lost <= minority(args.common.nodes)
    })
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::NodeId;

    use super::*;
    use crate::options::whom::Whom;

    #[test]
    fn a_minority_may_forget_all_and_the_next_one_when_that_is_back() {
        let keeps = |nodes: u32, crash: &[(u32, u64)], restart: &[(u32, u64)]| {
            let at = |all: &[(u32, u64)]| {
                all.iter().map(|&(id, ms)| (Whom::Node(NodeId(id)), ms * T)).collect()
            };
            let mut args = RunArgs::taking(Distribution::Constant(T));
            args.common.nodes = nodes;
            args.faults =
                FaultArgs { crash: at(crash), restart: at(restart), ..FaultArgs::default() };
            (keeps_votes(&args), args)
        };
        assert!(keeps(3, &[(0, 200)], &[]).0);
        assert!(!keeps(3, &[(0, 50)], &[]).0, "it is not founded yet");
        assert!(keeps(3, &[(0, 50)], &[(0, 60)]).0);
        assert!(keeps(3, &[(0, 200), (1, 300)], &[(0, 210)]).0);
        assert!(!keeps(3, &[(0, 200), (1, 260)], &[(0, 210)]).0, "too soon");
        assert!(!keeps(3, &[(0, 200), (1, 900)], &[]).0, "node 0 is not back");
        assert!(keeps(5, &[(0, 200), (1, 201)], &[]).0);
        let mut torn = keeps(5, &[], &[]).1;
        torn.faults.loss = "1%".parse().ok();
        assert!(!keeps_votes(&torn));
        torn.faults.loss = None;
        assert!(keeps_votes(&torn));
        torn.common.latency = Some(Distribution::Exponential(T));
        assert!(!keeps_votes(&torn), "some are suspected wrongly");
    }
}
