//! The members of the group, as one of them sees them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use vorrang_net::{Event, GroupStatus};
use vorrang_protocol::{GroupHealth, GroupView, NodeId, NodeSet, Wording};

/// The members of a group and how the group is, as this member knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Members {
    /// The name of the group.
    pub group: String,
    /// The name of this member.
    pub this: String,
    /// The number of the newest membership view that is known; 0 if there is none yet.
    pub view: u64,
    /// Whether this member belongs to it.
    pub is_in: bool,
    /// Whether enough members answer each other for the group to go on.
    pub has_majority: bool,
    /// Why nothing is granted, if so, and what will change that.
    pub trouble: Option<String>,
    /// When this member was evicted last, if it was.
    pub evicted: Option<Evicted>,
    /// Why this member does not run any more, if so.
    pub stopped: Option<String>,
    /// The founders, and all who belong to the view.
    pub members: Vec<MemberInfo>,
}

/// A member of the group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column of a table, and any can be true"
)]
pub struct MemberInfo {
    /// Its number.
    pub id: u32,
    /// Its name; of one that has joined its address.
    pub name: String,
    /// Where it is found; empty if that is not known.
    pub address: String,
    /// Whether it is this one.
    pub is_this: bool,
    /// Whether it belongs to the view.
    pub is_in_view: bool,
    /// In which life it does: a process that was started later is in another one, and so is one
    /// that was evicted and has come back.
    pub life: Option<u64>,
    /// Whether it has a vote on the next view.
    pub is_voter: bool,
    /// Whether it has one that it cannot use any more, since its directory was lost.
    pub has_lost_vote: bool,
    /// Whether it has not been heard in time.
    pub is_suspected: bool,
    /// Why there is no connection with it, if there is none and that is known.
    pub trouble: Option<String>,
}

/// An eviction of this member.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Evicted {
    /// When it was noticed.
    pub at: SystemTime,
    /// Why, in a sentence.
    pub why: String,
}

/// The names of members by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Of the founders, as far as they are known.
    pub(crate) founders: Vec<String>,
    pub(crate) me: NodeId,
    pub(crate) own: String,
    pub(crate) newcomers: Newcomers,
}

/// Names and addresses of those who may join, as far as they are known. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newcomers(Arc<Mutex<Vec<(String, String)>>>);

impl Newcomers {
    pub(crate) fn set(&self, newcomers: Vec<(String, String)>) {
        // It is put there whole, whatever happens to threads.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = newcomers;
    }

    /// The name of the one who is found there.
    fn at(&self, address: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|it| it.1 == address).map(|it| it.0.clone())
    }
}

impl Names {
    /// That of a member that is found at this address: its address if no name is known.
    pub(crate) fn of(&self, id: NodeId, address: &str) -> String {
        let founder = self.founders.get(id.index()).cloned();
        let own = (id == self.me).then(|| self.own.clone());
        let known = founder.or(own).or_else(|| self.newcomers.at(address));
        known.unwrap_or_else(|| match address {
            "" => format!("number {id}"),
            address => address.to_owned(),
        })
    }
}

/// What is known of the group, from which [`Members`] are made.
#[derive(Debug)]
pub(crate) struct Known {
    names: Names,
    status: Option<GroupStatus>,
    /// Whether the group was said to have no majority, and not to have one again.
    has_no_majority: bool,
    /// Why there is no connection with a member.
    troubles: BTreeMap<NodeId, String>,
    was_in: bool,
    /// In which view the group has gone on without this member since it was asked to.
    removed_by: Option<u64>,
    /// Why this member does not take part any more, if so.
    over: Option<String>,
}

impl Known {
    pub(crate) const fn new(names: Names) -> Self {
        let troubles = BTreeMap::new();
        Self {
            names,
            status: None,
            has_no_majority: false,
            troubles,
            was_in: false,
            removed_by: None,
            over: None,
        }
    }

    /// The name of a member.
    pub(crate) fn name(&self, id: NodeId) -> String {
        let addresses = self.status.iter().filter_map(|it| it.addresses.get(id.index()));
        self.names.of(id, addresses.map(String::as_str).next().unwrap_or_default())
    }

    /// This member does not take part any more.
    pub(crate) fn end(&mut self, why: String) {
        self.over.get_or_insert(why);
    }

