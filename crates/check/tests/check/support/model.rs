//! Ricart–Agrawala as a model of its own, written from the algorithm's description and not from
//! our machine: a second opinion on what there is to explore. The tests explore it by a search over
//! whole states; the benchmark `check` gives the same model to Stateright, as the yardstick for
//! speed, and checks that Stateright finds as many states.
//!
//! It is written to be fast there: plain integers, a sorted vector for the messages in flight.

use vorrang_check::Order;

/// The system: how often each node enters, and how messages arrive.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) entries: Vec<u32>,
    pub(crate) order: Order,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    nodes: Vec<Node>,
    /// Sorted; on FIFO links by link alone, oldest first.
    network: Vec<NamedMessage>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    clock: u64,
    status: Status,
    /// Requests that wait for a reply: time and node.
    deferred: Vec<(u64, u32)>,
    entries_left: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Status {
    Idle,
    /// With the request's time and a bit for every node that has replied.
    Wanted(u64, u32),
    Held,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct NamedMessage {
    from: u32,
    to: u32,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Content {
    Request(u64),
    /// The time of the request that it answers, and the replier's clock.
    Reply(u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    Ask(usize),
    Leave(usize),
    Receive(usize),
}

impl Model {
    fn post(&self, network: &mut Vec<NamedMessage>, letter: NamedMessage) {
        let place = match self.order {
            Order::Any => network.partition_point(|it| *it < letter),
            Order::Fifo => {
                network.partition_point(|it| (it.from, it.to) <= (letter.from, letter.to))
            }
        };
        network.insert(place, letter);
    }

    pub(crate) fn start(&self) -> World {
        let node = |&entries_left: &u32| Node {
            clock: 0,
            status: Status::Idle,
            deferred: Vec::new(),
            entries_left,
        };
        World { nodes: self.entries.iter().map(node).collect(), network: Vec::new() }
    }

    /// All that can happen next.
    pub(crate) fn actions(&self, world: &World, actions: &mut Vec<Act>) {
        for (index, node) in world.nodes.iter().enumerate() {
            match node.status {
                Status::Idle if node.entries_left > 0 => actions.push(Act::Ask(index)),
                Status::Held => actions.push(Act::Leave(index)),
                Status::Idle | Status::Wanted(..) => {}
            }
        }
        for (place, letter) in world.network.iter().enumerate() {
            let follows = place > 0 && {
                let before = &world.network[place - 1];
                match self.order {
                    Order::Any => before == letter,
                    Order::Fifo => (before.from, before.to) == (letter.from, letter.to),
                }
            };
            if !follows {
                actions.push(Act::Receive(place));
            }
        }
    }

    /// What then is.
    pub(crate) fn next(&self, last: &World, action: Act) -> World {
        let World { nodes, network } = &mut last.clone();
        match action {
            Act::Ask(index) => {
                let node = &mut nodes[index];
                node.clock += 1;
                node.entries_left -= 1;
                let (me, time) = (index as u32, node.clock);
                node.status = Status::Wanted(time, 1 << me);
                for to in (0..nodes.len() as u32).filter(|&to| to != me) {
                    let content = Content::Request(time);
                    self.post(network, NamedMessage { from: me, to, content });
                }
            }
            Act::Leave(index) => {
                let node = &mut nodes[index];
                node.status = Status::Idle;
                for (time, to) in node.deferred.drain(..) {
                    let from = index as u32;
                    let content = Content::Reply(time, node.clock);
                    self.post(network, NamedMessage { from, to, content });
                }
            }
            Act::Receive(place) => {
                let NamedMessage { from, to, content } = network.remove(place);
                let everyone = (1 << nodes.len()) - 1;
                let node = &mut nodes[to as usize];
                match (content, node.status) {
                    (Content::Request(time), status) => {
                        node.clock = node.clock.max(time);
                        let defer = match status {
                            Status::Idle => false,
                            Status::Wanted(mine, _) => (mine, to) < (time, from),
                            Status::Held => true,
                        };
                        if defer {
                            node.deferred.push((time, from));
                            node.deferred.sort_unstable();
                        } else {
                            let content = Content::Reply(time, node.clock);
                            let (from, to) = (to, from);
                            self.post(network, NamedMessage { from, to, content });
                        }
                    }
                    (Content::Reply(time, clock), Status::Wanted(mine, replied))
                        if time == mine =>
                    {
                        node.clock = node.clock.max(clock);
                        let replied = replied | 1 << from;
                        node.status = if replied == everyone {
                            Status::Held
                        } else {
                            Status::Wanted(mine, replied)
                        };
                    }
                    (
                        Content::Reply(_, clock),
                        Status::Idle | Status::Wanted(..) | Status::Held,
                    ) => {
                        node.clock = node.clock.max(clock);
                    }
                }
            }
        }
        World { nodes: std::mem::take(nodes), network: std::mem::take(network) }
    }
}

impl World {
    /// At most one node is inside.
    pub(crate) fn is_safe(&self) -> bool {
        self.nodes.iter().filter(|node| node.status == Status::Held).count() <= 1
    }

    /// Nobody waits when nothing can happen any more.
    pub(crate) fn makes_progress(&self) -> bool {
        !self.network.is_empty()
            || self.nodes.iter().any(|node| node.status == Status::Held)
            || !self.nodes.iter().any(|node| matches!(node.status, Status::Wanted(..)))
    }
}
