//! What a tree election costs, and when its waits are long enough.

use core::time::Duration;

use vorrang_protocol::NodeId;

use super::card::Setting;
use crate::card::Span;
use crate::setup::{Acknowledge, Contention};
use crate::topology::measure::{distances, shape_of};

/// Whether two contend, where that is certain. If all messages take the same time, they come in
/// from the leaves: where one node is in the middle those from both sides come together, and it
/// need only wait; where two are, they ask each other.
fn contend(at: &Setting, diameter: u32) -> Option<bool> {
    match (diameter, at.setup.gather > Duration::ZERO) {
        (0, _) => Some(false),
        (_, false) => Some(true),
        (_, true) => at.lockstep.then_some(diameter % 2 == 1),
    }
}

/// Whether different coins decide on links that take no longer than this: a short wait and two
/// messages are over before a long wait.
pub fn decides(contention: Contention, within: Duration) -> bool {
    contention.times_ns().is_none_or(|[(_, short), (long, _)]| {
        u128::from(short) + 2 * within.as_nanos() <= u128::from(long)
    })
}

/// How many links there are from end to end.
fn diameter(at: &Setting) -> Option<u32> {
    shape_of(&at.setup.topology.tree(at.setup.group).ok()?).diameter
}

/// Every node but the root asks and is acknowledged. Every toss costs two that are taken back; by
/// their numbers, the lower one's need not be taken back. A child that is acknowledged at once is
/// told of the root by one more.
pub(super) fn messages(at: &Setting) -> Span {
    let to_each = match at.setup.acknowledge {
        Acknowledge::WithRoot => 2.0,
        Acknowledge::AtOnce => 3.0,
    };
    let plain = to_each * f64::from(at.nodes() - 1);
    let contend = diameter(at).and_then(|diameter| contend(at, diameter));
    match (contend, at.setup.contention) {
        (Some(false), _) => Span::exactly(plain),
        (Some(true), Contention::Id) => Span::exactly(plain + 1.0),
        (None, Contention::Id) => Span::between(plain, plain + 1.0),
        (None, Contention::Wait | Contention::Firewire | Contention::FirewireA) => {
            Span::between(plain, f64::INFINITY)
        }
        (Some(true), Contention::Wait | Contention::Firewire | Contention::FirewireA) => {
            let tosses = Span::between(plain + 2.0, f64::INFINITY);
            // Equal coins decide nothing only where both nodes are equally fast.
            let decides = at.lockstep && decides(at.setup.contention, at.setup.within);
            if decides { tosses.typically(plain + 4.0) } else { tosses }
        }
    }
}

/// From the leaves to the middle every node but the leaves gathers; then the root is known, and all
/// are told from there. Two in the middle have to hear each other first, and the root is as far
/// from one end as the other is. One in the middle that does not gather contends with a neighbour,
/// which finds out later.
pub(super) fn duration(at: &Setting) -> Span {
    let Some(diameter) = diameter(at) else { return Span::between(0.0, f64::INFINITY) };
    let (ends, radius) = (f64::from(diameter), f64::from(diameter / 2));
    let gather = at.in_units(at.setup.gather);
    match (contend(at, diameter), at.setup.contention, diameter % 2) {
        (Some(false), ..) if diameter == 0 => Span::exactly(0.0),
        (Some(false), ..) => Span::exactly(ends + (radius - 1.0) * gather),
        (Some(true), Contention::Id, 1) => Span::exactly(ends + 1.0 + radius * gather),
        (Some(true), Contention::Id, _) => Span::between(ends, ends + 2.0),
        (Some(true), Contention::Wait, _) => {
            Span::between(ends + 3.0 + radius * gather, f64::INFINITY)
        }
        (Some(true), Contention::Firewire | Contention::FirewireA, _) => {
            Span::between(ends + 2.0 + radius * gather, f64::INFINITY)
        }
        (None, ..) => Span::between(0.0, f64::INFINITY),
    }
}

/// A setting in which all begin at once, or else only as a bus reset reaches them: then it is not
/// certain who is first.
fn reset(at: &Setting) -> Setting {
    let all_call = at.initiators.len() == at.nodes() as usize;
    Setting { lockstep: at.lockstep && all_call, ..at.clone() }
}

/// Callers tell all neighbours of the bus reset, others all but one; then there is an election.
pub(super) fn bus_messages(at: &Setting) -> Span {
    let ends = 2 * (at.nodes() - 1);
    let joins = at.nodes() - at.initiators.len() as u32;
    let news = f64::from(ends - joins);
    let election = messages(&reset(at));
    let plain = Span::between(election.low + news, election.high + news);
    match election.typical {
        Some(typical) => plain.typically(typical + news),
        None => plain,
    }
}

