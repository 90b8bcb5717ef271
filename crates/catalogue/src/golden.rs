//! Small runs of every algorithm that read as prose: a set-up, then a script with its answers.

/// A small run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Golden {
    /// Its name, as its file has it.
    pub name: &'static str,
    /// What it shows, in a line.
    pub shows: &'static str,
    /// The script.
    pub text: &'static str,
}

/// The texts of files, by their names, and what they show.
macro_rules! runs {
    ($($name:literal: $shows:literal,)*) => {
        &[$(Golden {
            name: $name,
            shows: $shows,
            text: include_str!(concat!("../tests/golden/", $name, ".run")),
        },)*]
    };
}

/// Every golden run, in alphabetical order of names.
pub const RUNS: &[Golden] = runs![
    "ack": "a lost message is sent again to the one member that misses it",
    "ack_restart": "a member crashes and comes back as a second incarnation",
    "bully": "the highest node is dead, and the next highest takes the lead",
    "bully_divided": "two leaders with one number: the higher node is followed",
    "bully_forgotten": "a mistake: without stable storage an old number leads once more",
    "bully_restart": "the leader crashes, is replaced, and takes the lead again",
    "bus_reset": "a cable is pulled out and plugged in again; each part has a root",
    "cao_singhal": "the permissions of a quorum are handed on, not taken home",
    "cao_singhal_fallback": "the root of a tree of quorums is down, and another quorum asked",
    "cao_singhal_thirteen": "three requests meet at 13 nodes: permissions are handed on",
    "carvalho_roucairol": "permissions are kept: whoever enters again sends nothing",
    "carvalho_roucairol_re_request": "a node gives a permission away and asks for it again",
    "central": "three clients and one node that decides for all",
    "central_overtaking": "a later request arrives first and enters first",
    "chang_roberts": "two call on a ring, and the highest number comes round",
    "dijkstra_scholten": "work is passed on along a ring until its end is noticed",
    "echo": "a wave goes through a triangle with a tail and comes back",
    "echo_deep": "slow links make the spanning tree a line",
    "echo_election": "three waves meet, and that of the highest node survives",
    "echo_lift": "a wave finds the token, and requests follow its tree back",
    "echo_taboo": "explorers carry the names of those that are reached already",
    "echo_taboo_swallowed": "a mistake as printed: an explorer is swallowed, and one waits",
    "elected_lift": "a wave elects who has the token first",
    "group_exclusion": "two of one class are inside together, another class waits",
    "heartbeat": "a late heartbeat: a wrong suspicion is taken back",
    "k_exclusion": "two of four may be inside, and the third waits",
    "lamport": "two ask at once with equal times: the lower node goes first",
    "lift": "a request overtakes the token and is not sent back",
    "maekawa": "two nodes with a lock each, and three who want both",
    "maekawa_basic": "the basic form, one after the other: each needs one more lock",
    "maekawa_basic_thirteen": "three requests meet at 13 nodes: a deadlock",
    "maekawa_fallback": "the root of a tree of quorums is down, and another quorum asked",
    "maekawa_thirteen": "three requests meet at 13 nodes, and all enter",
    "majority_votes": "two of five are dead, and the others go on",
    "majority_votes_timely": "a node crashes inside, and gives its votes back when it is up",
    "nack": "gaps and heartbeats show what was lost",
    "nack_gone": "what the sender keeps no more is reported as missed",
    "raymond": "the token goes up and down a tree",
    "readers_writers": "readers enter together, and the writer has its turn",
    "regenerating_raymond": "the token is lost with a crash and made anew on the tree",
    "regenerating_ring": "the token is only late: it is made anew, and the old one dropped",
    "regenerating_suzuki_kasami": "the token is lost with a crash and made anew",
    "reliable": "reliable channels: a lost message, a double one, an incarnation",
    "resource_sets": "three who need different resources, two of them together",
    "ricart_agrawala": "two ask at once with equal times: the lower node goes first",
    "ricart_agrawala_probing": "a node crashes inside, is probed, and needed no longer",
    "ricart_agrawala_stamps": "stamps 8 and 12: the older request goes first",
    "ring_election": "the list goes round the ring past a dead node",
    "ring_election_repeated": "the new leader crashes before it knows, and all repeat",
    "sanders": "an information structure: who asks whom, and two messages suffice",
    "singhal": "requests go down a staircase, and the sets change with it",
    "singhal_thirteen": "five of 13 enter one after the other",
    "singhal_together": "one of 13 is inside when three others ask",
    "srm": "the nearer member asks for a repair, the farther one is silent",
    "srm_near": "a loss at the end of a line is repaired by a neighbour",
    "suzuki_kasami": "requests go to all, and the token to one after the other",
    "suzuki_kasami_four": "three entries of four messages, and one for nothing",
    "token_ring": "the token rests, and goes round when somebody wants in",
    "token_ring_overtaking": "a later request enters first, as the token is near",
    "token_ring_priorities": "a token is reserved by the more urgent, and others age",
    "token_ring_two_resources": "two tokens are taken in one order: no deadlock",
    "total_order": "the sequencer decides whose request is first",
    "total_order_skeen": "all propose a place, and the largest decides",
    "tree_election": "the ends of a line ask, and two contend for the root",
    "tree_election_at_once": "acknowledgements are sent before the root is known",
    "tree_election_gather": "a node waits to be asked on its last link: 2(N − 1) messages",
    "view_leader": "who leads is read off the view; its crash makes the next",
    "virtual_synchrony": "a multicast whose sender has crashed reaches all who go on",
    "watching_bully": "a leader that is heard no more is replaced",
    "watching_ring": "a leader that is heard no more is replaced, on a ring",
];

/// The run of that name, which may be written with hyphens.
pub fn find(name: &str) -> Option<&'static Golden> {
    let name = name.replace('-', "_");
    RUNS.iter().find(|run| run.name == name)
}

impl Golden {
    /// Its name, as it is typed.
    pub fn typed(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Its algorithm.
    pub fn algorithm(&self) -> &'static str {
        self.text.split_whitespace().next().unwrap_or_default()
    }
}
