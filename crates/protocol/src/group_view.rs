//! The view of a group, as a node with a membership protocol knows it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

use crate::{NodeId, NodeSet};

/// The newest view of a group that a node knows, for status displays.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct GroupView {
    /// Its number; 0 if the node knows no view.
    pub view: u64,
    /// The number of the first view of this group; another one is another group.
    pub founded: u64,
    /// Whether the node is a member.
    pub is_in: bool,
    /// The members.
    pub members: NodeSet,
    /// In which life each of them is, lowest first.
    #[serde(skip)]
    pub lives: Vec<u64>,
}

impl GroupView {
    /// In which life a node is a member, if it is one.
    pub fn life_of(&self, node: NodeId) -> Option<u64> {
        let place = self.members.iter().position(|it| it == node)?;
        self.lives.get(place).copied()
    }
}

impl fmt::Display for GroupView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.view == 0 {
            return f.write_str("no view yet");
        }
        let members: Vec<_> = self.members.iter().map(|it| it.to_string()).collect();
        write!(f, "view {} {{{}}}", self.view, members.join(", "))?;
        if self.is_in { Ok(()) } else { f.write_str(", to which this node does not belong") }
    }
}

/// Whether a group can go on, as far as a node knows: whether enough of those who vote on the
/// successor of its newest view are there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct GroupHealth {
    /// Members and voters that seem to be down, or are cut off.
    pub suspected: NodeSet,
    /// Those that it hears and that do not all hear each other: too many to go on together.
    pub apart: NodeSet,
    /// Voters whose votes are lost: they have forgotten the view, and begun other incarnations; or
    /// have another directory than the one that votes.
    pub lost: NodeSet,
    /// Whether enough voters are there, and hear each other.
    pub has_majority: bool,
    /// Whether enough voters would be there if all that are suspected came back. If not, there is
    /// no successor of the view, ever.
    pub may_recover: bool,
    /// Whether votes outlive a crash.
    pub is_stable: bool,
    /// The voters.
    pub voters: NodeSet,
}

/// How it is said what is wrong with a group: the words differ between programs, what is said does
/// not.
#[derive(Clone, Copy)]
pub struct Wording<'a> {
    /// What a node is called.
    pub name: &'a dyn Fn(NodeId) -> String,
    /// What happens no more, as in `nobody enters`.
    pub stalled: &'a str,
    /// How to have it that members forget nothing, as in `use --data`, where that can be had.
    pub remedy: Option<&'a str>,
}

impl fmt::Debug for Wording<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wording").field("stalled", &self.stalled).finish_non_exhaustive()
    }
}

impl Wording<'_> {
    /// As in `0, 1`.
    fn list(&self, nodes: impl Iterator<Item = NodeId>) -> String {
        let names: Vec<String> = nodes.map(self.name).collect();
        names.join(", ")
    }

    /// What to do so that it does not happen again, if that can be done, after this.
    fn or_remedy(&self, before: char) -> String {
        let remedy = |it| format!("{before} or {it}, with which members forget nothing");
        self.remedy.map(remedy).unwrap_or_default()
    }
}

impl GroupHealth {
    /// Whether enough voters are left without these others: more than half, or half of them with
    /// the first.
    pub fn goes_on_without(&self, gone: &[NodeId]) -> bool {
        let is_left = |id: &NodeId| !gone.contains(id) && !self.lost.contains(*id);
        let (all, left) = (self.voters.len(), self.voters.iter().filter(is_left).count());
        let has_first = self.voters.iter().next().is_some_and(|first| is_left(&first));
        2 * left > all || (2 * left == all && has_first)
    }

    /// What is wrong with a group that has no majority, and what to do about it, in the words of a
    /// node on a terminal.
    pub fn trouble(&self, of: &GroupView) -> Option<String> {
        self.trouble_where(of, "nobody enters", true)
    }

    /// The same of any group, where this `stops`, as in "nobody enters", and members may have
    /// stable storage or not.
    pub fn trouble_where(&self, of: &GroupView, stops: &str, may_store: bool) -> Option<String> {
        let (name, remedy) = (&|node: NodeId| node.to_string(), may_store.then_some("use --data"));
        self.trouble_in(of, &Wording { name, stalled: stops, remedy })
    }

