//! Who is in the list: a machine without sockets or clocks.
//!
//! Everyone says again and again at which stage it is:
//!
//! ```text
//!   LOOKS ⇄ PROPOSES(list) → COMMITS(list) → AGREED(list)
//! ```
//!
//! A process is a *candidate*: an address and a life, the incarnation at that address. Whoever
//! knows of exactly as many candidates as are wanted, itself included, proposes them, and takes
//! that back when one comes or goes. Once all of the list propose it, it commits, and never takes
//! that back. Once all of the list have committed, it has agreed.
//!
//! **Why it is safe**: two lists with a candidate in common that anyone agrees on are the same. For
//! each of them that candidate has committed, and a candidate commits once. Nothing is assumed of
//! the network: announcements may be lost, doubled, overtaken and late.
//!
//! **Why it ends**: while nobody comes or goes and some announcements arrive, all know the same
//! candidates, so all propose the same, commit and agree; who has not heard all commits is told by
//! anyone who has agreed. No protocol can promise this if members may crash at any time (Fischer,
//! Lynch, Paterson 1985), so there is a way back: if another of the list is silent for too long, or
//! commits to something else, a process that has committed gives up *its own life* and begins as
//! another candidate. What the life that it gave up has committed to stays true.
//!
//! **What is left**: if a member dies just when some have agreed, they wait for it. A process at
//! the same address takes that place: it is then in the list in its predecessor's stead. And two
//! halves of a network that do not hear each other agree on a list each, without a common member.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How many other candidates are kept. An announcement of one more is dropped.
pub const MOST_CANDIDATES: usize = 64;

/// A process that looks for others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// Where members reach it.
    pub address: SocketAddrV4,
    /// Which life of it: of two at one address the larger is the later one.
    pub life: u64,
}

/// Candidates in the order of their addresses: the first is node 0.
pub type List = Vec<Candidate>;

/// What a candidate says of itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Said {
    /// It does not know of as many as are wanted, or knows of more.
    Looks,
    /// It knows of these, and of no others.
    Proposes(List),
    /// It will never be in another list.
    Commits(List),
    /// All of the list have committed to it.
    Agreed(List),
    /// It goes.
    Leaves,
}

impl Said {
    /// The list that its sender cannot change any more.
    const fn committed(&self) -> Option<&List> {
        match self {
            Self::Commits(list) | Self::Agreed(list) => Some(list),
            Self::Looks | Self::Proposes(_) | Self::Leaves => None,
        }
    }

    const fn list(&self) -> Option<&List> {
        match self {
            Self::Proposes(list) | Self::Commits(list) | Self::Agreed(list) => Some(list),
            Self::Looks | Self::Leaves => None,
        }
    }

    /// Whether one at that address can say so where so many are wanted.
    fn is_plausible(&self, address: SocketAddrV4, wanted: usize) -> bool {
        self.list().is_none_or(|list| {
            list.len() == wanted
                && list.is_sorted_by(|one, next| one.address < next.address)
                && has_place(list, address)
        })
    }
}

fn has_place(list: &[Candidate], address: SocketAddrV4) -> bool {
    list.iter().any(|it| it.address == address)
}

/// How long things take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// A candidate is gone that was not heard for so long.
    pub silence: Duration,
    /// One that has committed waits so long for the others to.
    pub commitment: Duration,
}

/// What is worth a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// These look for each other, this one included: others than before.
    Present(Vec<SocketAddrV4>),
    /// All had proposed a list, and these did not commit to it: another attempt begins.
    Abandoned(Vec<SocketAddrV4>),
}

/// What became of an announcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heed {
    /// It was heeded, or is older than what is known.
    Heard,
    /// Nobody can say so.
    Implausible,
    /// Too many candidates are known already.
    Full,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Stage {
    Looking,
    Proposed(List),
    /// Since when, and which others have committed, too.
    Committed(List, Duration, BTreeSet<Candidate>),
    Agreed(List),
    /// Others have agreed on a list without this one.
    LeftOut(List),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Other {
    life: u64,
    said: Said,
    heard_at: Duration,
}

/// One process that looks for others. Times are since it began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    me: Candidate,
    wanted: usize,
    patience: Patience,
    others: BTreeMap<SocketAddrV4, Other>,
    stage: Stage,
    /// Who was there at the last look.
    present: Vec<SocketAddrV4>,
    news: Vec<News>,
}

impl Agreement {
    /// A process that looks for `wanted` in all, itself included.
    pub fn new(me: Candidate, wanted: usize, patience: Patience) -> Self {
        let (others, present, news) = (BTreeMap::new(), vec![me.address], Vec::new());
        Self { me, wanted, patience, others, stage: Stage::Looking, present, news }
    }

    /// Who this is by now.
    pub const fn me(&self) -> Candidate {
        self.me
    }

    /// What it says of itself.
    pub fn says(&self) -> Said {
        match &self.stage {
            Stage::Looking => Said::Looks,
            Stage::Proposed(list) => Said::Proposes(list.clone()),
            Stage::Committed(list, ..) => Said::Commits(list.clone()),
            Stage::Agreed(list) => Said::Agreed(list.clone()),
            Stage::LeftOut(_) => Said::Leaves,
        }
    }

    /// The list, once it has agreed on one.
    pub const fn agreed(&self) -> Option<&List> {
        match &self.stage {
            Stage::Agreed(list) => Some(list),
            Stage::Looking | Stage::Proposed(_) | Stage::Committed(..) | Stage::LeftOut(_) => None,
        }
    }

    /// The list of others, if they have agreed without this one.
    pub const fn left_out_of(&self) -> Option<&List> {
        match &self.stage {
            Stage::LeftOut(list) => Some(list),
            Stage::Looking | Stage::Proposed(_) | Stage::Committed(..) | Stage::Agreed(_) => None,
        }
    }

