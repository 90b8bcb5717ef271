//! How good a failure detector was: after Wei Chen, Sam Toueg and Marcos Kawazoe Aguilera, "On the
//! quality of service of failure detectors", IEEE Transactions on Computers 51(5), 2002.

use vorrang_algorithms::detection::{Command, Notice};
use vorrang_protocol::NodeId;
use vorrang_trace::{Meter, Sent, Traffic};

use crate::times::Times;

/// The suspicions of each pair: since when, and whether rightly.
#[derive(Clone, Debug)]
pub struct Tally {
    traffic: Traffic,
    /// For each node, since when it is down.
    down: Vec<Option<u64>>,
    /// For each node and each other, since when it suspects that.
    suspects: Vec<Vec<Option<DetectorQuality>>>,
    /// From a crash until it was suspected for good.
    detections: Times,
    undetected: u64,
    mistakes: Times,
    /// For how long nodes that were up suspected others that were, all together.
    wrong_ns: u128,
    /// For how long they could have.
    pairs_ns: u128,
    /// Up to when that has been added up.
    upto_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct DetectorQuality {
    since_ns: u64,
    /// The other was up when it began, and never down before.
    is_mistake: bool,
}

impl Tally {
    /// No figures yet, among so many nodes.
    pub fn new(nodes: u32, kinds: &'static [&'static str]) -> Self {
        let nodes_len = nodes as usize;
        Self {
            traffic: Traffic::new(nodes, kinds),
            down: vec![None; nodes_len],
            suspects: vec![vec![None; nodes_len]; nodes_len],
            detections: Times::default(),
            undetected: 0,
            mistakes: Times::default(),
            wrong_ns: 0,
            pairs_ns: 0,
            upto_ns: 0,
        }
    }

    /// All messages.
    pub const fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    /// From crashes until those who were up suspected them for good.
    pub const fn detections(&self) -> Times {
        self.detections
    }
    /// How many live nodes in the end do not suspect a crashed one.
    pub const fn undetected(&self) -> u64 {
        self.undetected
    }
    /// How long those were suspected that were up.
    pub const fn mistakes(&self) -> Times {
        self.mistakes
    }
    /// The query accuracy: the probability that a live node is not suspected.
    pub fn accuracy(&self) -> Option<f64> {
        (self.pairs_ns > 0).then(|| 1.0 - self.wrong_ns as f64 / self.pairs_ns as f64)
    }

    /// The oldest false suspicion: of which node, at which node, and since when.
    pub fn oldest_wrong(&self) -> Option<(usize, usize, u64)> {
        let nodes = 0..self.down.len();
        let pairs = nodes.clone().flat_map(|at| nodes.clone().map(move |of| (at, of)));
        let wrong = pairs.filter(|&(at, of)| self.is_up(at) && self.is_up(of));
        let since = |(at, of): (usize, usize)| Some((at, of, self.suspects[at][of]?.since_ns));
        wrong.filter_map(since).min_by_key(|it| it.2)
    }

    fn is_up(&self, id: usize) -> bool {
        self.down[id].is_none()
    }

    /// Adds up the time until now, in which everyone was up or down as they are.
    fn pass(&mut self, now_ns: u64) {
        let up = self.down.iter().filter(|it| it.is_none()).count() as u128;
        let passed = u128::from(now_ns.saturating_sub(self.upto_ns));
        self.pairs_ns += up * up.saturating_sub(1) * passed;
        self.upto_ns = self.upto_ns.max(now_ns);
    }

    /// A false suspicion is over.
    fn take_back(&mut self, suspicion: DetectorQuality, now_ns: u64) {
        let lasted = now_ns.saturating_sub(suspicion.since_ns);
        self.wrong_ns += u128::from(lasted);
        if suspicion.is_mistake {
            self.mistakes.add(lasted);
        }
    }

    /// All suspicions of a node that is or was down.
    fn settle(&mut self, of: usize, crashed_ns: u64) {
        for at in 0..self.suspects.len() {
            if at == of || !self.is_up(at) {
                continue;
            }
            match self.suspects[at][of] {
                Some(it) => self.detections.add(it.since_ns.saturating_sub(crashed_ns)),
                None => self.undetected += 1,
            }
        }
    }

    /// The same, when a run has ended.
    #[must_use]
    pub fn ended(&self, end_ns: u64) -> Self {
        let mut ended = self.clone();
        ended.pass(end_ns);
        for of in 0..ended.down.len() {
            if let Some(crashed_ns) = ended.down[of] {
                ended.settle(of, crashed_ns);
                continue;
            }
            for at in 0..ended.down.len() {
                if let Some(it) = ended.suspects[at][of].take() {
                    ended.take_back(it, end_ns);
                }
            }
        }
        ended
    }
}

impl Meter<Command, Notice> for Tally {
    type Tag = ();
    type Summary = Self;

