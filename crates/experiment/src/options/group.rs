//! The options of group communication, in runs and in checks.

use vorrang_algorithms::group::Command;
#[cfg(feature = "clap")]
use vorrang_algorithms::group::card::plan;
use vorrang_algorithms::group::input::Input;
use vorrang_protocol::NodeId;

#[cfg(feature = "clap")]
use super::fault_args::parse_moment;

/// Joins and leaves.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct GroupArgs {
    /// Nodes that join the group, and when: 4@30ms [default: at once, those that have not founded
    /// it]; in reliable multicast with --tries, after they have left it
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_moment)
    )]
    pub join: Vec<(NodeId, u64)>,
    /// Nodes that leave it, and when: 1@80ms; in reliable multicast with --tries
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NODE@TIME", value_delimiter = ',', value_parser = parse_moment)
    )]
    pub leave: Vec<(NodeId, u64)>,
}

/// The plan of a group.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct GroupCheckArgs {
    /// The commands at each node, in this order, at any time: join, leave, multicast:7, suspect:1,
    /// trust:1, beat. Nodes are separated by slashes, as in suspect:1/multicast:7/join [default:
    /// the first suspects the second, which multicasts, and nodes that have not founded the group
    /// join]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PLAN", value_parser = plan))]
    pub happens: Option<PlanOf>,
    /// Give the commands one after the other, each when no message is in flight, then three
    /// heartbeats of all; in the end all members must be in one view with all messages
    #[cfg_attr(feature = "clap", arg(long))]
    pub settling: bool,
}

/// The commands at each node.
pub type PlanOf = Vec<Vec<Input<Command>>>;
