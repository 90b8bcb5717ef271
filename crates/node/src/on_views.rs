//! A node of a lock on views, on a terminal: its group goes on without crashed members, admits new
//! ones, and gives fencing tokens to entries.
//!
//! Nothing is on disk. A process that is started again under its number knows nothing, says so by
//! its [`Generation`], and comes in as a newcomer: see
//! [`Views::forgetful`](vorrang_algorithms::group::views::Views::forgetful).

use std::sync::Arc;

use tokio::net::TcpListener;
use vorrang_algorithms::group::forgetful::Founding;
use vorrang_algorithms::group::locks::{NodeFactory, OnViews, without_memory};
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::network::Future;
use vorrang_net::{
    Config, Generation, JoinGrant, JoinRequest, OpaqueNode, Open, Starting, Steps, request_id,
};
use vorrang_protocol::{Group, NodeId};

use crate::options::Node;
use crate::terminal_session::{Served, Started, attend};

/// A node of an algorithm, by its rank in a view.
pub(crate) type Ranked<C, N> = Arc<dyn Fn(NodeId) -> OpaqueNode<C, N> + Send + Sync>;

/// The same on views.
type Machine = OnViews<OpaqueNode<Command, Notice>>;

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
        let wish = JoinRequest {
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
    let anew = NodeFactory::new(move |me, group: Group| made[group.size() as usize - 1](me));
    let lease = node.views.lease();
    let machine: Machine =
        without_memory(config.id, &setup, (generation.number(), founding), anew, lease);
    let starting: Starting<Started<Mutex>> =
        vorrang_net::Node::new(machine, config.open(Open { generation, founders }))
            .listener(listener)
            .steps(Steps::ended_by(Command::Release))
            .start();
    attend::<Mutex>(about.name, (node, voice), starting, Box::new(|_| Ok(()))).await
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
