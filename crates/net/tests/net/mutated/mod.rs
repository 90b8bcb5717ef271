//! Messages that no correct node would send, to every machine that can run over a network: real
//! ones with bytes changed, from other senders, at other receivers, late and twice. What can be
//! read and is within bounds is handled, as [`Machine`](vorrang_net) would, and no handler may
//! panic, whatever it makes of it.
//!
//! Of a lock on views more is asked, if it is a node without a place in the group that says such
//! things: no member sends a number that is out of bounds, with which its node would end; no word
//! makes it say more than a few things to each; and what it keeps does not grow with what it is
//! told.
//!
//! `VORRANG_FUZZ_SECONDS=3600 cargo test -p vorrang-net --test net mutated` goes on for that long,
//! from a seed of its own; `VORRANG_FUZZ_SEED=17` tries that seed alone, at every machine.

mod dice;

use std::fmt::Display;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::group::founding::Founding;
use vorrang_algorithms::group::locks::{
    Lease, NodeFactory, OnViews, on_views, with_memory, without_memory,
};
use vorrang_algorithms::group::named::Limits;
use vorrang_algorithms::group::virtual_synchrony::open;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::{Ordering, Parameter, Setup};
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::on_views::NamedLocksBetweenProcesses;
use vorrang_catalogue::{Catalogued, NodeOf, find};
use vorrang_erased::{AnyMessage, AnyNode, AnyTimer, MAX_INTEGER, MessageBounds};
use vorrang_net::OpaqueNode;
use vorrang_protocol::{Data, Effect, Group, Message as _, NodeId, Outbox, Protocol as _};

use self::dice::{Dice, Says};

const NODES: u32 = 4;
/// Steps of one run, after which all begin anew.
const STEPS: u32 = 300;
/// The same where a stranger speaks.
const STRANGERS_STEPS: u32 = 3000;
/// The node that is then none of the group.
const STRANGER: NodeId = NodeId(NODES - 1);
/// How many messages a member sends at most when it has heard one of a stranger.
const MOST_SENT: usize = 3 * NODES as usize;
/// How long the state of a member is at most, as text.
const LONGEST_STATE: usize = 30_000;
/// Runs of each machine, if nothing else is asked for.
const RUNS: u64 = 60;

/// The nodes of one run, with what is under way between them.
struct Network<C: Data, N: Data> {
    nodes: Vec<AnyNode<C, N>>,
    says: Says<C>,
    timers: Vec<Vec<AnyTimer>>,
    /// Sender, receiver and message, also of those that have arrived.
    sent: Vec<(NodeId, NodeId, Vec<u8>)>,
    handled: u64,
    /// How many messages the last handler has sent.
    sent_last: usize,
    /// Whether one was out of bounds.
    is_unbounded: bool,
}

impl<C: Data, N: Data> Network<C, N> {
    fn new(nodes: Vec<AnyNode<C, N>>, says: Says<C>) -> Self {
        let (timers, sent) = (vec![Vec::new(); nodes.len()], Vec::new());
        Self { nodes, says, timers, sent, handled: 0, sent_last: 0, is_unbounded: false }
    }

    fn act(
        &mut self,
        dice: &mut Dice,
        at: NodeId,
        act: impl FnOnce(
            &mut AnyNode<C, N>,
            &mut Outbox<AnyNode<C, N>, &mut dyn FnMut(NonZeroU32) -> u32>,
        ),
    ) {
        let mut choose = |bound: NonZeroU32| dice.below(bound.get() as usize) as u32;
        let mut outbox = Outbox::new(&mut choose as &mut dyn FnMut(NonZeroU32) -> u32);
        act(&mut self.nodes[at.index()], &mut outbox);
        let effects = outbox.take();
        let timers = &mut self.timers[at.index()];
        self.sent_last = 0;
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    self.sent_last += 1;
                    self.is_unbounded |= !message.is_bounded(BOUNDS);
                    let mut bytes = Vec::new();
                    message.encode(&mut bytes).expect("plain data can be encoded");
                    if to.0 < NODES {
                        self.sent.push((at, to, bytes));
                    }
                }
                Effect::SetTimer { timer, .. } if !timers.contains(&timer) => timers.push(timer),
                Effect::CancelTimer(timer) => timers.retain(|it| *it != timer),
                Effect::SetTimer { .. } | Effect::Notify(_) => {}
            }
        }
        // The oldest are forgotten.
        let too_many = self.sent.len().saturating_sub(64);
        self.sent.drain(..too_many);
    }

    fn step(&mut self, dice: &mut Dice) {
        let at = dice.node();
        match dice.below(8) {
            0 => {
                if let Some(command) = (self.says.anything)(dice) {
                    self.act(dice, at, |node, fx| {
                        // Not all commands are for all.
                        let _ = node.on_command(command, fx);
                    });
                }
            }
            1 if !self.timers[at.index()].is_empty() => {
                let timers = &mut self.timers[at.index()];
                let timer = timers.swap_remove(dice.below(timers.len()));
                self.act(dice, at, |node, fx| node.on_timer(timer, fx));
            }
            _ if self.sent.is_empty() => {}
            _ => self.deliver(dice),
        }
    }

    fn deliver(&mut self, dice: &mut Dice) {
        let place = dice.below(self.sent.len());
        let (mut from, mut to, mut bytes) = match dice.below(4) {
            // A copy, and the message itself later.
            0 => self.sent[place].clone(),
            _ => self.sent.remove(place),
        };
        let other = self.sent.get(dice.below(self.sent.len())).map(|it| it.2.clone());
        match dice.below(8) {
            0 => from = dice.node(),
            1 => to = dice.node(),
            2..=5 => {
                for _ in 0..=dice.below(3) {
                    dice.mutate(&mut bytes, other.as_deref().unwrap_or(&[0]));
                }
            }
            _ => {}
        }
        let read = self.nodes[to.index()].decode(&bytes).filter(|it| it.is_bounded(BOUNDS));
        // Over a network no message comes from the node itself.
        if let Some(message) = read.filter(|_| from != to) {
            self.handled += 1;
            self.act(dice, to, |node, fx| node.on_message(from, message, fx));
        }
    }
}

