//! A node of an open group, on a terminal: the group goes on without crashed members and admits new
//! ones by the address of any member. Its members share a lock, which gives fencing tokens to
//! entries, or multicast to each other.
//!
//! Nothing is on disk. A process that is started again under its number knows nothing, says so by
//! its [`Generation`], and comes in as a newcomer: see
//! [`Views::forgetful`](vorrang_algorithms::group::views::Views::forgetful).

use std::sync::Arc;

use tokio::net::TcpListener;
use vorrang_algorithms::group::forgetful::Founding;
use vorrang_algorithms::group::locks::{Lease, NodeFactory, OnViews, without_memory};
use vorrang_algorithms::group::{GroupCommunication, virtual_synchrony};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::network::Future;
use vorrang_net::{
    Config, Generation, JoinGrant, JoinRequest, OpaqueNode, Open, Starting, request_id,
};
use vorrang_protocol::{Group, NodeId};

use crate::hosted::Hosted;
use crate::options::Node;
use crate::terminal_session::{Served, Started, attend};

/// A node of an algorithm, by its rank in a view.
pub(crate) type Ranked<C, N> = Arc<dyn Fn(NodeId) -> OpaqueNode<C, N> + Send + Sync>;

/// The same on views.
type Lock = OnViews<OpaqueNode<Command, Notice>>;

/// Runs one node until it leaves; its algorithm is made anew for views of any size.
pub(crate) fn serve(served: Served, made: Vec<Ranked<Command, Notice>>) -> Future<'static> {
    let anew = NodeFactory::new(move |me, group: Group| made[group.size() as usize - 1](me));
    Box::pin(async move {
        let place = take_place(served).await?;
        let lock: Lock = without_memory(place.id(), &place.setup, place.born(), anew, place.lease);
        let node = vorrang_net::Node::new(lock, place.config.clone());
        run::<Mutex>(node, place).await
    })
}

/// Runs one member of a group that multicasts until it leaves.
pub(crate) fn serve_group(served: Served) -> Future<'static> {
    Box::pin(async move {
        let place = take_place(served).await?;
        let member = virtual_synchrony::open(place.id(), &place.setup, place.born());
        let node = vorrang_net::Node::new(member, place.config.clone());
        run::<GroupCommunication>(node, place).await
    })
}

/// A place in a group: a number, and where to listen.
struct Place {
    served: Served,
    setup: Setup,
    lease: Option<Lease>,
    config: Config,
    generation: Generation,
    founding: Option<Founding>,
    listener: TcpListener,
}

impl Place {
    const fn id(&self) -> NodeId {
        self.config.id
    }

    /// Its incarnation, and the group that it is to found, if it is.
    fn born(&self) -> (u64, Option<Founding>) {
        (self.generation.number(), self.founding.clone())
    }
}

async fn run<Q: Hosted>(
    mut node: vorrang_net::Node<Q::Command, Q::Notice>,
    place: Place,
) -> Result<(), Failure> {
    if let Some(steps) = Q::steps() {
        node = node.steps(steps);
    }
    let starting: Starting<Started<Q>> = node.listener(place.listener).start();
    let Served { about, node, voice, .. } = place.served;
    attend::<Q>(about.name, (node, voice), starting, Box::new(|_| Ok(()))).await
}

/// Finds a place: as a founder under the number that was given, or by asking a member for one.
async fn take_place(mut served: Served) -> Result<Place, Failure> {
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
    let generation = Generation::now();
    let config = Config {
        group: node.group.clone(),
        setup: text,
        timing: node.timing(),
        ..Config::new(NodeId(node.number()), node.peers.clone(), about.name)
    };
    let founding = (!node.views.joins()).then(|| Founding {
        // In milliseconds: views are fewer than these, so that a group which is founded once more,
        // by those who have forgotten the one before, has larger numbers than that ever had.
        view: generation.number() / 1000,
        founders: (0..founders).map(NodeId).collect(),
    });
    let config = config.open(Open { generation, founders });
    let (setup, lease) = (setup.clone(), node.views.lease());
    Ok(Place { served, setup, lease, config, generation, founding, listener })
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
