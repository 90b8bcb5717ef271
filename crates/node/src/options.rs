//! The options of a node on a terminal, and their validation.

use std::net::{Ipv4Addr, ToSocketAddrs as _};
use std::path::PathBuf;

use vorrang_algorithms::card::About;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::options::SetupArgs;
use vorrang_experiment::options::explicit_args::ExplicitArgs;
use vorrang_experiment::values::WallTime;
#[cfg(feature = "clap")]
use vorrang_experiment::values::whole;
use vorrang_net::Timing;
use vorrang_net::udp::{Cast, Faults, Multicast, Udp};
use vorrang_protocol::NodeId;
use vorrang_sim::Share;

use crate::views_options::OnViewsArgs;

/// Run one real node over TCP or UDP; lines on standard input drive it
///
/// Start one on each machine, or three in three terminals, with the same --peers; a node begins
/// when it has met all others. Then type:
///
///   acquire    wait to enter (also: acquire shared, acquire group 2, acquire
///              of a+b), and acquire --timeout 5s to give up if that takes longer
///   release    leave
///   withdraw   give up waiting
///   status     how this node and its links are (status --json for programs)
///   help       what else there is, for other problems too
///   quit       leave the group; end of input does the same, unless --stay
///
/// With --algorithm ack, nack or srm, every other line is multicast to all. A node that leaves then
/// waits until all members have its messages. A sender whose window is full waits for a member that
/// is gone, unless --tries says when to take one for crashed: then a member that is started again
/// comes back, as a new incarnation, and leave and join are commands.
///
/// With --algorithm virtual-synchrony, every other line is multicast to all members of the view,
/// and leave and join are commands: the process stays when its node has left. A member that is
/// silent for too long is evicted, and the others go on. With --on-views others may --join.
/// A process that is killed and started again comes back, as a new incarnation, and so does one of
/// an election that gets over crashes.
///
/// With --udp and --discover, processes need no list: they announce themselves to a multicast
/// address until they have found as many as they are told. One too many, and none starts; one that
/// comes when the group is complete is told so and ends.
///
/// SIGTERM, SIGHUP and Ctrl-C are the same as quit; the second ends the process at once. A node
/// that leaves releases its lock, and withdraws a request that waits.
///
/// Links are neither encrypted nor authenticated yet: anyone who reaches a node can pose as a
/// member that it has not met, and anyone who reads the traffic can take a member's place. So a
/// node listens on loopback alone, unless it is told --insecure.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(verbatim_doc_comment))]
#[cfg_attr(
    feature = "clap",
    command(after_help = "Example, in three terminals:\n  \
    vorrang node --id 0 --peers 127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002\n  \
    vorrang node --id 1 --peers 127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002\n  \
    vorrang node --id 2 --peers 127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002\n\n\
    A chat over IP multicast that loses one datagram in five, in two terminals:\n  \
    vorrang node --id 0 --peers 127.0.0.1:7000,127.0.0.1:7001 -a nack --udp --drop 20%\n  \
    vorrang node --id 1 --peers 127.0.0.1:7000,127.0.0.1:7001 -a nack --udp --drop 20%\n\n\
    The same for three that find each other, in each of three terminals:\n  \
    vorrang node -a nack --udp 239.255.0.1:7400 --discover 3\n\n\
    VORRANG_LOG sets what is logged: error, warn (as it is), info or debug; of the network alone\n\
    with vorrang_net=debug,info.")
)]
pub struct Node {
    /// Which of the peers this is, counted from 0
    #[cfg_attr(feature = "clap", arg(long, value_parser = whole(0..=u32::MAX)))]
    #[cfg_attr(feature = "clap", arg(required_unless_present_any = ["join", "discover"]))]
    pub(crate) id: Option<u32>,
    /// The addresses of all nodes, this one included, the same list everywhere; with --on-views of
    /// those that found the group
    #[cfg_attr(feature = "clap", arg(long, value_delimiter = ',', value_name = "HOST:PORT"))]
    #[cfg_attr(feature = "clap", arg(required_unless_present_any = ["join", "discover"]))]
    pub(crate) peers: Vec<String>,
    /// Which algorithm, as `vorrang list` calls it; the same everywhere
    #[cfg_attr(feature = "clap", arg(long, short, default_value = "ricart-agrawala"))]
    pub(crate) algorithm: String,
    /// The name of the group; nodes of another group are refused
    #[cfg_attr(feature = "clap", arg(long, default_value = "default"))]
    pub(crate) group: String,
    /// Write everything that happens at this node to this file when it ends; if a node of its group
    /// is killed and started again, it is then refused, but for --on-views, where a trace can be
    /// drawn and not replayed
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub(crate) trace: Option<PathBuf>,
    /// Go on serving the others when standard input ends
    #[cfg_attr(feature = "clap", arg(long))]
    pub(crate) stay: bool,
    /// The address to listen on, if the others reach this node by another
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOST:PORT"))]
    pub(crate) listen: Option<String>,
    /// Listen on an address that other machines can reach, though links are neither encrypted nor
    /// authenticated
    #[cfg_attr(feature = "clap", arg(long))]
    insecure: bool,
    /// The interval of heartbeats on idle connections
    #[cfg_attr(
        feature = "clap",
        arg(long, default_value = "1s", value_name = "TIME", help_heading = "Timing")
    )]
    heartbeat: WallTime,
    /// Drop a connection, and make it anew, after so long a silence
    #[cfg_attr(
        feature = "clap",
        arg(long, default_value = "5s", value_name = "TIME", help_heading = "Timing")
    )]
    give_up: WallTime,
    /// The longest pause between two attempts to connect to a node that does not answer
    #[cfg_attr(
        feature = "clap",
        arg(long, default_value = "1s", value_name = "TIME", help_heading = "Timing")
    )]
    back_off: WallTime,
    /// When leaving, wait so long for a withdrawn request to be granted and released
    #[cfg_attr(
        feature = "clap",
        arg(long, default_value = "5s", value_name = "TIME", help_heading = "Timing")
    )]
    pub(crate) leave_within: WallTime,
    /// Use UDP instead of TCP, with algorithms that tolerate lost datagrams. A message to all is
    /// one datagram to this multicast address; one to each member if it is 'unicast' [default: an
    /// address that is derived from --peers]
    #[cfg_attr(feature = "clap", arg(long, value_name = "GROUP", num_args = 0..=1))]
    #[cfg_attr(feature = "clap", arg(default_missing_value = ""))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Datagrams"))]
    udp: Option<String>,
    /// Find so many members, this one included, by announcements to the multicast address that
    /// --udp gives, instead of --id and --peers: 2 to 64 processes with the same --group and
    /// settings agree on one list. Each listens on --listen, or on any free port
    #[cfg_attr(feature = "clap", arg(long, value_name = "NODES", requires = "udp"))]
    #[cfg_attr(feature = "clap", arg(value_parser = whole(2..=64_u32)))]
    #[cfg_attr(feature = "clap", arg(conflicts_with_all = ["id", "peers"]))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Datagrams"))]
    pub(crate) discover: Option<u32>,
    /// Join the multicast group on the interface with this address, and not on loopback
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "ADDRESS", requires = "udp", help_heading = "Datagrams")
    )]
    pub(crate) interface: Option<Ipv4Addr>,
    /// Drop this share of all datagrams that arrive, to test the algorithm
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SHARE", requires = "udp", help_heading = "Datagrams")
    )]
    drop: Option<Share>,
    #[cfg_attr(
        feature = "clap",
        command(flatten, next_help_heading = "Views: members join, leave and come back")
    )]
    pub(crate) views: OnViewsArgs,
    #[cfg_attr(
        feature = "clap",
        command(flatten, next_help_heading = "Set-up, the same everywhere")
    )]
    pub(crate) setup: ExplicitArgs<SetupArgs>,
}

