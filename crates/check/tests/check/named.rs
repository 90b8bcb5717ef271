//! Named locks: two names and two clients at a member, with every crash, restart and suspicion at
//! every moment, around small algorithms.
//!
//! `VORRANG_LARGE=1 cargo test -p vorrang-check --test check named` asks larger questions, too.

use std::num::NonZeroUsize;

use vorrang_algorithms::flaw::{AnyMistake, Flawed};
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::{Exclusive, NodeFactory};
use vorrang_algorithms::group::named::flaws::{BatchUnbounded, IdleForgotten, TokenHandedOn};
use vorrang_algorithms::group::named::spec::{NamedLocked, WithSuspicions};
use vorrang_algorithms::group::named::{
    Batch, Client, Command, Key, Kind, Limits, Name, NamedLocks, Notice, Value, Want,
};
use vorrang_algorithms::mutex::readers_writers::ClaimedExclusion;
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_check::{Ask, Bounds, Faults, Order, Outcome, Plan, System, explore};
use vorrang_protocol::{Effects, Group, NodeId, NodeState, Protocol, Refused, Relay};

use Want::{Exclusive as X, Shared as S};

/// A client that has lost what it had gives it back all the same, as its member may not have told
/// it yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tolerant<N>(N);

impl<N> Protocol for Tolerant<N>
where
    N: Protocol<Command = Input<Command>, Notice = Notice>,
{
    type Message = N::Message;
    type Timer = N::Timer;
    type Command = Input<Command>;
    type Notice = Notice;

    fn on_start(&mut self, fx: &mut impl Effects<Self>) {
        self.0.on_start(&mut Relay::<Self, _, _>::new(fx));
    }
    fn on_command(
        &mut self,
        command: Input<Command>,
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        let may_be_late = matches!(command, Input::Ask(Command::Withdraw { .. }));
        let done = self.0.on_command(command, &mut Relay::<Self, _, _>::new(fx));
        if may_be_late { Ok(()) } else { done }
    }
    fn on_message(&mut self, from: NodeId, message: N::Message, fx: &mut impl Effects<Self>) {
        self.0.on_message(from, message, &mut Relay::<Self, _, _>::new(fx));
    }
    fn on_timer(&mut self, timer: N::Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, &mut Relay::<Self, _, _>::new(fx));
    }
    fn on_restart(&mut self, fx: &mut impl Effects<Self>) {
        self.0.on_restart(&mut Relay::<Self, _, _>::new(fx));
    }
    fn state(&self) -> NodeState {
        self.0.state()
    }
    fn after_crash(&self, fresh: Self) -> Self {
        Self(self.0.after_crash(fresh.0))
    }
}

type Asks = Vec<Ask<Input<Command>>>;

fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

fn acquire(text: &str, client: Client, want: Want) -> Input<Command> {
    Input::Ask(Command::Acquire { name: name(text), client, want })
}

fn withdraw(text: &str, client: Client, kind: Kind) -> Input<Command> {
    Input::Ask(Command::Withdraw { key: Key { kind, name: name(text) }, client })
}

fn suspects(ids: &[u32]) -> Asks {
    ids.iter().map(|&of| Ask::at_once(Input::Suspect(NodeId(of)))).collect()
}

/// A client has it and gives it back.
fn turn(text: &str, client: Client, want: Want) -> Asks {
    let kind = want.kind();
    vec![Ask::then_wait(acquire(text, client, want)), Ask::to_end(withdraw(text, client, kind))]
}

/// Two clients that conflict: the second asks while the first has it.
fn two(text: &str, wants: [Want; 2]) -> Asks {
    let [first, second] = wants;
    let kind = first.kind();
    vec![
        Ask::then_wait(acquire(text, 1, first)),
        Ask { goes_on: true, ..Ask::at_once(acquire(text, 2, second)) },
        Ask { then_wait: true, ..Ask::to_end(withdraw(text, 1, kind)) },
        Ask::to_end(withdraw(text, 2, kind)),
    ]
}

