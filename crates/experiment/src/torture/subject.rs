//! The subjects of a campaign: algorithms, each by itself, over reliable channels or on views, with
//! what they claim to survive there.

use std::fmt;
use std::ops::RangeInclusive;

use vorrang_protocol::Group;

use super::votes::keeps_votes;
use crate::catalogue::Entry;
use crate::failure::Failure;
use crate::options::RunArgs;
use crate::problem::{Role, Survives};

/// What an algorithm stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Footing {
    /// The network itself.
    Bare,
    /// Reliable channels.
    Channels,
    /// The views of a group.
    Views,
    /// The same without stable storage.
    Forgetful,
}

impl Footing {
    const ALL: [Self; 4] = [Self::Bare, Self::Channels, Self::Views, Self::Forgetful];

    /// Whether it is a group.
    pub(super) const fn is_on_views(self) -> bool {
        matches!(self, Self::Views | Self::Forgetful)
    }

    /// The option that puts an algorithm there.
    const fn option(self) -> &'static str {
        match self {
            Self::Bare => "",
            Self::Channels => " --reliable",
            Self::Views => " --on-views",
            Self::Forgetful => " --on-views --forgetful",
        }
    }
}

/// An algorithm that claims to survive something.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The algorithm.
    pub entry: &'static Entry,
    /// What it stands on.
    pub footing: Footing,
    /// How many nodes it can have.
    pub(super) sizes: Vec<u32>,
    /// The mistake that is built in.
    pub(super) flaw: Option<String>,
}

/// As it is typed: `raymond --on-views`.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.algorithm.about().name)?;
        f.write_str(self.footing.option())?;
        self.flaw.as_ref().map_or(Ok(()), |flaw| write!(f, " --flaw {flaw}"))
    }
}

impl Subject {
    /// All subjects of these algorithms with so many nodes, each with this mistake if one is named.
    ///
    /// # Errors
    ///
    /// If there is none: in a sentence.
    pub fn all(
        entries: &[&'static Entry],
        nodes: &RangeInclusive<u32>,
        flaw: Option<&str>,
    ) -> Result<Vec<Self>, Failure> {
        let mut all = Vec::new();
        let mut refused = None;
        for (entry, footing) in entries.iter().flat_map(|it| Footing::ALL.map(|of| (*it, of))) {
            let mut it = Self { entry, footing, sizes: Vec::new(), flaw: flaw.map(str::to_owned) };
            for nodes in nodes.clone() {
                if it.survives(nodes) == Survives::NOTHING {
                    continue;
                }
                match it.is_fit(nodes) {
                    Ok(()) => it.sizes.push(nodes),
                    Err(Failure::Usage(why)) => refused = Some(why),
                    Err(failure) => return Err(failure),
                }
            }
            if !it.sizes.is_empty() {
                all.push(it);
            }
        }
        if all.is_empty() {
            return Err(Failure::Usage(refused.unwrap_or_else(|| {
                let names: Vec<&str> = entries.iter().map(|it| it.algorithm.about().name).collect();
                format!(
                    "{} with --nodes {}..={}: nothing there claims to survive any fault; 'vorrang \
                     survive' shows what a single one does",
                    names.join(", "),
                    nodes.start(),
                    nodes.end()
                )
            })));
        }
        Ok(all)
    }

    /// What it claims to survive with so many nodes.
    pub fn survives(&self, nodes: u32) -> Survives {
        let about = self.entry.algorithm.about();
        let is_lock = self.entry.algorithm.roles().contains(&Role::Holder);
        match self.footing {
            Footing::Bare => self.entry.algorithm.survives(&about.assumes.setup(Group::of(nodes))),
            // What is sent again comes too late for those who go by time, and tries end.
            Footing::Channels if about.assumes.reliable && !about.assumes.timely => {
                Survives { partitions: false, ..Survives::LINKS }
            }
            Footing::Views | Footing::Forgetful if is_lock && about.assumes.timely => {
                Survives::crashes(crate::problem::minority(nodes))
            }
            Footing::Views | Footing::Forgetful if is_lock => Survives::majority(nodes),
            Footing::Channels | Footing::Views | Footing::Forgetful => Survives::NOTHING,
        }
    }

    /// Whether it claims that everybody is served in the end, whatever happens of what it
    /// [survives](Self::survives): a group without stable storage may come to an end.
    pub(super) fn serves_in_the_end(&self, args: &RunArgs) -> bool {
        self.footing != Footing::Forgetful || keeps_votes(args)
    }

    /// A run without faults, to begin with.
    pub(super) fn placed(&self, mut args: RunArgs, nodes: u32) -> RunArgs {
        args.common.nodes = nodes;
        args.common.flaw.clone_from(&self.flaw);
        args.common.reliable = self.footing == Footing::Channels;
        args.views.on_views = self.footing.is_on_views();
        args.views.forgetful = self.footing == Footing::Forgetful;
        args
    }

    fn is_fit(&self, nodes: u32) -> Result<(), Failure> {
        let trials = self.entry.algorithm.trials(nodes).into_iter();
        for args in trials.map(|trial| self.placed(trial, nodes)) {
            self.entry.algorithm.run(&args)?;
        }
        Ok(())
    }
}
