//! How a node is put together and started.

use std::future::ready;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use vorrang_erased::{AnyNode, MessageBounds};
use vorrang_protocol::{Data, Protocol};

use crate::application::{AnyApplication, Application, Forward};
use crate::clock::Clock;
use crate::config::{Config, Membership};
use crate::connecting::{self, Line};
use crate::driver::{Driver, Network, Phase, Told};
use crate::error::NetError;
use crate::handle::{EVENTS_KEPT, Handle, RawHandle};
use crate::identity::Identity;
use crate::machine::Machine;
use crate::node_core::{NodeCore, TypedCore};
use crate::ready_links::ReadyLinks;
use crate::recorder::{RecordBuffer, Recorder};
use crate::stable_storage::StableStorage;
use crate::tcp_network::TcpNetwork;
use crate::transport::{AnyTransport, ErasedListener, Tcp, Transport};
use crate::turns::{ReleaseOutcome, Steps};
use crate::udp::{Udp, UdpNetwork};

/// A node that has not started yet, over connections of a [`Transport`] or over [`Udp`].
pub struct Node<C: Data, N: Data, T = Tcp> {
    machine: AnyNode<C, N>,
    recorder: Option<(Box<dyn Recorder<C, N>>, Clock)>,
    steps: Option<Steps<C, N>>,
    storage: Option<StableStorage>,
    site: Site,
    carried_by: PhantomData<fn() -> T>,
}

impl<C: Data, N: Data, T> std::fmt::Debug for Node<C, N, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("machine", &self.machine)
            .field("config", &self.site.config)
            .finish_non_exhaustive()
    }
}

impl<C: Data, N: Data> Node<C, N> {
    /// A node that runs `machine` over TCP.
    pub fn new<P: Protocol<Command = C, Notice = N>>(machine: P, config: Config) -> Self {
        Self::over(Tcp, machine, config)
    }
}

impl<C: Data, N: Data, T: Transport> Node<C, N, T> {
    /// A node that runs `machine` over another transport.
    pub fn over<P: Protocol<Command = C, Notice = N>>(
        transport: T,
        machine: P,
        config: Config,
    ) -> Self {
        let carriage = TransportKind::Streams { transport: Arc::new(transport), listener: None };
        Self::on(carriage, AnyNode::new(machine), config)
    }

    /// Takes connections from `listener`, which is bound already, instead of binding the address in
    /// the list of peers: so ports can be assigned by the system before the list of peers is made.
    #[must_use]
    pub fn listener(mut self, listener: T::Listener) -> Self {
        if let TransportKind::Streams { listener: place, .. } = &mut self.site.carriage {
            *place = Some(Box::new(listener));
        }
        self
    }
}

impl<C: Data, N: Data> Node<C, N, Udp> {
    /// A node that runs `machine` over UDP, where messages are lost, duplicated and reordered: see
    /// [`udp`](crate::udp). `config.peers` are the addresses of the members' sockets; of
    /// [`limits`](crate::Limits) only the largest number applies, since there are no queues.
    pub fn over_udp<P: Protocol<Command = C, Notice = N>>(
        udp: Udp,
        machine: P,
        config: Config,
    ) -> Self {
        Self::on(TransportKind::Datagrams { udp, socket: None }, AnyNode::new(machine), config)
    }

    /// Uses `socket`, which is bound already, instead of binding the address in the list of peers:
    /// so ports can be assigned by the system before the list of peers is made.
    #[must_use]
    pub fn socket(mut self, socket: std::net::UdpSocket) -> Self {
        if let TransportKind::Datagrams { socket: place, .. } = &mut self.site.carriage {
            *place = Some(socket);
        }
        self
    }
}

impl<C: Data, N: Data, T> Node<C, N, T> {
    const fn on(carriage: TransportKind, machine: AnyNode<C, N>, config: Config) -> Self {
        let site = Site { config, carriage };
        Self { machine, recorder: None, steps: None, storage: None, site, carried_by: PhantomData }
    }

