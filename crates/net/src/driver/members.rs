//! Lost members: reports about what their absence means to requests, and leaving the group without
//! blocking the others.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use vorrang_protocol::{Needs, NodeId, Prospect};

use super::{Driver, Member, Network, Phase};
use crate::error::CommandError;
use crate::event::{Event, Eviction, replaced};
use crate::handle::Goodbye;
use crate::incarnations::Parting;
use crate::meaning::{Meaning, Service};
use crate::node_core::AnyCommand;
use crate::refusal::{Refusal, Refuser};
use crate::timers::deadline;
use crate::turns::{ReleaseOutcome, Stage};

/// Which reports about a member's absence were made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Told {
    Nothing,
    Missing,
    Gone,
    /// Gone, and with it what was sent to it.
    Undelivered,
}

/// A node on its way out, until then.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) until: Instant,
    replies: Vec<oneshot::Sender<Goodbye>>,
    /// Whether it has asked its group to be left out, and waits for that.
    awaits_view: bool,
}

/// Why a node may not act.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fence {
    /// A peer that knows.
    by: NodeId,
    pub(crate) why: String,
    /// Whether a later process has its number.
    is_replaced: bool,
}

impl Parting {
    /// How reports describe a peer that has parted.
    const fn in_words(self) -> &'static str {
        match self {
            Self::Left => "has left for good",
            Self::LeftAsking => "has left for good, and its request was not granted yet",
            Self::GivenUp => "is given up for good",
            Self::Restarted => "was restarted and has lost its state",
        }
    }
}

/// Those who are not there.
impl<W: Network> Driver<W> {
    /// Reports, once each, members that are missing for long or gone for good, and what that means.
    pub(crate) fn look_at_members(&mut self) {
        // Where members come and go, that is for the machine to say.
        if !matches!(self.phase, Phase::Running) || self.config.openness().is_some() {
            return;
        }
        let patience = self.config.timing.give_up;
        // Others get over that, or have been told that nothing is granted any more.
        let heeds_loss = self.config.service == Service::Requests
            && matches!(self.config.needs, Needs::One(_) | Needs::Anyone);
        let members: Vec<Member> = self.world.members().collect();
        for Member { peer, parting, missing_for: missing, has_dropped, .. } in members {
            let index = peer.index();
            let told = match (parting, missing) {
                (Some(_), _) if heeds_loss && has_dropped => Told::Undelivered,
                (Some(_), _) => Told::Gone,
                (None, Some(since)) if since >= patience => Told::Missing,
                (None, Some(_)) => continue,
                (None, None) => {
                    self.told[index] = Told::Nothing;
                    continue;
                }
            };
            let before = std::mem::replace(&mut self.told[index], told);
            if let (Some(parting), true) = (parting, before < Told::Gone) {
                let means = self.meaning(&self.gone());
                self.report(Event::Gone { peer, why: parting.in_words(), means });
            }
            match told {
                Told::Missing if before < told => {
                    let means = self.meaning(&self.absent());
                    let since = missing.unwrap_or_default();
                    self.report(Event::Missing { peer, since, means });
                }
                Told::Undelivered if before < told => self.report(Event::Undelivered { peer }),
                Told::Nothing | Told::Missing | Told::Gone | Told::Undelivered => {}
            }
        }
    }

    fn gone(&self) -> Vec<NodeId> {
        let members = self.world.members();
        members.filter(|member| member.parting.is_some()).map(|member| member.peer).collect()
    }

    /// Those who are gone, and those who do not answer.
    fn absent(&self) -> Vec<NodeId> {
        let members = self.world.members();
        members.filter(|member| member.missing_for.is_some()).map(|member| member.peer).collect()
    }

    fn meaning(&self, without: &[NodeId]) -> Meaning {
        let Self { config, .. } = self;
        // Views have fewer and fewer members, one after the other: what the rest can do depends on
        // the one that there is.
        let prospect = match self.core.group_health() {
            Some(health) if health.goes_on_without(without) => Prospect::Fine,
            Some(_) if !without.is_empty() => Prospect::Hopeless,
            Some(_) | None => config.needs.without(without),
        };
        // What is granted to it, nobody gives back; unless they get over that.
        let left_asking = |it: Member| it.parting == Some(Parting::LeftAsking);
        let grants_gone = prospect == Prospect::Fine
            && config.needs != Needs::Nobody
            && self.world.members().any(left_asking);
        let prospect = if grants_gone { Prospect::Doubtful } else { prospect };
        Meaning {
            algorithm: config.algorithm.clone(),
            service: config.service,
            needs: config.needs,
            prospect,
            grants_gone,
        }
    }

    /// Why the machine's group cannot go on, if it is so.
    pub(super) fn trouble(&self) -> Option<String> {
        let (group, health) = (self.core.group_view()?, self.core.group_health()?);
        self.config.service.trouble(&health, &group)
    }

