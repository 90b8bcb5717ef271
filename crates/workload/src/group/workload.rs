//! The workload of a group: members multicast, and some join and leave.

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::{Command, Notice};
use vorrang_protocol::{NodeId, show_duration_ns};
use vorrang_sim::{Distribution, Workload, WorkloadEffects};

use super::meter::Tally;

/// When one comes or goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// Which node.
    pub node: NodeId,
    /// Whether it comes.
    pub joins: bool,
}

impl Move {
    /// The command for it.
    pub const fn command(self) -> Input<Command> {
        Input::Ask(if self.joins { Command::Join } else { Command::Leave })
    }

    /// Those who come and go, as it would have to be typed.
    pub fn typed(moves: &[Self]) -> String {
        let mut text = String::new();
        for (option, joins) in [("join", true), ("leave", false)] {
            let moves = moves.iter().filter(|it| it.joins == joins);
            let moves: Vec<String> =
                moves.map(|it| format!("{}@{}", it.node, show_duration_ns(it.at_ns))).collect();
            if !moves.is_empty() {
                text += &format!(" --{option} {}", moves.join(","));
            }
        }
        text
    }
}

/// How long a run must go on, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RunLength {
    /// Before this, a fault may not have been detected yet.
    pub noticed: u64,
    /// After so long without news, there will be none.
    pub settles: u64,
    /// Between two looks whether it is so.
    pub gap: u64,
}

/// Members multicast now and then, and come and go when they are to.
#[derive(Clone, Debug)]
pub struct GroupWorkload {
    /// How often each is still to multicast.
    left: Vec<u64>,
    /// How long each waits from one time to the next.
    every: Distribution,
    /// The members that are about to multicast.
    speaks: Vec<bool>,
    /// How many these are.
    speakers: usize,
    /// The payload of the last multicast.
    said: u32,
    moves: Vec<Move>,
    /// How many of these are to come.
    moves_left: usize,
    /// How many of its own each node has made, or lost in a crash.
    moved: Vec<usize>,
    /// The nodes that join again as soon as they have left.
    comes_back: Vec<bool>,
    calm: RunLength,
    is_noticed: bool,
    /// When each last planned to look, and how often it still will.
    looks: Vec<(Option<u64>, u32)>,
    standing: Standing,
    /// The kinds of messages that are heartbeats.
    beats: &'static [&'static str],
}

impl GroupWorkload {
    /// Nodes that multicast so often, and of which the first so many have founded the group.
    pub fn new(
        (left, every): (Vec<u64>, Distribution),
        (nodes, founders): (u32, u32),
        (moves, calm): (Vec<Move>, RunLength),
        beats: &'static [&'static str],
    ) -> Self {
        let many = nodes as usize;
        Self {
            left,
            every,
            speaks: vec![false; many],
            speakers: 0,
            said: 0,
            moves_left: moves.len(),
            moves,
            moved: vec![0; many],
            comes_back: vec![false; many],
            calm,
            is_noticed: calm.noticed == 0,
            looks: vec![(None, 0); many],
            standing: Standing::new(nodes, founders),
            beats,
        }
    }

    /// The next time of a node that wants to belong to the group and has something to say.
    fn speak_later(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Input<Command>>) {
        let has_more = self.left.get(at.index()).is_some_and(|&left| left > 0);
        if has_more && self.standing.wants(at) && !self.speaks[at.index()] {
            self.speaks[at.index()] = true;
            self.speakers += 1;
            self.said += 1;
            let in_ns = orders.draw(self.every);
            orders.command_in(in_ns, at, Input::Ask(Command::Multicast(self.said.into())));
        }
    }

    fn is_silent(&mut self, at: NodeId) {
        if std::mem::take(&mut self.speaks[at.index()]) {
            self.speakers -= 1;
        }
    }

    /// Checks in a while whether all is done. The command for that is never given to a node.
    fn look_in(
        &mut self,
        in_ns: u64,
        at: NodeId,
        orders: &mut WorkloadEffects<'_, Input<Command>>,
    ) {
        self.looks[at.index()].1 += 1;
        orders.command_in(in_ns, at, Input::Beat);
    }

    /// There are news: looks at once if that may be all, and in any case when they are old.
    fn news(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Input<Command>>) {
        let RunLength { settles, gap, .. } = self.calm;
        let last = self.looks[at.index()].0;
        if last.is_none_or(|last_ns| orders.now_ns - last_ns >= gap) {
            self.looks[at.index()].0 = Some(orders.now_ns);
            self.look_in(settles.saturating_add(gap), at, orders);
        }
        if self.has_said_all() && self.standing.is_settled() {
            self.look_in(0, at, orders);
        }
    }

    /// A node has come or gone, or need not any more; true.
    fn has_moved(&mut self, at: NodeId) -> bool {
        self.moved[at.index()] += 1;
        self.moves_left = self.moves_left.saturating_sub(1);
        true
    }

    /// When a node is still to come or go.
    fn moves_of(&self, at: NodeId, now_ns: u64) -> Vec<Move> {
        let is_to_come = |it: &&Move| it.node == at && it.at_ns >= now_ns;
        self.moves.iter().filter(is_to_come).copied().collect()
    }

    const fn has_said_all(&self) -> bool {
        self.speakers == 0 && self.moves_left == 0
    }
}

