//! Nodes of any algorithm that can be run on a terminal.

use std::sync::{Arc, LazyLock};

use vorrang_algorithms::card::Card;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::Grouping;
use vorrang_algorithms::multicast::Multicast;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem;
use vorrang_algorithms::registry::{self, Recipe, Register};
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::wave::Wave;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::names::unknown;
use vorrang_experiment::problem::on_views::in_every_view;
use vorrang_experiment::problem::{Driven, Future, make};
use vorrang_net::Sealed;
use vorrang_protocol::Protocol;

use crate::conversation::{Served, serve};
use crate::on_views::{self, Ranked};

/// Runs a node of the algorithm of that name until it leaves.
pub(crate) fn host(name: &str, setup: &Setup, node: Served) -> Result<Future<'static>, Failure> {
    static HOSTS: LazyLock<Hosts> = LazyLock::new(|| {
        let mut hosts = Hosts(Vec::new());
        registry::register(&mut hosts);
        hosts
    });
    let found = HOSTS.0.iter().find(|(known, _)| *known == name);
    let (_, host) =
        found.ok_or_else(|| unknown("algorithm", name, HOSTS.0.iter().map(|(known, _)| *known)))?;
    host.host(setup, node)
}

/// A problem whose nodes can be run on a terminal.
trait Hosted: Driven {
    /// Runs a node inside views of any size, for each of which its algorithm is made.
    fn serve_on_views(
        _: Served,
        _: Vec<Ranked<Self::Command, Self::Notice>>,
    ) -> Result<Future<'static>, Failure> {
        Err(Failure::usage("--on-views is for mutual exclusion".to_owned()))
    }
}

impl Hosted for Mutex {
    fn serve_on_views(
        served: Served,
        made: Vec<Ranked<Self::Command, Self::Notice>>,
    ) -> Result<Future<'static>, Failure> {
        Ok(on_views::serve(served, made))
    }
}

impl Hosted for Election {}
impl Hosted for Wave {}
impl Hosted for Detection {}
impl Hosted for Multicast {}
impl Hosted for Grouping {}

/// An algorithm, by its name.
struct Hosts(Vec<(&'static str, Box<dyn Host>)>);

trait Host: Send + Sync {
    fn host(&self, setup: &Setup, node: Served) -> Result<Future<'static>, Failure>;
}

/// An algorithm while its types are known.
struct HostOf<Q: Problem, P: Protocol> {
    card: &'static Card<Q>,
    recipe: Recipe<P>,
}

impl<Q: Hosted> Register<Q> for Hosts {
    fn algorithm<P>(&mut self, card: &'static Card<Q>, recipe: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
        self.0.push((card.name, Box::new(HostOf { card, recipe })));
    }

    fn flaw<P>(&mut self, _: &'static Card<Q>, _: &'static str, _: Recipe<P>)
    where
        P: Protocol<Command = Q::Command, Notice = Q::Notice>,
    {
    }
}

impl<Q, P> Host for HostOf<Q, P>
where
    Q: Hosted,
    P: Protocol<Command = Q::Command, Notice = Q::Notice>,
{
    fn host(&self, setup: &Setup, node: Served) -> Result<Future<'static>, Failure> {
        if node.node.views.is_on() {
            let made = in_every_view(setup, |setup| {
                let make = make(&self.recipe, setup)?;
                Ok(Arc::new(move |id| Sealed::new(make(id))) as Ranked<_, _>)
            })?;
            return Q::serve_on_views(node, made);
        }
        let make = make(&self.recipe, setup)?;
        Ok(serve::<Q, P>(node, &make, Q::needs(self.card, setup)))
    }
}
