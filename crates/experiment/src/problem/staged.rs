//! An algorithm on a stage: compiled once for every problem.

use std::time::Instant;

use serde::Serialize;
use vorrang_algorithms::card::Card;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::NodeOf;
use vorrang_check::{Ask, Faults, Plan, Stray, System};
use vorrang_protocol::{
    Graph, Guard, NodeId, NodeSet, NodeState, Occurrence, Order, Outbox, Protocol, Refused,
    Transition, Violation,
};
use vorrang_trace::{End, Ending, Header, Recording, Stage, Wrong};
use vorrang_workload::Explored;

use super::{ProblemDriver, Question, Watcher, counterexample, graph, verify};
use crate::check_answer::CheckAnswer;
use crate::failure::Failure;
use crate::options::check::CheckArgs;

/// Nodes driven by hand, with their types gone.
pub trait Staged {
    /// How they are set up.
    fn setup(&self) -> &Setup;
    /// Takes a step, and returns what came of it: indented lines.
    fn step(&mut self, line: &str) -> Result<&str, String>;
    /// Goes back to the beginning.
    fn reset(&mut self);
    /// The possible next steps, as lines of a script.
    fn options(&self) -> Vec<String>;
    /// Where everyone stands.
    fn look(&self) -> Look;
    /// The first violation.
    fn violation(&self) -> Option<&Violation>;
    /// How many messages have been sent.
    fn messages(&self) -> usize;
    /// The run so far, with steps in the place of times.
    fn recording(&self) -> Recording;
    /// The answer of the checker about all continuations, with so many more requests.
    fn ahead(&self, args: (&CheckArgs, u32), watcher: Watcher<'_>) -> Result<Ahead, Failure>;
}

/// The state of a stepped run.
#[derive(Debug, Serialize)]
pub struct Look {
    /// All of them.
    pub nodes: Vec<NodeLook>,
    /// Messages on their way.
    #[serde(rename = "in_flight")]
    pub flight: Vec<String>,
    /// Timers that run.
    pub timers: Vec<String>,
}

/// The state of a node; that of one that is down, as it would come up again.
#[derive(Debug, Serialize)]
pub struct NodeLook {
    /// Its number.
    pub node: NodeId,
    /// Whether it is up.
    pub up: bool,
    /// Its variables.
    pub state: NodeState,
    /// Those that it had before the last step.
    #[serde(skip)]
    pub before: NodeState,
}

/// The answer of the checker.
#[derive(Debug)]
pub struct Ahead {
    /// The finding.
    pub answer: CheckAnswer,
    /// The budgets, as text.
    pub may: String,
    /// A step of the run before that no clock allows.
    pub early: Option<String>,
}

/// What a stage is told of the nodes on it.
pub(super) struct Cast<Q: Explored> {
    pub(super) setup: Setup,
    pub(super) header: Header,
    pub(super) order: Order,
    pub(super) monitor: Q::Watch,
    pub(super) nodes: Vec<NodeOf<Q>>,
    pub(super) guards: Vec<Guard<NodeOf<Q>>>,
    /// All that may be said to a node.
    pub(super) commands: Vec<Q::Command>,
    /// How the checker goes on from there.
    pub(super) ahead: Continuation<Q>,
}

/// How the checker is asked about all that can follow.
pub(super) enum Continuation<Q: Explored> {
    Asked(Asked<Q>),
    /// It is not, for this reason.
    No(&'static str),
}

/// A question of the checker about a run that has begun.
pub(super) struct Asked<Q: Explored> {
    /// What the application of each node does for one request.
    turns: Vec<Vec<Ask<Q::Command>>>,
    turns_left: fn(&[Transition<NodeOf<Q>>], u32) -> u32,
    graph: Option<Graph>,
    question: AskedWith<Q>,
}

/// The question that the checker is asked with these options.
type AskedWith<Q> = Box<dyn Fn(&CheckArgs) -> Result<Question<Q>, Failure>>;

impl<Q: ProblemDriver> Asked<Q> {
    /// As of any algorithm by itself.
    pub(super) fn of(
        (card, flaw): (&'static Card<Q>, Option<&'static str>),
        setup: &Setup,
    ) -> Result<Self, Failure> {
        let members = setup.group.members();
        Ok(Self {
            turns: members.map(|id| Q::turn(card, setup, id)).collect(),
            turns_left: Q::turns_left,
            graph: graph((card, flaw), setup)?,
            question: Box::new(move |args| Q::question(card, flaw, args)),
        })
    }