    /// Records everything that happens at the node, on `clock`.
    #[must_use]
    pub fn record(mut self, recorder: impl Recorder<C, N>, clock: Clock) -> Self {
        self.recorder = Some((Box::new(recorder), clock));
        self
    }

    /// Says which commands and notices ask, enter and leave, so that requests can be given up
    /// ([`Handle::ask_within`], [`Handle::withdraw`]) and a node that leaves leaves nothing behind
    /// ([`Handle::leave`]).
    #[must_use]
    pub fn steps(mut self, steps: Steps<C, N>) -> Self {
        self.steps = Some(steps);
        self
    }

    /// Keeps on stable storage what the machine must not forget
    /// ([`store`](vorrang_protocol::Protocol::store)): it is there before any message or notice
    /// that depends on it leaves. If there is something already, the machine, which must be a fresh
    /// one, begins with that. If it cannot be written, the node fails. For open groups, whose
    /// processes come back.
    #[must_use]
    pub fn storage(mut self, storage: StableStorage) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Starts the node on the current tokio runtime; what it tells comes out of the receiver.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the configuration makes no sense.
    pub fn start(self) -> Starting<Started<C, N>> {
        let (application, notices) = Forward::new();
        listen(self.house(Box::new(application)), notices)
    }

    /// Starts the node with an application inside its task, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the configuration makes no sense.
    pub fn start_with(
        self,
        application: impl Application<Command = C, Notice = N>,
    ) -> Starting<Handle<C>> {
        self.house(Box::new(application))
    }

    fn house(self, application: AnyApplication<C, N>) -> Starting<Handle<C>> {
        let Self { mut machine, recorder, steps, storage, mut site, carried_by: _ } = self;
        if let (Some(storage), Membership::Open(open)) = (&storage, &mut site.config.membership) {
            open.start = Some(storage.start());
        }
        if let Some(stored) = storage.as_ref().and_then(StableStorage::machine) {
            let Some(restored) = machine.restored(stored) else {
                let algorithm = site.config.algorithm.clone();
                return Box::pin(ready(Err(NetError::Unreadable { algorithm })));
            };
            machine = restored;
            if let Membership::Open(open) = &mut site.config.membership {
                open.is_restored = true;
            }
        }
        if matches!(site.config.membership, Membership::Returning(_))
            && machine.clone().without_memory(0).is_none()
        {
            let algorithm = site.config.algorithm.clone();
            return Box::pin(ready(Err(NetError::Remembers { algorithm })));
        }
        let tape =
            recorder.map(|(recorder, clock)| RecordBuffer::new(site.config.id, recorder, clock));
        let bounds = MessageBounds {
            largest: site.config.limits.number,
            nodes: site.config.peers.len() as u32,
        };
        furnish(Machine::new(machine, tape, bounds), (application, steps), storage, site)
    }
}

/// A node that is being started. It is a box, so that what waits for it is compiled once for all
/// algorithms with the same commands.
pub type Starting<X> = Pin<Box<dyn Future<Output = Result<X, NetError>> + Send>>;

/// A node that was started, and what it tells.
pub type Started<C, N> = (Handle<C>, mpsc::UnboundedReceiver<N>);

fn listen<C: 'static, N: Send + 'static>(
    handle: Starting<Handle<C>>,
    notices: mpsc::UnboundedReceiver<N>,
) -> Starting<Started<C, N>> {
    Box::pin(async { Ok((handle.await?, notices)) })
}

/// Where a node is to run.
struct Site {
    config: Config,
    carriage: TransportKind,
}

/// The transport of its messages.
enum TransportKind {
    Streams { transport: AnyTransport, listener: Option<Box<dyn ErasedListener>> },
    Datagrams { udp: Udp, socket: Option<std::net::UdpSocket> },
}

