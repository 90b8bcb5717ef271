//! All nodes in this process, each with its own sockets.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use vorrang_algorithms::mutex::Command;
use vorrang_net::{
    Config, Handle, LinkState, LinkStatus, Starting, Status, Stopped, bind_loopback,
};
use vorrang_protocol::NodeId;
use vorrang_sim::Random;

use super::turns::{Turns, quota};
use super::{Counted, News, Nodes, make_room};
use crate::failure::Failure;
use crate::problem::Scene as _;
use crate::problem::mutex::Scenario;

/// The nodes of this process.
pub(super) struct Local<C> {
    pub(super) handles: Vec<Handle<C>>,
}

/// Starts a node with its application.
pub(super) type Launch<'a> = &'a dyn Fn(Config, TcpListener, Turns) -> Starting<Handle<Command>>;

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
            waits: false,
            claims: scenario.card.terms.claims,
            think: scenario.think,
            hold: scenario.hold_over_tcp(),
            random: Random::new(scenario.seed().wrapping_add(u64::from(id.0))),
            tells_entries: scenario.is_on_views(),
            news: news.clone(),
        };
        let started = launch(config, listener, turns).await;
        handles.push(started.map_err(|error| Failure::World(error.to_string()))?);
    }
    let group = Local { handles };
    group.started(PATIENCE).await?;
    Ok((group, heard))
}

/// The time-out for the nodes of one process to connect.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

impl<C: Send + 'static> Local<C> {
    /// Waits until every node is connected with all others; after a time-out, reports which are
    /// not.
    pub(super) async fn started(&self, patience: Duration) -> Result<(), Failure> {
        for handle in &self.handles {
            let waited = timeout(patience, handle.started()).await;
            let stopped = |error: Stopped| Failure::World(error.to_string());
            match waited {
                Ok(started) => started.map_err(stopped)?,
                Err(_elapsed) => {
                    let status = handle.status().await.map_err(stopped)?;
                    return Err(Failure::World(missing(&status)));
                }
            }
        }
        Ok(())
    }

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

/// The peers that a node is not connected with, and why.
fn missing(status: &Status) -> String {
    let is_missing = |link: &&LinkStatus| !matches!(link.state, LinkState::Connected(_));
    let Some(link) = status.links.iter().find(is_missing) else {
        return format!("node {} is connected with all others and does not start", status.id);
    };
    let trouble = link.trouble.as_ref().map_or_else(String::new, |why| format!(", {why}"));
    let (peer, address, state) = (link.peer, &link.address, &link.state);
    format!("node {} has not met node {peer} at {address}: {state}{trouble}", status.id)
}

impl Nodes for Local<Command> {
    async fn ask(&mut self, node: NodeId, command: Command) -> Result<(), Failure> {
        self.tell(node, command).await
    }
}

impl<C: Send + 'static> Counted for Local<C> {
    async fn kill(&mut self, node: NodeId) -> Result<(), Failure> {
        Err(Failure::usage(format!("node {node} has no process of its own to be killed")))
    }
    async fn restart(&mut self, node: NodeId) -> Result<(), Failure> {
        Err(Failure::usage(format!("node {node} has no process of its own to be started again")))
    }
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

#[cfg(test)]
mod tests {
    use vorrang_algorithms::mutex::ricart_agrawala::RicartAgrawala;
    use vorrang_net::Node;
    use vorrang_protocol::Group;

    use super::*;

    #[tokio::test]
    async fn whoever_cannot_be_met_is_named() {
        let (mut listeners, peers) = bind_loopback(2).await.unwrap();
        let (address, own) = (peers[0].clone(), listeners.remove(1));
        drop(listeners);
        let machine = RicartAgrawala::new(NodeId(1), Group::of(2));
        let node = Node::new(machine, Config::new(NodeId(1), peers, "ricart-agrawala"));
        let (handle, _notices) = node.listener(own).start().await.unwrap();
        let alone = Local { handles: vec![handle] };
        let error = alone.started(Duration::from_millis(300)).await.unwrap_err().to_string();
        assert!(error.contains(&format!("node 1 has not met node 0 at {address}")), "{error}");
        assert!(error.contains("connection refused"), "{error}");
    }
}