impl Node {
    /// How it is reached by datagrams, if it is.
    pub(crate) fn udp(&self) -> Option<Udp> {
        let group = self.udp.as_deref()?;
        let mut cast = if group.is_empty() {
            Cast::Multicast(Multicast::of(&self.peers))
        } else {
            group.parse().expect("it was looked at before")
        };
        if let (Cast::Multicast(multicast), Some(interface)) = (&mut cast, self.interface) {
            *multicast = multicast.on(interface);
        }
        let lost = self.drop.map_or(0.0, Share::value);
        let faults = Faults { lost, seed: u64::from(self.number()), ..Faults::default() };
        Some(Udp { cast, faults })
    }

    /// Refuses datagrams for an algorithm that does not stand their being lost.
    pub(crate) fn check_udp(&self, about: &About) -> Result<(), Failure> {
        let Some(group) = &self.udp else { return Ok(()) };
        if !group.is_empty() {
            let cast: Result<Cast, String> = group.parse();
            cast.map_err(|why| Failure::usage(format!("--udp: {why}")))?;
        }
        if self.discover.is_some() && matches!(group.as_str(), "" | "unicast") {
            let given = if group.is_empty() { "no address" } else { "'unicast'" };
            return Err(Failure::usage(format!(
                "--discover needs a multicast address that all know, as in --udp \
                 239.255.0.1:7400, and --udp has {given}"
            )));
        }
        if about.assumes.reliable {
            return Err(Failure::usage(format!(
                "--udp: datagrams are lost, and {} assumes that {}",
                about.name,
                about.assumes.sentence()
            )));
        }
        Ok(())
    }

    /// Its id; a node that joins has none yet.
    pub(crate) fn number(&self) -> u32 {
        self.id.unwrap_or_default()
    }

    /// Where it listens.
    pub(crate) fn listens_on(&self) -> &str {
        self.listen.as_ref().unwrap_or_else(|| &self.peers[self.number() as usize])
    }

    /// It has this number among these, and listens there.
    pub(crate) fn takes_place(&mut self, id: NodeId, peers: Vec<String>, listens_on: String) {
        (self.id, self.peers, self.listen) = (Some(id.0), peers, Some(listens_on));
    }

    pub(crate) fn timing(&self) -> Timing {
        let usual = Timing::default();
        Timing {
            heartbeat: self.heartbeat.0,
            give_up: self.give_up.0,
            backoff_min: usual.backoff_min.min(self.back_off.0),
            backoff_max: self.back_off.0,
            ..usual
        }
    }

    /// A node does not listen on public addresses by accident.
    pub(crate) fn check_reach(&self) -> Result<(), Failure> {
        if self.insecure {
            return Ok(());
        }
        let listen = self.listens_on();
        let found = listen.to_socket_addrs();
        let mut found =
            found.map_err(|error| Failure::World(format!("cannot listen on {listen}: {error}")))?;
        match found.find(|address| !address.ip().is_loopback()) {
            None => Ok(()),
            Some(address) => Err(Failure::usage(format!(
                "{listen} can be reached from other machines ({}), and links are neither \
                 encrypted nor authenticated: give --insecure if everyone who can reach it is \
                 trusted, or listen on this machine alone, as with --listen 127.0.0.1:{}",
                address.ip(),
                address.port()
            ))),
        }
    }
}

pub(crate) fn check_address(option: &str, address: &str) -> Result<(), Failure> {
    let parts = address.rsplit_once(':');
    if parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{option}: '{address}' is not an address: write HOST:PORT, as in 127.0.0.1:7000"
    )))
}