/// The last step at which the problem is known: from here on there are only bytes and boxes.
fn furnish<C: Data, N: Data>(
    machine: Machine<C, N>,
    (application, steps): (AnyApplication<C, N>, Option<Steps<C, N>>),
    storage: Option<StableStorage>,
    site: Site,
) -> Starting<Handle<C>> {
    // Before the generator, which counts to the node's number.
    if let Err(error) = site.config.validate() {
        return Box::pin(ready(Err(error)));
    }
    let place = (site.config.id, site.config.peers.len());
    let rng = generator(&site.config);
    let core = TypedCore::new(machine, (application, steps), place, rng).storage(storage);
    let raw = move_in(Box::new(core), site);
    Box::pin(async { Ok(Handle::new(raw.await?)) })
}

/// Starts the task of a node.
///
/// A box, and no inlining, because a future is compiled where it is first put into a box or waited
/// for: this one, and with it the whole driver, shall be compiled here and not by those who use it.
#[inline(never)]
fn move_in(core: Box<dyn NodeCore>, site: Site) -> Starting<RawHandle> {
    Box::pin(take_up(core, site))
}

async fn take_up(core: Box<dyn NodeCore>, site: Site) -> Result<RawHandle, NetError> {
    let Site { config, carriage } = site;
    let identity = Arc::new(Identity::new(&config));
    let mut rng = generator(&config);
    // Another one than the machine draws from.
    rng.long_jump();
    match carriage {
        TransportKind::Streams { transport, listener } => {
            identity.validate()?;
            let listener = match listener {
                Some(listener) => listener,
                None => bind(&transport, config.listens_on()).await?,
            };
            let (arrived, arrivals) = mpsc::unbounded_channel();
            let mut tasks = JoinSet::new();
            let timing = config.timing;
            let line =
                Line { transport, identity: Arc::clone(&identity), timing, arrivals: arrived };
            tasks.spawn(connecting::listen(listener, line.clone()));
            let world = TcpNetwork::new(&config, (line, arrivals), tasks, rng);
            let places = config.peers.len();
            Ok(set_to_work(core, (world, places), config, identity))
        }
        TransportKind::Datagrams { .. } if config.openness().is_some() => {
            let why = "members whose addresses others must learn meet over TCP alone";
            Err(NetError::Udp(why.to_owned()))
        }
        TransportKind::Datagrams { udp, socket } => {
            let mail = UdpNetwork::open(udp, socket, &config, &identity, rng).await?;
            Ok(set_to_work(core, (mail, UdpNetwork::PLACES), config, identity))
        }
    }
}

/// Starts the task of a node over a network with so many places of which it must be told.
fn set_to_work<W: Network>(
    core: Box<dyn NodeCore>,
    (world, places): (W, usize),
    config: Config,
    identity: Arc<Identity>,
) -> RawHandle {
    let (me, nodes) = (config.id, config.peers.len());
    let (control_sender, control) = mpsc::unbounded_channel();
    let (events, event_receiver) = broadcast::channel(EVENTS_KEPT);
    let (started, started_receiver) = watch::channel(false);
    let stopped = Arc::new(OnceLock::new());
    let driver = Driver {
        core,
        world,
        message: Vec::new(),
        config,
        identity,
        control,
        events,
        started,
        stopped: Arc::clone(&stopped),
        phase: Phase::Gathering,
        held: Vec::new(),
        fenced: None,
        eviction: None,
        ready_links: ReadyLinks::new(places + 1),
        sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
        sleeps_until: None,
        next_look: Instant::now(),
        told: vec![Told::Nothing; nodes],
        returning: None,
        belonging: None,
        health: None,
        seen_health: None,
        group_status: None,
        leaving: None,
        let_go: ReleaseOutcome::Nothing,
    };
    tokio::spawn(driver.run());
    RawHandle::new(me, control_sender, stopped, started_receiver, event_receiver)
}

async fn bind(
    transport: &AnyTransport,
    address: &str,
) -> Result<Box<dyn ErasedListener>, NetError> {
    let bound = transport.bind(address).await;
    bound.map_err(|source| NetError::Bind { address: address.to_owned(), source })
}

/// Every node of a group draws its own numbers from the group's seed.
fn generator(config: &Config) -> Xoshiro256PlusPlus {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(config.seed);
    for _ in 0..config.id.0 {
        generator.jump();
    }
    generator
}
