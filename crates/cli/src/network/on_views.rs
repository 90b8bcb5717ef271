//! A node of a lock on views, driven by hand: its group goes on without whoever is gone, lets in
//! whoever comes, and has numbers for those who enter.
//!
//! Nothing is on disk. A process that is started again under its number knows nothing, says so by
//! its [`Life`], and comes in as a newcomer: see
//! [`Views::forgetful`](vorrang_algorithms::group::views::Views::forgetful).

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use vorrang_algorithms::card::About;
use vorrang_algorithms::group::forgetful::Founding;
use vorrang_algorithms::group::locks::{Anew, Lease, OnViews, without_memory};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::problem::Problem as _;
use vorrang_algorithms::setup::{Parameter, Setup};
use vorrang_net::{
    Config, Life, MAX_ROOM, Open, Place, Sealed, Starting, Steps, Wish, ask_for_place,
};
use vorrang_protocol::{Group, NodeId};

use super::conversation::{Served, Started, attend};
use crate::commands::node::Node;
use crate::failure::Failure;
use crate::options::SetupArgs;
use crate::problem::Future;
use crate::values::{WallTime, whole};

/// For how many there is room, if nobody says.
const ROOM: u32 = 64;
/// How often a node says that it is there, if nobody says.
const BEAT: Duration = Duration::from_millis(200);
/// How much later it may do so before the others go on without it: more than a busy machine keeps a
/// process waiting.
const MARGIN: Duration = Duration::from_millis(800);

/// Whether a lock lives on views, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OnViewsArgs {
    /// Run the algorithm inside the views of a group: it goes on without members that are gone,
    /// admits those that join or come back, and gives every entry a fencing token that a resource
    /// can check
    #[arg(long, conflicts_with_all = ["udp", "trace"])]
    on_views: bool,
    /// Join a running group by the address of any member (or of several: of the first that
    /// answers), and listen on --listen
    #[arg(long, value_delimiter = ',', value_name = "HOST:PORT")]
    #[arg(requires_all = ["on_views", "listen"], conflicts_with_all = ["id", "peers"])]
    pub(crate) join: Vec<String>,
    /// The largest number of members, the same everywhere [default: 64]
    #[arg(long, value_name = "NODES", requires = "on_views")]
    #[arg(value_parser = whole(1..=MAX_ROOM as u32))]
    room: Option<u32>,
    /// A node inside loses the lock if it cannot renew its lease for so long, and the next view
    /// waits until leases of the last one are over; the same everywhere
    #[arg(long, value_name = "TIME", requires = "on_views")]
    lease: Option<WallTime>,
    /// The largest clock drift, in parts per thousand; the same everywhere [default: 0]
    #[arg(long, value_name = "PERMILLE", requires = "lease", value_parser = whole(0..=999_u32))]
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

    /// What an algorithm is on views, if it is to be there; or why it cannot be.
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
        if about.problem != Mutex::NAME {
            let (name, solves) = (about.name, about.solves);
            return refused(format!("--on-views is for mutual exclusion; {name} solves {solves}"));
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
        let more = [Parameter::Beat, Parameter::Margin];
        let more = more.into_iter().filter(|it| !about.takes.contains(it));
        let takes: Vec<Parameter> = about.takes.iter().copied().chain(more).collect();
        // Once in the life of a process.
        Ok(About { takes: takes.leak(), ..about })
    }

    /// Sets what a failure detector goes by, where nothing was said of it.
    pub(crate) fn pace(&self, setup: &mut Setup, said: &SetupArgs) {
        if !self.on_views {
            return;
        }
        let usual = [
            (Parameter::Beat, &mut setup.beat, BEAT),
            (Parameter::Margin, &mut setup.margin, MARGIN),
        ];
        for (parameter, place, usual) in usual {
            if !said.says(parameter) {
                *place = usual;
            }
        }
    }

    /// What all must agree on, besides the set-up of the algorithm.
    fn text(&self) -> String {
        let mut text = " --on-views".to_owned();
        if let Some(lease) = self.lease {
            text += &format!(" --lease {lease} --drift {}", self.drift.unwrap_or(0));
        }
        text
    }

    fn lease(&self) -> Option<Lease> {
        self.lease.map(|length| Lease::new(length.0, self.drift.unwrap_or(0)))
    }
}

const fn is_nowhere(ip: IpAddr) -> bool {
    ip.is_unspecified() || ip.is_multicast()
}

/// A node of an algorithm, by its rank in a view.
pub(crate) type Ranked<C, N> = Arc<dyn Fn(NodeId) -> Sealed<C, N> + Send + Sync>;

/// The same on views.
type Machine = OnViews<Sealed<Command, Notice>>;

/// Runs one node until it leaves; its algorithm is made anew for views of any size.
pub(crate) fn serve(served: Served, made: Vec<Ranked<Command, Notice>>) -> Future<'static> {
    Box::pin(take_place(served, made))
}

async fn take_place(served: Served, made: Vec<Ranked<Command, Notice>>) -> Result<(), Failure> {
    let Served { about, setup, mut node, voice } = served;
    let listen = node.listens_on().to_owned();
    let cannot =
        |error: std::io::Error| Failure::World(format!("cannot listen on {listen}: {error}"));
    let listener = TcpListener::bind(&listen).await.map_err(cannot)?;
    let text = setup.text(about.takes) + &node.views.text();
    let mut founders = node.peers.len() as u32;
    if node.views.joins() {
        let host = listen.rsplit_once(':').map_or("", |(host, _)| host);
        let address = format!("{host}:{}", listener.local_addr()?.port());
        let wish = Wish {
            group: node.group.clone(),
            algorithm: about.name.to_owned(),
            setup: text.clone(),
            room: setup.group.size(),
            address: address.clone(),
        };
        let place = ask(&node, &wish).await?;
        founders = place.founders;
        node.takes_place(place.id, place.peers, address);
    } else {
        let mut peers = node.peers.clone();
        peers.resize(setup.group.size() as usize, String::new());
        let (id, own) = (NodeId(node.number()), listen.clone());
        node.takes_place(id, peers, own);
    }
    let life = Life::now();
    let config = Config {
        group: node.group.clone(),
        setup: text,
        timing: node.timing(),
        ..Config::new(NodeId(node.number()), node.peers.clone(), about.name)
    };
    let founding = (!node.views.joins()).then(|| Founding {
        // In milliseconds: views are fewer than these, so that a group which is founded once more,
        // by those who have forgotten the one before, has larger numbers than that ever had.
        view: life.number() / 1000,
        founders: (0..founders).map(NodeId).collect(),
    });
    let anew = Anew::new(move |me, group: Group| made[group.size() as usize - 1](me));
    let lease = node.views.lease();
    let machine: Machine =
        without_memory(config.id, &setup, (life.number(), founding), anew, lease);
    let starting: Starting<Started<Mutex>> =
        vorrang_net::Node::new(machine, config.open(Open { life, founders }))
            .listener(listener)
            .steps(Steps::ended_by(Command::Release))
            .start();
    attend::<Mutex>(about.name, (node, voice), starting, Box::new(|_| Ok(()))).await
}

/// Asks those who may be members for a number, one after the other.
async fn ask(node: &Node, wish: &Wish) -> Result<Place, Failure> {
    let mut why = String::new();
    for member in &node.views.join {
        match ask_for_place(member, wish.clone(), node.timing()).await {
            Ok(place) => return Ok(place),
            Err(error) => why = error.to_string(),
        }
    }
    Err(Failure::World(why))
}
