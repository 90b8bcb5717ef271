//! What is shown of a node is all that decides its future: whenever two states of a node differ, so
//! do their tables. The states are those of golden runs, and of steps by lot from the same start.

use std::fmt::Display;
use std::str::FromStr;

use vorrang_algorithms::group::locks::spec::{Locked, WithSuspicions};
use vorrang_algorithms::group::locks::{Locks, NodeFactory};
use vorrang_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use vorrang_algorithms::setup::Ordering;
use vorrang_protocol::{Group, Monitor, NodeId, NodeState, Protocol};
use vorrang_trace::Stage;

use crate::golden;

/// Steps by lot from each start.
const STEPS: u32 = 250;

/// Plays the script on the stage, and then as many steps by lot.
pub(crate) fn differ<P, M>(name: &str, stage: Stage<P, M>, script: &str)
where
    P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
    M: Monitor<Command = P::Command, Notice = P::Notice>,
    Stage<P, M>: Clone,
{
    let mut seen = Seen { name, states: Vec::new() };
    let mut again = stage.clone();
    seen.look(&again);
    for line in script.lines() {
        again.play(line).expect("it was played before");
        seen.look(&again);
    }
    let words = script.lines().filter(|line| !line.starts_with(char::is_whitespace));
    let words = words.filter_map(|line| line.split('#').next()?.trim().rsplit_once(' '));
    let mut commands: Vec<P::Command> = words.filter_map(|(word, _)| word.parse().ok()).collect();
    commands.sort();
    commands.dedup();
    let (mut stage, mut draw) = (stage, 1_u64);
    for _ in 0..STEPS {
        let mut options = stage.options(&commands);
        // Of every node that is up, now and then.
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lot = (draw >> 33) as usize;
        if lot.is_multiple_of(16) {
            options = vec![format!("crash {}", lot / 16 % stage.nodes().count())];
        }
        if let Some(step) = options.get(lot / 16 % options.len().max(1)) {
            // A node that is down cannot crash.
            let _ = stage.step(step);
            seen.look(&stage);
        }
    }
}

/// Is in words: no text that Rust would write of a value, none in quotation marks twice, and no
/// number that encodes two.
fn in_words(name: &str, text: &str) {
    for debug in ["{ ", "NodeId(", "Some(", "None", "\\\""] {
        assert!(!text.contains(debug), "{name} shows '{debug}' in {text}");
    }
    let numbers = text.split(|it: char| !it.is_ascii_digit());
    for number in numbers.filter(|it| !it.is_empty()) {
        let is_small = number.parse::<u64>().is_ok_and(|it| it < 1 << 32);
        assert!(is_small, "{name} shows the number {number} in {text}");
    }
}

/// The different states of each node so far, with what is shown of them.
struct Seen<'a, P> {
    name: &'a str,
    states: Vec<Vec<(P, NodeState)>>,
}

impl<P> Seen<'_, P>
where
    P: Protocol<Command: Display + FromStr<Err: Display>, Notice: Display>,
{
    fn look<M>(&mut self, stage: &Stage<P, M>)
    where
        M: Monitor<Command = P::Command, Notice = P::Notice>,
    {
        let name = self.name;
        for label in stage.flight().iter().chain(&stage.timers()) {
            in_words(name, label);
        }
        in_words(name, stage.said());
        for (NodeId(id), _, node) in stage.nodes() {
            if self.states.len() <= id as usize {
                self.states.push(Vec::new());
            }
            let states = &mut self.states[id as usize];
            if states.iter().any(|(known, _)| known == node) {
                continue;
            }
            let shown = node.state();
            assert!(!shown.is_empty(), "{name} shows nothing of its state");
            in_words(name, &shown.to_string());
            in_words(name, &serde_json::to_string(&shown).expect("a state can be written"));
            if let Some((other, _)) = states.iter().find(|(_, other)| *other == shown) {
                panic!(
                    "{name}: of node {id} the same is shown, {shown}, as\n{other:?}\nand\n{node:?}"
                );
            }
            let mut names: Vec<&str> = shown.iter().map(|(name, _)| name).collect();
            names.sort_unstable();
            let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
            assert!(twice.is_none(), "{name}: two variables have the name {twice:?}");
            states.push((node.clone(), shown));
        }
    }
}

#[test]
fn every_order_of_deliveries_shows_its_state() {
    for order in Ordering::ALL {
        for carrier in [
            "ack --nodes 3 --topology complete --within 1ms --window 4",
            "nack --nodes 3 --topology complete --within 1ms --window 4 --tail heartbeat",
        ] {
            let run = format!(
                "{carrier} --ordering {}\ncast one 0\ncast two 1\ncast three 0\n",
                order.name()
            );
            golden::play(&run).unwrap();
        }
    }
    for waits in ["adaptive", "fixed"] {
        golden::play(&format!(
            "srm --nodes 3 --topology line --within 1ms --window 64 --ordering causal \
             --waits {waits} --distances measured --draws 2\ncast one 0\ncast two 1\n"
        ))
        .unwrap();
    }
}

#[test]
fn members_that_come_and_go_show_their_state() {
    for carrier in [
        "ack --nodes 3 --topology complete --within 1ms --window 4 --tries 2",
        "nack --nodes 3 --topology complete --within 1ms --window 4 --tail heartbeat --tries 2",
        "srm --nodes 3 --topology line --within 1ms --window 64 --waits fixed --distances known \
         --draws 2 --tries 2",
    ] {
        let come = "cast one 0\nsettle\ncrash 1\nrestart 1\nsettle\ncast two 1\n";
        golden::play(&format!("{carrier} --ordering fifo\n{come}cast three 2\nsettle\nleave 2\n"))
            .unwrap();
    }
}

#[test]
fn locks_on_views_show_their_state() {
    let anew = NodeFactory::new(|me, group| SuzukiKasami::new(me, group, NodeId(0)));
    let founders: Vec<NodeId> = (0..3).map(NodeId).collect();
    let node = |id| Locks::new(id, Group::of(3), &founders, anew.clone());
    let monitor = WithSuspicions::new(Locked::new(Group::of(3)));
    let stage = Stage::new(Group::of(3).members().map(node), monitor);
    let script = "acquire 1\nsettle\nsuspect 1 0\nsuspect 1 2\nbeat 0\nsettle\nrelease 1\ncrash 2\n\
                  restart 2\nbeat 2\ntrust 1 2\ntrust 1 0\nsettle\nbeat 0\nsettle\n";
    differ("suzuki-kasami on views", stage, script);
}
