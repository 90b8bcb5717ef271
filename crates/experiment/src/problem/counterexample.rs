//! A run of the checker or of a stage as a trace: its steps in the place of times.

use std::collections::BTreeMap;

use vorrang_check::{Outcome, Run};
use vorrang_protocol::{Effect, NodeId, NodeSet, Occurrence, Protocol, Transition};
use vorrang_trace::{Header, Line, Loss, Record, What, Wrong};

use crate::tracefile::Recorded;

/// The counterexample, if there is one.
pub(super) fn recorded<P: Protocol>(header: Header, outcome: &Outcome<P>) -> Option<Recorded> {
    let Outcome::Violated { violation, run } = outcome else { return None };
    let steps = run.moves.len() as u64;
    let mut text = Vec::new();
    let records = records(run, violation.property == "refused");
    for record in &records {
        record.write_line(&mut text);
    }
    Some(Recorded {
        header,
        lines: records.iter().map(Into::into).collect(),
        text,
        wrong: Some(Wrong { what: violation.to_string(), at_ns: Some(steps) }),
        repeats_from: run.repeats_from.map(|place| place as u64 + 1),
    })
}

/// All that happens in it. A command that the node refuses changes nothing and is none.
fn records<P: Protocol>(run: &Run<P>, ends_refused: bool) -> Vec<Record<P>> {
    let refused = usize::from(ends_refused);
    let moves = &run.moves[..run.moves.len() - refused];
    played(
        &mut run.starts.iter().map(|it| (&it.choices[..], &it.effects[..])),
        &mut moves.iter().map(|it| (&it.step, &it.effects[..])),
    )
}

/// All that happens on a stage, a line each.
pub(super) fn lines<P: Protocol>(starts: Starts<'_, '_, P>, steps: Steps<'_, '_, P>) -> Vec<Line> {
    played(starts, steps).iter().map(Into::into).collect()
}

/// How nodes came up: the answers that they got to their choices, and their effects.
pub(super) type Starts<'i, 'a, P> = &'i mut dyn Iterator<Item = (&'a [u32], &'a [Effect<P>])>;
/// Steps with their effects.
pub(super) type Steps<'i, 'a, P> =
    &'i mut dyn Iterator<Item = (&'a Transition<P>, &'a [Effect<P>])>;

fn played<P: Protocol>(starts: Starts<'_, '_, P>, steps: Steps<'_, '_, P>) -> Vec<Record<P>> {
    let mut tape =
        Tape { at: 0, records: Vec::new(), flight: BTreeMap::new(), sent: 0, down: NodeSet::EMPTY };
    for (id, (choices, effects)) in (0..).map(NodeId).zip(starts) {
        tape.do_all(id, choices, effects);
    }
    for (step, effects) in steps {
        tape.at += 1;
        tape.step(step, effects);
    }
    tape.records
}

/// A message and its number.
type Numbered<P> = (u64, <P as Protocol>::Message);

struct Tape<P: Protocol> {
    at: u64,
    records: Vec<Record<P>>,
    /// The messages in flight between two nodes, oldest first.
    flight: BTreeMap<(NodeId, NodeId), Vec<Numbered<P>>>,
    sent: u64,
    down: NodeSet,
}

impl<P: Protocol> Tape<P> {
    fn push(&mut self, node: NodeId, what: What<P>) {
        self.records.push(Record { at_ns: self.at, node, what });
    }

    fn do_all(&mut self, at: NodeId, choices: &[u32], effects: &[Effect<P>]) {
        for &choice in choices {
            self.push(at, What::Choice(choice));
        }
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    let (to, seq) = (*to, self.sent);
                    self.sent += 1;
                    self.flight.entry((at, to)).or_default().push((seq, message.clone()));
                    self.push(at, What::Send { to, seq, message: message.clone() });
                }
                Effect::Notify(notice) => self.push(at, What::Notice(notice.clone())),
                Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }

    /// The number with which a message was sent, which is under way no longer unless it stays.
    fn number(&mut self, from: NodeId, to: NodeId, message: &P::Message, stays: bool) -> u64 {
        let letters = self.flight.entry((from, to)).or_default();
        let place = letters.iter().position(|(_, it)| it == message);
        match place {
            Some(place) if stays => letters[place].0,
            Some(place) => letters.remove(place).0,
            None => unreachable!("only what was sent arrives"),
        }
    }

    fn step(&mut self, Transition { what, choices }: &Transition<P>, effects: &[Effect<P>]) {
        match what {
            Occurrence::Command { at, command } => self.push(*at, What::Command(command.clone())),
            Occurrence::Timer { at, timer } => self.push(*at, What::Timer(*timer)),
            Occurrence::Crash { at } => {
                self.down.insert(*at);
                self.push(*at, What::Crash);
            }
            Occurrence::Restart { at } => {
                self.down.remove(*at);
                self.push(*at, What::Restart);
            }
            Occurrence::Deliver { from, to, message } if self.down.contains(*to) => {
                let seq = self.number(*from, *to, message, false);
                self.push(*from, What::Lost { to: *to, seq, why: Loss::Down });
            }
            Occurrence::Deliver { from, to, message } => {
                let seq = self.number(*from, *to, message, false);
                self.push(*to, What::Receive { from: *from, seq, message: message.clone() });
            }
            Occurrence::Duplicate { from, to, message } => {
                let seq = self.number(*from, *to, message, true);
                self.push(*from, What::Doubled { to: *to, seq });
                self.push(*to, What::Receive { from: *from, seq, message: message.clone() });
            }
            Occurrence::Lose { from, to, message } => {
                let seq = self.number(*from, *to, message, false);
                self.push(*from, What::Lost { to: *to, seq, why: Loss::Network });
            }
        }
        self.do_all(what.at(), choices, effects);
    }
}
