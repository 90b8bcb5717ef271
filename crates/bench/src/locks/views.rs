//! What the library is compared with: one lock on views between processes, as `vorrang node
//! --on-views` has it, asked through the node's handle, without names, guards and leases.

use tokio::sync::mpsc::UnboundedReceiver;
use vorrang_algorithms::mutex::{Claim, Command, Mutex, Notice};
use vorrang_algorithms::setup::Setup;
use vorrang_catalogue::on_views::{LockBetweenProcesses, founding};
use vorrang_lock::Config;
use vorrang_net::{Generation, Handle, Node, Open};
use vorrang_protocol::{Group, NodeId};

use crate::Outcome;
use crate::client::{ClientArgs, Locks};
use crate::place::NAMES;

/// A node of the group.
#[derive(Debug)]
pub(crate) struct Views {
    handle: Handle<Command>,
    notices: UnboundedReceiver<Notice>,
}

impl Views {
    pub(crate) async fn start(arguments: &ClientArgs) -> Outcome<Self> {
        let (handle, notices) = node(arguments)?.start().await?;
        Ok(Self { handle, notices })
    }
}

impl Locks for Views {
    async fn take(&mut self) -> Outcome<()> {
        self.handle.command(Command::Acquire(Claim::Exclusive)).await?;
        while let Some(notice) = self.notices.recv().await {
            if notice.is_entry() {
                return Ok(());
            }
        }
        Err("the node has stopped".into())
    }

    async fn give_back(&mut self) -> Outcome<()> {
        Ok(self.handle.command(Command::Release).await?)
    }
}

/// The member, with the algorithm and the detector of the library's defaults.
fn node(arguments: &ClientArgs) -> Outcome<Node<Command, Notice>> {
    let members: Vec<(&str, &str)> =
        arguments.members.split(',').filter_map(|it| it.split_once('=')).collect();
    let place = members.iter().position(|(name, _)| *name == arguments.name);
    let id = NodeId(place.ok_or("--name is none of --members")? as u32);
    let peers: Vec<String> = members.iter().map(|(_, address)| (*address).to_owned()).collect();
    let usual = Config::default();
    let (beat, margin) = (usual.beat, usual.margin);
    let founders = NAMES.len() as u32;
    let setup = Setup { beat, margin, ..Setup::new(Group::of(founders)) };
    let entry = vorrang_catalogue::find::<Mutex>(&usual.algorithm, None)?;
    let by_size = entry.in_every_view(&setup).map_err(|(_, unfit)| unfit)?;
    let generation = Generation::now();
    let pauses = Some(vorrang_net::Timing::default().backoff_max);
    let founding = founding(generation.number(), founders, &setup, pauses);
    let lock = LockBetweenProcesses::new(by_size, None);
    let born = (generation.number(), Some(founding));
    let machine = lock.without_memory(id, &setup, born);
    let config = vorrang_net::Config::new(id, peers, &usual.algorithm);
    Ok(Node::new(machine, config.open(Open::new(generation, founders))))
}