/// What a message may say at most.
const BOUNDS: MessageBounds = MessageBounds { largest: MAX_INTEGER, nodes: NODES };

/// With a stranger.
impl<C: Data, N: Data> Network<C, N> {
    /// Something happens in the group, or the stranger says something that somebody has said in it,
    /// with a few things changed; but it does not ask to be let in.
    fn step_with_stranger(&mut self, dice: &mut Dice) -> Result<(), String> {
        let is_member = |node: NodeId| node != STRANGER;
        if dice.below(2) == 0 {
            if !self.sent.is_empty() && dice.below(2) == 0 {
                let (from, to, bytes) = self.sent.remove(0);
                let message = self.nodes[to.index()].decode(&bytes).expect("it was written here");
                if is_member(to) {
                    self.act(dice, to, |node, fx| node.on_message(from, message, fx));
                }
                return Ok(());
            }
            let at = NodeId(dice.below(NODES as usize - 1) as u32);
            let timers = &mut self.timers[at.index()];
            if !timers.is_empty() && dice.below(4) > 0 {
                let timer = timers.swap_remove(dice.below(timers.len()));
                self.act(dice, at, |node, fx| node.on_timer(timer, fx));
            } else if let Some(command) = (self.says.request)(dice) {
                self.act(dice, at, |node, fx| {
                    // At the wrong moment it is refused.
                    let _ = node.on_command(command, fx);
                });
            }
            return Ok(());
        }
        if self.sent.is_empty() {
            return Ok(());
        }
        let (_, to, mut bytes) = self.sent[dice.below(self.sent.len())].clone();
        let other = self.sent[dice.below(self.sent.len())].2.clone();
        for _ in 0..=dice.below(3) {
            dice.mutate(&mut bytes, &other);
        }
        let read = self.nodes[to.index()].decode(&bytes).filter(|it| it.is_bounded(BOUNDS));
        let says = |message: &AnyMessage| is_member(to) && !message.is_status();
        let Some(message) = read.filter(says) else { return Ok(()) };
        self.handled += 1;
        let words = message.to_string();
        self.act(dice, to, |node, fx| node.on_message(STRANGER, message, fx));
        match self.sent_last {
            sent if sent > MOST_SENT => Err(format!("sends {sent} messages because of {words}")),
            _ => Ok(()),
        }
    }