    /// The group has become another one. Says why this member is out of it, if it is so now.
    pub(crate) fn learn(&mut self, status: &GroupStatus) -> Option<String> {
        self.status = Some(status.clone());
        let is_in = status.view.as_ref().is_some_and(|it| it.is_in);
        let was_in = std::mem::replace(&mut self.was_in, is_in);
        let removed_by = self.removed_by.take();
        if !was_in || is_in {
            return None;
        }
        Some(match (removed_by, &status.view) {
            (Some(view), _) => format!(
                "somebody has asked a member to evict this one (its log says who), and the others \
                 went on without it, in view {view}"
            ),
            (None, view) => format!(
                "the others had not heard this member in time and went on without it, in view {}",
                view.as_ref().map_or(0, |it| it.view)
            ),
        })
    }

    /// The group has gone on without this member, with this view, since it was asked to.
    pub(crate) const fn is_removed(&mut self, view: u64) {
        self.removed_by = Some(view);
    }

    /// Something has happened. True if that changes what is known.
    pub(crate) fn hear(&mut self, event: &Event) -> bool {
        let trouble = match event {
            Event::NoMajority { .. } => {
                self.has_no_majority = true;
                return true;
            }
            Event::Majority { .. } => {
                self.has_no_majority = false;
                return true;
            }
            Event::Connected { peer, .. } => return self.troubles.remove(peer).is_some(),
            Event::RefusedUs { peer, .. }
            | Event::Lost { peer, .. }
            | Event::Unanswered { peer, .. }
            | Event::Left { peer }
            | Event::GivenUp { peer, .. } => (*peer, event.to_string()),
            _ => return false,
        };
        self.troubles.insert(trouble.0, trouble.1);
        true
    }

    /// What is told of it.
    pub(crate) fn tell(&self, members: &mut Members) {
        if self.over.is_some() {
            (members.is_in, members.trouble) = (false, self.over.clone());
            return;
        }
        let Some(GroupStatus { view, health, addresses }) = &self.status else { return };
        let of_view = view.as_ref().map(|it| it.members.clone()).unwrap_or_default();
        let health = health.as_ref();
        let nobody = NodeSet::EMPTY;
        let voters = health.map_or(&nobody, |it| &it.voters);
        let lost = health.map_or(&nobody, |it| &it.lost);
        let suspected = health.map_or(&nobody, |it| &it.suspected);
        members.view = view.as_ref().map_or(0, |it| it.view);
        members.is_in = self.was_in;
        members.has_majority = members.view > 0 && !self.has_no_majority;
        members.trouble = self.trouble(members, view.as_ref(), health);
        let is_shown = |id: NodeId| {
            let is_founder = id.index() < self.names.founders.len();
            is_founder || id == self.names.me || of_view.contains(id) || voters.contains(id)
        };
        let all = (0..addresses.len() as u32).map(NodeId).filter(|&id| is_shown(id));
        members.members = all
            .map(|id| MemberInfo {
                id: id.0,
                name: self.name(id),
                address: addresses[id.index()].clone(),
                is_this: id == self.names.me,
                is_in_view: of_view.contains(id),
                life: view.as_ref().and_then(|it| it.life_of(id)),
                is_voter: voters.contains(id),
                has_lost_vote: voters.contains(id) && lost.contains(id),
                is_suspected: suspected.contains(id),
                trouble: self.troubles.get(&id).cloned(),
            })
            .collect();
    }

    /// Why nothing is granted.
    fn trouble(
        &self,
        members: &Members,
        of_view: Option<&GroupView>,
        health: Option<&GroupHealth>,
    ) -> Option<String> {
        if members.view == 0 {
            let who = self.names.founders.join(", ");
            return Some(format!(
                "there is no view yet: the founders ({who}) begin one when all of them are up"
            ));
        }
        if !self.has_no_majority {
            let is_out = !members.is_in;
            let view = members.view;
            return is_out.then(|| {
                format!("this member does not belong to view {view}, and has asked to come in")
            });
        }
        let name = &|id: NodeId| self.name(id);
        let words = Wording { name, stalled: "nothing is granted", remedy: Some("set 'data'") };
        health.zip(of_view).and_then(|(health, view)| health.trouble_in(view, &words)).or_else(
            || {
                let view = members.view;
                Some(format!("no majority of view {view} answers, and nothing is granted here"))
            },
        )
    }
}