/// If all call, nobody waits for the news. Else the farthest node hears of it last, and has to ask
/// or to be asked.
pub(super) fn bus_duration(at: &Setting) -> Span {
    let Ok(tree) = at.setup.topology.tree(at.setup.group) else {
        return Span::between(0.0, f64::INFINITY);
    };
    if at.initiators.len() == at.nodes() as usize {
        return duration(at);
    }
    let nearest = |id: NodeId| {
        let far = distances(&tree, id);
        at.initiators.iter().filter_map(|caller| far[caller.index()]).min()
    };
    let farthest = at.setup.group.members().filter_map(nearest).max().unwrap_or(0);
    Span::between(f64::from(farthest) + 1.0, f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::Group;

    use super::*;
    use crate::setup::Setup;

    fn setup(topology: &str, nodes: u32) -> Setup {
        Setup { topology: topology.parse().unwrap(), ..Setup::new(Group::of(nodes)) }
    }

    fn at(topology: &str, nodes: u32, gather_ms: u64, contention: Contention) -> Setting {
        let gather = Duration::from_millis(gather_ms);
        let setup = Setup { contention, gather, ..setup(topology, nodes) };
        let initiators = setup.group.members().collect();
        let dead = [].into_iter().collect();
        Setting { setup, initiators, dead, lockstep: true }
    }

    #[test]
    fn a_short_wait_and_two_messages_are_over_before_a_long_wait() {
        for (contention, longest) in [(Contention::Firewire, 155), (Contention::FirewireA, 370)] {
            assert!(decides(contention, Duration::from_nanos(longest)));
            assert!(!decides(contention, Duration::from_nanos(longest + 1)));
        }
        assert!(decides(Contention::Wait, Duration::MAX), "times are as long as it takes");
    }

    #[test]
    fn a_child_that_is_acknowledged_at_once_is_told_of_the_root_besides() {
        let mut star = at("star", 9, 1, Contention::Wait);
        star.setup.acknowledge = Acknowledge::AtOnce;
        assert_eq!(messages(&star), Span::exactly(24.0), "3(N − 1)");
    }

    #[test]
    fn counts_are_those_of_the_literature() {
        let star = messages(&at("star", 9, 1, Contention::Wait));
        assert_eq!(star, Span::exactly(16.0), "2(N − 1)");
        assert_eq!(messages(&at("line", 3, 1, Contention::Wait)), Span::exactly(4.0));
        assert_eq!(messages(&at("line", 3, 0, Contention::Id)), Span::exactly(5.0));
        let two = messages(&at("line", 4, 1, Contention::Wait));
        assert_eq!((two.low, two.typical), (8.0, Some(10.0)), "two are in the middle");
        assert_eq!(messages(&at("line", 1, 0, Contention::Wait)), Span::exactly(0.0));
        let slow = Setting { lockstep: false, ..at("star", 9, 1, Contention::Id) };
        assert_eq!(messages(&slow), Span::between(16.0, 17.0));
    }

    #[test]
    fn a_bus_reset_goes_over_every_cable_and_twice_where_both_ends_begin_it() {
        let mut star = at("star", 9, 1, Contention::Wait);
        assert_eq!(bus_messages(&star), Span::exactly(16.0 + 16.0), "all call");
        assert_eq!(bus_duration(&star), duration(&star));
        star.initiators = alloc::vec![NodeId(3)];
        assert_eq!(bus_messages(&star).low as u32, 16 + 8);
        assert_eq!(bus_duration(&star).low as u32, 3, "to the centre, to a leaf, and an answer");
        let mut line = at("line", 4, 0, Contention::Id);
        line.initiators = alloc::vec![NodeId(0), NodeId(3)];
        assert_eq!(bus_messages(&line), Span::exactly(7.0 + 4.0), "3 cables, one of them twice");
        let one = at("line", 1, 0, Contention::Wait);
        assert_eq!(
            (bus_messages(&one), bus_duration(&one)),
            (Span::exactly(0.0), Span::exactly(0.0))
        );
    }

    #[test]
    fn it_takes_as_long_as_the_tree_is_wide() {
        let of = |topology, nodes, gather| {
            duration(&at(topology, nodes, gather, Contention::Id)).low as u32
        };
        assert_eq!((of("star", 9, 1), of("line", 5, 1), of("line", 5, 3)), (2, 5, 7));
        assert_eq!((of("line", 4, 0), of("line", 4, 2), of("line", 2, 2)), (4, 6, 2));
        assert_eq!(of("line", 1, 0), 0);
    }
}
