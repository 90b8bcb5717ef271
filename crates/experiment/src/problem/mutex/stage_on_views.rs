//! Mutual exclusion on views, by hand: who suspects whom is said like all else.

use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::locks::spec::{Locked, WithSuspicions};
use vorrang_algorithms::mutex::{Command, Mutex};
use vorrang_catalogue::Entry;
use vorrang_workload::mutex::ToldLocks;

use super::on_views::refuse_named_nodes;
use super::question_on_views::Made;
use crate::failure::Failure;
use crate::options::check::CheckArgs;
use crate::problem::Staged;
use crate::problem::staged::{self, Cast, Continuation};

/// How many nodes there are if nothing is said.
const USUAL: u32 = 3;

/// The nodes of the algorithm in the views of a group that all of them have founded.
pub(super) fn stage(of: &Entry<Mutex>, args: &CheckArgs) -> Result<Box<dyn Staged>, Failure> {
    let (card, about) = (of.card, of.card.about());
    if args.reliable.is_some() {
        return Err(Failure::usage(
            "--reliable is not for --on-views: there links lose nothing while both ends are up",
        ));
    }
    let setup = args.setup.setup(&about, args.nodes.unwrap_or(USUAL))?;
    refuse_named_nodes(&setup)?;
    if args.views.second.is_some() {
        return Err(Failure::usage(
            "--second is for 'vorrang check': by hand, restart a node to have another process",
        ));
    }
    let (lease, forgets) = (args.views.lease, args.views.forgetful);
    let (founders, slip) = (setup.group.size(), args.slip());
    let made = Made { founders, lease, forgets, second: None, slip };
    let nodes = made.nodes(of, &setup)?;
    // Whoever is suspected wrongly may still be inside: of that fencing tokens take care.
    let admission = (card.terms.admission)(&setup);
    let monitor = WithSuspicions::new(Locked::new(setup.group).admitting(admission).fenced());
    let header = made.note(of, &setup);
    let asks = card.terms.claims.iter().map(|&claim| Input::Ask(Command::Acquire(claim)));
    let asks = asks.chain([Input::Ask(Command::Release), Input::Beat]);
    let says = setup.group.members().flat_map(|id| [Input::Suspect(id), Input::Trust(id)]);
    Ok(staged::stage::<ToldLocks>(Cast {
        header,
        order: args.order(card.assumes.order).into(),
        monitor,
        nodes,
        guards: Vec::new(),
        commands: asks.chain(says).collect(),
        ahead: Continuation::No(WHY_NOT_AHEAD),
        setup,
    }))
}

/// From the middle of a run there is no end to what detectors may say.
const WHY_NOT_AHEAD: &str = "\
check: on views the checker looks at runs from their beginning, with a budget of suspicions: \
leave, and say 'vorrang check NAME --on-views'";
