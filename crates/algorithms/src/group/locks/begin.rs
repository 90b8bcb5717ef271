//! How a view begins: with the algorithm as it should be by now, or from its start.

use alloc::vec::Vec;

use vorrang_protocol::{Effects, Group, Never, NodeId, NodeSet};

use super::rebuild::{Rebuilt, Roster};
use super::{Application, ApplicationState, Exclusive, Locks, Work};
use crate::group::message::Install;
use crate::mutex::Notice;

impl<P: Exclusive> Locks<P> {
    /// Lets the algorithm go on among the members of the view, with the same ones inside and
    /// waiting; if that cannot be told, starts it.
    pub(super) fn begin<E: Effects<Self>>(
        &mut self,
        install: &Install<Never, ApplicationState>,
        fx: &mut E,
    ) {
        let view = install.view.id;
        let standing = |node: NodeId| {
            let info = install.infos.iter().find(|it| it.of == node)?;
            Some(info.info)
        };
        for info in &install.infos {
            self.clock.witness(info.info.clock);
        }
        let mut members: Vec<NodeId> = install.view.nodes().collect();
        members.sort_by_key(|&node| {
            let since = standing(node).and_then(|it| it.waits_since);
            (since.is_none(), since, node)
        });
        let is_inside = |node: &NodeId| standing(*node).is_some_and(|it| it.is_inside);
        let group = Group::of(members.len() as u32);
        let me = NodeId(members.iter().position(|&it| it == self.me).unwrap_or_default() as u32);
        let roster = roster(&members, standing);
        let rebuilt = if roster.is_empty() { None } else { self.anew.rebuilt(me, group, &roster) };
        let is_direct = rebuilt.is_some();
        let (node, is_granted, inside) = if let Some(Rebuilt { node, is_in }) = rebuilt {
            (node, is_in && roster.waits(me), NodeSet::EMPTY)
        } else {
            let inside = members.iter().copied().filter(is_inside).collect();
            (self.anew.node(me, group), false, inside)
        };
        let was_early = install.infos.iter().any(|it| it.info.is_early);
        let is_early = self.lease.is_some() && (was_early || !install.gone.is_empty());
        let members = members.into();
        self.work = Some(Work { view, members, node, inside, is_early, is_granted });
        if self.tells_views {
            fx.notify(Notice::View { number: view, members: group.size() });
        }
        self.wait_for_the_left_behind(fx);
        if !is_direct {
            self.on_work(fx, |node, among| node.on_start(among));
        }
        let has_left = is_inside(&self.me) && !matches!(self.application, Application::Inside(_));
        if has_left {
            self.release(fx);
        }
        // In general, a node that has left asks when all others have left as well.
        let has_asked = if is_direct { roster.waits(me) } else { has_left };
        if !has_asked {
            self.ask(fx);
        }
        self.enter(fx);
        self.early = self.early.split_off(&view);
        for (from, word) in self.early.remove(&view).unwrap_or_default() {
            self.on_word(from, word, fx);
        }
    }
}

/// Which of these members are inside, and which wait, in the order of their numbers.
fn roster(members: &[NodeId], standing: impl Fn(NodeId) -> Option<ApplicationState>) -> Roster {
    let mut roster = Roster::default();
    for (id, &member) in (0..).map(NodeId).zip(members) {
        match standing(member) {
            Some(ApplicationState { is_inside: true, claim, .. }) => {
                roster.inside.push((id, claim))
            }
            Some(ApplicationState { waits_since: Some(_), claim, .. }) => {
                roster.waiting.push((id, claim))
            }
            Some(_) | None => {}
        }
    }
    roster
}
