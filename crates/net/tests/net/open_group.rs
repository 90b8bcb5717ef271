//! Open groups: members come, go, and come back without their memory.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};
use vorrang_net::hello::{DialRequest, Hello, Refusal, Refuser};
use vorrang_net::wire::Frame;
use vorrang_net::{
    CommandError, Config, Event, Generation, Handle, JoinGrant, JoinRequest, NetError, Node, Open,
    Timing, request_id,
};
use vorrang_protocol::{Effects, Message, Never, NodeId, Protocol, Refused};

use crate::support::{answer, bytes, hello, soon};

/// Tells what it hears.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Teller;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Word(pub(crate) u32);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WORD({})", self.0)
    }
}

impl Message for Word {
    const KINDS: &'static [&'static str] = &["WORD"];
    fn kind(&self) -> usize {
        0
    }
}

impl Protocol for Teller {
    type Message = Word;
    type Timer = Never;
    /// To whom to say what.
    type Command = (NodeId, u32);
    /// Who has said what.
    type Notice = (NodeId, u32);

    fn on_command(
        &mut self,
        (to, word): (NodeId, u32),
        fx: &mut impl Effects<Self>,
    ) -> Result<(), Refused> {
        fx.send(to, Word(word));
        Ok(())
    }
    fn on_message(&mut self, from: NodeId, Word(word): Word, fx: &mut impl Effects<Self>) {
        fx.notify((from, word));
    }
}

struct Running {
    node: Handle<(NodeId, u32)>,
    notices: mpsc::UnboundedReceiver<(NodeId, u32)>,
    events: broadcast::Receiver<Event>,
    address: String,
}

const ROOM: usize = 8;

async fn bound() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

fn config(id: u32, peers: Vec<String>, generation: Generation) -> Config {
    Config::new(NodeId(id), peers, "teller").open(Open::new(generation, 2))
}

fn wish(address: &str) -> JoinRequest {
    JoinRequest {
        group: "default".to_owned(),
        algorithm: "teller".to_owned(),
        setup: String::new(),
        room: ROOM as u32,
        address: address.to_owned(),
        but: None,
    }
}

/// A node that knows these, and has room for more.
async fn start(id: u32, known: &[(u32, &str)], generation: Generation) -> Running {
    let (listener, address) = bound().await;
    let mut peers = vec![String::new(); ROOM];
    for (id, address) in known {
        (*address).clone_into(&mut peers[*id as usize]);
    }
    address.clone_into(&mut peers[id as usize]);
    let node = Node::new(Teller, config(id, peers, generation)).listener(listener);
    let (node, notices) = node.start().await.unwrap();
    let events = node.events();
    Running { node, notices, events, address }
}

impl Running {
    /// The next event that is as wanted.
    async fn until(&mut self, what: &str, is_it: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = soon(what, self.events.recv()).await.unwrap();
            if is_it(&event) {
                return event;
            }
        }
    }

    async fn met(&mut self, whom: u32) {
        let is_it =
            |event: &Event| matches!(event, Event::Connected { peer, .. } if *peer == NodeId(whom));
        self.until("a connection", is_it).await;
    }

    async fn say(&self, to: u32, word: u32) {
        self.node.command((NodeId(to), word)).await.unwrap();
    }

    async fn hear(&mut self) -> (u32, u32) {
        let (from, word) = soon("a word", self.notices.recv()).await.unwrap();
        (from.0, word)
    }
}

#[tokio::test]
async fn whoever_comes_later_takes_the_place_and_nothing_of_the_former_is_delivered() {
    let mut zero = start(0, &[], Generation::now()).await;
    let mut one = start(1, &[(0, &zero.address)], Generation::now()).await;
    zero.met(1).await;
    one.met(0).await;
    one.say(0, 1).await;
    assert_eq!(zero.hear().await, (1, 1));
    one.node.kill().await;
    let is_lost = |event: &Event| matches!(event, Event::Lost { .. });
    zero.until("a loss", is_lost).await;
    // Others may know already who comes next: it is for that one.
    zero.say(1, 2).await;

    let mut later = start(1, &[(0, &zero.address)], Generation::now()).await;
    zero.met(1).await;
    zero.say(1, 3).await;
    assert_eq!([later.hear().await, later.hear().await], [(0, 2), (0, 3)]);
    later.met(0).await;
    later.say(0, 4).await;
    assert_eq!(zero.hear().await, (1, 4));
    let status = zero.node.status().await.unwrap();
    assert_eq!(status.links.len(), 1, "of those whom nobody knows there is nothing");
    assert_eq!(status.links[0].dropped, 0);
    assert!(status.started && status.fenced.is_none());
}

