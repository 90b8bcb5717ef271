//! How a node is put together and started.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use vorrang_protocol::Protocol;

use crate::application::{Application, Forward};
use crate::clock::Clock;
use crate::config::Config;
use crate::driver::{Driver, Phase};
use crate::error::{NetError, StopReason};
use crate::event::Event;
use crate::handle::{Control, EVENTS_KEPT, Handle};
use crate::hello::{Identity, draw_incarnation};
use crate::meet;
use crate::recorder::{Recorder, Tape};
use crate::resident::{Household, Resident};
use crate::transport::{Tcp, Transport};
use crate::world::World;

/// A node that has not started yet.
pub struct Node<P: Protocol, T: Transport = Tcp> {
    machine: P,
    config: Config,
    transport: T,
    listener: Option<T::Listener>,
    recorder: Option<(Box<dyn Recorder<P>>, Clock)>,
}

impl<P: Protocol, T: Transport> std::fmt::Debug for Node<P, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("machine", &self.machine)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl<P: Protocol> Node<P> {
    /// A node that runs `machine` over TCP.
    pub fn new(machine: P, config: Config) -> Self {
        Self::over(Tcp, machine, config)
    }
}

impl<P: Protocol, T: Transport> Node<P, T> {
    /// A node that runs `machine` over another transport.
    pub fn over(transport: T, machine: P, config: Config) -> Self {
        Self { machine, config, transport, listener: None, recorder: None }
    }

    /// Takes connections from `listener`, which is bound already, instead of binding the address in
    /// the list of peers: so ports can be drawn by the system before anybody needs to know them.
    #[must_use]
    pub fn listener(mut self, listener: T::Listener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Records everything that happens at the node, on `clock`.
    #[must_use]
    pub fn record(mut self, recorder: impl Recorder<P>, clock: Clock) -> Self {
        self.recorder = Some((Box::new(recorder), clock));
        self
    }

    /// Starts the node on the current tokio runtime; what it tells comes out of the receiver.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the configuration makes no sense.
    pub fn start(self) -> Starting<(Handle<P::Command>, mpsc::UnboundedReceiver<P::Notice>)> {
        let (sender, notices) = mpsc::unbounded_channel();
        let handle = self.start_with(Forward(sender));
        Box::pin(with(handle, notices))
    }

    /// Starts the node with an application inside its task, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the configuration makes no sense.
    pub fn start_with(self, application: impl Application<P>) -> Starting<Handle<P::Command>> {
        let Self { machine, config, transport, listener, recorder } = self;
        let me = config.id;
        let tape = recorder.map(|(recorder, clock)| Tape::new(me, recorder, clock));
        let (nodes, rng) = (config.peers.len(), generator(&config));
        let resident = Household::new(machine, application, me, nodes, rng, tape);
        Box::pin(take_up(Box::new(resident), config, transport, listener))
    }
}

/// A node that is being started. It is a box, so that what waits for it is compiled once for all
/// algorithms with the same commands.
pub type Starting<X> = Pin<Box<dyn Future<Output = Result<X, NetError>> + Send>>;

async fn with<H, N>(handle: Starting<H>, notices: N) -> Result<(H, N), NetError> {
    Ok((handle.await?, notices))
}

async fn take_up<C: Send + 'static, T: Transport>(
    resident: Box<dyn Resident>,
    config: Config,
    transport: T,
    listener: Option<T::Listener>,
) -> Result<Handle<C>, NetError> {
    config.validate()?;
    let me = config.id;
    let (control, stopped, started, events) =
        move_in(resident, config, transport, listener).await?;
    Ok(Handle::new(me, control, stopped, started, events))
}

/// What a handle holds on to.
type Reins = (
    mpsc::UnboundedSender<Control>,
    Arc<OnceLock<StopReason>>,
    watch::Receiver<bool>,
    broadcast::Receiver<Event>,
);

/// Starts the task of a node, whoever lives in it.
async fn move_in<T: Transport>(
    resident: Box<dyn Resident>,
    config: Config,
    transport: T,
    listener: Option<T::Listener>,
) -> Result<Reins, NetError> {
    let (me, timing) = (config.id, config.timing);
    let listener = match listener {
        Some(listener) => listener,
        None => bind(&transport, &config.peers[me.index()]).await?,
    };
    let identity = Arc::new(identity(&config));
    let (door, arrivals) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(meet::listen(listener, Arc::clone(&identity), timing, door.clone()));

    let (control_sender, control) = mpsc::unbounded_channel();
    let (events, event_receiver) = broadcast::channel(EVENTS_KEPT);
    let (started, started_receiver) = watch::channel(false);
    let stopped = Arc::new(OnceLock::new());
    let mut rng = generator(&config);
    // Another one than the machine draws from.
    rng.long_jump();
    let driver = Driver {
        resident,
        world: World::new(me, &config.peers),
        message: Vec::new(),
        rng,
        config,
        identity,
        transport,
        control,
        arrivals,
        door,
        tasks,
        events,
        started,
        stopped: Arc::clone(&stopped),
        phase: Phase::Gathering,
        held: Vec::new(),
        fenced: None,
        sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
        sleeps_until: None,
        next_look: None,
    };
    tokio::spawn(driver.run());
    Ok((control_sender, stopped, started_receiver, event_receiver))
}

async fn bind<T: Transport>(transport: &T, address: &str) -> Result<T::Listener, NetError> {
    let bound = transport.bind(address).await;
    bound.map_err(|source| NetError::Bind { address: address.to_owned(), source })
}

fn identity(config: &Config) -> Identity {
    Identity {
        group: config.group.clone(),
        algorithm: config.algorithm.clone(),
        nodes: config.peers.len() as u32,
        me: config.id,
        incarnation: draw_incarnation(),
    }
}

/// Every node of a group draws its own numbers from the group's seed.
fn generator(config: &Config) -> Xoshiro256PlusPlus {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(config.seed);
    for _ in 0..config.id.0 {
        generator.jump();
    }
    generator
}