    /// Whether a request can be granted: an error if it never can, a warning if it may not.
    pub(crate) fn check_prospect(&mut self, command: &AnyCommand) -> Result<(), CommandError> {
        let absent = self.absent();
        if absent.is_empty() || self.config.needs == Needs::Nobody || !self.core.asks(command) {
            return Ok(());
        }
        let gone = self.gone();
        let means = self.meaning(&gone);
        let ((one, _), (_, happen)) = (means.service.asked(), means.service.fulfilled());
        if means.prospect == Prospect::Hopeless {
            let who = self.say_who(&gone);
            let why = format!("{who}, and {means}: this {one} can never {happen}");
            return Err(CommandError::Hopeless(why));
        }
        let with_lost = self.meaning(&absent);
        let ending = match (means.prospect, with_lost.prospect) {
            (Prospect::Fine, Prospect::Fine) => return Ok(()),
            (_, Prospect::Hopeless) => "waits until enough of them are back".to_owned(),
            (Prospect::Doubtful | Prospect::Hopeless, _) => format!("may never {happen}"),
            (Prospect::Fine, Prospect::Doubtful) => "may have to wait for it".to_owned(),
        };
        let who = self.say_who(&absent);
        self.report(Event::Doubt { why: format!("{who}, and {with_lost}: this {one} {ending}") });
        Ok(())
    }

    /// Where these nodes are, in words: the first, and how many more.
    fn say_who(&self, nodes: &[NodeId]) -> String {
        let Some(&first) = nodes.first() else { return String::new() };
        let parting = self.world.members().find(|member| member.peer == first);
        let parting = parting.and_then(|member| member.parting);
        let how = parting.map_or("does not answer", Parting::in_words);
        let mut words = format!("node {first} {how}");
        if nodes.len() > 1 {
            let _ = write!(words, " (and {} more)", nodes.len() - 1);
        }
        words
    }
}

/// A peer knows a previous incarnation of ours.
impl<W: Network> Driver<W> {
    /// A peer remembers what we have forgotten: as long as it does, nothing that we could do is
    /// safe.
    pub(crate) fn fence(&mut self, by: NodeId) {
        let why = format!("it was restarted, and node {by} knows its previous incarnation");
        self.fence_for(Fence { by, why, is_replaced: false }, Event::Fenced { by });
    }

    /// A peer knows of another start in our directory, which has gone on since.
    pub(crate) fn fence_copy(&mut self, by: NodeId) {
        let why = format!("node {by} refuses it: {}", Refusal::Copied.sentence(Refuser::Them));
        self.fence_for(Fence { by, why, is_replaced: false }, Event::Fenced { by });
    }

    /// A peer knows a later process under our number.
    pub(crate) fn give_way(&mut self, by: NodeId, later_by: u64, is_there: bool) {
        let event = Event::Replaced { by, later_by, is_there };
        let why = replaced(by, later_by, is_there);
        self.fence_for(Fence { by, why, is_replaced: true }, event);
    }

    fn fence_for(&mut self, fence: Fence, event: Event) {
        self.world.note_remembered(fence.by);
        if let Some(known) = &mut self.fenced {
            known.is_replaced |= fence.is_replaced;
            return;
        }
        for (_, _, reply) in self.held.drain(..) {
            let _ = reply.send(Err(CommandError::Fenced(fence.why.clone())));
        }
        self.fenced = Some(fence);
        self.report(event);
        // Its machine is not asked any more, and would believe for ever that it is inside.
        if self.config.openness().is_some() {
            self.core.evict();
            self.settle();
        }
    }

    /// Why the application was told that it is inside no more.
    pub(crate) fn why_evicted(&self) -> Eviction {
        match (&self.fenced, self.core.group_view()) {
            (Some(Fence { by, is_replaced: true, .. }), _) => Eviction::Replaced { by: *by },
            (Some(Fence { by, is_replaced: false, .. }), _) => Eviction::Restarted { by: *by },
            (None, Some(group)) if group.is_in => Eviction::LeaseOver { view: group.view },
            (None, group) => Eviction::Excluded { view: group.map_or(0, |it| it.view) },
        }
    }

    /// Lifts the fence if no peer knows another process under our number any more: a previous one
    /// that it remembered, or a later one that has not become a member. Meanwhile this node was
    /// silent, as if it had stood still, and comes back in the same way.
    pub(crate) fn lift_fence(&mut self) {
        if self.fenced.is_some() && !self.world.members().any(|member| member.is_remembered) {
            self.fenced = None;
            tracing::warn!("no peer knows another process under the number of this node any more");
        }
    }
}

/// Leaving.
impl<W: Network> Driver<W> {
    /// Lets go what the node has or waits for, and leaves when that is done, or when the time is
    /// over. A member of a group leaves when that has a view without it: a request that waits goes
    /// with the member, and nobody has to find out that it is gone.
    pub(crate) fn on_leave(&mut self, within: Duration, reply: oneshot::Sender<Goodbye>) {
        if let Some(leaving) = &mut self.leaving {
            leaving.replies.push(reply);
            return;
        }
        if !self.acts() {
            self.on_shutdown(vec![reply]);
            return;
        }
        self.let_go = self.core.let_go(&mut self.world);
        self.settle();
        let awaits_view =
            self.config.openness().is_some() && self.core.leave_group(&mut self.world);
        self.settle();
        let until = deadline(within);
        self.leaving = Some(Leaving { until, replies: vec![reply], awaits_view });
    }

    /// Leaves for good, if nothing holds it any more.
    pub(crate) fn leave_if_free(&mut self) {
        let Some(leaving) = &self.leaving else { return };
        let waits = self.core.stage().is_some_and(|(stage, _)| stage != Stage::Idle);
        let is_free = match self.core.group_view() {
            Some(group) => !group.is_in || !leaving.awaits_view,
            None => !waits,
        };
        if !is_free && self.acts() && Instant::now() < leaving.until {
            return;
        }
        if !is_free && waits {
            self.let_go = ReleaseOutcome::Abandoned;
        }
        if let Some(leaving) = self.leaving.take() {
            self.on_shutdown(leaving.replies);
        }
    }
}
