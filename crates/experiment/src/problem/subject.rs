//! Checking, stepping, replaying and drawing: compiled once for every problem.

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::mutex::stamps::STAMP_ORDER;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::{self as any, NodeOf};
use vorrang_check as check;
use vorrang_draw::{Look, Mark};
use vorrang_protocol::{Guard, NodeId};
use vorrang_trace::{Header, LineEvent, Recording, What};

use super::channels::{self, Layer, MadeOf};
use super::remarks::assumptions;
use super::retrace::{self, Retraced, Watching};
use super::staged::{Asked, Cast, Continuation};
use super::{
    ApplicationEvent, BETWEEN_PROCESSES, Past, ProblemDriver, Query, Question, Staged, Subject,
    graph, header, make, staged, verify,
};
use crate::failure::Failure;
use crate::names::unknown;
use crate::options::check::CheckArgs;

/// Nodes that remember, and what is asked of them.
type Remembering<Q> = (&'static any::Entry<Q>, Vec<Guard<NodeOf<Q>>>);

/// The subject of checks and stepped runs, with erased types.
#[derive(Debug)]
pub(crate) struct SubjectOf<Q: Problem>(pub(crate) &'static any::Entry<Q>);

impl<Q: ProblemDriver> Subject for SubjectOf<Q> {
    fn question(&self, args: &CheckArgs) -> Result<Query, Failure> {
        args.check()?;
        if let Some(query) = Q::question_on_views(self.0, args)? {
            return Ok(query);
        }
        let &any::Entry { card, flaw, .. } = self.0;
        let question = Q::question(card, flaw, args)?;
        let (nodes, guards) = self.nodes(&question.setup, args)?;
        let graph = graph((card, flaw), &question.setup)?;
        let goes_wrong = question.faults != check::Faults::NONE && args.reliable.is_none();
        let header = self.header(&question.setup, args);
        let assumed = assumptions(&card.about(), &question.setup);
        let mut query = verify::query(question, (nodes, graph), (&guards, header), args);
        if goes_wrong && !args.guards(&guards).is_empty() {
            query.remarks.notes.push(format!(
                "faults may break what the proof of {} rests on before anything that it promises: \
                 --no-invariants leaves that out",
                card.name
            ));
        }
        if goes_wrong && flaw.is_none() {
            query.remarks.if_violated.push(assumed);
        }
        if args.timely.is_some() && !self.0.sets_timers {
            let name = card.name;
            let note = format!("{name} sets no timers: time makes no difference to it");
            query.remarks.notes.push(note);
        }
        Ok(query)
    }
    fn stage(&self, args: &CheckArgs) -> Result<Box<dyn Staged>, Failure> {
        args.check()?;
        if let Some(staged) = Q::staged_on_views(self.0, args)? {
            return Ok(staged);
        }
        let &any::Entry { card, flaw, .. } = self.0;
        let Question { setup, links, monitor, .. } = Q::question(card, flaw, args)?;
        let (nodes, guards) = self.nodes(&setup, args)?;
        // Promises about causes are none about the layer's messages.
        let monitor = if args.reliable.is_some() { monitor } else { Q::staged(card, &setup, flaw) };
        let header = self.header(&setup, args);
        let asked = Asked::of((card, flaw), &setup)?;
        let commands = asked.commands(card, &setup);
        let (order, ahead) = (links.order, Continuation::Asked(asked));
        Ok(staged::stage(Cast { setup, header, order, monitor, nodes, guards, commands, ahead }))
    }
    fn retrace(&self, run: &Recording, watch: Watching<'_>) -> Result<Retraced, Failure> {
        if run.header.get("on_views") == Some(BETWEEN_PROCESSES) {
            return Err(Failure::usage(
                "on views over a network a heartbeat gives way to the next one while there is no \
                 connection, and a trace does not have those that never left: it can be drawn, \
                 but neither replayed nor drawn with --states",
            ));
        }
        if let Some(retraced) = Q::retrace_told(self.0, run, &mut *watch)? {
            return Ok(retraced);
        }
        if let Some(node) = Q::again_on_views(self.0, &run.header)? {
            return retrace::retrace::<Q>(&*node, run, watch);
        }
        let text = run.header.get("setup").unwrap_or_default();
        let setup =
            Setup::read(text, self.0.card.takes).map_err(|unfit| Failure::Usage(unfit.0))?;
        let (node, _) = self.node(&setup, Layer::noted(&run.header), Vec::new())?;
        retrace::retrace::<Q>(&*node, run, watch)
    }
    fn looks(&self, at: NodeId, told: &LineEvent) -> Option<(String, Look)> {
        match told {
            What::Command(written) => {
                if let Ok(command) = serde_json::from_value::<Q::Command>(written.clone()) {
                    let look = Q::look(at, ApplicationEvent::Command(&command));
                    return Some((command.to_string(), look));
                }
                // On views, where detectors are commands.
                let input: Input<Q::Command> = serde_json::from_value(written.clone()).ok()?;
                let look = match &input {
                    Input::Ask(command) => Q::look(at, ApplicationEvent::Command(command)),
                    Input::Suspect(_) => Look::mark(Mark::Warns("suspects")),
                    Input::Trust(_) | Input::Beat => Look::default(),
                };
                Some((input.to_string(), look))
            }
            What::Notice(written) => {
                let notice: Q::Notice = serde_json::from_value(written.clone()).ok()?;
                Some((notice.to_string(), Q::look(at, ApplicationEvent::Notice(&notice))))
            }
            What::Send { .. }
            | What::Receive { .. }
            | What::Timer(_)
            | What::Choice(_)
            | What::Lost { .. }
            | What::Doubled { .. }
            | What::Crash
            | What::Restart
            | What::Fault(_) => None,
        }
    }
    fn tokens(&self) -> &'static [&'static str] {
        Q::tokens(self.0.card)
    }
    fn beats(&self, on_views: bool) -> &'static [&'static str] {
        Q::beats(self.0.card, on_views)
    }
}

