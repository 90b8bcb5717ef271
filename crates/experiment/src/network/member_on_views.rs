//! A member of a group that a run has founded.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vorrang_algorithms::group::locks::Lease;
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::{Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::on_views::{LockBetweenProcesses, founding};
use vorrang_catalogue::{self as any, Entry, NodeOf};
use vorrang_net::{Config, Generation, Node, Open, Owner, StableStorage, Timing};
use vorrang_protocol::NodeId;

use crate::failure::Failure;
use crate::options::views::takes;
use crate::problem::mutex::on_views::in_every_view;

/// What a member must know besides the set-up of its algorithm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ViewsOrders {
    /// How long a lease lasts, and by how many parts in a thousand clocks may be wrong.
    pub(super) lease: Option<(Duration, u32)>,
    /// The mistake that is made.
    pub(super) in_own_order: bool,
    /// Where each member has a directory for what it must not forget.
    pub(super) directory: Option<PathBuf>,
}

/// A member that has not begun.
pub(super) struct Member {
    machine: NodeOf<Mutex>,
    generation: Generation,
    storage: Option<StableStorage>,
    founders: u32,
}

impl Member {
    /// As its parent process says.
    pub(super) fn of(
        card: &Card,
        (setup, id): (&str, NodeId),
        own: &ViewsOrders,
    ) -> Result<Self, Failure> {
        let unfit = |unfit: vorrang_algorithms::setup::Unfit| Failure::Usage(unfit.0);
        let setup = Setup::read(setup, takes(card.takes)).map_err(unfit)?;
        let entry = any::find::<Mutex>(card.name, None).map_err(unfit)?;
        Self::new(entry, (&setup, id), own)
    }

    /// The member of that number, of a group that all nodes found.
    pub(super) fn new(
        entry: &Entry<Mutex>,
        (setup, id): (&Setup, NodeId),
        own: &ViewsOrders,
    ) -> Result<Self, Failure> {
        let lease = own.lease.map(|(length, drift)| Lease::new(length, drift));
        let lock = LockBetweenProcesses::new(in_every_view(entry, setup)?, lease).telling_views();
        let lock = if own.in_own_order { lock.in_own_order() } else { lock };
        let founders = setup.group.size();
        let open = |directory: &PathBuf| {
            let owner = Owner {
                group: Config::new(id, Vec::new(), entry.card.name).group,
                algorithm: entry.card.name.to_owned(),
                setup: setup.text(takes(entry.card.takes)),
                founders,
                id,
            };
            let opened = StableStorage::open(&directory.join(id.to_string()), owner, true);
            opened.map_err(|error| Failure::World(format!("--data: {error}")))
        };
        let storage = own.directory.as_ref().map(open).transpose()?;
        let generation = storage.as_ref().map_or_else(Generation::now, StableStorage::generation);
        let life = generation.number();
        let pauses = storage.is_none().then_some(timing().backoff_max);
        let founding = founding(life, founders, setup, pauses);
        let machine = if storage.is_some() {
            lock.with_memory(id, setup, (life, founding))
        } else {
            lock.without_memory(id, setup, (life, Some(founding)))
        };
        Ok(Self { machine, generation, storage, founders })
    }

    /// The node.
    pub(super) fn node(self, config: Config) -> Node<Command, Notice> {
        let Self { machine, generation, storage, founders } = self;
        let config = Config { timing: timing(), ..config }.open(Open::new(generation, founders));
        let node = Node::new(machine, config);
        match storage {
            Some(storage) => node.storage(storage),
            None => node,
        }
    }
}

/// How soon connections are made: on one machine others are soon found, and those that were killed
/// acknowledge nothing.
fn timing() -> Timing {
    let soon = Duration::from_millis(200);
    Timing { backoff_max: soon, linger: soon, ..Timing::default() }
}