/// Two clients that do not.
fn both(text: &str, want: &Want) -> Asks {
    let kind = want.kind();
    vec![
        Ask::then_wait(acquire(text, 1, want.clone())),
        Ask { goes_on: true, ..Ask::then_wait(acquire(text, 2, want.clone())) },
        Ask::to_end(withdraw(text, 1, kind)),
        Ask::to_end(withdraw(text, 2, kind)),
    ]
}

const LIMITS: Limits =
    Limits { batch: Batch { clients: 2, time: None }, idle_names: 100, bytes: 1000, at_once: 10 };

fn suzuki_kasami() -> NodeFactory<SuzukiKasami> {
    NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)))
}

fn readers_writers() -> NodeFactory<ClaimedExclusion> {
    NodeFactory::new(ClaimedExclusion::readers_writers)
}

/// A member of a group that all have founded.
fn member<P: Exclusive>(
    of: u32,
    anew: NodeFactory<P>,
    limits: Limits,
) -> impl Fn(NodeId) -> NamedLocks<P> {
    let founders: Vec<NodeId> = (0..of).map(NodeId).collect();
    move |id| NamedLocks::named(id, Group::of(of), &founders, anew.clone(), limits)
}

fn system<N>(
    lists: Vec<Asks>,
    monitor: NamedLocked,
    node: impl Fn(NodeId) -> N,
) -> System<Tolerant<N>, WithSuspicions>
where
    N: Protocol<Command = Input<Command>, Notice = Notice>,
{
    let group = Group::of(lists.len() as u32);
    let nodes = group.members().map(|id| Tolerant(node(id))).collect();
    System::new(nodes, Plan::PerNode(lists), WithSuspicions::of(monitor)).links(Order::Fifo)
}

fn strict(lists: &[Asks]) -> NamedLocked {
    NamedLocked::new(Group::of(lists.len() as u32))
}

/// How many states it has; or what is wrong, and the run to it.
fn explored<N>(system: &System<N, WithSuspicions>) -> Result<u64, (String, Vec<String>)>
where
    N: Protocol<Command = Input<Command>, Notice = Notice>,
{
    let bounds = Bounds::default().memory_bytes(4 << 30);
    let report = explore(system, &bounds, NonZeroUsize::MIN.saturating_add(1), |_| {});
    match report.outcome {
        Outcome::Verified => Ok(report.states),
        Outcome::Violated { violation, run } => {
            Err((violation.to_string(), run.moves.iter().map(ToString::to_string).collect()))
        }
        Outcome::Bounded { by } => panic!("{by:?} after {} states", report.states),
    }
}

/// How many states it has.
#[track_caller]
fn states<N>(system: &System<N, WithSuspicions>) -> u64
where
    N: Protocol<Command = Input<Command>, Notice = Notice>,
{
    match explored(system) {
        Ok(states) => states,
        Err((what, run)) => panic!("{what}\n{}", run.join("\n")),
    }
}

/// The first name twice at each of two members, and another once.
fn two_names() -> Vec<Asks> {
    vec![two("a", [X, X]), [turn("b", 1, X), two("a", [X, X]), turn("b", 1, X)].concat()]
}

#[test]
fn two_names_and_two_clients_without_faults() {
    let found = [
        states(&system(two_names(), strict(&two_names()), member(2, suzuki_kasami(), LIMITS))),
        states(&system(two_names(), strict(&two_names()), member(2, readers_writers(), LIMITS))),
    ];
    assert_eq!(found, [130, 226]);
}