impl Workload<Input<Command>, Notice> for GroupWorkload {
    type Meter = Tally;

    fn meter(&self, nodes: u32, kinds: &'static [&'static str]) -> Tally {
        Tally::new(nodes, kinds, self.beats)
    }

    fn on_start(&mut self, orders: &mut WorkloadEffects<'_, Input<Command>>) {
        // A node that is down from the start is told when it comes up.
        for it in self.moves.iter().filter(|it| self.standing.is_up(it.node)) {
            orders.command_in(it.at_ns, it.node, it.command());
        }
        for at in (0..orders.nodes).map(NodeId) {
            if self.standing.is_up(at) {
                self.speak_later(at, orders);
            }
            if !self.is_noticed {
                // As a look that also says that it is late enough.
                let noticed = self.calm.noticed;
                orders.command_in(noticed, at, Input::Trust(at));
                self.look_in(noticed.saturating_add(self.calm.settles), at, orders);
            }
        }
    }

    fn withholds(&mut self, at: NodeId, command: &Input<Command>) -> bool {
        match *command {
            Input::Ask(Command::Multicast(_)) if !self.standing.wants(at) => {
                self.is_silent(at);
                true
            }
            Input::Ask(Command::Join) if self.standing.is_still_in(at) => {
                self.comes_back[at.index()] = true;
                true
            }
            // The commands before it were lost in a crash.
            Input::Ask(Command::Join) if self.standing.wants(at) => self.has_moved(at),
            Input::Ask(Command::Leave) if !self.standing.wants(at) => self.has_moved(at),
            Input::Ask(Command::Join | Command::Leave | Command::Multicast(_)) => false,
            Input::Beat => {
                let pending = &mut self.looks[at.index()].1;
                *pending = pending.saturating_sub(1);
                true
            }
            Input::Trust(_) | Input::Suspect(_) => {
                self.is_noticed = true;
                true
            }
        }
    }

    fn on_command(
        &mut self,
        at: NodeId,
        command: &Input<Command>,
        orders: &mut WorkloadEffects<'_, Input<Command>>,
    ) {
        let Input::Ask(command) = command else { return };
        self.standing.on_command(at, command);
        match command {
            Command::Multicast(_) => {
                self.is_silent(at);
                self.left[at.index()] -= 1;
                self.speak_later(at, orders);
            }
            Command::Join => {
                self.has_moved(at);
                self.speak_later(at, orders);
            }
            Command::Leave => {
                self.has_moved(at);
            }
        }
        self.news(at, orders);
    }

    fn on_notice(
        &mut self,
        at: NodeId,
        notice: &Notice,
        orders: &mut WorkloadEffects<'_, Input<Command>>,
    ) {
        self.standing.on_notice(at, notice);
        if *notice == Notice::Out && std::mem::take(&mut self.comes_back[at.index()]) {
            orders.command_in(0, at, Input::Ask(Command::Join));
        }
        self.news(at, orders);
    }

    /// All has been said, and is where it should be; or nothing has come of anything for long.
    fn is_done(&self, faults_to_come: bool) -> bool {
        self.has_said_all()
            && !faults_to_come
            && (self.is_noticed && self.standing.is_settled()
                || self.looks.iter().all(|(_, pending)| *pending == 0))
    }

    /// Its pending multicast is lost, but not its join or leave, once it has restarted.
    fn on_crash(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Input<Command>>) {
        self.standing.on_crash(at);
        self.is_silent(at);
        self.comes_back[at.index()] = false;
        // Those to come, and those that have waited for the end of a pause.
        let lost = self.moves_of(at, 0).len().saturating_sub(self.moved[at.index()]);
        self.moves_left = self.moves_left.saturating_sub(lost);
        self.looks[at.index()] = (None, 0);
        for other in (0..orders.nodes).map(NodeId).filter(|&it| it != at) {
            if self.standing.is_up(other) {
                self.news(other, orders);
            }
        }
    }

    fn on_restart(&mut self, at: NodeId, orders: &mut WorkloadEffects<'_, Input<Command>>) {
        self.standing.on_restart(at);
        let to_come = self.moves_of(at, orders.now_ns);
        self.moved[at.index()] = self.moves_of(at, 0).len() - to_come.len();
        for it in to_come {
            self.moves_left += 1;
            orders.command_in(it.at_ns - orders.now_ns, at, it.command());
        }
        self.speak_later(at, orders);
        self.news(at, orders);
    }
}

