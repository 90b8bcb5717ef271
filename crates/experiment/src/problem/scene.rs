//! The common part of all scenarios.

use std::fmt;

use serde_json::{Value, json};
use vorrang_algorithms::card::About;
use vorrang_algorithms::setup::{Setup, Unfit};
use vorrang_protocol::Graph;
use vorrang_sim::{Faults, Network};
use vorrang_trace::Header;

use super::channels::Layer;
use super::mutex::on_views::Views;
use super::remarks::assumptions;
use crate::environment::Environment;

/// The common part of all scenarios. A problem says what only it knows; how that is written down
/// with all the rest is the same for all.
pub trait Scene: Clone + fmt::Debug + Send + Sync + 'static {
    /// The card of the algorithm.
    fn about(&self) -> About;
    /// How it is set up.
    fn setup(&self) -> &Setup;
    /// The environment.
    fn between(&self) -> &Environment;
    /// How far the run goes, as its meter counts it.
    fn total(&self) -> u64;
    /// When it ends at the latest.
    fn ends_ns(&self) -> u64 {
        u64::MAX
    }
    /// The links along which messages are passed on, if they do not go straight to their receivers.
    fn routes(&self) -> Option<Graph> {
        None
    }
    /// The views that it is on, if it is.
    fn views(&self) -> Option<&Views> {
        None
    }
    /// The links along which nodes may send at all, if they are not all there are. Members of a
    /// view have numbers of their own in it, and are linked by those.
    fn graph(&self) -> Result<Option<Graph>, Unfit> {
        if self.views().is_some() {
            Ok(None)
        } else {
            self.about().assumes.layout.graph(self.setup())
        }
    }
    /// Adds to what a trace says of the run, so that it can be done once more.
    fn note(&self, header: Header) -> Header {
        match (self.views(), self.between()) {
            (Some(views), _) => views.note(header),
            (None, environment) if environment.is_reliable => {
                Layer::simulated(environment).note(header)
            }
            (None, _) => header,
        }
    }
    /// What is to be said of the options of a run, whatever comes of it.
    fn warning(&self) -> Option<String> {
        None
    }
    /// Whether its options allow that it never makes progress, without any fault.
    fn may_get_stuck(&self) -> bool {
        false
    }
    /// The remark for a run with faults that ended badly.
    fn caveat(&self) -> String {
        if self.views().is_some() {
            return "on views a node that cannot reach a majority waits".to_owned();
        }
        assumptions(&self.about(), self.setup())
    }
    /// Its name on a page of a comparison.
    fn title(&self) -> String;
    /// The problem's own options, as they would have to be typed, for the simulator or for a real
    /// network.
    fn own_options(&self, net: bool) -> String;
    /// The problem's own parameters, as the figures of a run begin with them, in the simulator or
    /// over a real network.
    fn own_head(&self, net: bool) -> Vec<(&'static str, Value)>;

    /// The network between the nodes.
    fn network(&self) -> Network {
        self.between().network()
    }
    /// The faults, if any.
    fn faults(&self) -> Option<Faults> {
        // With a mistake or a fault a run may never make progress: that must be detected.
        let is_flawed = self.views().is_some_and(Views::is_flawed);
        self.between().faults.clone().or_else(|| is_flawed.then(Faults::default))
    }
    /// Decides all that is drawn.
    fn seed(&self) -> u64 {
        self.between().seed
    }
    /// The options in one line, for the simulator or for a real network.
    fn options(&self, net: bool) -> String {
        let (setup, own) = (self.setup().text(self.about().takes), self.own_options(net));
        let guarded = if self.between().is_guarded { " --invariants" } else { "" };
        let breaks = if self.between().breaks { " --break-assumptions" } else { "" };
        let seed = format!("--seed {}{breaks}{guarded}", self.seed());
        let environment =
            if net { seed + &self.between().faults_typed() } else { self.between().options() };
        let gap = if own.is_empty() { "" } else { " " };
        format!("{setup}{gap}{own} {environment}")
    }
    /// The heading of a page of a comparison: everything but the seed.
    fn page(&self) -> String {
        let (nodes, own) = (self.setup().group.size(), self.own_options(false));
        format!("{}: --nodes {nodes} {own} {}", self.title(), self.between().page())
    }
    /// The head of a run's figures: all its parameters, in the simulator or over a real network.
    fn head(&self, net: bool) -> Vec<(&'static str, Value)> {
        let (about, driver, unit) =
            if net { (self.about(), "net", "us") } else { (self.about(), "sim", "T") };
        let mut head = vec![
            ("algorithm", json!(about.name)),
            ("problem", json!(about.problem)),
            ("driver", json!(driver)),
            ("setup", json!(self.setup().text(about.takes))),
            ("nodes", json!(self.setup().group.size())),
            ("seed", json!(self.seed())),
        ];
        head.extend(self.own_head(net));
        head.extend(self.between().head(net));
        head.push(("time_unit", json!(unit)));
        head
    }
}