#[test]
fn a_member_crashes_and_its_clients_with_it() {
    let lists = |turns| {
        vec![
            [suspects(&[2]), two("a", [X, X])].concat(),
            [suspects(&[2]), turns].concat(),
            turn("a", 1, X),
        ]
    };
    let asked = |lists: Vec<Asks>| {
        let monitor = strict(&lists).fenced();
        let system = system(lists, monitor, member(3, suzuki_kasami(), LIMITS));
        states(&system.faults(Faults::NONE.crashes(1)))
    };
    assert_eq!(asked(lists(turn("b", 1, X))), 165_413);
    if vorrang_testkit::is_set("VORRANG_LARGE") {
        assert!(asked(lists(turn("a", 1, X))) > 100_000);
        assert!(asked(lists([turn("b", 1, X), turn("a", 1, X)].concat())) > 100_000);
    }
}

#[test]
fn a_member_restarts_and_suspicions_are_wrong() {
    let lists = vec![
        [suspects(&[1]), two("a", [X, X]), turn("b", 1, X)].concat(),
        [suspects(&[0]), turn("b", 1, X), two("a", [X, X])].concat(),
    ];
    let asked = |faults| {
        let node = member(2, suzuki_kasami(), LIMITS);
        states(&system(lists.clone(), strict(&lists).fenced(), node).faults(faults))
    };
    let crash = Faults::NONE.crashes(1).restarts(1);
    assert_eq!([asked(Faults::NONE), asked(crash)], [94, 3523]);
    let lists = vec![
        two("a", [X, X]),
        [suspects(&[0]), turn("a", 1, X)].concat(),
        [suspects(&[0]), turn("b", 1, X)].concat(),
    ];
    let node = member(3, suzuki_kasami(), LIMITS);
    assert_eq!(states(&system(lists.clone(), strict(&lists).fenced(), node)), 63_389);
}

#[test]
fn those_who_share_are_inside_together() {
    let lists = vec![two("a", [S, X]), both("a", &S)];
    let node = member(2, readers_writers(), LIMITS);
    assert_eq!(states(&system(lists.clone(), strict(&lists), node)), 132);
    let lists = vec![
        [suspects(&[2]), turn("a", 1, S)].concat(),
        [suspects(&[2]), turn("a", 1, X)].concat(),
        turn("a", 1, S),
    ];
    let node = member(3, readers_writers(), LIMITS);
    let system = system(lists.clone(), strict(&lists).fenced(), node);
    assert_eq!(states(&system.faults(Faults::NONE.crashes(1))), 86_171);
}

#[test]
fn a_semaphore_has_as_many_holders_as_permits() {
    let of = Want::PermitOf;
    let lists = vec![both("a", &of(2)), [both("a", &of(2)), turn("a", 2, of(3))].concat()];
    let node = member(2, suzuki_kasami(), LIMITS);
    let without = states(&system(lists.clone(), strict(&lists), node));
    // The home of this name is the member that crashes, or not.
    let crashed = ["a", "b", "c"].map(|name| {
        let lists = vec![
            [suspects(&[2]), turn(name, 1, of(1))].concat(),
            [suspects(&[2]), turn(name, 1, of(1))].concat(),
            turn(name, 1, of(1)),
        ];
        let node = member(3, suzuki_kasami(), LIMITS);
        let system = system(lists.clone(), strict(&lists).fenced(), node);
        states(&system.faults(Faults::NONE.crashes(1)))
    });
    assert_eq!((without, crashed), (129, [52_012, 60_040, 56_258]));
}

#[test]
fn an_election_has_one_leader() {
    let lead = |text: &str| Want::Lead(Value::new(text).unwrap());
    let observe = || vec![Ask::at_once(Input::Ask(Command::Observe(name("a"))))];
    let lists = vec![
        [suspects(&[1]), turn("a", 1, lead("zero"))].concat(),
        [observe(), turn("a", 1, lead("one"))].concat(),
    ];
    let node = member(2, suzuki_kasami(), LIMITS);
    let system = system(lists.clone(), strict(&lists).fenced(), node);
    assert_eq!(states(&system.faults(Faults::NONE.crashes(1))), 228);
}