/// Where everyone stands, as the applications know it.
#[derive(Clone, Debug)]
struct Standing {
    participants: Vec<Participant>,
    /// The number of the newest view, its members, and how much was multicast in it.
    newest: (u64, Vec<NodeId>, u64),
}

#[derive(Clone, Debug)]
struct Participant {
    is_up: bool,
    wants: bool,
    /// The view that it is in, if it is in one.
    view: Option<u64>,
    is_blocked: bool,
    /// How much it has delivered in that.
    delivered: u64,
    /// How much waits for the next.
    queued: u64,
}

impl Standing {
    fn new(nodes: u32, founders: u32) -> Self {
        let participant = |id| Participant {
            is_up: true,
            wants: id < founders,
            view: None,
            is_blocked: false,
            delivered: 0,
            queued: 0,
        };
        Self { participants: (0..nodes).map(participant).collect(), newest: (0, Vec::new(), 0) }
    }

    fn wants(&self, at: NodeId) -> bool {
        self.participants[at.index()].wants
    }
    fn is_up(&self, at: NodeId) -> bool {
        self.participants[at.index()].is_up
    }
    /// It wanted to leave, and has not yet.
    fn is_still_in(&self, at: NodeId) -> bool {
        let participant = &self.participants[at.index()];
        participant.view.is_some() && !participant.wants
    }

    fn on_command(&mut self, at: NodeId, command: &Command) {
        let participant = &mut self.participants[at.index()];
        match command {
            Command::Join => participant.wants = true,
            Command::Leave => {
                participant.wants = false;
                participant.queued = 0;
            }
            Command::Multicast(_) if participant.view.is_some() && !participant.is_blocked => {
                self.newest.2 += u64::from(participant.view == Some(self.newest.0));
            }
            Command::Multicast(_) => participant.queued += 1,
        }
    }

