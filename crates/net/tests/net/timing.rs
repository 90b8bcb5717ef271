//! Timers of a machine, delays of an application.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use vorrang_net::{Application, ApplicationEffects, Config, Node, bind_loopback};
use vorrang_protocol::{Delay, Effects, Message, Never, NodeId, Protocol, Refused};

use crate::support::soon;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Nothing(Never);

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl Message for Nothing {
    const KINDS: &'static [&'static str] = &[];
    fn kind(&self) -> usize {
        match self.0 {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Ask {
    Set(char, u64),
    Cancel(char),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Alarm;

impl Protocol for Alarm {
    type Message = Nothing;
    type Timer = char;
    /// All at once, so that a slow machine changes nothing.
    type Command = Vec<Ask>;
    type Notice = char;

    fn on_command(&mut self, asks: Vec<Ask>, fx: &mut impl Effects<Self>) -> Result<(), Refused> {
        for ask in asks {
            match ask {
                Ask::Set(timer, ms) => {
                    let min = Duration::from_millis(ms);
                    fx.set_timer(timer, Delay::between(min, min + Duration::from_millis(1)));
                }
                Ask::Cancel(timer) => fx.cancel_timer(timer),
            }
        }
        Ok(())
    }

    fn on_message(&mut self, _: NodeId, message: Nothing, _: &mut impl Effects<Self>) {
        match message.0 {}
    }

    fn on_timer(&mut self, timer: char, fx: &mut impl Effects<Self>) {
        fx.notify(timer);
    }
}

async fn alone() -> (Node<Vec<Ask>, char>, tokio::time::Instant) {
    let (mut listeners, peers) = bind_loopback(1).await.unwrap();
    let config = Config::new(NodeId(0), peers, "alarm");
    let node = Node::new(Alarm, config).listener(listeners.remove(0));
    (node, tokio::time::Instant::now())
}

#[tokio::test]
async fn timers_are_set_replaced_cancelled_and_run_out() {
    let (node, start) = alone().await;
    let (handle, mut notices) = node.start().await.unwrap();
    let asks = vec![
        Ask::Set('a', 20),
        Ask::Set('b', 90),
        Ask::Set('c', 30),
        Ask::Set('d', 500),
        Ask::Set('a', 250),
        Ask::Cancel('c'),
        Ask::Cancel('x'),
    ];
    handle.command(asks).await.unwrap();
    let mut fired = Vec::new();
    for _ in 0..3 {
        fired.extend(soon("a timer", notices.recv()).await);
    }
    assert_eq!(fired, ['b', 'a', 'd']);
    assert!(start.elapsed() >= Duration::from_millis(500));
}

/// Asks for a timer, now and later, and is woken in between.
struct Sleeper(mpsc::UnboundedSender<&'static str>);

impl Application for Sleeper {
    type Command = Vec<Ask>;
    type Notice = char;

    fn on_start(&mut self, fx: &mut ApplicationEffects<Vec<Ask>>) {
        fx.command_after(Duration::from_millis(60), vec![Ask::Set('z', 0)]);
        fx.wake_after(Duration::from_millis(10));
        fx.wake_after(Duration::from_millis(10));
    }
    fn on_notice(&mut self, notice: char, _: &mut ApplicationEffects<Vec<Ask>>) {
        assert_eq!(notice, 'z');
        self.0.send("notice").unwrap();
    }
    fn on_wake(&mut self, _: &mut ApplicationEffects<Vec<Ask>>) {
        self.0.send("wake").unwrap();
    }
}

#[tokio::test]
async fn an_application_is_woken_and_asks_later() {
    let (node, start) = alone().await;
    let (sender, mut heard) = mpsc::unbounded_channel();
    let _handle = node.start_with(Sleeper(sender)).await.unwrap();
    for expected in ["wake", "wake", "notice"] {
        assert_eq!(soon("the application", heard.recv()).await, Some(expected));
    }
    assert!(start.elapsed() >= Duration::from_millis(60));
}