    fn on_command(&mut self, _: u64, _: NodeId, command: &Command) {
        match *command {}
    }
    fn on_notice(&mut self, at_ns: u64, at: NodeId, notice: &Notice) {
        match *notice {
            Notice::Suspect(of) => {
                let is_mistake = self.is_up(of.index());
                let suspicion = DetectorQuality { since_ns: at_ns, is_mistake };
                self.suspects[at.index()][of.index()] = Some(suspicion);
            }
            Notice::Trust(of) => {
                let taken_back = self.suspects[at.index()][of.index()].take();
                if let Some(it) = taken_back.filter(|_| self.is_up(of.index())) {
                    self.take_back(it, at_ns);
                }
            }
        }
    }
    fn on_send(&mut self, from: NodeId, to: NodeId, sent: Sent) {
        self.traffic.on_send(from, to, sent);
    }
    fn on_receive(&mut self, _: u64, from: NodeId, at: NodeId, (): ()) {
        self.traffic.on_receive(from, at);
    }
    /// False suspicions of it are right from now on; its own are forgotten.
    fn on_crash(&mut self, at_ns: u64, at: NodeId) {
        self.pass(at_ns);
        for other in 0..self.down.len() {
            if let Some(it) = self.suspects[other][at.index()].as_mut() {
                let was =
                    std::mem::replace(it, DetectorQuality { since_ns: at_ns, is_mistake: false });
                self.take_back(was, at_ns);
            }
            let own = self.suspects[at.index()][other].take();
            if let Some(it) = own.filter(|_| self.is_up(other)) {
                self.take_back(it, at_ns);
            }
        }
        self.down[at.index()] = Some(at_ns);
    }
    /// Right suspicions of it are false from now on.
    fn on_restart(&mut self, at_ns: u64, at: NodeId) {
        self.pass(at_ns);
        if let Some(crashed_ns) = self.down[at.index()].take() {
            for other in (0..self.down.len()).filter(|&it| it != at.index()) {
                if !self.is_up(other) {
                    continue;
                }
                if let Some(it) = self.suspects[other][at.index()].as_mut() {
                    self.detections.add(it.since_ns.saturating_sub(crashed_ns));
                    it.since_ns = at_ns;
                    it.is_mistake = false;
                }
            }
        }
    }
    fn progress(&self) -> u64 {
        self.traffic.messages()
    }
    fn summary(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: NodeId = NodeId(1);

    fn tally(nodes: u32) -> Tally {
        Tally::new(nodes, &["HEARTBEAT"])
    }

    fn suspect(tally: &mut Tally, at_ns: u64, at: u32, of: u32) {
        tally.on_notice(at_ns, NodeId(at), &Notice::Suspect(NodeId(of)));
    }

    fn trust(tally: &mut Tally, at_ns: u64, at: u32, of: u32) {
        tally.on_notice(at_ns, NodeId(at), &Notice::Trust(NodeId(of)));
    }

    #[test]
    fn a_crash_is_detected_when_it_is_suspected_for_good() {
        let mut tally = tally(3);
        tally.on_crash(100, ONE);
        suspect(&mut tally, 110, 0, 1);
        trust(&mut tally, 115, 0, 1);
        suspect(&mut tally, 130, 0, 1);
        let ended = tally.ended(200);
        assert_eq!((ended.detections.count, ended.detections.max_ns, ended.undetected), (1, 30, 1));
        assert_eq!((ended.mistakes.count, ended.wrong_ns), (0, 0), "a late message is no mistake");
        suspect(&mut tally, 150, 2, 1);
        let ended = tally.ended(200);
        assert_eq!(ended.detections.mean(), Some(40.0));
        assert_eq!((ended.detections.max(), ended.undetected()), (Some(50.0), 0));
    }

    #[test]
    fn whoever_was_suspected_wrongly_when_it_crashed_was_detected_at_once() {
        let mut tally = tally(2);
        suspect(&mut tally, 90, 0, 1);
        tally.on_crash(100, ONE);
        let ended = tally.ended(200);
        assert_eq!((ended.detections.count, ended.detections.max_ns), (1, 0));
        assert_eq!((ended.mistakes.count, ended.mistakes.max_ns), (1, 10));
        assert_eq!(ended.accuracy(), Some(1.0 - 10.0 / 200.0), "two pairs for a hundred");
    }

    #[test]
    fn mistakes_last_until_they_are_taken_back_or_the_run_ends() {
        let mut tally = tally(2);
        suspect(&mut tally, 10, 0, 1);
        trust(&mut tally, 14, 0, 1);
        suspect(&mut tally, 90, 1, 0);
        assert_eq!(tally.oldest_wrong(), Some((1, 0, 90)));
        let ended = tally.ended(100);
        assert_eq!((ended.mistakes.count, ended.mistakes.mean()), (2, Some(7.0)));
        assert_eq!(ended.accuracy(), Some(1.0 - 14.0 / 200.0));
        assert_eq!(tally.ended(100).mistakes.count, 2, "asked twice, the same");
    }

    #[test]
    fn whoever_comes_up_again_is_suspected_wrongly_but_by_no_mistake() {
        let mut tally = tally(2);
        tally.on_crash(10, ONE);
        suspect(&mut tally, 20, 0, 1);
        tally.on_restart(50, ONE);
        trust(&mut tally, 58, 0, 1);
        let ended = tally.ended(60);
        assert_eq!((ended.detections.count, ended.detections.max_ns), (1, 10));
        assert_eq!((ended.mistakes.count, ended.wrong_ns), (0, 8));
        assert_eq!(ended.pairs_ns, 2 * 10 + 2 * 10);
    }

    #[test]
    fn what_a_node_believed_goes_down_with_it() {
        let mut tally = tally(3);
        suspect(&mut tally, 10, 1, 2);
        tally.on_crash(25, ONE);
        let ended = tally.ended(30);
        assert_eq!((ended.mistakes.count, ended.mistakes.max_ns), (1, 15));
        assert_eq!(ended.undetected, 2);
    }
}