    /// What is wrong with the members after all.
    fn verdict(&self) -> Result<(), String> {
        if self.is_unbounded {
            return Err("sends a number that is out of bounds".to_owned());
        }
        let lengths = self.nodes[..STRANGER.index()].iter().map(|it| it.state().to_string().len());
        match lengths.max() {
            Some(longest) if longest > LONGEST_STATE => {
                Err(format!("keeps what it is told: its state has {longest} bytes"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

type Lock = OnViews<OpaqueNode<Command, Notice>>;

/// What a lock on views is made of.
struct Made<'a> {
    id: NodeId,
    setup: &'a Setup,
    founding: Founding,
    factory: NodeFactory<OpaqueNode<Command, Notice>>,
    lease: Option<Lease>,
}

fn founded(Made { id, setup, factory, lease, .. }: Made<'_>) -> Lock {
    let founders: Vec<NodeId> = setup.group.members().collect();
    on_views(id, setup, &founders, factory, lease)
}

fn forgetful(Made { id, setup, founding, factory, lease }: Made<'_>) -> Lock {
    without_memory(id, setup, (0, Some(founding)), factory, lease)
}

fn remembering(Made { id, setup, founding, factory, lease }: Made<'_>) -> Lock {
    with_memory(id, setup, (0, founding), factory, lease)
}

/// What has come of the attacks so far.
#[derive(Default)]
struct Outcome {
    handled: u64,
    panics: Vec<String>,
}

impl Outcome {
    /// Tries one machine with one seed.
    fn attack<C: Data, N: Data>(
        &mut self,
        name: &str,
        (seed, says): (u64, Says<C>),
        nodes: impl Fn() -> Vec<AnyNode<C, N>>,
    ) {
        let mut dice = Dice(seed);
        let mut network = Network::new(nodes(), says);
        let ran = catch_unwind(AssertUnwindSafe(|| {
            for at in (0..NODES).map(NodeId) {
                network.act(&mut dice, at, |node, fx| node.on_start(fx));
            }
            for _ in 0..STEPS {
                network.step(&mut dice);
            }
        }));
        self.handled += network.handled;
        if ran.is_err() {
            self.panics.push(format!("{name} panics with VORRANG_FUZZ_SEED={seed}"));
        }
    }

    /// The same, and it is a stranger that says such things.
    fn attack_as_stranger<C: Data, N: Data>(
        &mut self,
        name: &str,
        (seed, says): (u64, Says<C>),
        nodes: impl Fn() -> Vec<AnyNode<C, N>>,
    ) {
        let mut dice = Dice(seed);
        let mut network = Network::new(nodes(), says);
        let ran = catch_unwind(AssertUnwindSafe(|| {
            for at in (0..STRANGER.0).map(NodeId) {
                network.act(&mut dice, at, |node, fx| node.on_start(fx));
            }
            for _ in 0..STRANGERS_STEPS {
                network.step_with_stranger(&mut dice)?;
            }
            network.verdict()
        }));
        self.handled += network.handled;
        let what = match ran {
            Ok(Ok(())) => return,
            Ok(Err(what)) => what,
            Err(_) => "panics".to_owned(),
        };
        self.panics.push(format!("{name}, told by a stranger: {what} (VORRANG_FUZZ_SEED={seed})"));
    }

    /// Tries all algorithms of a problem.
    fn attack_all<Q>(&mut self, seed: u64)
    where
        Q: Catalogued + Problem<Command: FromStr<Err: Display>>,
    {
        for entry in Q::entries().iter().filter(|entry| entry.flaw.is_none()) {
            let usual = entry.card.setup(Group::of(NODES));
            let setups = if entry.card.takes.contains(&Parameter::Ordering) {
                let ordered = |ordering| Setup { ordering, ..usual.clone() };
                Ordering::ALL.into_iter().map(ordered).collect()
            } else {
                vec![usual]
            };
            for setup in setups.iter().filter(|setup| entry.nodes(setup).is_ok()) {
                let name = format!("{} {}", entry.card.name, setup.text(entry.card.takes));
                self.attack(&name, (seed, Says::TYPED), || {
                    entry.nodes(setup).expect("the set-up fits")
                });
            }
        }
    }

    /// Tries locks on views, as they run over TCP: founded from the start, without stable storage
    /// and with it; and a group that processes join.
    fn attack_on_views(&mut self, seed: u64) {
        for name in ["ricart-agrawala", "suzuki-kasami", "raymond", "maekawa", "central"] {
            let entry = find::<Mutex>(name, None).expect("it is in the catalogue");
            let factory = || {
                NodeFactory::<OpaqueNode<_, _>>::new(move |me, group: Group| {
                    let setup = entry.card.setup(group);
                    let node: NodeOf<Mutex> = entry.recipe.nodes(&setup).expect("it fits")(me);
                    OpaqueNode::new(node, group.size())
                })
            };
            let founders: Vec<NodeId> = (0..NODES).map(NodeId).collect();
            let setup = Setup::new(Group::of(NODES));
            let lease = seed.is_multiple_of(2).then(|| Lease::new(Duration::from_millis(20), 0));
            // A few may have founded it, and the others join.
            let some: Vec<NodeId> = founders[..=(seed % 4) as usize].to_vec();
            let founding = Founding { view: 1, founders: some, patience: 0 };
            for (kind, make) in [
                ("", founded as fn(_) -> _),
                (" without data", forgetful),
                (" with data", remembering),
            ] {
                self.attack(&format!("{name} on views{kind}"), (seed, Says::TYPED), || {
                    let node = |&id| {
                        let founding = founding.clone();
                        AnyNode::new(make(Made {
                            id,
                            setup: &setup,
                            founding,
                            factory: factory(),
                            lease,
                        }))
                    };
                    founders.iter().map(node).collect()
                });
            }
        }
        self.attack_as_strangers(seed);
        let founding = Founding { view: 1, founders: vec![NodeId(0)], patience: 0 };
        let setup = Setup::new(Group::of(NODES));
        self.attack("virtual-synchrony without data", (seed, Says::TYPED), || {
            let node = |id| AnyNode::new(open(NodeId(id), &setup, (0, Some(founding.clone()))));
            (0..NODES).map(node).collect()
        });
    }

    /// Tries groups of all nodes but the last, with one algorithm after the other.
    fn attack_as_strangers(&mut self, seed: u64) {
        let names = ["ricart-agrawala", "suzuki-kasami", "maekawa", "raymond"];
        let name = names[(seed / 2) as usize % names.len()];
        let entry = find::<Mutex>(name, None).expect("it is in the catalogue");
        let setup = Setup::new(Group::of(NODES));
        let founders: Vec<NodeId> = (0..STRANGER.0).map(NodeId).collect();
        let founding = Founding { view: 1, founders, patience: 0 };
        let lease = seed.is_multiple_of(2).then(|| Lease::new(Duration::from_millis(20), 0));
        for (kind, make) in [("without data", forgetful as fn(_) -> _), ("with data", remembering)]
        {
            let says = (seed, Says::TYPED);
            self.attack_as_stranger(&format!("{name} on views {kind}"), says, || {
                let node = |id| {
                    let factory = NodeFactory::<OpaqueNode<_, _>>::new(move |me, group: Group| {
                        let setup = entry.card.setup(group);
                        let node: NodeOf<Mutex> = entry.recipe.nodes(&setup).expect("it fits")(me);
                        OpaqueNode::new(node, group.size())
                    });
                    let (founding, id) = (founding.clone(), NodeId(id));
                    AnyNode::new(make(Made { id, setup: &setup, founding, factory, lease }))
                };
                (0..NODES).map(node).collect()
            });
        }
    }

    /// Tries groups that have many named locks, with and without stable storage: among themselves,
    /// and with a stranger.
    fn attack_named(&mut self, seed: u64) {
        let names = ["ricart-agrawala", "suzuki-kasami", "central"];
        let name = names[(seed / 2) as usize % names.len()];
        let setup = Setup::new(Group::of(NODES));
        let lease = seed.is_multiple_of(2).then(|| Lease::new(Duration::from_millis(20), 0));
        // Little fits a message, and names are forgotten soon.
        let limits = Limits { idle_names: 3, bytes: 64, at_once: 2, ..Limits::USUAL };
        let entry = find::<Mutex>(name, None).expect("it is in the catalogue");
        let by_size = entry.in_every_view(&setup).expect("it fits views of every size");
        let locks = NamedLocksBetweenProcesses::new(by_size, limits, lease);
        let nodes = |founders: u32, has_data: bool| {
            let founders = (0..founders).map(NodeId).collect();
            let founding = Founding { view: 1, founders, patience: 0 };
            let node = |id| {
                if has_data {
                    locks.with_memory(NodeId(id), &setup, (0, founding.clone()))
                } else {
                    locks.without_memory(NodeId(id), &setup, (0, Some(founding.clone())))
                }
            };
            (0..NODES).map(node).collect()
        };
        let some = 1 + (seed % u64::from(NODES)) as u32;
        for (kind, has_data) in [("without data", false), ("with data", true)] {
            let name = format!("named locks by {name} {kind}");
            self.attack(&name, (seed, Says::NAMED), || nodes(some, has_data));
            let says = (seed, Says::NAMED);
            self.attack_as_stranger(&name, says, || nodes(STRANGER.0, has_data));
        }
    }

    fn attack_everything(&mut self, seed: u64) {
        self.attack_all::<Mutex>(seed);
        self.attack_all::<Election>(seed);
        self.attack_all::<Wave>(seed);
        self.attack_all::<Detection>(seed);
        self.attack_all::<Multicast>(seed);
        self.attack_all::<GroupCommunication>(seed);
        self.attack_on_views(seed);
        self.attack_named(seed);
    }
}

#[test]
fn no_message_makes_a_machine_panic() {
    let number = vorrang_testkit::number;
    let mut outcome = Outcome::default();
    if let Some(seed) = number("VORRANG_FUZZ_SEED") {
        outcome.attack_everything(seed);
    } else if let Some(seconds) = number("VORRANG_FUZZ_SECONDS") {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
        let (began, mut seed) = (Instant::now(), now.as_micros() as u64);
        while began.elapsed() < Duration::from_secs(seconds) {
            outcome.attack_everything(seed);
            seed += 1;
        }
        println!("{} messages were handled, up to seed {seed}", outcome.handled);
    } else {
        (0..RUNS).for_each(|seed| outcome.attack_everything(seed));
        assert!(outcome.handled > 80_000, "only {} messages could be read", outcome.handled);
    }
    assert!(outcome.panics.is_empty(), "{}", outcome.panics.join("\n"));
}
