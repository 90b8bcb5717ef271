//! Nodes of any algorithm that can be run on a terminal.

use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::GroupCommunication;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::{self as catalogue, Entry};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::lookup;
use vorrang_experiment::network::Future;
use vorrang_experiment::problem::make;
use vorrang_experiment::problem::mutex::on_views::in_every_view;

use crate::fixed_group::serve;
use crate::hosted::Hosted;
use crate::on_views;
use crate::terminal_session::Served;

/// Runs a node of the algorithm of that name until it leaves.
pub(crate) fn host(name: &str, setup: &Setup, node: Served) -> Result<Future<'static>, Failure> {
    let hosts = [
        host_of::<Mutex>,
        host_of::<Election>,
        host_of::<Wave>,
        host_of::<Detection>,
        host_of::<Multicast>,
        host_of::<GroupCommunication>,
    ];
    let mut node = Some(node);
    let found = hosts.into_iter().find_map(|host| host(name, setup, &mut node));
    // Where no problem has it, the look-up says so.
    found.unwrap_or_else(|| {
        Err(lookup::algorithm(name)
            .err()
            .unwrap_or_else(|| Failure::usage(format!("{name} does not run on a terminal"))))
    })
}

/// A problem whose nodes can be run on a terminal, perhaps in a group that others may join.
trait InViews: Hosted {
    /// Runs a node of such a group.
    fn serve_on_views(
        _: &'static Entry<Self>,
        _: &Setup,
        _: Served,
    ) -> Result<Future<'static>, Failure> {
        Err(Failure::usage("--on-views is for mutual exclusion and virtual-synchrony".to_owned()))
    }
}

/// Inside views of any size, for each of which the algorithm is made.
impl InViews for Mutex {
    fn serve_on_views(
        entry: &'static Entry<Self>,
        setup: &Setup,
        served: Served,
    ) -> Result<Future<'static>, Failure> {
        let by_size = in_every_view(entry, setup)?;
        Ok(on_views::serve(served, by_size))
    }
}

impl InViews for GroupCommunication {
    fn serve_on_views(
        _: &'static Entry<Self>,
        _: &Setup,
        served: Served,
    ) -> Result<Future<'static>, Failure> {
        Ok(on_views::serve_group(served))
    }
}

impl InViews for Election {}
impl InViews for Wave {}
impl InViews for Detection {}
impl InViews for Multicast {}

/// Runs the node if the algorithm of that name solves this problem.
fn host_of<Q: InViews>(
    name: &str,
    setup: &Setup,
    node: &mut Option<Served>,
) -> Option<Result<Future<'static>, Failure>> {
    let entry = catalogue::find::<Q>(name, None).ok()?;
    let node = node.take()?;
    let host = || {
        if node.node.views.is_on() {
            return Q::serve_on_views(entry, setup, node);
        }
        let make = make(&entry.recipe, setup)?;
        Ok(serve::<Q>(node, &make, Q::needs(entry.card, setup)))
    };
    Some(host())
}
