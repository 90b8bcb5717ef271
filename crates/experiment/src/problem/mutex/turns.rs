//! How often each node enters in a check, with which claim, and whether it leaves.

use vorrang_algorithms::mutex::card::{Card, Flaw};
use vorrang_algorithms::mutex::{Claim, Command};
use vorrang_check::{FOREVER, Plan};
use vorrang_protocol::NodeId;

use crate::failure::Failure;
use crate::options::check::{CheckArgs, one_a_node};
use crate::options::command_line::CommandLine;
use crate::options::list;
use crate::options::mutex::{requesters, show_entries};

/// The workload.
pub(super) struct Turns {
    /// How often each node enters.
    pub(super) entries: Vec<u32>,
    /// The claim of each node.
    pub(super) claims: Vec<Claim>,
    /// The nodes that never leave after their last entry.
    pub(super) stay: Vec<u32>,
    /// The nodes that ask, lowest first, if that was said.
    pub(super) requesters: Vec<u32>,
    /// Whether a node asks only when all others are done.
    pub(super) one_at_a_time: bool,
}

impl Turns {
    pub(super) fn of(card: &Card, flaw: Option<&Flaw>, args: &CheckArgs) -> Result<Self, Failure> {
        let own = &args.mutex;
        let nodes = match (args.nodes, flaw, &own.entries[..]) {
            (Some(nodes), _, _) => nodes,
            (None, _, _) if !own.requesters.is_empty() => {
                let list = list(&own.requesters);
                return Err(Failure::usage(format!(
                    "--requesters {list}: of how many? Say --nodes"
                )));
            }
            (None, Some(flaw), []) => flaw.shown_by.entries.len() as u32,
            (None, _, [] | [_]) => 3,
            (None, _, entries) => entries.len() as u32,
        };
        let requesters = requesters(&own.requesters, nodes)?;
        let entries = match (&own.entries[..], flaw) {
            (entries, _) if !requesters.is_empty() => among(&requesters, entries, nodes)?,
            ([], Some(flaw)) if flaw.shown_by.entries.len() == nodes as usize => {
                flaw.shown_by.entries.to_vec()
            }
            ([], _) => vec![1; nodes as usize],
            ([same], _) => vec![*same; nodes as usize],
            (entries, _) if entries.len() == nodes as usize => entries.to_vec(),
            (entries, _) => return Err(one_a_node("--entries", entries.len(), nodes)),
        };
        let claims = match (&own.claims[..], flaw) {
            ([], Some(flaw)) if flaw.shown_by.claims.len() == nodes as usize => {
                flaw.shown_by.claims.to_vec()
            }
            ([], _) => card.terms.claims.iter().copied().cycle().take(nodes as usize).collect(),
            (claims, _) if claims.len() == nodes as usize => claims.to_vec(),
            (claims, _) => return Err(one_a_node("--claims", claims.len(), nodes)),
        };
        if let Some(claim) = claims.iter().find(|claim| !is_granted(card, **claim)) {
            return Err(Failure::usage(format!("{} grants no {claim} claims", card.name)));
        }
        let stay = match (&own.stay[..], flaw) {
            ([], Some(flaw)) => flaw.shown_by.stay.to_vec(),
            (stay, _) => stay.to_vec(),
        };
        check_stay(&stay, &entries)?;
        let one_at_a_time = own.one_at_a_time;
        if one_at_a_time && card.terms.perpetual {
            return Err(Failure::usage(format!(
                "--one-at-a-time: messages of {} travel even if nobody wants in, so that there is \
                 never a rest in which one could ask",
                card.name
            )));
        }
        Ok(Self { entries, claims, stay, requesters, one_at_a_time })
    }

    /// Whether some node asks for ever.
    pub(super) fn is_endless(&self) -> bool {
        self.entries.contains(&FOREVER)
    }

    /// Adds what would have to be typed for them.
    pub(super) fn add_to(&self, line: &mut CommandLine, card: &Card) {
        if self.requesters.is_empty() {
            line.option("entries", show_entries(&self.entries));
        } else {
            let theirs = self.requesters.iter().map(|&id| self.entries[id as usize]);
            line.option("requesters", list(&self.requesters));
            line.option("entries", show_entries(&theirs.collect::<Vec<_>>()));
        }
        if card.terms.claims.len() > 1 {
            line.option("claims", claims(&self.claims));
        }
        if !self.stay.is_empty() {
            line.option("stay", list(&self.stay));
        }
        if self.one_at_a_time {
            line.flag("one-at-a-time");
        }
    }

    pub(super) fn plan(&self) -> Plan<Command> {
        let asks = self.claims.iter().copied().map(Command::Acquire);
        let stay: Vec<NodeId> = self.stay.iter().copied().map(NodeId).collect();
        let plan =
            Plan::turns_with(self.entries.iter().copied().zip(asks), &Command::Release, &stay);
        if self.one_at_a_time { plan.one_at_a_time() } else { plan }
    }
}

/// How many entries each node makes, if only some ask: one number for all of these, or one each.
fn among(requesters: &[u32], entries: &[u32], nodes: u32) -> Result<Vec<u32>, Failure> {
    let theirs = match entries {
        [] => vec![1; requesters.len()],
        [same] => vec![*same; requesters.len()],
        each if each.len() == requesters.len() => each.to_vec(),
        each => {
            return Err(Failure::usage(format!(
                "--entries has {} values for the {} nodes of --requesters: give one number, or one \
                 for each of them",
                each.len(),
                requesters.len()
            )));
        }
    };
    let mut all = vec![0; nodes as usize];
    for (&id, entries) in requesters.iter().zip(theirs) {
        all[id as usize] = entries;
    }
    Ok(all)
}

/// Claims as they are typed.
pub(super) fn claims(claims: &[Claim]) -> String {
    let claim = |claim: &Claim| claim.to_string().replace(' ', ":");
    claims.iter().map(claim).collect::<Vec<_>>().join(",")
}

/// A node that stays must exist, must enter, and can stay only once.
fn check_stay(stay: &[u32], entries: &[u32]) -> Result<(), Failure> {
    for (place, &id) in stay.iter().enumerate() {
        let last = entries.len() - 1;
        let why = match entries.get(id as usize) {
            None => format!("does not exist: the last node is {last}"),
            Some(0) => "makes no entry that it could stay in".to_owned(),
            Some(&FOREVER) => "enters for ever, so no entry is its last".to_owned(),
            Some(_) if stay[..place].contains(&id) => "is named twice".to_owned(),
            Some(_) => continue,
        };
        return Err(Failure::usage(format!("--stay: node {id} {why}")));
    }
    Ok(())
}

fn is_granted(card: &Card, claim: Claim) -> bool {
    card.terms.claims.iter().any(|granted| match (granted, claim) {
        (Claim::Group(_), Claim::Group(_)) | (Claim::Of(_), Claim::Of(_)) => true,
        (granted, claim) => *granted == claim,
    })
}
