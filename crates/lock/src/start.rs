//! How a member is started.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use vorrang_catalogue::on_views::{NamedLocksBetweenProcesses, founding};
use vorrang_net::{
    Generation, JoinGrant, JoinRequest, Node, Open, Owner, StableStorage, Timing, Transport,
    request_id_over,
};
use vorrang_protocol::NodeId;

use crate::clients::{Bounds, Clients};
use crate::config::{Config, Role};
use crate::dispatcher::Dispatcher;
use crate::error::{LockError, OpenError};
use crate::members::{Known, Members, Names, Newcomers};
use crate::nowhere;
use crate::running::Running;

/// A place in the group: which of so many numbers, and where the others are.
struct Place {
    id: NodeId,
    /// By number; empty where nobody is known to be.
    peers: Vec<String>,
    founders: u32,
}

/// How long a member that joins waits to be let in before its program goes on.
const LET_IN: Duration = Duration::from_secs(10);

/// Starts a member over a transport; it listens where it is told to, or with a listener that is
/// bound already.
pub(crate) async fn start<T: Transport>(
    config: Config,
    (transport, mut listener): (T, Option<T::Listener>),
) -> Result<Running, OpenError> {
    config.check()?;
    let role = config.role()?;
    let mut but = None;
    loop {
        let place = match role {
            Role::Founder(place) => founder(&config, place),
            Role::Alone => alone(&config),
            Role::Newcomer => ask(&config, &transport, but).await?,
        };
        let member = run(&config, (role, place), (transport.clone(), listener.take())).await?;
        if role != Role::Newcomer || has_its_number(&member).await {
            return Ok(member);
        }
        but = Some(member.handle.id());
        // So that its address is free.
        member.handle.clone().kill().await;
    }
}

/// Whether a newcomer is let in under the number that it was given, or may be later. Two that join
/// by two members at once may be given the same one, and one of them keeps it.
async fn has_its_number(member: &Running) -> bool {
    let mut members = member.clients.members.subscribe();
    let is_decided = |it: &Members| it.is_in || member.clients.why_closed().is_some();
    let _ = timeout(LET_IN, members.wait_for(is_decided)).await;
    !matches!(member.clients.why_closed(), Some(LockError::Replaced(_)))
}

/// Runs a member in this place.
async fn run<T: Transport>(
    config: &Config,
    (role, place): (Role, Place),
    (transport, listener): (T, Option<T::Listener>),
) -> Result<Running, OpenError> {
    let storage =
        config.data.as_deref().map(|data| open(config, role, &place, data)).transpose()?;
    let generation = storage.as_ref().map_or_else(Generation::now, StableStorage::generation);
    let setup = config.setup();
    // Who remembers need not wait for those who may; and who is alone has nobody to wait for.
    let waits = storage.is_none() && (role != Role::Alone || config.address.is_some());
    let pauses = waits.then_some(timing().backoff_max);
    let (life, id) = (generation.number(), place.id);
    let founding = founding(life, place.founders, &setup, pauses);
    let locks =
        NamedLocksBetweenProcesses::new(config.by_size()?, config.limits(), config.leases());
    let machine = if storage.is_some() {
        locks.with_memory(id, &setup, (life, founding))
    } else {
        locks.without_memory(id, &setup, (life, Some(founding)))
    };
    let names = names(config, &place);
    let net = vorrang_net::Config {
        group: config.group.clone(),
        setup: config.agreed(),
        timing: timing(),
        ..vorrang_net::Config::new(id, place.peers, &config.algorithm)
    };
    let mut node = Node::over(transport, machine, net.open(Open::new(generation, place.founders)));
    if let Some(storage) = storage {
        node = node.storage(storage);
    }
    if let Some(listener) = listener {
        node = node.listener(listener);
    }
    let clients = Arc::new(Clients::new(nobody_yet(config)));
    let Config { grace, max_hold, lease, .. } = *config;
    let bounds = Bounds { has_leases: lease.is_some(), grace, max_hold };
    let known = Known::new(names.clone());
    let handle = node.start_with(Dispatcher::new(Arc::clone(&clients), bounds, known)).await?;
    Ok(Running { handle, clients, config: config.clone(), bounds, names })
}

/// Where nobody is.
fn empty(config: &Config) -> Vec<String> {
    vec![String::new(); config.room as usize]
}

fn founder(config: &Config, place: usize) -> Place {
    let mut peers: Vec<String> = config.members.iter().map(|it| it.address.clone()).collect();
    let founders = peers.len() as u32;
    peers.resize(config.room as usize, String::new());
    Place { id: NodeId(place as u32), peers, founders }
}

fn alone(config: &Config) -> Place {
    let mut peers = empty(config);
    peers[0] = config.address.clone().unwrap_or_else(|| nowhere::ADDRESS.to_owned());
    Place { id: NodeId(0), peers, founders: 1 }
}

/// Asks those who may be members for a number, one after the other.
async fn ask(
    config: &Config,
    transport: &impl Transport,
    but: Option<NodeId>,
) -> Result<Place, OpenError> {
    let wish = JoinRequest {
        group: config.group.clone(),
        algorithm: config.algorithm.clone(),
        setup: config.agreed(),
        room: config.room,
        address: config.address.clone().unwrap_or_default(),
        but,
    };
    let mut outcome = Err(vorrang_net::NetError::NotAnAddress(String::new()));
    for member in &config.join {
        outcome = request_id_over(transport.clone(), member, wish.clone(), timing()).await;
        if outcome.is_ok() {
            break;
        }
    }
    let JoinGrant { id, peers, founders } = outcome.map_err(OpenError::Join)?;
    Ok(Place { id, peers, founders })
}

fn open(
    config: &Config,
    role: Role,
    place: &Place,
    data: &Path,
) -> Result<StableStorage, OpenError> {
    let owner = Owner {
        group: config.group.clone(),
        algorithm: config.algorithm.clone(),
        setup: config.agreed(),
        founders: place.founders,
        id: place.id,
    };
    Ok(StableStorage::open(data, owner, role != Role::Newcomer)?)
}

fn names(config: &Config, place: &Place) -> Names {
    let own = config.own_name().to_owned();
    let mut founders: Vec<String> = config.members.iter().map(|it| it.name.clone()).collect();
    if founders.len() != place.founders as usize {
        // One that has joined may not have been told their names.
        founders = place.peers.iter().take(place.founders as usize).cloned().collect();
        if let Some(first) = founders.first_mut().filter(|_| place.id == NodeId(0)) {
            first.clone_from(&own);
        }
    }
    let newcomers = Newcomers::default();
    newcomers.set(config.tls.iter().flat_map(|tls| tls.newcomers.clone()).collect());
    Names { founders, me: place.id, own, newcomers }
}

fn nobody_yet(config: &Config) -> Members {
    Members {
        group: config.group.clone(),
        this: config.own_name().to_owned(),
        view: 0,
        is_in: false,
        has_majority: false,
        trouble: Some("this member has just been started".to_owned()),
        evicted: None,
        stopped: None,
        members: Vec::new(),
    }
}

/// How connections are kept. A member that comes back is met within half a second.
fn timing() -> Timing {
    Timing { backoff_max: Duration::from_millis(500), ..Timing::default() }
}
