//! All nodes in this process, each with its own sockets.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::Make;
use vorrang_net::{Config, Handle, Log, cluster_on_loopback};
use vorrang_protocol::{NodeId, Protocol};
use vorrang_sim::Random;
use vorrang_trace::Record;

use super::turns::Turns;
use super::{News, Nodes, quota};
use crate::failure::Failure;
use crate::workload::Scenario;

/// The nodes of this process.
pub(super) struct Local<P: Protocol> {
    handles: Vec<Handle<P>>,
    log: Log<P>,
}

/// Starts all nodes.
pub(super) async fn start<P>(
    scenario: &Scenario,
    node: impl Make<P>,
) -> Result<(Local<P>, UnboundedReceiver<News>), Failure>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    let (news, heard) = unbounded_channel();
    let log = Log::new();
    let config =
        Config { seed: scenario.seed, ..Config::new(NodeId(0), Vec::new(), scenario.card.name) };
    let application = |id: NodeId| Turns {
        node: id,
        left: quota(scenario, id),
        claims: scenario.card.claims,
        think: scenario.think,
        hold: scenario.hold,
        random: Random::new(scenario.seed.wrapping_add(u64::from(id.0))),
        news: news.clone(),
    };
    let handles = cluster_on_loopback(scenario.nodes(), &config, node, application, Some(&log))
        .await
        .map_err(|error| Failure::Failed(error.to_string()))?;
    Ok((Local { handles, log }, heard))
}

impl<P> Nodes<P> for Local<P>
where
    P: Protocol<Command = Command, Notice = Notice>,
{
    async fn ask(&mut self, node: NodeId, command: Command) -> Result<(), Failure> {
        let asked = self.handles[node.index()].command(command).await;
        asked.map_err(|error| Failure::Failed(format!("node {node}: {error}")))
    }

    async fn counts(&mut self) -> Result<(u64, u64), Failure> {
        let (mut sent, mut received) = (0, 0);
        for handle in &self.handles {
            let status =
                handle.status().await.map_err(|error| Failure::Failed(error.to_string()))?;
            sent += status.links.iter().map(|link| link.sent).sum::<u64>();
            received += status.links.iter().map(|link| link.received).sum::<u64>();
        }
        Ok((sent, received))
    }

    async fn stop(self) -> Result<Vec<Record<P>>, Failure> {
        for handle in self.handles {
            handle.shutdown().await.map_err(|error| Failure::Failed(error.to_string()))?;
        }
        Ok(self.log.take())
    }
}
