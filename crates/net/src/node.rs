//! How a node is put together and started.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use vorrang_protocol::Protocol;

use crate::application::{Application, ApplicationEffects, Forward};
use crate::clock::Clock;
use crate::config::Config;
use crate::driver::{Driver, Phase};
use crate::error::NetError;
use crate::handle::{EVENTS_KEPT, Handle};
use crate::hello::{Identity, draw_incarnation};
use crate::meet;
use crate::recorder::{Recorder, Tape};
use crate::timers::Timers;
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
    pub async fn start(self) -> Result<(Handle<P>, mpsc::UnboundedReceiver<P::Notice>), NetError> {
        let (sender, notices) = mpsc::unbounded_channel();
        let handle = self.start_with(Forward(sender)).await?;
        Ok((handle, notices))
    }

    /// Starts the node with an application inside its task, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the configuration makes no sense.
    pub async fn start_with(self, application: impl Application<P>) -> Result<Handle<P>, NetError> {
        let Self { machine, config, transport, listener, recorder } = self;
        config.validate()?;
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
        let handle =
            Handle::new(me, control_sender, Arc::clone(&stopped), started_receiver, event_receiver);
        let tape = recorder.map(|(recorder, clock)| Tape::new(me, recorder, clock));
        let driver = Driver {
            machine,
            world: World::new(me, &config.peers, generator(&config), tape),
            application,
            fx: ApplicationEffects::new(),
            asked: VecDeque::new(),
            later: Timers::new(),
            later_so_far: 0,
            config,
            identity,
            transport,
            control,
            arrivals,
            door,
            tasks,
            events,
            started,
            stopped,
            phase: Phase::Gathering,
            held: Vec::new(),
            fenced: None,
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            sleeps_until: None,
            next_look: None,
        };
        tokio::spawn(driver.run());
        Ok(handle)
    }
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