/// The lower number does not dial, so whoever comes back elsewhere has to knock.
#[tokio::test]
async fn the_lower_number_comes_back_elsewhere_and_is_called() {
    let mut zero = start(0, &[], Generation::now()).await;
    let mut one = start(1, &[(0, &zero.address)], Generation::now()).await;
    one.met(0).await;
    zero.met(1).await;
    zero.node.kill().await;
    let mut later = start(0, &[(1, &one.address)], Generation::now()).await;
    later.met(1).await;
    one.until("it again", |event| matches!(event, Event::Connected { before: 1, .. })).await;
    one.say(0, 7).await;
    assert_eq!(later.hear().await, (1, 7));
}

#[tokio::test]
async fn of_two_at_a_time_the_earlier_is_fenced() {
    let early = Generation::now();
    let mut zero = start(0, &[], Generation::now()).await;
    let mut later = start(1, &[(0, &zero.address)], Generation::now()).await;
    later.met(0).await;
    zero.met(1).await;
    let mut earlier = start(1, &[(0, &zero.address)], early).await;
    let event = earlier.until("a refusal", |it| matches!(it, Event::Replaced { .. })).await;
    assert!(event.to_string().contains("node 0 knows a later incarnation of this node"));
    let refused = earlier.node.command((NodeId(0), 1)).await.unwrap_err();
    assert!(matches!(refused, CommandError::Fenced(_)), "{refused}");
    later.say(0, 5).await;
    assert_eq!(zero.hear().await, (1, 5), "the later goes on");
}

/// Each knocks at the higher ones while these call it, so that a knock meets a call that is being
/// made, or that has been answered.
#[tokio::test]
async fn those_who_start_at_one_moment_meet() {
    for _ in 0..20 {
        let mut places = Vec::new();
        for _ in 0..4 {
            places.push(bound().await);
        }
        let peers: Vec<String> = places.iter().map(|(_, address)| address.clone()).collect();
        let nodes = (0..).zip(places).map(|(id, (listener, address))| {
            let node =
                Node::new(Teller, config(id, peers.clone(), Generation::now())).listener(listener);
            (node.start(), address)
        });
        let mut running = Vec::new();
        for (starting, address) in nodes.collect::<Vec<_>>() {
            let (node, notices) = starting.await.unwrap();
            let events = node.events();
            running.push(Running { node, notices, events, address });
        }
        // Kept until they have met.
        for from in 0..4_u32 {
            for to in (0..4).filter(|&to| to != from) {
                running[from as usize].say(to, 10 * from + to).await;
            }
        }
        for (me, node) in (0..4_u32).zip(&mut running) {
            let mut heard = [node.hear().await, node.hear().await, node.hear().await];
            heard.sort_unstable();
            let expected = (0..4).filter(|&from| from != me).map(|from| (from, 10 * from + me));
            assert_eq!(heard.to_vec(), expected.collect::<Vec<_>>());
        }
        for node in running {
            node.node.kill().await;
        }
    }
}

/// A node 0 played by hand: it takes the call of node 1 and knocks before it answers.
#[tokio::test]
async fn a_knock_does_not_end_a_call_that_is_being_made() {
    let (listener, address) = bound().await;
    let mut one = start(1, &[(0, &address)], Generation::now()).await;
    let (mut call, _) = soon("a call", listener.accept()).await.unwrap();
    let Frame::Hello(theirs) = answer(&mut call).await else { panic!("it says hello") };
    assert_eq!((theirs.attempt, theirs.knows), (1, None));

    let mut peers = vec![String::new(); ROOM];
    (peers[0], peers[1]) = (address, one.address.clone());
    let mut ours = hello(0, 1, &peers);
    ours.who.algorithm = "teller".to_owned();
    (ours.who.generation, ours.who.founders) = (Generation::now().number(), 2);
    let mut knock = TcpStream::connect(&one.address).await.unwrap();
    let words = Frame::<Never>::DialRequest(DialRequest { who: ours.who.clone() });
    knock.write_all(&bytes(&words)).await.unwrap();
    let Frame::Refuse(why) = answer(&mut knock).await else { panic!("it is answered") };
    assert_eq!(why, Refusal::WillCall);

    let ours = Hello { knows: Some(theirs.incarnation), attempt: 1, ..ours };
    call.write_all(&bytes(&Frame::<Never>::Hello(ours))).await.unwrap();
    one.met(0).await;
    one.say(0, 3).await;
    let mut first = [0];
    assert_eq!(soon("a word", call.read(&mut first)).await.unwrap(), 1, "over this connection");
}