    /// All that may be said to a node.
    pub(super) fn commands(&self, card: &'static Card<Q>, setup: &Setup) -> Vec<Q::Command> {
        let asks = self.turns.iter().flatten();
        let mut commands: Vec<Q::Command> = asks.map(|ask| ask.command.clone()).collect();
        commands.extend(Q::offers(card, setup));
        commands.sort();
        commands.dedup();
        commands
    }
}

/// Nodes of any algorithm on a stage.
struct StagedOf<Q: Explored> {
    setup: Setup,
    header: Header,
    commands: Vec<Q::Command>,
    nodes: Vec<NodeOf<Q>>,
    guards: Vec<Guard<NodeOf<Q>>>,
    ahead: Continuation<Q>,
    first: Stage<NodeOf<Q>, Q::Watch>,
    now: Stage<NodeOf<Q>, Q::Watch>,
    /// The states of all nodes before the last step.
    before: Vec<NodeState>,
}

pub(super) fn stage<Q: Explored>(cast: Cast<Q>) -> Box<dyn Staged> {
    let Cast { setup, header, order, monitor, nodes, guards, commands, ahead } = cast;
    let first = Stage::new(nodes.iter().cloned(), monitor).with_order(order);
    let first = first.guarded(guards.iter().cloned());
    let now = first.clone();
    let before = states::<Q>(&now);
    let header = header.with("driver", &"step").with("clock", &"steps");
    Box::new(StagedOf::<Q> { setup, header, commands, nodes, guards, ahead, first, now, before })
}

fn states<Q: Explored>(stage: &Stage<NodeOf<Q>, Q::Watch>) -> Vec<NodeState> {
    stage.nodes().map(|(_, _, node)| node.state()).collect()
}

impl<Q: Explored> Staged for StagedOf<Q> {
    fn setup(&self) -> &Setup {
        &self.setup
    }
    fn step(&mut self, line: &str) -> Result<&str, String> {
        let before = states::<Q>(&self.now);
        self.now.step(line)?;
        self.before = before;
        Ok(self.now.said())
    }
    fn reset(&mut self) {
        self.now = self.first.clone();
        self.before = states::<Q>(&self.now);
    }
    fn options(&self) -> Vec<String> {
        self.now.options(&self.commands)
    }
    fn look(&self) -> Look {
        Look {
            nodes: self
                .now
                .nodes()
                .zip(&self.before)
                .map(|((node, up, it), before)| NodeLook {
                    node,
                    up,
                    state: it.state(),
                    before: before.clone(),
                })
                .collect(),
            flight: self.now.flight(),
            timers: self.now.timers(),
        }
    }
    fn violation(&self) -> Option<&Violation> {
        self.now.violation()
    }
    fn messages(&self) -> usize {
        self.now.messages()
    }
    fn recording(&self) -> Recording {
        let prefix = self.now.prefix();
        let starts = prefix.starts.iter().flatten().map(Vec::as_slice);
        let lines = counterexample::lines(
            &mut starts.zip(self.now.start_effects().iter().map(Vec::as_slice)),
            &mut prefix.steps.iter().zip(self.now.step_effects().iter().map(Vec::as_slice)),
        );
        let wrong = self.now.violation().map(|violation| Wrong {
            what: violation.to_string(),
            at_ns: Some(self.now.violated_after() as u64),
        });
        let records = lines.len() as u64;
        let ending = Ending::Whole(End { records, wrong, repeats_from: None });
        Recording { header: self.header.clone(), lines, ending }
    }
    fn ahead(
        &self,
        (args, requests): (&CheckArgs, u32),
        watcher: Watcher<'_>,
    ) -> Result<Ahead, Failure> {
        let Asked { turns, turns_left, graph, question } = match &self.ahead {
            Continuation::Asked(asked) => asked,
            Continuation::No(why) => return Err(Failure::usage((*why).to_owned())),
        };
        let question = question(args)?;
        let before = self.now.prefix();
        let requests = turns_left(&before.steps, requests);
        let refusals = self.refusals(turns);
        let refused: NodeSet = refusals.iter().map(|(at, _)| *at).collect();
        let (plan, left_out) = plan(&before.steps, (turns, &refused), requests);
        let system = System {
            nodes: self.nodes.clone(),
            plan,
            monitor: question.monitor,
            links: question.links,
            faults: spent(&before.steps, question.faults),
            demands: args.demands(&self.guards, graph.clone(), question.fair),
        };
        let (bounds, threads) = (args.bounds(), args.threads());
        let start = Instant::now();
        let looked = verify::look::<Q>(&system, before, &bounds, threads, watcher);
        let (report, early) = looked.map_err(|stray| {
            let what = match stray {
                Stray::Start { at } => format!("node {at} can have come up"),
                Stray::Step { place } => format!("'{}' can have happened", before.steps[place]),
            };
            Failure::usage(format!("the checker does not know how {what}"))
        })?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Ahead {
            answer: verify::answer::<Q>(report, question.properties, seconds),
            may: in_words(requests, question.faults) + &but_for(&refusals, &left_out),
            early: early.map(|place| before.steps[place].to_string()),
        })
    }
}

impl<Q: Explored> StagedOf<Q> {
    /// The nodes that would not begin a turn as they are, or as they come up again, and why.
    fn refusals(&self, turns: &[Vec<Ask<Q::Command>>]) -> Vec<(NodeId, Refused)> {
        let mut refusals = Vec::new();
        for ((at, is_up, node), turn) in self.now.nodes().zip(turns) {
            let Some(first) = turn.first() else { continue };
            let (mut copy, mut fx) = (node.clone(), Outbox::default());
            if !is_up {
                copy.on_restart(&mut fx);
            }
            if let Err(why) = copy.on_command(first.command.clone(), &mut fx) {
                refusals.push((at, why));
            }
        }
        refusals
    }
}

/// The plan of the applications after a run: a node in the middle of a turn ends it, all others
/// take so many more, but for those that `refuse` to, who are returned.
fn plan<P: Protocol>(
    steps: &[Transition<P>],
    (turns, refuse): (&[Vec<Ask<P::Command>>], &NodeSet),
    requests: u32,
) -> (Plan<P::Command>, NodeSet) {
    let mut lists: Vec<Vec<Ask<P::Command>>> = vec![Vec::new(); turns.len()];
    // How many commands of its turn each node has been given.
    let mut begun = vec![0; turns.len()];
    for step in steps {
        match &step.what {
            Occurrence::Crash { at } => begun[at.index()] = 0,
            Occurrence::Command { at, command } => {
                let (list, turn) = (&mut lists[at.index()], &turns[at.index()]);
                let begun = &mut begun[at.index()];
                let like = &turn[*begun];
                // A person may have asked again without waiting; only the last one may be waited
                // for.
                if let Some(last) = list.last_mut() {
                    last.then_wait = false;
                }
                list.push(Ask {
                    command: command.clone(),
                    then_wait: like.then_wait,
                    goes_on: like.goes_on,
                });
                *begun = (*begun + 1) % turn.len();
            }
            Occurrence::Deliver { .. }
            | Occurrence::Lose { .. }
            | Occurrence::Duplicate { .. }
            | Occurrence::Timer { .. }
            | Occurrence::Restart { .. } => {}
        }
    }
    let mut left_out = NodeSet::EMPTY;
    let begun = turns.iter().zip(begun);
    for ((at, list), (turn, begun)) in (0..).map(NodeId).zip(&mut lists).zip(begun) {
        if begun == 0 && requests > 0 && refuse.contains(at) {
            left_out.insert(at);
            continue;
        }
        let more = requests.saturating_sub(u32::from(begun > 0)) as usize;
        let rest = if begun > 0 { &turn[begun..] } else { &[] };
        list.extend_from_slice(rest);
        list.extend(turn.iter().cloned().cycle().take(more * turn.len()));
    }
    (Plan::PerNode(lists), left_out)
}

/// Who makes no request, for people.
fn but_for(refusals: &[(NodeId, Refused)], left_out: &NodeSet) -> String {
    let refusals = refusals.iter().filter(|(at, _)| left_out.contains(*at));
    let words = refusals.map(|(at, why)| format!("; none by node {at} ({why})"));
    words.collect::<Vec<_>>().concat()
}

/// The total fault budget, if so many faults may follow a run.
fn spent<P: Protocol>(steps: &[Transition<P>], mut faults: Faults) -> Faults {
    for step in steps {
        let count = match &step.what {
            Occurrence::Crash { .. } => &mut faults.crashes,
            Occurrence::Restart { .. } => &mut faults.restarts,
            Occurrence::Lose { .. } => &mut faults.losses,
            Occurrence::Duplicate { .. } => &mut faults.duplicates,
            Occurrence::Command { .. } | Occurrence::Deliver { .. } | Occurrence::Timer { .. } => {
                continue;
            }
        };
        *count = count.saturating_add(1);
    }
    faults
}

/// The budgets, for people.
fn in_words(requests: u32, faults: Faults) -> String {
    let Faults { crashes, restarts, losses, duplicates, .. } = faults;
    let mut text = match requests {
        0 => "if no node asks for more".to_owned(),
        1 => "if each node makes one more request".to_owned(),
        many => format!("if each node makes {many} more requests"),
    };
    let counts = [
        (crashes, "crashes"),
        (restarts, "restarts"),
        (losses, "losses"),
        (duplicates, "duplicates"),
    ];
    let may: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("up to {count} more {what}"))
        .collect();
    if !may.is_empty() {
        text.push_str(&format!(", with {}", may.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::spec::Exclusion;
    use vorrang_algorithms::mutex::{Claim, Command, central::Central};
    use vorrang_protocol::Group;

    use super::*;

    /// The steps of a script between two nodes.
    fn steps(script: &[&str]) -> Vec<Transition<Central>> {
        let group = Group::of(2);
        let nodes = group.members().map(|id| Central::new(id, group));
        let mut stage = Stage::new(nodes, Exclusion::default());
        for line in script {
            stage.step(line).unwrap();
        }
        stage.prefix().steps.clone()
    }

    fn plan_of(script: &[&str], requests: u32) -> Vec<String> {
        plan_without(script, requests, &NodeSet::EMPTY)
    }

    fn plan_without(script: &[&str], requests: u32, refuse: &NodeSet) -> Vec<String> {
        let acquire = Command::Acquire(Claim::Exclusive);
        let turn = vec![Ask::then_wait(acquire), Ask::to_end(Command::Release)];
        let turns = [turn.clone(), turn];
        let (plan, left_out) = plan(&steps(script), (&turns, refuse), requests);
        let Plan::PerNode(lists) = plan else { panic!() };
        assert!(left_out.iter().all(|at| refuse.contains(at)));
        let shown = |ask: &Ask<Command>| {
            let word = if ask.command == Command::Release { "out" } else { "in" };
            format!("{word}{}", [" ", "… "][usize::from(ask.then_wait)])
        };
        lists.iter().map(|list| list.iter().map(shown).collect()).collect()
    }

    #[test]
    fn whoever_is_in_the_middle_of_a_turn_ends_it() {
        assert_eq!(plan_of(&[], 1), ["in… out ", "in… out "]);
        assert_eq!(plan_of(&["acquire 0", "deliver 0->1"], 1), ["in… out ", "in… out "]);
        assert_eq!(
            plan_of(&["acquire 0", "settle", "release 0"], 1),
            ["in out in… out ", "in… out "]
        );
        assert_eq!(plan_of(&["acquire 0"], 2), ["in… out in… out ", "in… out in… out "]);
        assert_eq!(plan_of(&["acquire 0"], 0), ["in… out ", ""]);
    }

    #[test]
    fn whoever_refuses_a_turn_is_asked_for_none_but_ends_its_own() {
        let both = [0, 1].map(NodeId).into_iter().collect();
        assert_eq!(plan_without(&["acquire 0"], 1, &both), ["in… out ", ""]);
        assert_eq!(plan_without(&["acquire 0"], 2, &both), ["in… out in… out ", ""]);
    }

    #[test]
    fn a_crash_ends_a_turn() {
        assert_eq!(plan_of(&["acquire 0", "crash 0"], 0), ["in… ", ""]);
        assert_eq!(
            plan_of(&["acquire 0", "crash 0", "restart 0", "acquire 0"], 0),
            ["in in… out ", ""]
        );
    }

    #[test]
    fn what_went_wrong_by_hand_is_not_counted_against_what_may_go_wrong() {
        let script =
            ["crash 0", "restart 0", "acquire 0", "duplicate 0->1", "lose 0->1", "lose 1->0"];
        let may = Faults::NONE.crashes(1);
        let all = Faults::NONE.crashes(2).restarts(1).losses(2).duplicates(1).severing(false);
        assert_eq!(spent(&steps(&script), may), all);
    }
}
