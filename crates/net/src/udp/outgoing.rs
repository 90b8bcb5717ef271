//! Datagrams that are to be sent, in room that is used again.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::task::{Context, Poll};

use tokio::net::UdpSocket;
use vorrang_protocol::NodeId;

use super::datagram::{self, Body, Frame};

/// How many bytes may wait while the socket is not writable. Datagrams may be lost, so more are
/// dropped.
const MOST_BYTES: usize = 1 << 20;

/// The datagrams of this turn, and those that the socket did not take before.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    queue: VecDeque<(SocketAddr, Range<usize>)>,
    /// How many were not sent: too many at once, or the system refused.
    pub(super) unsent: u64,
    /// How many of them were dropped, not yet reported.
    pub(super) too_many: u64,
}

impl Outgoing {
    /// Queues a frame to each of these, with its receiver's number in it, and says to how many. An
    /// error says how long it is if it does not fit into a datagram.
    pub(super) fn push(
        &mut self,
        frame: &Frame<Body<'_>>,
        to: impl IntoIterator<Item = (Option<NodeId>, SocketAddr)>,
    ) -> Result<u64, usize> {
        let start = self.bytes.len();
        datagram::encode(frame, &mut self.bytes)?;
        let first = start..self.bytes.len();
        let mut pushed = 0;
        for (id, address) in to {
            if self.bytes.len() > MOST_BYTES {
                self.unsent += 1;
                self.too_many += 1;
                continue;
            }
            let place = if pushed == 0 {
                first.clone()
            } else {
                let from = self.bytes.len();
                self.bytes.extend_from_within(first.clone());
                from..self.bytes.len()
            };
            datagram::readdress(&mut self.bytes[place.clone()], id);
            self.queue.push_back((address, place));
            pushed += 1;
        }
        if pushed == 0 {
            self.bytes.truncate(start);
        }
        Ok(pushed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends as much as the system takes now; `failed` hears what it refuses, which is gone.
    pub(super) fn flush(
        &mut self,
        socket: &UdpSocket,
        cx: &mut Context<'_>,
        mut failed: impl FnMut(SocketAddr, io::Error),
    ) {
        while let Some((address, place)) = self.queue.front() {
            let sent = socket.poll_send_to(cx, &self.bytes[place.clone()], *address);
            match sent {
                Poll::Pending => return,
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => {
                    self.unsent += 1;
                    failed(*address, error);
                }
            }
            self.queue.pop_front();
        }
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn to(port: u16) -> (Option<NodeId>, SocketAddr) {
        (Some(NodeId(port.into())), (Ipv4Addr::LOCALHOST, port).into())
    }

    fn frame(message: &[u8]) -> Frame<Body<'_>> {
        let body = Body::Data { number: 1, message };
        Frame { digest: 1, from: NodeId(0), to: None, incarnation: 1, body }
    }

    #[test]
    fn each_receiver_is_named_in_its_own_copy() {
        let mut out = Outgoing::default();
        assert_eq!(out.push(&frame(b"ab"), [to(7), to(8)]), Ok(2));
        assert_eq!(out.push(&frame(b"c"), []), Ok(0));
        assert_eq!(out.push(&frame(b"d"), [(None, to(9).1)]), Ok(1));
        let read = |place: usize| {
            let (address, range) = &out.queue[place];
            (address.port(), datagram::decode(&out.bytes[range.clone()]).unwrap())
        };
        let ours =
            |port, to: Option<u32>, message| (port, Frame { to: to.map(NodeId), ..frame(message) });
        assert_eq!(read(0), ours(7, Some(7), b"ab"));
        assert_eq!(read(1), ours(8, Some(8), b"ab"));
        assert_eq!(read(2), ours(9, None, b"d"));
    }

    #[test]
    fn what_the_system_does_not_take_is_bounded() {
        let mut out = Outgoing::default();
        for _ in 0..10_000 {
            out.push(&frame(&[0; 1_000]), [to(7), to(8)]).unwrap();
        }
        assert!(out.bytes.len() < MOST_BYTES + 4_000, "{}", out.bytes.len());
        assert!(out.unsent > 18_000, "{}", out.unsent);
    }

    #[tokio::test]
    async fn what_is_sent_leaves_its_room() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut out = Outgoing::default();
        let address = receiver.local_addr().unwrap();
        for _ in 0..100 {
            out.push(&frame(b"x"), [(None, address)]).unwrap();
            while !out.is_empty() {
                std::future::poll_fn(|cx| {
                    out.flush(&socket, cx, |_, error| panic!("{error}"));
                    Poll::Ready(())
                })
                .await;
                tokio::task::yield_now().await;
            }
            let mut room = [0; 100];
            let (len, _) = receiver.recv_from(&mut room).await.unwrap();
            assert_eq!(datagram::decode(&room[..len]), Ok(frame(b"x")));
        }
        assert!(out.bytes.is_empty() && out.bytes.capacity() < 1_000);
    }
}