    /// The same in these words.
    pub fn trouble_in(&self, of: &GroupView, words: &Wording<'_>) -> Option<String> {
        let Self { suspected, apart, lost, has_majority, may_recover, is_stable, voters } = self;
        if of.view == 0 || *has_majority {
            return None;
        }
        let stalled = words.stalled;
        let view = format!("view {} {{{}}}", of.view, words.list(of.members.iter()));
        let silent = words.list(voters.iter().filter(|&it| suspected.contains(it)));
        let apart = words.list(voters.iter().filter(|&it| apart.contains(it)));
        let who = who_is_missing(&silent, &apart);
        let without = |who: String| if who.is_empty() { who } else { format!(" ({who})") };
        // Others may well go on: whoever does not belong to a view is the last to know.
        if !of.is_in && *may_recover {
            return Some(format!(
                "this node does not belong to {view}, and hears no majority of those who decide \
                 what comes next{}: it comes in when it hears more of them; they may go on without \
                 it meanwhile",
                without(who)
            ));
        }
        if *is_stable {
            return Some(self.of_voters(&view, words, who));
        }
        if *may_recover && silent.is_empty() {
            return Some(format!(
                "no majority of {view} answers whose members all hear each other, and {stalled} \
                 any more{}: it goes on when enough links between them are mended",
                without(who)
            ));
        }
        if *may_recover {
            return Some(format!(
                "no majority of {view} answers, and {stalled} at this node any more{}: if those \
                 are cut off, it goes on when enough of them are heard again, and they may go on \
                 without this node; only if those were killed, they have forgotten the view: then \
                 start all of its members again{}",
                without(who),
                words.or_remedy(',')
            ));
        }
        let left = words.list(voters.iter().filter(|&it| !lost.contains(it)));
        let then = if left.is_empty() {
            "the founders begin a new group as soon as all of them are up".to_string()
        } else {
            format!("start {left} again, too, and the founders begin a new group")
        };
        Some(format!(
            "no majority of {view} is left, and {stalled} any more (started again, and have \
             forgotten the view: {}): {then}{}",
            words.list(lost.iter()),
            words.or_remedy(';')
        ))
    }

    /// What is wrong where votes outlive a crash.
    fn of_voters(&self, view: &str, words: &Wording<'_>, who: String) -> String {
        let (voters, lost) = (words.list(self.voters.iter()), words.list(self.lost.iter()));
        let who = match (who.is_empty(), lost.is_empty()) {
            (_, true) => who,
            (true, false) => format!("{OTHER}: {lost}"),
            (false, false) => format!("{who}; {OTHER}: {lost}"),
        };
        let who = if who.is_empty() { who } else { format!(" ({who})") };
        let then = if self.may_recover {
            "goes on when enough of them are back"
        } else {
            "goes on when enough of them are back with the directories that they had; if those are \
             lost for good, one that has kept its own must be made the only voter by force"
        };
        let stalled = words.stalled;
        format!(
            "no majority of the voters {{{voters}}} answers, and {stalled} any more{who}: {view} \
             {then}"
        )
    }
}

const OTHER: &str = "has another directory than the one that votes";