impl<Q: ProblemDriver> SubjectOf<Q> {
    /// What a trace says of such a run.
    fn header(&self, setup: &Setup, args: &CheckArgs) -> Header {
        let mut header = header(&self.0.card.about(), setup);
        if let Some(flaw) = self.0.flaw {
            header = header.with("flaw", &flaw);
        }
        match args.layer(setup) {
            Some(layer) => layer.note(header),
            None => header,
        }
    }
    /// The nodes, over reliable channels if they are wanted, and what holds of them.
    fn nodes(&self, setup: &Setup, args: &CheckArgs) -> Result<Guarded<Q>, Failure> {
        if let Some(past) = Q::asks_of_the_past(args) {
            let (entry, guards) = self.remembering(past, setup)?;
            let (node, guards) = SubjectOf(entry).node(setup, args.layer(setup), guards)?;
            return Ok((setup.group.members().map(|id| node(id)).collect(), guards));
        }
        let guards = args.guards(&self.0.guards);
        let (node, guards) = self.node(setup, args.layer(setup), guards)?;
        Ok((setup.group.members().map(|id| node(id)).collect(), guards))
    }

    /// The nodes that remember the past, and what is asked of it.
    fn remembering(&self, past: Past<'_>, setup: &Setup) -> Result<Remembering<Q>, Failure> {
        let name = |entry: &any::Entry<Q>| match entry.flaw {
            None => entry.card.name.to_owned(),
            Some(flaw) => format!("{} --flaw {flaw}", entry.card.name),
        };
        let has_stamps =
            |entry: &any::Entry<Q>| entry.guards.iter().any(|guard| guard.name() == STAMP_ORDER);
        let asks_of_stamps = past == Past::Stamps;
        let unstamped = || match self.0.flaw {
            None => Q::why_unstamped(self.0.card, setup),
            Some(_) => "the stamps are not compared with this mistake",
        };
        let of = |entry: &'static any::Entry<Q>| {
            entry.remembering.as_deref().filter(|it| has_stamps(it) == asks_of_stamps)
        };
        let Some(entry) = of(self.0) else {
            let others = Q::entries().iter().filter(|it| of(it).is_some()).map(name);
            let others = others.collect::<Vec<_>>().join(", ");
            let own = name(self.0);
            return Err(Failure::usage(match past {
                Past::Stamps => format!(
                    "--property stamps is not for {own}: {}; it is for {others}",
                    unstamped()
                ),
                Past::Lemmas(_) => format!(
                    "--lemma: there are no lemmas about the past of {own}; there are of {others}"
                ),
            }));
        };
        let asked: Vec<&str> = match past {
            Past::Stamps => vec!["all"],
            Past::Lemmas(names) => names.iter().map(String::as_str).collect(),
        };
        let known = || entry.guards.iter().map(|it| it.name().replace(' ', "-"));
        if let Some(asked) =
            asked.iter().find(|it| **it != "all" && !known().any(|name| name == **it))
        {
            let all: Vec<String> = known().collect();
            return Err(unknown("lemma", asked, all.iter().map(String::as_str)));
        }
        let is_asked = |it: &&Guard<NodeOf<Q>>| {
            asked.contains(&"all") || asked.contains(&it.name().replace(' ', "-").as_str())
        };
        Ok((entry, entry.guards.iter().filter(is_asked).cloned().collect()))
    }

    fn node(
        &self,
        setup: &Setup,
        layer: Option<Layer>,
        guards: Vec<Guard<NodeOf<Q>>>,
    ) -> Result<MadeOf<Q>, Failure> {
        let node = make(&self.0.recipe, setup)?;
        let Some(layer) = layer else { return Ok((node, guards)) };
        let graph = graph((self.0.card, self.0.flaw), setup)?;
        let inner = ((node, guards), self.0.kinds);
        let over = channels::over::<Q>(layer, inner, (setup, graph));
        Ok((over.node, over.guards))
    }
}

/// Nodes, and what holds of them.
type Guarded<Q> = (Vec<NodeOf<Q>>, Vec<Guard<NodeOf<Q>>>);
