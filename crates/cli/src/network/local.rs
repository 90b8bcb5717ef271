//! All nodes in this process, each with its own sockets.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use vorrang_algorithms::mutex::Command;
use vorrang_net::{Config, Handle, bind_loopback};
use vorrang_protocol::NodeId;
use vorrang_sim::Random;

use super::turns::Turns;
use super::{Counted, Launch, News, Nodes, make_room, quota};
use crate::failure::Failure;
use crate::problem::Scene as _;
use crate::problem::mutex::Scenario;

/// The nodes of this process.
pub(super) struct Local<C> {
    pub(super) handles: Vec<Handle<C>>,
}

/// Starts all nodes.
pub(super) async fn start(
    scenario: &Scenario,
    launch: Launch<'_>,
) -> Result<(Local<Command>, UnboundedReceiver<News>), Failure> {
    make_room(scenario.nodes())?;
    let (news, heard) = unbounded_channel();
    let (listeners, peers) = bind_loopback(scenario.nodes()).await?;
    let mut handles = Vec::new();
    for (id, listener) in (0..).map(NodeId).zip(listeners) {
        let name = scenario.card.name;
        let setup = scenario.setup.text(scenario.card.takes);
        let config =
            Config { seed: scenario.seed(), setup, ..Config::new(id, peers.clone(), name) };
        let turns = Turns {
            node: id,
            left: quota(scenario, id),
            claims: scenario.card.terms.claims,
            think: scenario.think,
            hold: scenario.hold_over_tcp(),
            random: Random::new(scenario.seed().wrapping_add(u64::from(id.0))),
            news: news.clone(),
        };
        let started = launch(config, listener, turns).await;
        handles.push(started.map_err(|error| Failure::World(error.to_string()))?);
    }
    Ok((Local { handles }, heard))
}

impl<C: Send + 'static> Local<C> {
    /// Gives a node a command.
    pub(super) async fn tell(&self, node: NodeId, command: C) -> Result<(), Failure> {
        let told = self.handles[node.index()].command(command).await;
        told.map_err(|error| Failure::Failed(format!("node {node}: {error}")))
    }

    /// Stops all nodes.
    pub(super) async fn stop(self) -> Result<(), Failure> {
        for handle in self.handles {
            handle.shutdown().await.map_err(|error| Failure::World(error.to_string()))?;
        }
        Ok(())
    }
}

impl Nodes for Local<Command> {
    async fn ask(&mut self, node: NodeId, command: Command) -> Result<(), Failure> {
        self.tell(node, command).await
    }
    async fn kill(&mut self, node: NodeId) -> Result<(), Failure> {
        Err(Failure::usage(format!("node {node} has no process of its own to be killed")))
    }
}

impl<C: Send + 'static> Counted for Local<C> {
    async fn counts(&mut self) -> Result<(u64, u64), Failure> {
        let (mut sent, mut received) = (0, 0);
        for handle in &self.handles {
            let status =
                handle.status().await.map_err(|error| Failure::World(error.to_string()))?;
            sent += status.links.iter().map(|link| link.sent).sum::<u64>();
            received += status.links.iter().map(|link| link.received).sum::<u64>();
        }
        Ok((sent, received))
    }
}