    /// Whether it has agreed, and so has everyone else of the list.
    pub fn is_common_knowledge(&self) -> bool {
        self.agreed().is_some_and(|list| {
            let has_agreed = |it: &Candidate| {
                let other = self.others.get(&it.address);
                other.is_some_and(|other| matches!(&other.said, Said::Agreed(of) if of == list))
            };
            list.iter().all(|it| it.address == self.me.address || has_agreed(it))
        })
    }

    /// What has happened since the last question.
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// An announcement has come in.
    pub fn hear(&mut self, now: Duration, from: Candidate, said: Said) -> Heed {
        if !said.is_plausible(from.address, self.wanted) {
            return Heed::Implausible;
        }
        if from.address == self.me.address {
            return Heed::Heard;
        }
        self.forget_silent(now);
        let known = self.others.get(&from.address);
        if known.is_none() && self.others.len() >= MOST_CANDIDATES {
            return Heed::Full;
        }
        if known.is_some_and(|known| is_overtaken(known, from.life, &said)) {
            return Heed::Heard;
        }
        if let Said::Agreed(list) = &said {
            self.heed_agreed(list);
        }
        if said == Said::Leaves {
            self.others.remove(&from.address);
        } else {
            let other = Other { life: from.life, said, heard_at: now };
            self.others.insert(from.address, other);
        }
        self.evaluate(now);
        Heed::Heard
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Duration) {
        self.forget_silent(now);
        self.evaluate(now);
    }

    fn forget_silent(&mut self, now: Duration) {
        let silence = self.patience.silence;
        self.others.retain(|_, other| now.saturating_sub(other.heard_at) <= silence);
    }

    /// Someone has agreed on a list, so all of that list have committed to it.
    fn heed_agreed(&mut self, list: &List) {
        let is_open = match &self.stage {
            Stage::Looking | Stage::Proposed(_) => true,
            Stage::Committed(ours, ..) => ours == list,
            Stage::Agreed(_) | Stage::LeftOut(_) => false,
        };
        if !is_open {
            return;
        }
        // With another life than ours it is a predecessor's place, which nobody else can take.
        let is_ours = has_place(list, self.me.address);
        let list = list.clone();
        self.stage = if is_ours { Stage::Agreed(list) } else { Stage::LeftOut(list) };
    }

    /// Draws conclusions from what is known.
    fn evaluate(&mut self, now: Duration) {
        if let Stage::Looking | Stage::Proposed(_) = self.stage {
            self.gather(now);
        }
        let Stage::Committed(list, since, committed) = &mut self.stage else { return };
        let (mut missing, mut gone) = (Vec::new(), Vec::new());
        for it in list.iter().filter(|it| **it != self.me) {
            let known = self.others.get(&it.address).filter(|other| other.life == it.life);
            let theirs = known.and_then(|other| other.said.committed());
            if theirs == Some(&*list) {
                committed.insert(*it);
            }
            if known.is_none() || theirs.is_some_and(|theirs| theirs != list) {
                gone.push(it.address);
            }
            if !committed.contains(it) {
                missing.push(it.address);
            }
        }
        if missing.is_empty() {
            self.stage = Stage::Agreed(list.clone());
        } else if !gone.is_empty() || now.saturating_sub(*since) > self.patience.commitment {
            self.me.life += 1;
            self.stage = Stage::Looking;
            self.news.push(News::Abandoned(if gone.is_empty() { missing } else { gone }));
            self.gather(now);
        }
    }

    /// Looks who is there, and proposes or commits accordingly.
    fn gather(&mut self, now: Duration) {
        let mut list: List = self.others.iter().filter_map(|it| self.available(it)).collect();
        list.push(self.me);
        list.sort_unstable();
        let present: Vec<SocketAddrV4> = list.iter().map(|it| it.address).collect();
        if present != self.present {
            self.present.clone_from(&present);
            self.news.push(News::Present(present));
        }
        // Someone has heard all propose a list: if all of it are there, that decides, even if one
        // more has come since.
        let decided = self.others.values().filter_map(|other| other.said.committed());
        let mut decided = decided.filter(|of| of.iter().all(|it| list.contains(it)));
        if let Some(decided) = decided.next() {
            self.stage = Stage::Committed(decided.clone(), now, BTreeSet::new());
        } else if list.len() == self.wanted {
            let is_for =
                |other: Option<&Other>| other.is_some_and(|other| other.said.list() == Some(&list));
            let are_for_it =
                list.iter().all(|it| *it == self.me || is_for(self.others.get(&it.address)));
            self.stage = if are_for_it {
                Stage::Committed(list, now, BTreeSet::new())
            } else {
                Stage::Proposed(list)
            };
        } else {
            self.stage = Stage::Looking;
        }
    }

    /// A candidate that may still be in a list with this one.
    fn available(&self, (address, other): (&SocketAddrV4, &Other)) -> Option<Candidate> {
        let is_free = other.said.committed().is_none_or(|list| list.contains(&self.me));
        is_free.then_some(Candidate { address: *address, life: other.life })
    }
}

/// Whether something is known of that address that was said later.
fn is_overtaken(known: &Other, life: u64, said: &Said) -> bool {
    match known.life.cmp(&life) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => match (&known.said, said) {
            (_, Said::Leaves) | (Said::Looks | Said::Proposes(_) | Said::Leaves, _) => false,
            (Said::Agreed(known), Said::Agreed(said))
            | (Said::Commits(known), Said::Commits(said) | Said::Agreed(said)) => known != said,
            (Said::Commits(_), Said::Looks | Said::Proposes(_))
            | (Said::Agreed(_), Said::Looks | Said::Proposes(_) | Said::Commits(_)) => true,
        },
    }
}
