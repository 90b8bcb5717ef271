//! Locks on views where single links are cut: whoever can hear all others goes on soon, and views
//! do not change to and fro.

use crate::users;

use vorrang_algorithms::group::locks::spec::Locked;
use vorrang_algorithms::group::locks::{NodeFactory, OnViews, on_views};
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{NodeOf, find};
use vorrang_erased::Population;
use vorrang_protocol::{Group, NodeId};
use vorrang_sim::{Fault, Faults, Link, Network, Report, Simulation};

use self::users::{MS, Resource, Users};

/// When links are cut, in milliseconds: all is calm by then.
const CUT: u64 = 100;
/// When they are mended.
const MENDED: u64 = 600;

fn node(name: &'static str, me: NodeId, setup: &Setup) -> OnViews<NodeOf<Mutex>> {
    let entry = find::<Mutex>(name, None).expect(name);
    let anew = NodeFactory::new(move |rank, group| {
        let node = entry.recipe.nodes(&entry.card.setup(group)).expect("any number of nodes");
        node(rank)
    });
    let founders: Vec<NodeId> = setup.group.members().collect();
    on_views(me, setup, &founders, anew, None)
}

/// A run of so many nodes in which these links are cut from [`CUT`] to [`MENDED`].
fn run(name: &'static str, nodes: u32, cuts: &[&str]) -> Report<Resource> {
    let mut script: Vec<(u64, Fault)> = Vec::new();
    for cut in cuts {
        let link: Link = cut.parse().unwrap();
        script.push((CUT * MS, Fault::Cut(link)));
        script.push((MENDED * MS, Fault::Mend(link)));
    }
    scripted(name, nodes, script)
}

/// A run of so many nodes to which this happens.
pub(crate) fn scripted(
    name: &'static str,
    nodes: u32,
    script: Vec<(u64, Fault)>,
) -> Report<Resource> {
    let setup = Setup::new(Group::of(nodes));
    Simulation::new(
        Population::new(nodes, move |id| node(name, id, &setup)),
        Locked::new(Group::of(nodes)).fenced(),
        Network::constant_ms(1),
        Users { until_ns: 1000 * MS },
        1,
    )
    .with_faults(Faults::default().script(script), 1)
    .until(1300 * MS)
    .run()
    .unwrap()
}

/// How long it takes to notice a crash: a period, a margin and a message.
pub(crate) const DETECTION: u64 = 6_500_000;
const BOUND: u64 = 3 * DETECTION;

/// The nodes that go on, whichever are left out: how long after the cut the first of them enters,
/// in nanoseconds, and how many views a node was told of while it lasted.
#[track_caller]
fn goes_on(name: &'static str, nodes: u32, cuts: &[&str], left_out: u32) {
    let report = run(name, nodes, cuts);
    let Resource { entered, views, .. } = &report.summary;
    let context = format!("{name}, {cuts:?}");
    assert!(report.is_safe(), "{context}: {:?}", report.first_violation);
    assert!(report.is_quiescent(), "{context}: {report:#?}");
    // A view of all but the fewest is there soon enough, and then those enter.
    let during = |at_ns: u64| (CUT * MS..MENDED * MS).contains(&at_ns);
    let seen: Vec<_> = views.iter().filter(|it| during(it.0)).collect();
    let last = seen.last().unwrap_or_else(|| panic!("{context}: no view"));
    assert_eq!(last.2, nodes - left_out, "{context}: {seen:?}");
    assert!(last.0 <= CUT * MS + BOUND, "{context}: {seen:?}");
    let kept: Vec<NodeId> =
        seen.iter().filter(|it| it.2 == last.2 && it.0 + 2 * MS >= last.0).map(|it| it.1).collect();
    assert_eq!(kept.len() as u32, nodes - left_out, "{context}: {seen:?}");
    for at in kept {
        let mut times = entered.iter().filter(|it| it.1 == at).map(|it| it.0);
        assert!(times.any(|it| it > last.0 && during(it)), "{context}: {at} does not enter");
        let told = seen.iter().filter(|it| it.1 == at).count();
        assert!(told <= cuts.len(), "{context}: views change to and fro: {seen:?}");
    }
    let in_time = |it: &&(u64, NodeId)| it.0 > CUT * MS && it.0 <= CUT * MS + BOUND + 10 * MS;
    assert!(entered.iter().any(|it| in_time(&it)), "{context}: {entered:?}");
    // Mended: all are members again.
    let end = views.iter().rev().take(nodes as usize);
    assert!(end.clone().all(|it| it.2 == nodes && it.0 > MENDED * MS), "{context}: {views:?}");
    assert!(end.clone().all(|it| it.0 < (MENDED + 60) * MS), "{context}: {views:?}");
}

#[test]
fn one_broken_link_stalls_nobody() {
    for name in ["ricart-agrawala", "lamport"] {
        goes_on(name, 5, &["1-2"], 1);
    }
}

#[test]
fn any_link_may_break_in_either_direction_or_both() {
    for one in 0..5 {
        for other in (0..5).filter(|&it| it != one) {
            if one < other {
                goes_on("ricart-agrawala", 5, &[&format!("{one}-{other}")], 1);
            }
            goes_on("ricart-agrawala", 5, &[&format!("{one}->{other}")], 1);
        }
    }
}

#[test]
fn the_fewest_are_left_out_where_several_links_are_broken() {
    goes_on("ricart-agrawala", 5, &["1-2", "3-4"], 2);
    goes_on("ricart-agrawala", 5, &["0-1", "2-3"], 2);
    goes_on("ricart-agrawala", 5, &["1-2", "2-3", "2-4"], 1);
    goes_on("ricart-agrawala", 5, &["0-1", "0-2"], 1);
    goes_on("ricart-agrawala", 5, &["0-1", "0-2", "1-2"], 2);
    goes_on("ricart-agrawala", 3, &["1-2"], 1);
}

/// Every node hears two others of five: there are no three that hear each other.
#[test]
fn without_a_majority_that_hears_each_other_no_view_follows() {
    let report = run("ricart-agrawala", 5, &["0-2", "0-3", "1-3", "1-4", "2-4"]);
    let Resource { views, .. } = &report.summary;
    assert!(!views.iter().any(|it| (CUT * MS..MENDED * MS).contains(&it.0)), "{views:?}");
    assert!(report.is_safe() && report.is_quiescent(), "{report:#?}");
}
