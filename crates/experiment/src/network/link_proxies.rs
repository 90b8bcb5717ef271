//! What connections between nodes go through, so that single directions of links can be cut: what
//! is said then is swallowed, and so is that a connection has ended.

use std::collections::BTreeSet;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use vorrang_net::wire::{self, Frame};
use vorrang_protocol::{Never, NodeId};

use crate::failure::Failure;

/// Senders and receivers that do not reach each other.
type Links = BTreeSet<(NodeId, NodeId)>;

/// Stands in front of every node.
#[derive(Debug)]
pub(super) struct LinkProxies {
    /// Where each node is found.
    pub(super) fronts: Vec<String>,
    cuts: watch::Sender<Links>,
    /// They end with it.
    _tasks: JoinSet<()>,
}

impl LinkProxies {
    /// In front of nodes that listen there.
    pub(super) async fn between(backs: Vec<String>) -> Result<Self, Failure> {
        let (cuts, _) = watch::channel(Links::new());
        let (mut fronts, mut tasks) = (Vec::new(), JoinSet::new());
        for (to, back) in (0..).map(NodeId).zip(backs) {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            fronts.push(listener.local_addr()?.to_string());
            tasks.spawn(answer(listener, to, back, cuts.subscribe()));
        }
        Ok(Self { fronts, cuts, _tasks: tasks })
    }

    /// Cuts these and no others.
    pub(super) fn cut(&self, links: Links) {
        self.cuts.send_replace(links);
    }
}

/// Takes all calls to a node.
async fn answer(listener: TcpListener, to: NodeId, back: String, cuts: watch::Receiver<Links>) {
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            Ok((dialler, _)) = listener.accept() => {
                calls.spawn(connect(dialler, to, back.clone(), cuts.clone()));
            }
            Some(_) = calls.join_next() => {}
            else => return,
        }
    }
}

/// Carries what a process says to the node behind, and back, until one direction ends.
async fn connect(mut dialler: TcpStream, to: NodeId, back: String, cuts: watch::Receiver<Links>) {
    let mut first = Vec::new();
    let Some(from) = sender(&mut dialler, &mut first).await else { return };
    let Ok(mut node) = TcpStream::connect(&back).await else { return };
    let is_cut = cuts.borrow().contains(&(from, to));
    if !is_cut && node.write_all(&first).await.is_err() {
        return;
    }
    let (said, says) = dialler.into_split();
    let (answers, answered) = node.into_split();
    tokio::select! {
        () = carry(said, answered, (from, to), cuts.clone(), is_cut) => {}
        () = carry(answers, says, (to, from), cuts.clone(), false) => {}
    }
}

/// Who calls: as the first frame says, which is read so far as it must be.
async fn sender(dialler: &mut TcpStream, first: &mut Vec<u8>) -> Option<NodeId> {
    loop {
        match wire::decode::<Never>(first) {
            Ok(Some((Frame::Hello(hello), _))) => return Some(hello.who.sender),
            Ok(Some((Frame::DialRequest(knock), _))) => return Some(knock.who.sender),
            Ok(None) if dialler.read_buf(first).await.is_ok_and(|many| many > 0) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

/// Carries bytes in one direction. What has swallowed some ends when the link is mended, so that
/// the connection is made anew.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    link: (NodeId, NodeId),
    mut cuts: watch::Receiver<Links>,
    is_cut: bool,
) {
    let (mut bytes, mut has_swallowed, mut has_ended) = (vec![0; 1 << 14], is_cut, false);
    loop {
        let read = tokio::select! {
            changed = cuts.changed() => match changed {
                Ok(()) => None,
                Err(_) => return,
            },
            read = from.read(&mut bytes), if !has_ended => Some(read.unwrap_or(0)),
        };
        let is_cut = cuts.borrow().contains(&link);
        if has_swallowed && !is_cut {
            return;
        }
        match read {
            Some(0) if !is_cut => return,
            Some(many) if is_cut => (has_swallowed, has_ended) = (true, many == 0),
            Some(many) if to.write_all(&bytes[..many]).await.is_err() => return,
            None | Some(_) => {}
        }
    }
}