/// The other end of a connection is played by hand: it goes away and comes back, and is the same
/// process; then it is another.
#[tokio::test]
async fn what_is_said_to_one_who_is_away_waits_and_what_another_was_told_does_not() {
    let mut zero = start(0, &[], Generation::now()).await;
    let mut peers = vec![String::new(); ROOM];
    "127.0.0.1:9".clone_into(&mut peers[1]);
    let mut ours = hello(1, 0, &peers);
    ours.who.algorithm = "teller".to_owned();
    (ours.who.generation, ours.who.founders) = (Generation::now().number(), 2);
    let address = zero.address.clone();
    let call = async |hello: Hello| {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(&bytes(&Frame::<Never>::Hello(hello))).await.unwrap();
        let Frame::Hello(theirs) = answer(&mut stream).await else { panic!("it is let in") };
        (stream, theirs)
    };
    let lost = |event: &Event| matches!(event, Event::Lost { .. });
    let (stream, theirs) = call(ours.clone()).await;
    zero.met(1).await;
    drop(stream);
    zero.until("a loss", lost).await;
    for word in 0..100 {
        zero.say(1, word).await;
    }
    let knows = Some(theirs.incarnation);
    let (stream, same) = call(Hello { attempt: 2, knows, ..ours.clone() }).await;
    assert_eq!(same.incarnation, theirs.incarnation);
    zero.met(1).await;
    drop(stream);
    zero.until("a loss", lost).await;
    assert_eq!(zero.node.status().await.unwrap().links[0].unacknowledged, 100);
    zero.say(1, 100).await;

    (ours.who.generation, ours.who.founders) = (Generation::now().number(), 2);
    let (_stream, other) = call(Hello { incarnation: 2, ..ours }).await;
    assert_ne!(other.incarnation, theirs.incarnation);
    let link = zero.node.status().await.unwrap().links.remove(0);
    assert_eq!((link.unacknowledged, link.dropped), (1, 100), "the former was sent these");
    for word in 0..100 {
        zero.say(7, word).await;
    }
    let status = zero.node.status().await.unwrap();
    assert_eq!(status.links.len(), 1, "nobody is known to be 7");
}

#[tokio::test]
async fn whoever_has_the_address_of_a_member_joins_and_meets_all() {
    let mut zero = start(0, &[], Generation::now()).await;
    let mut one = start(1, &[(0, &zero.address)], Generation::now()).await;
    zero.met(1).await;
    let (listener, address) = bound().await;
    let place = request_id(&one.address, wish(&address), Timing::default()).await.unwrap();
    let expected = [zero.address.as_str(), &one.address, &address, "", "", "", "", ""];
    assert_eq!(
        place,
        JoinGrant { id: NodeId(2), peers: expected.map(str::to_owned).to_vec(), founders: 2 }
    );
    // Asked again, it says the same; another is given another.
    let again = request_id(&one.address, wish(&address), Timing::default()).await.unwrap();
    assert_eq!(again, place);
    let other = request_id(&one.address, wish("127.0.0.1:9"), Timing::default()).await.unwrap();
    assert_eq!(other.id, NodeId(3));

    let config = config(2, place.peers, Generation::now());
    let two = Node::new(Teller, config).listener(listener).start().await.unwrap();
    zero.met(2).await;
    one.met(2).await;
    // What is said to one who is not connected is lost, so they have to be at both ends.
    let mut events = two.0.events();
    while two.0.status().await.unwrap().links.iter().any(|it| it.connections == 0) {
        soon("connections", events.recv()).await.unwrap();
    }
    two.0.command((NodeId(0), 9)).await.unwrap();
    assert_eq!(zero.hear().await, (2, 9));
    let after = request_id(&zero.address, wish("127.0.0.1:8"), Timing::default()).await.unwrap();
    assert_eq!((after.id, &after.peers[2]), (NodeId(3), &address), "all know where it is");
    // Whoever comes back to the same address has the same number.
    two.0.kill().await;
    let back = request_id(&zero.address, wish(&address), Timing::default()).await.unwrap();
    assert_eq!(back.id, NodeId(2));
}

#[tokio::test]
async fn those_who_ask_for_too_much_are_refused_in_words() {
    let zero = start(0, &[], Generation::now()).await;
    let ask = async |wish: JoinRequest| {
        let refused = request_id(&zero.address, wish, Timing::default()).await.unwrap_err();
        let NetError::NotLetIn { why, .. } = refused else { panic!("{refused}") };
        why
    };
    let other = |alter: fn(&mut JoinRequest)| {
        let mut wish = wish("127.0.0.1:9");
        alter(&mut wish);
        wish
    };
    let why = ask(other(|it| it.group = "blue".to_owned())).await;
    assert_eq!(why, "it belongs to group default, we belong to group blue");
    let why = ask(other(|it| it.room = 9)).await;
    assert_eq!(why, "it belongs to a group of 8, we belong to a group of 9");
    let why = ask(other(|it| it.address = "nowhere".to_owned())).await;
    assert_eq!(why, "we want to be found at 'nowhere', which is no address");
    for number in 2..ROOM {
        let address = format!("127.0.0.1:{number}");
        request_id(&zero.address, wish(&address), Timing::default()).await.unwrap();
    }
    assert_eq!(ask(wish("127.0.0.1:99")).await, "we want to join, and no id is left");
    let nobody = request_id("127.0.0.1:1", wish("127.0.0.1:9"), Timing::default()).await;
    assert!(nobody.unwrap_err().to_string().contains("connection refused"));
}

