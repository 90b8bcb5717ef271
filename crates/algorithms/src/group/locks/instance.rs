//! The instance of one name at one member: whether its application is inside or waits, and the
//! algorithm, while a view lasts.

use alloc::sync::Arc;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet, NodeState, StateValue};

use super::in_views::effects::{Among, InstanceEffects};
use super::message::ViewMessage;
use super::rebuild::{Rebuilt, Roster};
use super::{Exclusive, NodeFactory};
use crate::mutex::{Claim, Command};

/// The state of the application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::group) enum Application {
    Outside,
    Waits {
        claim: Claim,
        since: u64,
    },
    Inside(Claim),
    /// It was told that it is inside no more, and has not said that it has left.
    Evicted,
}

/// The same when a view ends, as others must know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::group) struct Stance {
    /// Since when it waits, if it does.
    pub(in crate::group) waits_since: Option<u64>,
    pub(in crate::group) is_inside: bool,
    pub(in crate::group) claim: Claim,
}

/// The application and the algorithm.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::group) struct Instance<P> {
    pub(in crate::group) application: Application,
    /// The algorithm, while there is a view and it has not been told to end.
    pub(super) work: Option<Work<P>>,
}

/// The algorithm in a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Work<P> {
    /// The members, as the algorithm numbers them.
    pub(super) members: Arc<[NodeId]>,
    pub(super) node: P,
    /// The members that were inside when the view began, and have not reported that they have left.
    pub(super) inside: NodeSet,
    /// Whether the algorithm has let the application in, and it waits for a lease.
    is_granted: bool,
}

impl<P> Work<P> {
    fn place(&self, node: NodeId) -> Option<NodeId> {
        place(&self.members, node)
    }
}

fn place(members: &[NodeId], node: NodeId) -> Option<NodeId> {
    let place = members.iter().position(|&it| it == node)?;
    Some(NodeId(place as u32))
}

impl<P: Exclusive> Instance<P> {
    pub(in crate::group) const fn new() -> Self {
        Self { application: Application::Outside, work: None }
    }

    pub(in crate::group) fn stance(&self) -> Stance {
        let (waits_since, is_inside, claim) = match self.application {
            Application::Outside | Application::Evicted => (None, false, Claim::default()),
            Application::Waits { since, claim } => (Some(since), false, claim),
            Application::Inside(claim) => (None, true, claim),
        };
        Stance { waits_since, is_inside, claim }
    }

    /// Whether it is inside, or let in but for a lease.
    pub(in crate::group) fn needs_lease(&self) -> bool {
        let is_granted = self.work.as_ref().is_some_and(|it| it.is_granted);
        is_granted || matches!(self.application, Application::Inside(_))
    }

    /// Whether it does not begin before others have left.
    pub(in crate::group) fn waits_for_others(&self) -> bool {
        self.work.as_ref().is_some_and(|it| !it.inside.is_empty())
    }

    /// The view ends.
    pub(in crate::group) fn stop(&mut self) {
        self.work = None;
    }

    /// Begins the algorithm among members none of which is known to be inside or to wait.
    pub(in crate::group) fn begin_idle<S: InstanceEffects<P>>(
        &mut self,
        anew: &NodeFactory<P>,
        members: &Arc<[NodeId]>,
        fx: &mut S,
    ) {
        let me = place(members, fx.me()).unwrap_or_default();
        let node = anew.node(me, Group::of(members.len() as u32));
        let (members, inside) = (Arc::clone(members), NodeSet::EMPTY);
        self.work = Some(Work { members, node, inside, is_granted: false });
        self.on_work(fx, |node, among| node.on_start(among));
        self.ask(fx);
    }

    /// Lets the algorithm go on among the members of a view, with the same ones inside and waiting;
    /// if that cannot be told, starts it.
    pub(in crate::group) fn begin<S: InstanceEffects<P>>(
        &mut self,
        anew: &NodeFactory<P>,
        mut members: Vec<NodeId>,
        standing: impl Fn(NodeId) -> Option<Stance>,
        fx: &mut S,
    ) {
        members.sort_by_key(|&node| {
            let since = standing(node).and_then(|it| it.waits_since);
            (since.is_none(), since, node)
        });
        let is_inside = |node: &NodeId| standing(*node).is_some_and(|it| it.is_inside);
        let group = Group::of(members.len() as u32);
        let me = place(&members, fx.me()).unwrap_or_default();
        let roster = roster(&members, &standing);
        let rebuilt = if roster.is_empty() { None } else { anew.rebuilt(me, group, &roster) };
        let is_direct = rebuilt.is_some();
        let (node, is_granted, inside) = if let Some(Rebuilt { node, is_in }) = rebuilt {
            (node, is_in && roster.waits(me), NodeSet::EMPTY)
        } else {
            let inside = members.iter().copied().filter(is_inside).collect();
            (anew.node(me, group), false, inside)
        };
        self.work = Some(Work { members: members.into(), node, inside, is_granted });
        if !is_direct {
            self.on_work(fx, |node, among| node.on_start(among));
        }
        let has_left = is_inside(&fx.me()) && !matches!(self.application, Application::Inside(_));
        if has_left {
            self.release(fx);
        }
        // In general, a node that has left asks when all others have left as well.
        let has_asked = if is_direct { roster.waits(me) } else { has_left };
        if !has_asked {
            self.ask(fx);
        }
        self.enter(fx);
    }

    /// The application, which is outside, wants in.
    pub(in crate::group) fn acquire<S: InstanceEffects<P>>(&mut self, claim: Claim, fx: &mut S) {
        self.application = Application::Waits { claim, since: fx.now() };
        self.ask(fx);
    }

