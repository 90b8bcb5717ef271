//! A node of an open group, on a terminal: the group goes on without crashed members and admits new
//! ones by the address of any member. Its members share a lock, which gives fencing tokens to
//! entries, or multicast to each other.
//!
//! Unless there is [stable storage](StableStorage), nothing is on disk: a process that is started
//! again under its number knows nothing, says so by its [`Generation`], and comes in as a newcomer.
//! See [`Views::forgetful`](vorrang_algorithms::group::views::Views::forgetful), and
//! [`Views::remembering`](vorrang_algorithms::group::views::Views::remembering) for the other.

use std::rc::Rc;

use tokio::net::TcpListener;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::NodeOf;
use vorrang_catalogue::on_views::{LockBetweenProcesses, founding, member};
use vorrang_erased::Fresh;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::network::Future;
use vorrang_experiment::problem::{BETWEEN_PROCESSES, header};
use vorrang_experiment::tracefile::TraceWriter;
use vorrang_net::{
    Clock, Config, Generation, JoinGrant, JoinRequest, Log, Open, Owner, RecordOf, Service,
    StableStorage, Starting, request_id,
};
use vorrang_protocol::NodeId;
use vorrang_trace::{Header, What, Writer};

use crate::hosted::Hosted;
use crate::options::Node;
use crate::terminal_session::{Served, StartAgain, Started, StartingAgain, attend, not_started};

/// Runs one node until it leaves; its algorithm is made anew for views of any size.
pub(crate) fn serve(served: Served, by_size: Vec<Fresh<NodeOf<Mutex>>>) -> Future<'static> {
    let lock = LockBetweenProcesses::new(by_size, served.node.views.lease());
    let build = move |place: &Place| {
        let (id, setup) = (place.id(), &place.setup);
        let node = if place.storage.is_some() {
            lock.with_memory(id, setup, (place.life(), place.founding.clone()))
        } else {
            lock.without_memory(id, setup, place.born())
        };
        vorrang_net::Node::new(node, place.config.clone())
    };
    Box::pin(run::<Mutex>(served, Rc::new(build)))
}

/// Runs one member of a group that multicasts until it leaves.
pub(crate) fn serve_group(served: Served) -> Future<'static> {
    let build = |place: &Place| {
        let member = member(place.id(), &place.setup, place.born());
        vorrang_net::Node::new(member, place.config.clone())
    };
    Box::pin(run::<GroupCommunication>(served, Rc::new(build)))
}

/// Makes the node for a place.
type Make<Q> =
    Rc<dyn Fn(&Place) -> vorrang_net::Node<<Q as Problem>::Command, <Q as Problem>::Notice>>;

/// A place in a group: a number, and where to listen.
struct Place {
    served: Served,
    setup: Setup,
    config: Config,
    generation: Generation,
    /// The group, as its founders would found it.
    founding: Founding,
    storage: Option<StableStorage>,
    listener: TcpListener,
}

impl Place {
    const fn id(&self) -> NodeId {
        self.config.id
    }

    const fn life(&self) -> u64 {
        self.generation.number()
    }

    /// Its incarnation, and the group as it is to be founded, if it is not there.
    fn born(&self) -> (u64, Option<Founding>) {
        (self.life(), Some(self.founding.clone()))
    }
}

async fn run<Q: Hosted>(served: Served, make: Make<Q>) -> Result<(), Failure> {
    let place = take_place(served, None, Q::SERVICE).await?;
    let taken = place.served.clone();
    let (id, log) = (place.id(), taken.node.trace.as_ref().map(|_| Log::new()));
    let recorded = log.clone().map(|log| (log, Clock::start()));
    let starting = start::<Q>(place, &make, recorded.clone());
    let Served { about, setup, node, output, .. } = taken.clone();
    let name = about.name;
    // The number of a founder is for those to say who start it.
    let again = node.views.joins().then(|| {
        Box::new(move |but| {
            let (served, make) = (taken.clone(), Rc::clone(&make));
            let recorded = recorded.clone();
            Box::pin(async move {
                let place = take_place(served, Some(but), Q::SERVICE).await?;
                start::<Q>(place, &make, recorded).await.map_err(not_started)
            }) as StartingAgain<Q>
        }) as StartAgain<Q>
    });
    let save = move |file: TraceWriter| {
        let Some(log) = log else { return Ok(()) };
        save::<Q>(file, header(&about, &setup).with("node", &id), &log.take())
    };
    attend::<Q>(name, (node, output), (starting, again), Box::new(save)).await
}

