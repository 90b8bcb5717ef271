//! Finds the other members of a group by announcements to a multicast address.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use vorrang_experiment::failure::Failure;
use vorrang_net::RateLimit;
use vorrang_net::udp::discovery::agreement::News;
use vorrang_net::udp::{Answering, Cast, Found, LeftOut, Search, Sighting, Udp};

use crate::command_queue::wrap;
use crate::nonblocking_output::NonblockingOutput;
use crate::options::Node;
use crate::signals::Signals;
use crate::terminal::{DIM, RESET, harmless};
use crate::terminal_session::{Served, not_started};

impl Node {
    /// A process that is to be found needs no address that others know in advance.
    pub(crate) fn listen_if_it_looks_for_others(&mut self) {
        if self.discover.is_some() && self.listen.is_none() {
            let host = self.interface.unwrap_or(Ipv4Addr::LOCALHOST);
            self.listen = Some(format!("{host}:0"));
        }
    }
}

/// Finds the others, if it is to, and takes the place that it then has. None if it was told to stop
/// before.
pub(crate) async fn take_place(served: &mut Served) -> Result<Option<Option<Answering>>, Failure> {
    let Served { about, setup, node, output, socket } = served;
    let (Some(nodes), Some(Udp { cast: Cast::Multicast(multicast), faults })) =
        (node.discover, node.udp())
    else {
        return Ok(Some(None));
    };
    let search = Search {
        multicast,
        group: node.group.clone(),
        algorithm: about.name.to_owned(),
        setup: setup.text(about.takes),
        nodes,
        listen: node.listens_on().to_owned(),
        faults,
    };
    let mut discovery = search.begin().await.map_err(not_started)?;
    let (own, group) = (discovery.address(), &node.group);
    output.tell(format!(
        "{own} looks for {nodes} members of the group '{}' on {}",
        harmless(group),
        multicast.group
    ));
    let mut signals = Signals::listen()?;
    let mut ration = RateLimit::new(20, Duration::from_secs(1));
    let mut say = |sighting: Sighting| {
        if let Some(missed) = ration.ask(Instant::now()) {
            let more = if missed > 0 { format!(" (and {missed} more)") } else { String::new() };
            aside(output, &(in_words(sighting, nodes) + &more));
        }
    };
    let ended = tokio::select! {
        ended = discovery.run(&mut say) => ended,
        signal = signals.next() => {
            aside(output, &format!("told to stop by {signal}"));
            discovery.leave().await;
            return Ok(None);
        }
    };
    if let Err(LeftOut(members)) = ended {
        discovery.leave().await;
        return Err(Failure::World(format!(
            "the group '{}' is complete without this process: {}. Give another --group, or end its \
             members and start all again; a member that is dead before the group has begun is \
             replaced by a process that listens on its address (--listen)",
            harmless(group),
            listed(&members)
        )));
    }
    let Found { id, peers, socket: bound, dropped, answering } = discovery.settle()?;
    output.tell(format!("found {nodes} members: {}; this is node {id}", peers.join(", ")));
    if dropped > 0 {
        aside(output, &format!("{dropped} datagrams were no announcements, and were dropped"));
    }
    *socket = Some(Arc::new(bound));
    node.takes_place(id, peers, own.to_string());
    Ok(Some(Some(answering)))
}

fn aside(output: &NonblockingOutput, text: &str) {
    output.aside(format!("{DIM}{}{RESET}", wrap(&harmless(text))));
}

fn in_words(sighting: Sighting, wanted: u32) -> String {
    match sighting {
        Sighting::News(News::Present(there)) if there.len() > wanted as usize => format!(
            "{} processes look for a group of {wanted}, so none starts: {}. End {} of them, or \
             give another --group",
            there.len(),
            listed(&there),
            there.len() - wanted as usize
        ),
        Sighting::News(News::Present(there)) => {
            format!("{} of {wanted} are there: {}", there.len(), listed(&there))
        }
        Sighting::News(News::Abandoned(missing)) => {
            format!("all were there, but {} did not confirm it: once more", listed(&missing))
        }
        Sighting::SetUpDifferently(address, how) => {
            format!("{address} looks for a group of this name that is set up differently: {how}")
        }
        Sighting::Unsent(why) => format!("announcements cannot be sent: {why}"),
    }
}

fn listed(addresses: &[SocketAddrV4]) -> String {
    let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
