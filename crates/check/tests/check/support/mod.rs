//! Systems that more than one test explores.
#![allow(dead_code, reason = "every test uses some of it")]

pub(crate) mod clocked;
pub(crate) mod endless;
pub(crate) mod judge;
pub(crate) mod naive;
pub(crate) mod naive_time;
pub(crate) mod puppet;
pub(crate) mod table;
pub(crate) mod toy;
pub(crate) mod world;

use std::num::NonZeroUsize;

use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
use vorrang_algorithms::mutex::{Claim, Command, Notice};
use vorrang_check::{Bounds, Demands, Faults, Order, Outcome, Plan, Report, System, explore};
use vorrang_protocol::{Group, Monitor, NodeId, Protocol};

pub(crate) const ONE: NonZeroUsize = NonZeroUsize::MIN;
pub(crate) const TWO: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// A system in which node `i` enters and leaves `entries[i]` times, with exclusive claims.
pub(crate) fn mutex<P, M>(
    entries: &[u32],
    order: Order,
    monitor: M,
    node: impl Fn(NodeId) -> P,
) -> System<P, M>
where
    P: Protocol<Command = Command, Notice = Notice>,
    M: Monitor<Command = Command, Notice = Notice>,
{
    System {
        nodes: group(entries).members().map(node).collect(),
        plan: Plan::turns(entries, &Command::Acquire(Claim::Exclusive), &Command::Release),
        monitor,
        links: order.into(),
        faults: Faults::NONE,
        demands: Demands::default(),
    }
}

/// What nodes with these claims do, in turn, so many times each.
pub(crate) fn claiming(entries: &[u32], claims: &[Claim], stay: &[NodeId]) -> Plan<Command> {
    let asks = claims.iter().copied().cycle().map(Command::Acquire);
    Plan::turns_with(entries.iter().copied().zip(asks), &Command::Release, stay)
}

/// Ricart–Agrawala, as above.
pub(crate) fn ricart_agrawala<M>(
    entries: &[u32],
    order: Order,
    monitor: M,
) -> System<RicartAgrawala, M>
where
    M: Monitor<Command = Command, Notice = Notice>,
{
    let group = group(entries);
    mutex(entries, order, monitor, |id| RicartAgrawala::new(id, group))
}

pub(crate) fn group(entries: &[u32]) -> Group {
    Group::of(entries.len() as u32)
}

/// Explores without bounds, on one thread.
pub(crate) fn explore_all<P, M>(system: &System<P, M>) -> Report<P>
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    explore(system, &Bounds::default(), ONE, |_| {})
}

/// States, steps and depth of a system that must be verified.
pub(crate) fn verified<P, M>(system: &System<P, M>) -> (u64, u64, u32)
where
    P: Protocol,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
{
    let report = explore_all(system);
    assert_eq!(report.outcome, Outcome::Verified);
    (report.states, report.steps, report.depth)
}