/// Writes what was recorded, of as many nodes as were heard of.
fn save<Q: Hosted>(
    file: TraceWriter,
    header: Header,
    records: &[RecordOf<Q::Command, Q::Notice>],
) -> std::io::Result<()> {
    let met = |record: &RecordOf<Q::Command, Q::Notice>| match record.what {
        What::Send { to, .. } => record.node.max(to),
        What::Receive { from, .. } => record.node.max(from),
        _ => record.node,
    };
    let last = records.iter().map(met).max().map_or(header.nodes, |node| node.0 + 1);
    let header = header.with("driver", &"node").with("on_views", &BETWEEN_PROCESSES);
    let mut writer = Writer::new(file, &Header { nodes: last, ..header })?;
    records.iter().try_for_each(|record| writer.write(record))?;
    writer.finish(None, None)?.finish()
}

/// Where what happens is recorded, and the clock.
type Recorded<Q> = Option<(Log<<Q as Problem>::Command, <Q as Problem>::Notice>, Clock)>;

fn start<Q: Hosted>(place: Place, make: &Make<Q>, log: Recorded<Q>) -> Starting<Started<Q>> {
    let mut node = make(&place);
    if let Some((log, clock)) = log {
        node = node.record(log, clock);
    }
    if let Some(steps) = Q::steps() {
        node = node.steps(steps);
    }
    if let Some(storage) = place.storage {
        node = node.storage(storage);
    }
    node.listener(place.listener).start()
}

/// Finds a place: as a founder under the number that was given, or by asking a member for one,
/// `but` not this one.
async fn take_place(
    mut served: Served,
    but: Option<NodeId>,
    service: Service,
) -> Result<Place, Failure> {
    let Served { about, setup, node, .. } = &mut served;
    let listen = node.listens_on().to_owned();
    let cannot =
        |error: std::io::Error| Failure::World(format!("cannot listen on {listen}: {error}"));
    let listener = TcpListener::bind(&listen).await.map_err(cannot)?;
    let text = setup.text(about.takes) + &node.views.text();
    let mut founders = node.peers.len() as u32;
    if node.views.joins() {
        let host = listen.rsplit_once(':').map_or("", |(host, _)| host);
        let address = format!("{host}:{}", listener.local_addr()?.port());
        let wish = JoinRequest {
            group: node.group.clone(),
            algorithm: about.name.to_owned(),
            setup: text.clone(),
            room: setup.group.size(),
            address: address.clone(),
            but,
        };
        let place = ask(node, &wish).await?;
        founders = place.founders;
        node.takes_place(place.id, place.peers, address);
    } else {
        let mut peers = node.peers.clone();
        peers.resize(setup.group.size() as usize, String::new());
        let (id, own) = (NodeId(node.number()), listen.clone());
        node.takes_place(id, peers, own);
    }
    let storage = match &node.views.data {
        Some(directory) => {
            let owner = Owner {
                group: node.group.clone(),
                algorithm: about.name.to_owned(),
                setup: text.clone(),
                founders,
                id: NodeId(node.number()),
            };
            let opened = StableStorage::open(directory, owner, !node.views.joins());
            Some(opened.map_err(|error| Failure::World(format!("--data: {error}")))?)
        }
        None => None,
    };
    let generation = storage.as_ref().map_or_else(Generation::now, StableStorage::generation);
    let config = Config {
        group: node.group.clone(),
        setup: text,
        timing: node.timing(),
        service,
        ..Config::new(NodeId(node.number()), node.peers.clone(), about.name)
    };
    let pauses = storage.is_none().then_some(node.timing().backoff_max);
    let founding = founding(generation.number(), founders, setup, pauses);
    let config = config.open(Open::new(generation, founders));
    let setup = setup.clone();
    Ok(Place { served, setup, config, generation, founding, storage, listener })
}

/// Asks those who may be members for a number, one after the other.
async fn ask(node: &Node, wish: &JoinRequest) -> Result<JoinGrant, Failure> {
    let mut why = String::new();
    for member in &node.views.join {
        match request_id(member, wish.clone(), node.timing()).await {
            Ok(place) => return Ok(place),
            Err(error) => why = error.to_string(),
        }
    }
    Err(Failure::World(why))
}
