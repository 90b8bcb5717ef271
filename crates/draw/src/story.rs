//! The visible part of a run, as input for pictures.

use crate::state_table::StateTable;

/// A run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Story {
    /// The title.
    pub title: String,
    /// The command that repeats it.
    pub command: String,
    /// The unit of its times.
    pub clock: Clock,
    /// The names of its nodes, in their order.
    pub lanes: Vec<String>,
    /// The events, in an order that respects causality.
    pub events: Vec<Event>,
    /// The violation.
    pub wrong: Option<Wrong>,
    /// When what then repeats for ever began.
    pub repeats_from: Option<u64>,
    /// Further remarks.
    pub remarks: Vec<String>,
    /// Signs that are explained where they are written.
    pub glosses: &'static [Gloss],
    /// The states of its nodes at the end, if states are shown.
    pub states: Option<StateTable>,
    /// The logical clock of its node at every event, if clocks are shown.
    pub stamps: Vec<String>,
    /// The kinds of messages that only say that their sender is up.
    pub beats: Vec<String>,
    /// How long it lasts at least, though nothing that is shown happens so late.
    pub until: Option<u64>,
    /// Which node waits for which in the end, if the messages from which it can be seen are no
    /// longer all there.
    pub waits: Option<String>,
}

/// A sign that a reader may not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gloss {
    /// The sign; a 0 stands for any digit, as in `0'0`.
    pub sign: &'static str,
    /// What it means, in a sentence.
    pub means: &'static str,
}

impl Gloss {
    /// Whether the sign is in a text.
    pub fn is_in(&self, text: &str) -> bool {
        let is_like = |(known, it): (&u8, &u8)| match known {
            b'0' => it.is_ascii_digit(),
            _ => known == it,
        };
        let sign = self.sign.as_bytes();
        text.as_bytes().windows(sign.len()).any(|part| sign.iter().zip(part).all(is_like))
    }
}

/// The unit of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Nanoseconds since the run began.
    #[default]
    Nanoseconds,
    /// Numbers of steps: only their order means something.
    Steps,
}

/// The violation in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// At which moment, if at one.
    pub at: Option<u64>,
    /// What, in words.
    pub what: String,
}

/// One thing that happened at one node.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// When.
    pub at: u64,
    /// Where.
    pub node: usize,
    /// What.
    pub what: What,
    /// The change of the node's state, as text.
    pub state: Option<String>,
}

/// The events of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// Its application asked for something, or was told.
    Said {
        /// What, in words.
        text: String,
        /// Whether it asked.
        is_command: bool,
        /// Its appearance.
        look: Look,
    },
    /// It sent a message.
    Sent {
        /// The receiver.
        to: usize,
        /// The message.
        letter: MessageLabel,
    },
    /// A message arrived.
    Got {
        /// The sender.
        from: usize,
        /// The message.
        letter: MessageLabel,
    },
    /// A timer ran out.
    Timer(String),
    /// It drew by lot.
    Choice(u32),
    /// A message that it sent will not arrive.
    Lost {
        /// The receiver.
        to: usize,
        /// Its number.
        number: u64,
        /// Why.
        why: &'static str,
    },
    /// A message that it sent will arrive twice.
    Doubled {
        /// The receiver.
        to: usize,
        /// Its number.
        number: u64,
    },
    /// It went down.
    Crash,
    /// It came up again.
    Restart,
    /// It pauses.
    Pause,
    /// It resumes.
    Resume,
    /// Something befell the whole network, or no longer does.
    Network {
        /// What, in words.
        text: String,
        /// Whether it begins.
        begins: bool,
    },
    /// Something else that is worth a word.
    Remark(String),
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageLabel {
    /// Its number: no other from the same sender to the same receiver has it.
    pub number: u64,
    /// Its kind.
    pub kind: String,
    /// The text.
    pub text: String,
    /// Whether it carries a token.
    pub is_token: bool,
}

