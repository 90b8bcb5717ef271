//! Whether a node lives on views, and how: its options.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use vorrang_algorithms::card::About;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::group::locks::Lease;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::Parameter;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::values::WallTime;
#[cfg(feature = "clap")]
use vorrang_experiment::values::whole;
#[cfg(feature = "clap")]
use vorrang_net::MAX_ROOM;

/// The default of the largest number of members.
const ROOM: u32 = 64;
/// Whether a lock lives on views, and how.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub(crate) struct OnViewsArgs {
    /// Run the algorithm inside the views of a group: it goes on without members that are gone,
    /// admits those that join or come back, and gives every entry a fencing token that a resource
    /// can check; with virtual-synchrony, let others join the group
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "udp"))]
    on_views: bool,
    /// Join a running group by the address of any member (or of several: of the first that
    /// answers), and listen on --listen
    #[cfg_attr(feature = "clap", arg(long, value_delimiter = ',', value_name = "HOST:PORT"))]
    #[cfg_attr(feature = "clap", arg(requires_all = ["on_views", "listen"]))]
    #[cfg_attr(feature = "clap", arg(conflicts_with_all = ["id", "peers"]))]
    pub(crate) join: Vec<String>,
    /// The largest number of members, the same everywhere [default: 64]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES", requires = "on_views"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(1..=MAX_ROOM as u32)))]
    room: Option<u32>,
    /// A node inside loses the lock if it cannot renew its lease for so long, and the next view
    /// waits until leases of the last one are over; the same everywhere
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", requires = "on_views"))]
    lease: Option<WallTime>,
    /// Keep on disk, in this directory, what the node must not forget: then all founders vote, in
    /// whatever life, and the group goes on as long as a majority of them is up, even if all were
    /// killed before; incarnations and fencing tokens grow whatever clocks do. For all members or
    /// for none, and a directory for each
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR", requires = "on_views"))]
    pub(crate) data: Option<PathBuf>,
    /// The largest clock drift, in parts per thousand; the same everywhere [default: 0]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PERMILLE", requires = "lease"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(0..=999_u32)))]
    drift: Option<u32>,
}

impl OnViewsArgs {
    pub(crate) const fn is_on(&self) -> bool {
        self.on_views
    }

    /// Whether it has no number yet.
    pub(crate) const fn joins(&self) -> bool {
        !self.join.is_empty()
    }

    /// How many nodes there are, or may be.
    pub(crate) fn room(&self, peers: u32) -> u32 {
        if self.on_views { self.room.unwrap_or(ROOM.max(peers)) } else { peers }
    }

    /// The algorithm on views, if that was asked for; or why it cannot be.
    pub(crate) fn check(
        &self,
        about: About,
        listen: Option<&str>,
        founders: u32,
    ) -> Result<About, Failure> {
        if !self.on_views {
            return Ok(about);
        }
        let refused = |why: String| Err(Failure::usage(why));
        let is_group = about.problem == GroupCommunication::NAME;
        if about.problem != Mutex::NAME && !is_group {
            let (name, solves) = (about.name, about.solves);
            return refused(format!(
                "--on-views is for mutual exclusion and virtual-synchrony; {name} solves {solves}"
            ));
        }
        if is_group && self.data.is_some() {
            return refused(format!(
                "--data is for locks; members of {} hand over their state to each other, and \
                 nobody has it on disk",
                about.name
            ));
        }
        if is_group && self.lease.is_some() {
            return refused(format!("--lease is for locks; {} has none", about.name));
        }
        if about.assumes.timely {
            return refused(format!(
                "--on-views: {} assumes that messages take no longer than --within, which does \
                 not hold where connections are made anew; on views any other algorithm survives \
                 crashes as well",
                about.name
            ));
        }
        let room = self.room(founders);
        if room < founders {
            return refused(format!("--room {room} is too small for {founders} --peers"));
        }
        if let (Some(listen), true) = (listen, self.joins())
            && let Ok(mut found) = listen.to_socket_addrs()
            && let Some(address) = found.find(|it| is_nowhere(it.ip()))
        {
            return refused(format!(
                "--listen {listen}: other members cannot reach {}; give an address that they can \
                 reach",
                address.ip()
            ));
        }
        let more = [
            Parameter::Beat,
            Parameter::Margin,
            Parameter::MarginCap,
            Parameter::MarginHalvesAfter,
        ];
        let more = more.into_iter().filter(|it| !about.takes.contains(it));
        // Those of --peers found the group, and a command says nothing of who is down.
        let is_taken = |it: &Parameter| !matches!(it, Parameter::Founders | Parameter::Detector);
        let takes = about.takes.iter().copied().filter(is_taken);
        let takes: Vec<Parameter> = takes.chain(more).collect();
        // Once in the life of a process.
        Ok(About { takes: takes.leak(), ..about })
    }

    /// The settings that all members must share, besides the set-up of the algorithm.
    pub(crate) fn text(&self) -> String {
        let mut text = " --on-views".to_owned();
        if self.data.is_some() {
            text += " --data";
        }
        if let Some(lease) = self.lease {
            text += &format!(" --lease {lease} --drift {}", self.drift.unwrap_or(0));
        }
        text
    }

    pub(crate) fn lease(&self) -> Option<Lease> {
        self.lease.map(|length| Lease::new(length.0, self.drift.unwrap_or(0)))
    }
}

const fn is_nowhere(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip.is_multicast()
}
