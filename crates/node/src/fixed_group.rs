//! A node of a fixed group, on a terminal.

use std::sync::Arc;

use vorrang_algorithms::registry;
use vorrang_catalogue::NodeOf;
use vorrang_experiment::network::Future;
use vorrang_experiment::problem::header;
use vorrang_experiment::tracefile::TraceWriter;
use vorrang_net::{Clock, Config, Generation, Log, Starting};
use vorrang_protocol::{Needs, NodeId, Protocol as _};
use vorrang_trace::Writer;

use crate::hosted::Hosted;
use crate::terminal_session::{Served, Started, attend};

/// Runs one node until it leaves.
pub(crate) fn serve<Q: Hosted>(
    served: Served,
    make: &registry::Node<NodeOf<Q>>,
    needs: Needs,
) -> Future<'static> {
    let Served { about, setup, node, output, socket } = served;
    let (id, name) = (NodeId(node.number()), about.name);
    // Nodes that are set up differently would let too many in, so they must agree on it.
    let config = Config {
        group: node.group.clone(),
        setup: setup.text(about.takes),
        listen: node.listen.clone(),
        timing: node.timing(),
        needs,
        service: Q::SERVICE,
        ..Config::new(id, node.peers.clone(), name)
    };
    // A process of a machine that stands it comes back without its memory; but what it then does
    // depends on the time, which is in no trace.
    let returns = node.trace.is_none() && make(id).without_memory(0).is_some();
    let config = if returns { config.returning(Generation::now()) } else { config };
    let log = node.trace.as_ref().map(|_| Log::new());
    let starting = match node.udp() {
        None => start::<Q, _>(vorrang_net::Node::new(make(id), config), log.as_ref()),
        Some(udp) => {
            let over_udp = vorrang_net::Node::over_udp(udp, make(id), config);
            // Only locks on views are served more than once, and they have none.
            let bound = match socket.and_then(Arc::into_inner) {
                Some(socket) => over_udp.socket(socket),
                None => over_udp,
            };
            start::<Q, _>(bound, log.as_ref())
        }
    };
    let save = move |file: TraceWriter| {
        let Some(log) = log else { return Ok(()) };
        let header = header(&about, &setup).with("driver", &"node").with("node", &id);
        let records = log.take();
        let mut writer = Writer::new(file, &header)?;
        records.iter().try_for_each(|record| writer.write(record))?;
        writer.finish(None, None)?.finish()
    };
    Box::pin(attend::<Q>(name, (node, output), (starting, None), Box::new(save)))
}

/// Starts a node, on any network.
fn start<Q: Hosted, T>(
    mut node: vorrang_net::Node<Q::Command, Q::Notice, T>,
    log: Option<&Log<Q::Command, Q::Notice>>,
) -> Starting<Started<Q>> {
    if let Some(steps) = Q::steps() {
        node = node.steps(steps);
    }
    if let Some(log) = log {
        node = node.record(log.clone(), Clock::start());
    }
    node.start()
}
