//! Locks on views where something befalls a node: how soon the others go on, in the time of the
//! simulator, which no busy machine disturbs. What the page about faults says of times is this.

use crate::broken_links;
use crate::users;

use vorrang_protocol::NodeId;
use vorrang_sim::{Fault, Partition, Report};

use self::broken_links::{DETECTION, scripted};
use self::users::{MS, Resource};

/// When something begins that befalls a node: all is calm by then.
const BEGINS: u64 = 100 * MS;
/// When it ends.
const ENDS: u64 = 300 * MS;
/// As long as it takes to agree on a view, and to enter in it.
const CHANGE: u64 = 10 * MS;

fn apart(nodes: &[u32]) -> Partition {
    Partition::new(&[nodes.iter().copied().map(NodeId).collect()]).unwrap()
}

/// When a node is first told of a view of so many since then.
fn told_of(report: &Report<Resource>, members: u32, since: u64) -> u64 {
    let mut views = report.summary.views.iter().filter(|it| it.0 >= since && it.2 == members);
    views.next().map_or(u64::MAX, |it| it.0)
}

fn entered_in(
    report: &Report<Resource>,
    (from, to): (u64, u64),
) -> impl Iterator<Item = NodeId> + '_ {
    let within = move |it: &&(u64, NodeId)| (from..to).contains(&it.0);
    report.summary.entered.iter().filter(within).map(|it| it.1)
}

#[test]
fn a_detection_time_after_a_node_fails_the_others_go_on_and_with_it_when_it_is_back() {
    for node in (0..5).map(NodeId) {
        let cut = apart(&[node.0]);
        for (what, fails, is_back) in [
            ("crash", Fault::Crash(node), Fault::Restart(node)),
            ("pause", Fault::Pause(node), Fault::Resume(node)),
            ("cut off", Fault::Partition(cut.clone()), Fault::Heal(cut.clone())),
        ] {
            let script = vec![(BEGINS, fails), (ENDS, is_back)];
            let report = scripted("ricart-agrawala", 5, script);
            let context = format!("{what} of node {node}: {:?}", report.summary.views);
            assert!(report.is_safe() && report.is_quiescent(), "{context}");
            let without = told_of(&report, 4, BEGINS);
            assert!(without <= BEGINS + DETECTION + CHANGE, "{context}");
            let others = entered_in(&report, (without, ENDS));
            assert!(others.filter(|&it| it != node).count() > 10, "{context}");
            // Whoever was silent hears what the others say a heartbeat later at the latest.
            assert!(told_of(&report, 5, ENDS) <= ENDS + DETECTION + CHANGE, "{context}");
            assert!(entered_in(&report, (ENDS, 1000 * MS)).any(|it| it == node), "{context}");
        }
    }
}

#[test]
fn while_a_majority_is_silent_nobody_enters_and_when_it_is_back_all_do() {
    let silent = [0, 1, 2].map(NodeId);
    let cut = apart(&[0, 1, 2]);
    let split = [apart(&[0]), apart(&[1]), apart(&[2])];
    for (what, begin, end) in [
        ("pauses", silent.map(Fault::Pause).to_vec(), silent.map(Fault::Resume).to_vec()),
        (
            "none hears another",
            split.iter().cloned().chain([cut.clone()]).map(Fault::Partition).collect(),
            split.iter().cloned().chain([cut]).map(Fault::Heal).collect(),
        ),
    ] {
        let script = begin.into_iter().map(|it| (BEGINS, it));
        let script = script.chain(end.into_iter().map(|it| (ENDS, it))).collect();
        let report = scripted("ricart-agrawala", 5, script);
        let context = format!("{what}: {:?}", report.summary.entered);
        assert!(report.is_safe() && report.is_quiescent(), "{context}");
        // What was said before may still arrive.
        assert_eq!(entered_in(&report, (BEGINS + 2 * MS, ENDS)).count(), 0, "{context}");
        for node in (0..5).map(NodeId) {
            let mut soon = entered_in(&report, (ENDS, ENDS + 200 * MS));
            assert!(soon.any(|it| it == node), "{node}, {context}");
        }
    }
}