/// One hello names an address for every number: nobody is there.
#[tokio::test]
async fn a_stranger_that_names_many_addresses_does_not_fill_the_group() {
    let (listener, address) = bound().await;
    let mut peers = vec![String::new(); ROOM];
    address.clone_into(&mut peers[0]);
    let mut config = config(0, peers, Generation::now());
    config.timing.give_up = Duration::from_millis(300);
    config.timing.heartbeat = Duration::from_millis(100);
    let (_zero, _notices) = Node::new(Teller, config).listener(listener).start().await.unwrap();
    let named: Vec<String> = (0..ROOM).map(|number| format!("127.0.0.1:{}", number + 1)).collect();
    let mut hello = hello(1, 0, &named);
    hello.who.algorithm = "teller".to_owned();
    (hello.who.generation, hello.who.founders) = (Generation::now().number(), 2);
    hello.heartbeat_ms = 100;
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(&bytes(&Frame::<Never>::Hello(hello))).await.unwrap();
    let met = answer(&mut stream).await;
    assert!(matches!(met, Frame::Hello(_)), "{met:?}");
    let ask = async || request_id(&address, wish("127.0.0.1:99"), Timing::default()).await;
    let refused = ask().await.unwrap_err();
    assert!(refused.to_string().contains("no id is left"), "they may be on their way: {refused}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let place = ask().await.unwrap();
    assert!((2..ROOM as u32).contains(&place.id.0), "{place:?}");
}

/// The clock of its machine was set back while no process of it was there.
#[tokio::test]
async fn whoever_begins_earlier_than_the_last_one_is_told_of_its_clock() {
    let early = Generation::now();
    let mut zero = start(0, &[], Generation::now()).await;
    let mut one = start(1, &[(0, &zero.address)], Generation::now()).await;
    zero.met(1).await;
    one.met(0).await;
    one.node.kill().await;
    zero.until("a loss", |event| matches!(event, Event::Lost { .. })).await;
    let mut earlier = start(1, &[(0, &zero.address)], early).await;
    // At first it is said that another has the number: it was there a moment ago.
    let is_it = |event: &Event| event.to_string().contains("this clock was set back since");
    let told = earlier.until("a refusal", is_it).await.to_string();
    assert!(told.contains("tokens may be smaller than before"), "{told}");
}

#[tokio::test]
async fn a_life_that_cannot_have_begun_and_a_fixed_group_are_refused() {
    let mut zero = start(0, &[], Generation::now()).await;
    let mut peers = vec![String::new(); ROOM];
    "127.0.0.1:9".clone_into(&mut peers[1]);
    for (generation, expected) in [
        (u64::MAX, "its clock is more than an hour ahead of ours"),
        (0, "it is set up with a fixed group, we are set up with a group whose members come back"),
    ] {
        let mut hello = hello(1, 0, &peers);
        hello.who.algorithm = "teller".to_owned();
        (hello.who.generation, hello.who.founders) = (generation, 2);
        let mut stream = TcpStream::connect(&zero.address).await.unwrap();
        stream.write_all(&bytes(&Frame::<Never>::Hello(hello))).await.unwrap();
        let Frame::Refuse(why) = answer(&mut stream).await else { panic!("it is refused") };
        assert_eq!(why.sentence(Refuser::Us), expected);
        let event = zero.until("a refusal", |it| matches!(it, Event::WeRefused { .. })).await;
        assert!(event.to_string().contains(expected), "{event}");
    }

    let fixed = Config::new(NodeId(0), vec!["127.0.0.1:0".to_owned()], "teller");
    let (listener, address) = bound().await;
    let (_fixed, _) = Node::new(Teller, fixed).listener(listener).start().await.unwrap();
    let wish = JoinRequest { room: 1, ..wish("127.0.0.1:9") };
    let refused = request_id(&address, wish, Timing::default()).await.unwrap_err();
    assert!(refused.to_string().ends_with(&Refusal::Closed.sentence(Refuser::Them)), "{refused}");
}