/// Those that are silent, and those that do not hear all others, as far as there are any.
fn who_is_missing(silent: &str, apart: &str) -> String {
    let heard = || format!("heard here, and not by all others that are: {apart}");
    match (silent.is_empty(), apart.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("silent: {silent}"),
        (true, false) => heard(),
        (false, false) => format!("silent: {silent}; {}", heard()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_a_majority_says_who_is_missing_and_what_to_do() {
        let set = |ids: &[u32]| ids.iter().copied().map(NodeId).collect::<NodeSet>();
        let of = GroupView {
            view: 7,
            founded: 1,
            is_in: true,
            members: set(&[0, 2]),
            lives: Vec::new(),
        };
        let well = GroupHealth {
            suspected: NodeSet::EMPTY,
            apart: NodeSet::EMPTY,
            lost: NodeSet::EMPTY,
            has_majority: true,
            may_recover: true,
            is_stable: false,
            voters: set(&[0, 2]),
        };
        assert_eq!(well.trouble(&of), None);
        let silent = GroupHealth { suspected: set(&[0]), has_majority: false, ..well.clone() };
        let said = silent.trouble(&of).unwrap_or_default();
        assert!(said.starts_with("no majority of view 7 {0, 2} answers"), "{said}");
        assert!(said.contains("(silent: 0)") && said.contains("start all"), "{said}");
        assert!(said.contains("they may go on without this node"), "{said}");
        let broken = GroupHealth { apart: set(&[2]), ..silent.clone() };
        let said = broken.trouble(&of).unwrap_or_default();
        assert!(
            said.contains("(silent: 0; heard here, and not by all others that are: 2)"),
            "{said}"
        );
        let only_links = GroupHealth { suspected: NodeSet::EMPTY, ..broken };
        let said = only_links.trouble(&of).unwrap_or_default();
        assert!(said.contains("(heard here, and not by all others that are: 2)"), "{said}");
        assert!(said.ends_with("links between them are mended"), "{said}");
        let said = silent.trouble_where(&of, "nothing is delivered", false).unwrap_or_default();
        assert!(said.contains("answers, and nothing is delivered at this node any more"), "{said}");
        assert!(said.ends_with("then start all of its members again"), "{said}");
        let out = GroupView { is_in: false, ..of.clone() };
        let said = silent.trouble(&out).unwrap_or_default();
        assert!(said.starts_with("this node does not belong to view 7 {0, 2}"), "{said}");
        assert!(said.contains("(silent: 0)") && !said.contains("start all"), "{said}");
        let name = &|node: NodeId| ["a", "b", "c"][node.index()].to_string();
        let words = Wording { name, stalled: "nothing is granted", remedy: Some("set data") };
        let said = silent.trouble_in(&of, &words).unwrap_or_default();
        assert!(said.starts_with("no majority of view 7 {a, c} answers, and nothing is granted"));
        assert!(said.contains("(silent: a)") && said.contains("or set data, with"), "{said}");
        let over = GroupHealth { lost: set(&[0]), may_recover: false, ..silent.clone() };
        let said = over.trouble(&of).unwrap_or_default();
        assert!(said.starts_with("no majority of view 7 {0, 2} is left"), "{said}");
        assert!(said.contains("view: 0): start 2 again, too"), "{said}");
        let stable = GroupHealth { is_stable: true, voters: set(&[0, 1, 2]), ..silent };
        let said = stable.trouble(&of).unwrap_or_default();
        assert!(said.starts_with("no majority of the voters {0, 1, 2} answers"), "{said}");
        assert!(said.ends_with("(silent: 0): view 7 {0, 2} goes on when enough of them are back"));
        let replaced = GroupHealth { lost: set(&[1, 2]), may_recover: false, ..stable };
        let said = replaced.trouble(&of).unwrap_or_default();
        assert!(said.contains("another directory than the one that votes: 1, 2)"), "{said}");
        assert!(said.ends_with("must be made the only voter by force"), "{said}");
        assert_eq!(over.trouble(&GroupView { view: 0, ..of }), None, "there is none yet");
        let [zero, one, two] = [0, 1, 2].map(NodeId);
        assert!(well.goes_on_without(&[two]) && !well.goes_on_without(&[zero]), "half of 0 and 2");
        assert!(well.goes_on_without(&[]) && well.goes_on_without(&[one]));
        let three = GroupHealth { voters: set(&[0, 1, 2]), lost: set(&[1]), ..well };
        assert!(three.goes_on_without(&[]) && !three.goes_on_without(&[zero]));
    }

    #[test]
    fn a_view_is_shown_and_whether_one_belongs_to_it() {
        let members = [0, 2].map(NodeId).into_iter().collect();
        let lives = [5, 9].to_vec();
        let belonging = GroupView { view: 7, founded: 1, is_in: true, members, lives };
        let lives = [0, 1, 2].map(|it| belonging.life_of(NodeId(it)));
        assert_eq!(lives, [Some(5), None, Some(9)]);
        assert_eq!(belonging.to_string(), "view 7 {0, 2}");
        let out = GroupView { is_in: false, ..belonging };
        assert_eq!(out.to_string(), "view 7 {0, 2}, to which this node does not belong");
        assert_eq!(GroupView { view: 0, ..out }.to_string(), "no view yet");
    }
}