    fn on_notice(&mut self, at: NodeId, notice: &Notice) {
        let participant = &mut self.participants[at.index()];
        match notice {
            Notice::View { view, .. } => {
                if view.id > self.newest.0 {
                    self.newest = (view.id, view.nodes().collect(), 0);
                }
                if view.id == self.newest.0 {
                    self.newest.2 += std::mem::take(&mut participant.queued);
                }
                (participant.view, participant.is_blocked, participant.delivered) =
                    (Some(view.id), false, 0);
            }
            Notice::Delivered { .. } => participant.delivered += 1,
            Notice::Blocked => participant.is_blocked = true,
            Notice::Out => participant.view = None,
        }
    }

    fn on_crash(&mut self, at: NodeId) {
        let participant = &mut self.participants[at.index()];
        (participant.is_up, participant.view, participant.queued) = (false, None, 0);
    }
    fn on_restart(&mut self, at: NodeId) {
        self.participants[at.index()].is_up = true;
    }

    /// Whether all who are up and want in are in one view, with all of its messages.
    fn is_settled(&self) -> bool {
        let (id, members, sent) = &self.newest;
        let mut inside = 0;
        let are_settled =
            self.participants.iter().filter(|participant| participant.is_up).all(|participant| {
                let is_there = participant.view == Some(*id)
                    && !participant.is_blocked
                    && participant.delivered == *sent;
                inside += usize::from(is_there && participant.wants);
                if participant.wants { is_there } else { participant.view.is_none() }
            });
        are_settled && inside > 0 && inside == members.len()
    }
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::group::{Member, View};
    use vorrang_protocol::Digest;

    use super::*;

    fn installs(standing: &mut Standing, at: u32, id: u64, nodes: &[u32]) {
        let members =
            nodes.iter().map(|&node| Member { node: NodeId(node), incarnation: 0 }).collect();
        standing
            .on_notice(NodeId(at), &Notice::View { view: View { id, members }, state: Digest(0) });
    }

    fn founded() -> Standing {
        let mut standing = Standing::new(3, 2);
        assert!(!standing.is_settled(), "nobody is in a view");
        for at in 0..2 {
            installs(&mut standing, at, 1, &[0, 1]);
        }
        standing
    }

    #[test]
    fn settled_is_who_is_in_one_view_with_all_messages() {
        let mut standing = founded();
        assert!(standing.is_settled());
        standing.on_command(NodeId(0), &Command::Multicast(7.into()));
        assert!(!standing.is_settled());
        let delivered = Notice::Delivered { from: NodeId(0), number: 0, payload: 7.into() };
        standing.on_notice(NodeId(0), &delivered);
        assert!(!standing.is_settled());
        standing.on_notice(NodeId(1), &delivered);
        assert!(standing.is_settled());
        standing.on_notice(NodeId(1), &Notice::Blocked);
        assert!(!standing.is_settled());
        standing.on_command(NodeId(1), &Command::Multicast(8.into()));
        for at in 0..2 {
            installs(&mut standing, at, 2, &[0, 1]);
        }
        assert!(!standing.is_settled(), "what was said meanwhile is still to come");
    }

    #[test]
    fn whoever_comes_goes_or_is_down_changes_who_must_be_in() {
        let mut standing = founded();
        standing.on_command(NodeId(2), &Command::Join);
        assert!(!standing.is_settled());
        for at in 0..3 {
            installs(&mut standing, at, 2, &[0, 1, 2]);
        }
        assert!(standing.is_settled());
        let mut left = standing.clone();
        left.on_command(NodeId(1), &Command::Leave);
        assert!(left.is_still_in(NodeId(1)) && !left.is_settled());
        standing.on_crash(NodeId(2));
        assert!(!standing.is_settled(), "the view has a member that is down");
        for at in 0..2 {
            installs(&mut standing, at, 3, &[0, 1]);
        }
        assert!(standing.is_settled());
        standing.on_restart(NodeId(2));
        assert!(!standing.is_settled(), "and now it lacks one");
    }
}