    /// The application, which is inside, is so no more.
    pub(in crate::group) fn leave<S: InstanceEffects<P>>(
        &mut self,
        becomes: Application,
        fx: &mut S,
    ) {
        self.application = becomes;
        self.release(fx);
    }

    /// Asks for the application, if it waits and no member is inside from the last view.
    pub(super) fn ask<S: InstanceEffects<P>>(&mut self, fx: &mut S) {
        let Application::Waits { claim, .. } = self.application else { return };
        if self.work.as_ref().is_some_and(|work| work.inside.is_empty()) {
            // A node that is outside may ask. One that messages of a broken member have led astray
            // may refuse; the next view makes another.
            self.on_work(fx, |node, among| {
                let _ = node.on_command(Command::Acquire(claim), among);
            });
        }
    }

    /// A member that was inside when the view began has left. If it was this node, it tells the
    /// others.
    fn leaves<S: InstanceEffects<P>>(&mut self, who: NodeId, fx: &mut S) {
        let Some(work) = self.work.as_mut() else { return };
        if !work.inside.remove(who) {
            return;
        }
        let is_free = work.inside.is_empty();
        if who == fx.me() {
            let mut others = work.members.iter().copied().filter(|&it| it != who);
            fx.say_to_each(&mut others, ViewMessage::Left);
        }
        if is_free {
            self.ask(fx);
        }
    }

    /// Lets the algorithm act, if it goes on, and the application enter if it says so.
    pub(in crate::group) fn on_work<S: InstanceEffects<P>>(
        &mut self,
        fx: &mut S,
        act: impl FnOnce(&mut P, &mut Among<'_, S>),
    ) {
        let Some(work) = &mut self.work else { return };
        let mut among = Among { instance: fx, members: &work.members, has_entered: false };
        act(&mut work.node, &mut among);
        if among.has_entered && matches!(self.application, Application::Waits { .. }) {
            work.is_granted = true;
            self.enter(fx);
        }
    }

    /// Lets the application enter, if the algorithm lets it and so does the member.
    pub(in crate::group) fn enter<S: InstanceEffects<P>>(&mut self, fx: &mut S) {
        let Some(work) = self.work.as_mut().filter(|it| it.is_granted) else { return };
        let Application::Waits { claim, .. } = self.application else { return };
        let Some(token) = fx.token() else { return };
        work.is_granted = false;
        self.application = Application::Inside(claim);
        fx.entered(token);
    }

    /// The application is inside no more, as far as the algorithm is concerned.
    fn release<S: InstanceEffects<P>>(&mut self, fx: &mut S) {
        let was_before = self.work.as_ref().is_some_and(|it| it.inside.contains(fx.me()));
        if was_before {
            return self.leaves(fx.me(), fx);
        }
        // As with asking.
        self.on_work(fx, |node, among| {
            let _ = node.on_command(Command::Release, among);
        });
    }

    /// Something about the name, by another member of the view.
    pub(in crate::group) fn on_word<S: InstanceEffects<P>>(
        &mut self,
        from: NodeId,
        said: ViewMessage<P::Message>,
        fx: &mut S,
    ) {
        let Some(work) = &self.work else { return };
        let Some(place) = work.place(from) else { return };
        match said {
            ViewMessage::Lock(message) => {
                self.on_work(fx, |node, among| node.on_message(place, message, among));
            }
            ViewMessage::Left => self.leaves(from, fx),
            // These are said of members, not of names.
            ViewMessage::AreYouThere(_) | ViewMessage::IAmThere(_) => {}
            ViewMessage::HaveYouLeft if work.inside.contains(fx.me()) => {}
            ViewMessage::HaveYouLeft => fx.say(from, ViewMessage::Left),
        }
    }

    /// The message may be lost.
    pub(in crate::group) fn beat<S: InstanceEffects<P>>(&self, fx: &mut S) {
        let Some(work) = self.work.as_ref().filter(|it| !it.inside.is_empty()) else { return };
        let me = fx.me();
        fx.say_to_each(&mut work.inside.iter().filter(|&it| it != me), ViewMessage::HaveYouLeft);
    }

    pub(in crate::group) fn shown(&self) -> NodeState {
        let (application, claim, since) = match self.application {
            Application::Outside => ("outside", None, None),
            Application::Waits { claim, since } => ("waiting", Some(claim), Some(since)),
            Application::Inside(claim) => ("inside", Some(claim), None),
            Application::Evicted => ("evicted", None, None),
        };
        let state = NodeState::new()
            .with("application", application)
            .with("claim", claim.map(|claim| StateValue::shown(&claim)))
            .with("since", since);
        match &self.work {
            None => state,
            Some(work) => state.and(work.shown()),
        }
    }
}

impl<P: Exclusive> Work<P> {
    fn shown(&self) -> NodeState {
        NodeState::new()
            .with("members", StateValue::list(self.members.iter().copied()))
            .with("inside before", &self.inside)
            .with("granted", self.is_granted)
            .beneath("lock", self.node.state())
    }
}

/// Which of these members are inside, and which wait, in the order of their numbers.
fn roster(members: &[NodeId], standing: impl Fn(NodeId) -> Option<Stance>) -> Roster {
    let mut roster = Roster::default();
    for (id, &member) in (0..).map(NodeId).zip(members) {
        match standing(member) {
            Some(Stance { is_inside: true, claim, .. }) => roster.inside.push((id, claim)),
            Some(Stance { waits_since: Some(_), claim, .. }) => roster.waiting.push((id, claim)),
            Some(_) | None => {}
        }
    }
    roster
}
