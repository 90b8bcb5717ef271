//! Discovery over real sockets on loopback.

use std::net::UdpSocket;
use std::time::Duration;

use tokio::time::timeout;
use vorrang_net::udp::discovery::agreement::News;
use vorrang_net::udp::{
    Discovery, Faults, Found, LeftOut, Multicast, Search, Sighting, bind_loopback,
};

use crate::support::soon;

/// What is looked for, at an address that no other test uses.
fn search(nodes: u32) -> Search {
    let (_sockets, drawn) = bind_loopback(1).unwrap();
    Search {
        multicast: Multicast::of(&drawn),
        group: "default".to_owned(),
        algorithm: "crier".to_owned(),
        setup: String::new(),
        nodes,
        listen: "127.0.0.1:0".to_owned(),
        faults: Faults::default(),
    }
}

async fn several(count: usize, search: &Search) -> Vec<Discovery> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(search.clone().begin().await.unwrap());
    }
    all
}

/// Finds the others, and answers them from then on.
async fn find(mut one: Discovery) -> Found {
    one.run(|_| ()).await.unwrap();
    one.settle().unwrap()
}

#[tokio::test]
async fn half_of_all_announcements_are_lost_and_all_have_one_list() {
    let search = Search { faults: Faults { lost: 0.5, ..Faults::default() }, ..search(4) };
    let all = several(4, &search).await;
    let tasks: Vec<_> = all.into_iter().map(|it| tokio::spawn(find(it))).collect();
    let mut found = Vec::new();
    for task in tasks {
        found.push(soon("a list", task).await.unwrap());
    }
    let mut ids: Vec<u32> = found.iter().map(|it| it.id.0).collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3]);
    for it in &found {
        assert_eq!(it.peers, found[0].peers);
        assert_eq!(it.peers[it.id.index()], it.socket.local_addr().unwrap().to_string());
    }
    // Whoever comes later is answered though all has been said long ago.
    let mut late = search.begin().await.unwrap();
    let LeftOut(members) = soon("an answer", late.run(|_| ())).await.unwrap_err();
    let members: Vec<String> = members.iter().map(ToString::to_string).collect();
    assert_eq!(members, found[0].peers);
}

#[tokio::test]
async fn one_too_many_keeps_all_from_beginning_until_it_has_left() {
    let mut all = several(4, &search(3)).await;
    // All have spoken before any has answered.
    for it in &mut all {
        assert!(timeout(Duration::from_millis(1), it.run(|_| ())).await.is_err());
    }
    let mut last = all.pop().unwrap();
    let mut crowds = 0;
    let mut notice = |sighting| {
        crowds += u32::from(matches!(sighting, Sighting::News(News::Present(it)) if it.len() == 4));
    };
    let [one, two, three] = &mut all[..] else { panic!("three are left") };
    let crowd = async {
        tokio::join!(one.run(&mut notice), two.run(|_| ()), three.run(|_| ()), last.run(|_| ()))
    };
    assert!(timeout(Duration::from_millis(700), crowd).await.is_err(), "nobody has a list");
    assert_eq!(crowds, 1);
    last.leave().await;
    let tasks: Vec<_> = all.into_iter().map(|it| tokio::spawn(find(it))).collect();
    let mut ids = Vec::new();
    let mut found = Vec::new();
    for task in tasks {
        found.push(soon("a list", task).await.unwrap());
        ids.push(found[found.len() - 1].id.0);
    }
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2]);
}

#[tokio::test]
async fn what_is_no_announcement_is_dropped_and_counted() {
    let search = search(2);
    let group = search.multicast.group;
    let mut both = several(2, &search).await;
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket2::SockRef::from(&stranger).set_multicast_if_v4(&"127.0.0.1".parse().unwrap()).unwrap();
    let overheard = overhear(&search, &mut both[0]).await;
    for bytes in [b"GET /".as_slice(), b"", b"VD\x01", &[b'V'; 2000], &overheard] {
        stranger.send_to(bytes, group).unwrap();
    }
    // Members of other groups speak at the same address.
    stranger.send_to(b"VU\x02\x04", group).unwrap();
    let (one, other) = (both.remove(0), both.remove(0));
    let both = soon("a list", async { tokio::join!(find(one), find(other)) }).await;
    for it in [both.0, both.1] {
        assert_eq!(it.dropped, 5, "the repeated announcement was another's");
    }
}

/// An announcement, as anyone can read it.
async fn overhear(search: &Search, speaker: &mut Discovery) -> Vec<u8> {
    let Multicast { group, interface, .. } = search.multicast;
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&std::net::SocketAddr::V4(group).into()).unwrap();
    socket.join_multicast_v4(group.ip(), &interface).unwrap();
    let socket: UdpSocket = socket.into();
    assert!(timeout(Duration::from_millis(5), speaker.run(|_| ())).await.is_err());
    let mut room = vec![0; 2000];
    let length = socket.recv(&mut room).unwrap();
    room.truncate(length);
    room
}
