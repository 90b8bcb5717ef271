//! A node's sockets: one for unicasts, and one for multicasts.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::Multicast;

/// The places of the two, and how many there are.
pub(super) const OWN: usize = 0;
pub(super) const CAST: usize = 1;
pub(super) const PLACES: usize = 2;

/// How much the system may keep for a node that is busy, if it lets us have so much: what all
/// members of a large group say at once.
const INPUT_LEN: usize = 1 << 20;

/// The sockets of a node.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) own: UdpSocket,
    /// Bound to the multicast address; none if the node does without.
    pub(super) cast: Option<UdpSocket>,
}

impl Sockets {
    /// Takes the next datagram from one of them, and says its length and where it came from. One
    /// that is longer than the room is cut.
    pub(super) fn poll_receive(
        &self,
        place: usize,
        cx: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let socket = match place {
            OWN => Some(&self.own),
            _ => self.cast.as_ref(),
        };
        let Some(socket) = socket else { return Poll::Pending };
        let mut room = ReadBuf::new(room);
        let source = std::task::ready!(socket.poll_recv_from(cx, &mut room))?;
        Poll::Ready(Ok((room.filled().len(), source)))
    }
}

/// Makes a socket that is bound already a node's own.
pub(super) fn adopt(socket: std::net::UdpSocket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    let socket = UdpSocket::from_std(socket)?;
    enlarge(&socket);
    Ok(socket)
}

/// Binds a node's own socket, exclusively.
pub(super) async fn bind(address: &str) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address).await?;
    enlarge(&socket);
    Ok(socket)
}

fn enlarge(socket: &UdpSocket) {
    // With less, more is lost when many speak at once, and that is all.
    let _ = SockRef::from(socket).set_recv_buffer_size(INPUT_LEN);
}

/// Joins a multicast group: what `own` sends to it leaves on its interface, and what comes from
/// there is heard on the socket that is returned. Several members on one machine share the address.
pub(super) fn join(own: &UdpSocket, cast: &Multicast) -> io::Result<UdpSocket> {
    let Multicast { group, interface, ttl, or_unicast: _ } = cast;
    let sender = SockRef::from(own);
    sender.set_multicast_if_v4(interface)?;
    sender.set_multicast_ttl_v4(*ttl)?;
    // Members on this machine hear it only so; and we hear ourselves, which is dropped.
    sender.set_multicast_loop_v4(true)?;

    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::V4(bound_to(*group)).into())?;
    socket.join_multicast_v4(group.ip(), interface)?;
    let socket = UdpSocket::from_std(socket.into())?;
    enlarge(&socket);
    Ok(socket)
}

/// Bound to the group's own address, a socket hears nothing that is sent elsewhere. Windows does
/// not allow that.
const fn bound_to(group: SocketAddrV4) -> SocketAddrV4 {
    let ip = if cfg!(windows) { Ipv4Addr::UNSPECIFIED } else { *group.ip() };
    SocketAddrV4::new(ip, group.port())
}

/// Binds a free port on 127.0.0.1 for each of `nodes`, and says their addresses: for tests,
/// benchmarks and a first look.
///
/// # Errors
///
/// If the system has no port left.
pub fn bind_loopback(nodes: u32) -> io::Result<(Vec<std::net::UdpSocket>, Vec<String>)> {
    let mut sockets = Vec::new();
    let mut peers = Vec::new();
    for _ in 0..nodes {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        peers.push(socket.local_addr()?.to_string());
        sockets.push(socket);
    }
    Ok((sockets, peers))
}
