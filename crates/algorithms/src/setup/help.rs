//! The longer help texts of parameters.

pub(super) const REST: &str = "\
    How long a token stays at every node after a round in which nobody used it [default: \
    1ms]";
pub(super) const RESOURCES: &str = "\
    How many resources there are, each with its own token, all of which an entry needs \
    [default: 1]";
pub(super) const CONTENTION: &str = "\
    How root contention between two nodes is resolved: wait (each waits a short or a long \
    time, as a coin falls), firewire (240ns to 260ns or 570ns to 600ns, as in IEEE \
    1394-1995, on links of 23ns if nothing else is said), firewire-a (760ns to 850ns or \
    1590ns to 1670ns, as in 1394a), or id (the higher is the parent) [default: wait]";
pub(super) const ACKNOWLEDGE: &str = "\
    When a node is told that the one which it has asked is its parent: with-root (when the \
    root is known, and who it is) or at-once (before the parent asks itself; of the root \
    it hears later) [default: with-root]";
pub(super) const AGGREGATE: &str = "\
    What the wave brings back of the nodes' values: sum, max, min, count, or collect, \
    which is all of them by node [default: sum]";
pub(super) const VALUES: &str = "\
    The value of each node, a number a node, such as 4,0,7, or a file of numbers [default: \
    ids, to each node its number]";
pub(super) const WORK: &str = "\
    How many pieces of work the computation has whose end is to be found out [default: \
    twice as many as there are nodes]";
pub(super) const WINDOW: &str = "\
    How many unacknowledged messages a sender may have: its flow-control window [default: \
    64]";
pub(super) const TAIL: &str = "\
    How the loss of the last message is detected: heartbeat (the sender repeats its \
    highest sequence number until all have everything), stop (it does so three times) or \
    none [default: heartbeat]";
pub(super) const HISTORY: &str = "\
    How many of its last messages a sender keeps: it then need not know its receivers and \
    waits for none, and what a receiver asks for too late is a gap that is reported to its \
    application. A number, at most --window, or all (what not all members are known to \
    have) [default: all]";
pub(super) const TRIES: &str = "\
    After how many tries in a row that a member does not answer it is taken for crashed: \
    no sender waits for it any more. Right if no message takes longer than --within and \
    fewer than so many are lost in a row. A number, or never [default: never]";
pub(super) const ORDERING: &str = "\
    In which order messages are delivered: fifo, causal, sequencer, token, lamport or \
    skeen; the last four are total [default: fifo; sequencer of total-order]";
pub(super) const WAITS: &str = "\
    How long to wait before requesting a missing message, and before repairing it, in \
    units of distance: fixed, adaptive, star, line, or C1,C2,D1,D2 [default: fixed]";
pub(super) const DISTANCES: &str = "\
    Whether distances to other members are measured or known: measured or known [default: \
    measured; known in a check]";
pub(super) const MARGIN: &str = "\
    How late a heartbeat may be before its sender is suspected; doubled after every false \
    suspicion, up to --margin-cap times, and halved again after a quiet time \
    [default: 500us; 100ms over a network, 800ms of node --on-views \
    and run --net --on-views]";
pub(super) const MARGIN_CAP: &str = "\
    How many times as long as at first a margin may become: a bound on how long a crash stays \
    unnoticed after wrong suspicions [default: 10]";
pub(super) const MARGIN_HALVES_AFTER: &str = "\
    After what time without a false suspicion one doubling of a margin is taken back, or never \
    [default: 60s; never in a check]";
pub(super) const DRAWS: &str = "\
    From how many different waits one is drawn, the shortest and the longest included \
    [default: 1001; 2 in a check]";
pub(super) const SCOPE: &str = "\
    How many links a request goes at first, and the repair that answers it no further than \
    to all who may have heard it; if that brings nothing, the next request goes to all: a \
    number of links, or all [default: all]";
pub(super) const FOUNDERS: &str = "\
    How many nodes found the group, those with the lowest numbers; others join when they \
    ask to [default: all; all but one in a check]";
pub(super) const DETECTOR: &str = "\
    The failure detector: heartbeats, or told (by the commands suspect, trust and beat) \
    [default: heartbeats; told in a check]";
pub(super) const TOPOLOGY: &str = "\
    The topology: ring, line, star, complete, tree:2, grid, torus, hypercube, random-tree, \
    random:0.1, or a file of links [default: what the algorithm is usually run on]";
pub(super) const QUORUM: &str = "\
    The quorum system: plane, cyclic, grid, majority, weighted:2,1,1, triangle, \
    wall:1,2,3, tree, all, singleton, sets:0-1,1-2,0-2, or a file of sets; `quorum --help` \
    lists all [default: the plane if there is one of so many nodes, else the grid]";