/// The appearance of a command or a notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// The new state of the node, if it changes.
    pub bar: Option<Bar>,
    /// A mark at that moment.
    pub mark: Option<Mark>,
    /// The node below which this one hangs in a tree from now on.
    pub parent: Option<usize>,
    /// From here on it is in something new, whose name is the text.
    pub era: Option<&'static str>,
}

/// A state of a node for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bar {
    /// Nothing.
    Ends,
    /// Something that lasts: an outline, with its name.
    Outlined(&'static str),
    /// The main state: filled, with its name.
    Filled(&'static str),
}

/// A mark at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// It begins something.
    Begins(&'static str),
    /// It leads, it decides, it is done.
    Star(&'static str),
    /// It takes note of what was decided, or delivers.
    Diamond(&'static str),
    /// It believes something bad.
    Warns(&'static str),
    /// From here on all is counted anew.
    Flag(&'static str),
}

impl Mark {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begins(name)
            | Self::Star(name)
            | Self::Diamond(name)
            | Self::Warns(name)
            | Self::Flag(name) => name,
        }
    }
}

impl Look {
    /// A node is in something from now on.
    pub const fn bar(bar: Bar) -> Self {
        Self { bar: Some(bar), mark: None, parent: None, era: None }
    }

    /// A mark.
    pub const fn mark(mark: Mark) -> Self {
        Self { bar: None, mark: Some(mark), parent: None, era: None }
    }
}

impl Story {
    /// When the last thing happened.
    pub fn end(&self) -> u64 {
        let last = self.events.iter().map(|event| event.at).max().max(self.until).unwrap_or(0);
        last.max(self.wrong.as_ref().and_then(|wrong| wrong.at).unwrap_or(0))
    }

    /// A time, in words.
    pub fn when(&self, at: u64) -> String {
        match self.clock {
            Clock::Nanoseconds => crate::words::duration(at),
            Clock::Steps => format!("step {at}"),
        }
    }

    /// What signs mean, of those that are seen.
    pub(crate) fn explained(&self, is_seen: impl Fn(&Gloss) -> bool) -> Vec<&'static str> {
        self.glosses.iter().filter(|it| is_seen(it)).map(|it| it.means).collect()
    }

    /// Whether an event says a sign.
    pub(crate) fn has(&self, sign: &Gloss) -> bool {
        self.events.iter().any(|event| match &event.what {
            What::Said { text, .. } => sign.is_in(text),
            What::Sent { letter, .. } | What::Got { letter, .. } => sign.is_in(&letter.text),
            _ => false,
        })
    }

    /// An event, in words.
    pub fn says(&self, event: &Event) -> String {
        let node = &self.lanes[event.node];
        let lane = |node: usize| self.lanes.get(node).map_or("?", String::as_str);
        match &event.what {
            What::Said { text, .. } | What::Network { text, .. } | What::Remark(text) => {
                format!("{node} {text}")
            }
            What::Sent { to, letter } => format!("{node} → {} {}", lane(*to), letter.text),
            What::Got { from, letter } => format!("{node} ← {} {}", lane(*from), letter.text),
            What::Timer(timer) => format!("{node} timer {timer}"),
            What::Choice(value) => format!("{node} draws {value}"),
            What::Lost { to, why, .. } => format!("{node} → {} is lost: {why}", lane(*to)),
            What::Doubled { to, .. } => format!("{node} → {} is duplicated", lane(*to)),
            What::Crash => format!("{node} crashes"),
            What::Restart => format!("{node} restarts"),
            What::Pause => format!("{node} pauses"),
            What::Resume => format!("{node} resumes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_noticed_with_any_digits() {
        let back = Gloss { sign: "0'0", means: "" };
        assert!(back.is_in("delivers 3'1/0: x") && back.is_in("DATA(1'9)"));
        assert!(!back.is_in("delivers 3/0: it's") && !back.is_in("'2'") && !back.is_in(""));
        let view = Gloss { sign: "[view 0", means: "" };
        assert!(view.is_in("REPLY [view 7, clock 1]") && !view.is_in("[view x"));
    }
}