#[test]
fn idle_names_are_forgotten_by_another_view() {
    let limits = Limits { idle_names: 1, ..LIMITS };
    let node = member(2, suzuki_kasami(), limits);
    assert_eq!(states(&system(two_names(), strict(&two_names()), node)), 2537);
}

#[test]
fn reports_that_do_not_fit_into_a_decision_are_fetched() {
    let limits = Limits { bytes: 0, at_once: 1, ..LIMITS };
    let renew = || vec![Ask::at_once(Input::Ask(Command::Renew))];
    let lists = |also: Asks| {
        let held = vec![
            Ask::at_once(acquire("a", 1, X)),
            Ask::then_wait(acquire("b", 2, X)),
            Ask { then_wait: true, ..Ask::to_end(withdraw("a", 1, Kind::Lock)) },
            Ask::to_end(withdraw("b", 2, Kind::Lock)),
        ];
        vec![[also, held].concat(), [renew(), turn("b", 1, X)].concat()]
    };
    let asked = |also, faults| {
        let (lists, node) = (lists(also), member(2, suzuki_kasami(), limits));
        states(&system(lists.clone(), strict(&lists).fenced(), node).faults(faults))
    };
    let plain = asked(Vec::new(), Faults::NONE);
    assert_eq!([plain, asked(suspects(&[1]), Faults::NONE.crashes(1))], [406, 447]);
}

#[test]
fn a_number_that_comes_before_its_name_is_asked_for() {
    let lists = vec![two("a", [X, X]), [turn("a", 1, X), turn("b", 1, X)].concat()];
    let asked = |lists: Vec<Asks>, order| {
        let node = member(2, readers_writers(), LIMITS);
        states(&system(lists.clone(), strict(&lists), node).links(order))
    };
    assert_eq!([asked(lists.clone(), Order::Fifo), asked(lists, Order::Any)], [105, 395]);
}

/// What is wrong with this mistake, and how long the shortest run to it is.
fn wrong<P: Exclusive>(
    lists: Vec<Asks>,
    monitor: NamedLocked,
    node: impl Fn(NodeId) -> NamedLocks<P>,
    mistake: &'static dyn AnyMistake<NamedLocks<P>>,
) -> (String, usize) {
    let correct = system(lists.clone(), monitor.clone(), &node);
    states(&correct);
    let flawed = system(lists, monitor, |id| Flawed::new(node(id), mistake));
    let (what, run) = explored(&flawed).expect_err("it is wrong");
    println!("{what}\n{}\n", run.join("\n"));
    (what.split(':').next().unwrap_or_default().to_owned(), run.len())
}

#[test]
fn what_is_wrong_on_purpose_is_found() {
    let nodes = || member(2, suzuki_kasami(), LIMITS);
    let again = vec![[turn("a", 1, X), turn("a", 1, X)].concat(), turn("a", 1, X)];
    let then = |client| {
        let next = Ask { goes_on: true, ..Ask::at_once(acquire("a", client + 1, X)) };
        [next, Ask { then_wait: true, ..Ask::to_end(withdraw("a", client, Kind::Lock)) }]
    };
    let four = [
        vec![Ask::then_wait(acquire("a", 1, X))],
        [then(1), then(2), then(3)].concat(),
        vec![Ask::to_end(withdraw("a", 4, Kind::Lock))],
    ]
    .concat();
    let batches = vec![four, turn("a", 1, X)];
    let found = [
        wrong(again.clone(), strict(&again), nodes(), &IdleForgotten),
        wrong(two_names(), strict(&two_names()), nodes(), &TokenHandedOn),
        wrong(batches.clone(), strict(&batches).in_batches_of(2), nodes(), &BatchUnbounded),
    ];
    let found = found.each_ref().map(|(property, steps)| (property.as_str(), *steps));
    assert_eq!(found, [("fencing", 4), ("fencing", 3), ("batches", 9)]);
}
