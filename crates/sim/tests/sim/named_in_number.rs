//! Named locks in number: what names cost that are used once, and what those cost that are in use.
//!
//! `VORRANG_NAMES=10000000 cargo test -p vorrang-sim --release --test sim named_in_number` uses so
//! many once; and a hundredth as many at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::NodeFactory;
use vorrang_algorithms::group::locks::message::Timer;
use vorrang_algorithms::group::named::{
    Client, Command, Key, Kind, Limits, Name, NamedLocks, Notice, Want,
};
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_protocol::{Effect, Group, GroupView, NodeId, Outbox, Protocol};

type Node = NamedLocks<SuzukiKasami>;

const MEMBERS: u32 = 3;

/// Members, and what is under way between them.
struct Stage {
    nodes: Vec<Node>,
    flight: VecDeque<(NodeId, NodeId, <Node as Protocol>::Message)>,
    timers: VecDeque<(NodeId, <Node as Protocol>::Timer)>,
    grants: u64,
    /// How long the longest event took.
    longest: Duration,
    fx: Outbox<Node>,
}

impl Stage {
    fn new(limits: Limits) -> Self {
        let universe = Group::of(MEMBERS);
        let founders: Vec<NodeId> = universe.members().collect();
        let node = |id| {
            let anew = NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)));
            Node::named(id, universe, &founders, anew, limits)
        };
        let mut stage = Self {
            nodes: universe.members().map(node).collect(),
            flight: VecDeque::new(),
            timers: VecDeque::new(),
            grants: 0,
            longest: Duration::ZERO,
            fx: Outbox::default(),
        };
        for at in universe.members() {
            stage.happens(at, Protocol::on_start);
        }
        stage
    }

    fn happens(&mut self, at: NodeId, act: impl FnOnce(&mut Node, &mut Outbox<Node>)) {
        let began = Instant::now();
        act(&mut self.nodes[at.index()], &mut self.fx);
        self.longest = self.longest.max(began.elapsed());
        for effect in self.fx.effects.drain(..) {
            match effect {
                Effect::Send { to, message } => self.flight.push_back((at, to, message)),
                Effect::Notify(Notice::Granted { .. }) => self.grants += 1,
                Effect::SetTimer { timer: timer @ Timer::Lock(..), .. } => {
                    self.timers.push_back((at, timer));
                }
                Effect::Notify(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }

    fn ask(&mut self, at: NodeId, command: Command) {
        self.happens(at, |node, fx| node.on_command(Input::Ask(command), fx).unwrap());
    }

    /// Delivers all that is under way, and lets all timers of views run out.
    fn settle(&mut self) {
        loop {
            if let Some((from, to, message)) = self.flight.pop_front() {
                self.happens(to, |node, fx| node.on_message(from, message, fx));
            } else if let Some((at, timer)) = self.timers.pop_front() {
                self.happens(at, |node, fx| node.on_timer(timer, fx));
            } else {
                return;
            }
        }
    }

    fn view(&self) -> u64 {
        let GroupView { view, .. } = self.nodes[0].group_view().unwrap();
        view
    }
}

fn key(number: u64) -> Key {
    Key { kind: Kind::Lock, name: Name::new(&format!("name {number}")).unwrap() }
}

fn acquire(number: u64, client: Client) -> Command {
    Command::Acquire { name: key(number).name, client, want: Want::Exclusive }
}

fn names() -> u64 {
    vorrang_testkit::number("VORRANG_NAMES").unwrap_or(20_000)
}

#[test]
fn memory_does_not_grow_with_the_number_of_names_ever_used() {
    const IDLE: usize = 500;
    let mut stage = Stage::new(Limits { idle_names: IDLE, ..Limits::USUAL });
    let memory = allocation_counter::measure(|| {
        for number in 0..names() {
            let at = NodeId(number as u32 % MEMBERS);
            stage.ask(at, acquire(number, 1));
            stage.settle();
            stage.ask(at, Command::Release { key: key(number), client: 1 });
            stage.settle();
        }
    });
    assert_eq!(stage.grants, names());
    println!("{} bytes at most, {} views", memory.bytes_max, stage.view());
    let most = IDLE as u64 * 2 * u64::from(MEMBERS) * 1500;
    assert!(memory.bytes_max < most, "{} of {most}", memory.bytes_max);
    let views = names() / IDLE as u64;
    assert!((views / 2..=views + 2).contains(&stage.view()), "{} views", stage.view());
}

/// Each name is held by one member and waited for by another. Then the view ends.
#[test]
fn names_in_use_are_small_and_are_begun_again_bit_by_bit() {
    let used = names().div_ceil(10).min(100_000);
    let mut stage = Stage::new(Limits::USUAL);
    let memory = allocation_counter::measure(|| {
        for number in 0..used {
            stage.ask(NodeId(number as u32 % MEMBERS), acquire(number, 1));
            stage.settle();
            stage.ask(NodeId((number as u32 + 1) % MEMBERS), acquire(number, 1));
            stage.settle();
        }
    });
    assert_eq!(stage.grants, used);
    let each = memory.bytes_current / i64::try_from(used).unwrap() / i64::from(MEMBERS);
    stage.longest = Duration::ZERO;
    let began = Instant::now();
    stage.ask(NodeId(1), Command::Renew);
    stage.settle();
    assert_eq!(stage.view(), 2);
    let (all, longest) = (began.elapsed(), stage.longest);
    println!("{used} names: {each} bytes each; a view change {all:?}, an event {longest:?}");
    assert!(each <= 1000, "{each} bytes a name and member");
    for number in 0..used {
        let at = NodeId(number as u32 % MEMBERS);
        stage.ask(at, Command::Release { key: key(number), client: 1 });
    }
    stage.settle();
    assert_eq!(stage.grants, 2 * used, "whoever waited has it now");
}
