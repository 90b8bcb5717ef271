//! Why one node refuses another, in words for both.

use std::fmt;

use serde::{Deserialize, Serialize};
use vorrang_protocol::NodeId;

use crate::excerpt::Excerpt;

/// Why a node refuses another; written by the one who refuses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// They speak different versions.
    Version {
        /// That of the one who refuses.
        refuser: u8,
        /// That of the other.
        refused: u8,
    },
    /// They belong to different groups.
    Group {
        /// That of the one who refuses.
        refuser: Excerpt,
        /// That of the other.
        refused: Excerpt,
    },
    /// They run different algorithms.
    Algorithm {
        /// That of the one who refuses.
        refuser: Excerpt,
        /// That of the other.
        refused: Excerpt,
    },
    /// They are set up differently.
    Setup {
        /// How the one who refuses is.
        refuser: Excerpt,
        /// How the other is.
        refused: Excerpt,
    },
    /// They think the group of different size.
    Size {
        /// According to the one who refuses.
        refuser: u32,
        /// According to the other.
        refused: u32,
    },
    /// Their lists of peers differ: the same addresses in another order, or others.
    Peers {
        /// The first node for which they have different addresses.
        node: NodeId,
        /// Where it is according to the one who refuses.
        refuser: Excerpt,
        /// Where it is according to the other.
        refused: Excerpt,
    },
    /// The other wanted another node: the right list, and the wrong node at one of its addresses.
    Target {
        /// The node that it reached.
        reached: NodeId,
        /// The node that it wanted.
        wanted: NodeId,
    },
    /// The id cannot be true: outside the group, the refuser's own, or that of a node that the
    /// refuser dials and not the other way round.
    Sender {
        /// The id that it claims.
        claimed: NodeId,
        /// The refuser.
        refuser: NodeId,
    },
    /// The other is not the process that the refuser has met under this number: it was restarted
    /// and has lost its state, or there are two. Nothing here tells it how to pass for the one that
    /// was met.
    Restarted,
    /// Another process is connected with the refuser under this id, or was a moment ago. A process
    /// that was restarted while the group gathers is admitted once its previous incarnation has
    /// been away for longer.
    Taken,
    /// The other knows a previous incarnation of the refuser: it is the refuser that was restarted.
    Forgotten,
    /// The other has said that it leaves for good.
    Left,
    /// So many messages waited for the other that the refuser keeps none of them any more.
    GivenUp,
    /// The other speaks so seldom that the refuser would take it for dead.
    TooQuiet {
        /// After how many milliseconds of silence the refuser gives up.
        refuser: u64,
        /// Every how many milliseconds the other speaks at least.
        refused: u64,
    },
    /// The other knocked, and all is well: it is the refuser who calls, and it will.
    WillCall,
    /// They reach all members at once in different ways: over UDP only.
    Cast {
        /// How the one who refuses does.
        refuser: Excerpt,
        /// How the other does.
        refused: Excerpt,
    },
    /// Their lists of peers differ, and not in where the two of them are: over UDP, where a list
    /// may be too long for a hello.
    List,
    /// In an open group: the refuser knows a later process under this number.
    Replaced {
        /// By how many seconds it began later, by its clock.
        later_by: u64,
        /// Whether it is connected with the refuser. If not, it may be gone, and the clock of the
        /// machine may have been set back since.
        is_there: bool,
    },
    /// In an open group: the two do not agree on how many nodes found it.
    Founders {
        /// According to the one who refuses.
        refuser: u32,
        /// According to the other.
        refused: u32,
    },
    /// In an open group: the other says that it has begun later than it can be by now.
    Ahead,
    /// The other wants a number, and the group is not open.
    Closed,
    /// The other wants a number, and there is none left.
    Full,
    /// The other wants a number, and does not say where it can be found.
    Nowhere(Excerpt),
    /// The directory of the other is a copy, or was put back: the refuser knows of a later start in
    /// it, or of another one in its place.
    Copied,
}

/// The side that refused, as seen by the side that prints the sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refuser {
    /// We refused the other.
    Us,
    /// The other refused us.
    Them,
}

impl Refusal {
    /// Whether the refused process can never be admitted.
    pub(crate) const fn is_final(&self) -> bool {
        match self {
            Self::Left | Self::GivenUp | Self::Copied => true,
            Self::Version { .. }
            | Self::Group { .. }
            | Self::Algorithm { .. }
            | Self::Setup { .. }
            | Self::Size { .. }
            | Self::Peers { .. }
            | Self::Target { .. }
            | Self::Sender { .. }
            | Self::Restarted
            | Self::Taken
            | Self::Forgotten
            | Self::TooQuiet { .. }
            | Self::WillCall
            | Self::Cast { .. }
            | Self::List
            | Self::Founders { .. }
            | Self::Ahead
            | Self::Closed
            | Self::Full
            // The later one may turn out to be no member.
            | Self::Replaced { .. }
            | Self::Nowhere(_) => false,
        }
    }

    /// The reason as a sentence in which "we" are the ones who say it.
    pub fn sentence(&self, by: Refuser) -> String {
        // The refused side is "it" if we refused, and "we" if it was us.
        let two = |verb_it: &str,
                   verb_we: &str,
                   refuser: &dyn fmt::Display,
                   refused: &dyn fmt::Display| {
            let (it, we) = match by {
                Refuser::Us => (refused, refuser),
                Refuser::Them => (refuser, refused),
            };
            format!("it {verb_it} {it}, we {verb_we} {we}")
        };
        match self {
            Self::Version { refuser, refused } => {
                two("speaks version", "speak version", refuser, refused)
            }
            Self::Group { refuser, refused } => {
                two("belongs to group", "belong to group", refuser, refused)
            }
            Self::Algorithm { refuser, refused } => two("runs", "run", refuser, refused),
            Self::Setup { refuser, refused } => {
                two("is set up with", "are set up with", refuser, refused)
            }
            Self::Peers { node, refuser, refused } => {
                let (it, we) =
                    (format!("expects node {node} at"), format!("expect node {node} at"));
                two(&it, &we, refuser, refused)
            }
            Self::Size { refuser, refused } => {
                two("belongs to a group of", "belong to a group of", refuser, refused)
            }
            Self::Target { reached, wanted } => match by {
                Refuser::Us => format!("it looks for node {wanted}, we are node {reached}"),
                Refuser::Them => format!("it is node {reached}, we look for node {wanted}"),
            },
            Self::Sender { claimed, refuser } => match by {
                Refuser::Us => {
                    format!("it says it is node {claimed}, which we, node {refuser}, do not expect")
                }
                Refuser::Them => {
                    format!(
                        "we say we are node {claimed}, which it, node {refuser}, does not expect"
                    )
                }
            },
            Self::TooQuiet { refuser, refused } => too_quiet(*refuser, *refused, by),
            Self::Cast { refuser, refused } => {
                two("reaches all by", "reach all by", refuser, refused)
            }
            Self::Founders { refuser, refused } => {
                two("has a --peers list of length", "have one of length", refuser, refused)
            }
            Self::Replaced { later_by, is_there } => replaced(*later_by, *is_there, by),
            Self::Nowhere(address) => nowhere(address, by),
            Self::Restarted
            | Self::Taken
            | Self::Forgotten
            | Self::Left
            | Self::GivenUp
            | Self::List
            | Self::Ahead
            | Self::Closed
            | Self::Full
            | Self::Copied
            | Self::WillCall => self.plain_sentence(by).to_owned(),
        }
    }

    /// The reasons that say all by themselves.
    const fn plain_sentence(&self, by: Refuser) -> &'static str {
        match (self, by) {
            (Self::Restarted, Refuser::Us) => {
                "it was restarted and has lost its state, or there are two nodes with its id"
            }
            (Self::Restarted, Refuser::Them) => {
                "we were restarted and have lost our state, or there are two nodes with our id"
            }
            (Self::Taken, Refuser::Us) => "another process is connected with its id",
            (Self::Taken, Refuser::Them) => "another process is connected with our id",
            (Self::Forgotten, Refuser::Us) => {
                "we were restarted and have lost our state, and it knows our previous incarnation"
            }
            (Self::Forgotten, Refuser::Them) => {
                "it was restarted and has lost its state, and we know its previous incarnation"
            }
            (Self::Left, Refuser::Us) => "it has left for good",
            (Self::Left, Refuser::Them) => "we have left for good",
            (Self::GivenUp, Refuser::Us) => "our queue of messages for it overflowed",
            (Self::GivenUp, Refuser::Them) => "its queue of messages for us overflowed",
            (Self::WillCall, Refuser::Us) => "it is we who call, and we will",
            (Self::WillCall, Refuser::Them) => "it is the one who calls, and it will",
            (Self::Ahead, Refuser::Us) => "its clock is more than an hour ahead of ours",
            (Self::Ahead, Refuser::Them) => "our clock is more than an hour ahead of its",
            (Self::Closed, Refuser::Us) => "it wants to join, and this group is fixed",
            (Self::Closed, Refuser::Them) => "we want to join, and that group is fixed",
            (Self::Full, Refuser::Us) => "it wants to join, and no id is left",
            (Self::Full, Refuser::Them) => "we want to join, and no id is left",
            (Self::Copied, Refuser::Us) => {
                "its directory is a copy, or was put back from an earlier state: it was started \
                 in the meantime"
            }
            (Self::Copied, Refuser::Them) => {
                "our directory is a copy, or was put back from an earlier state: it was started in \
                 the meantime, and what was promised there since is missing here; start with an \
                 empty directory, as another voter"
            }
            (Self::List, Refuser::Us | Refuser::Them) => "its list of peers differs from ours",
            (
                Self::Version { .. }
                | Self::Group { .. }
                | Self::Algorithm { .. }
                | Self::Setup { .. }
                | Self::Size { .. }
                | Self::Peers { .. }
                | Self::Target { .. }
                | Self::Sender { .. }
                | Self::TooQuiet { .. }
                | Self::Founders { .. }
                | Self::Replaced { .. }
                | Self::Nowhere(_)
                | Self::Cast { .. },
                Refuser::Us | Refuser::Them,
            ) => "",
        }
    }
}

fn replaced(later_by: u64, is_there: bool, by: Refuser) -> String {
    match (is_there, by) {
        (true, Refuser::Us) => "a later incarnation has its id".to_owned(),
        (true, Refuser::Them) => "a later incarnation has our id".to_owned(),
        (false, Refuser::Us) => format!(
            "the last process with its id, which is not here, began {later_by} s later by its \
             clock: either it is cut off, or that clock was set back since"
        ),
        (false, Refuser::Them) => format!(
            "the last process with our id, which is not there, began {later_by} s later by its \
             clock: either it is cut off, or this clock was set back since (with --data that does \
             not matter), or it is no member; one that is none is forgotten within seconds, and \
             this node let in; else start it again in {later_by} s, or stop all members and start \
             them again, after which tokens may be smaller than before"
        ),
    }
}

fn too_quiet(time_out: u64, heartbeat: u64, by: Refuser) -> String {
    match by {
        Refuser::Us => format!("its heartbeat is {heartbeat} ms, our time-out {time_out} ms"),
        Refuser::Them => format!("our heartbeat is {heartbeat} ms, its time-out {time_out} ms"),
    }
}

fn nowhere(address: &Excerpt, by: Refuser) -> String {
    let who = match by {
        Refuser::Us => "it wants",
        Refuser::Them => "we want",
    };
    format!("{who} to be found at '{address}', which is no address")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both sides say, and whether that is the end.
    fn check(cases: &[(Refusal, &str, &str)]) {
        for (refusal, from_us, from_them) in cases {
            assert_eq!(refusal.sentence(Refuser::Us), *from_us);
            assert_eq!(refusal.sentence(Refuser::Them), *from_them);
            let is_final = matches!(refusal, Refusal::Left | Refusal::GivenUp | Refusal::Copied);
            assert_eq!(refusal.is_final(), is_final, "{refusal:?}");
        }
    }

    #[test]
    fn both_sides_say_the_same_with_we_and_it_exchanged() {
        let (ours, theirs) = (|| Excerpt::new("ours"), || Excerpt::new("theirs"));
        check(&[
            (
                Refusal::Version { refuser: 2, refused: 1 },
                "it speaks version 1, we speak version 2",
                "it speaks version 2, we speak version 1",
            ),
            (
                Refusal::Group { refuser: ours(), refused: theirs() },
                "it belongs to group theirs, we belong to group ours",
                "it belongs to group ours, we belong to group theirs",
            ),
            (
                Refusal::Algorithm { refuser: ours(), refused: theirs() },
                "it runs theirs, we run ours",
                "it runs ours, we run theirs",
            ),
            (
                Refusal::Setup { refuser: ours(), refused: theirs() },
                "it is set up with theirs, we are set up with ours",
                "it is set up with ours, we are set up with theirs",
            ),
            (
                Refusal::Size { refuser: 3, refused: 2 },
                "it belongs to a group of 2, we belong to a group of 3",
                "it belongs to a group of 3, we belong to a group of 2",
            ),
            (
                Refusal::Peers { node: NodeId(4), refuser: ours(), refused: theirs() },
                "it expects node 4 at theirs, we expect node 4 at ours",
                "it expects node 4 at ours, we expect node 4 at theirs",
            ),
            (
                Refusal::Target { reached: NodeId(1), wanted: NodeId(0) },
                "it looks for node 0, we are node 1",
                "it is node 1, we look for node 0",
            ),
            (
                Refusal::Sender { claimed: NodeId(7), refuser: NodeId(1) },
                "it says it is node 7, which we, node 1, do not expect",
                "we say we are node 7, which it, node 1, does not expect",
            ),
        ]);
    }

    #[test]
    fn both_sides_say_who_came_back_and_who_left() {
        check(&[
            (
                Refusal::Restarted,
                "it was restarted and has lost its state, or there are two nodes with its id",
                "we were restarted and have lost our state, or there are two nodes with our id",
            ),
            (
                Refusal::Taken,
                "another process is connected with its id",
                "another process is connected with our id",
            ),
            (
                Refusal::Forgotten,
                "we were restarted and have lost our state, and it knows our previous incarnation",
                "it was restarted and has lost its state, and we know its previous incarnation",
            ),
            (Refusal::Left, "it has left for good", "we have left for good"),
            (
                Refusal::GivenUp,
                "our queue of messages for it overflowed",
                "its queue of messages for us overflowed",
            ),
            (
                Refusal::TooQuiet { refuser: 5_000, refused: 9_000 },
                "its heartbeat is 9000 ms, our time-out 5000 ms",
                "our heartbeat is 9000 ms, its time-out 5000 ms",
            ),
            (
                Refusal::Cast { refuser: "unicast".into(), refused: "239.1.2.3:7000".into() },
                "it reaches all by 239.1.2.3:7000, we reach all by unicast",
                "it reaches all by unicast, we reach all by 239.1.2.3:7000",
            ),
            (
                Refusal::List,
                "its list of peers differs from ours",
                "its list of peers differs from ours",
            ),
            (
                Refusal::Replaced { later_by: 9, is_there: true },
                "a later incarnation has its id",
                "a later incarnation has our id",
            ),
            (
                Refusal::Replaced { later_by: 1800, is_there: false },
                "the last process with its id, which is not here, began 1800 s later by its clock: \
                 either it is cut off, or that clock was set back since",
                "the last process with our id, which is not there, began 1800 s later by its \
                 clock: either it is cut off, or this clock was set back since (with --data that \
                 does not matter), or it is no member; one that is none is forgotten within \
                 seconds, and this node let in; else start it again in 1800 s, or stop all members \
                 and start them again, after which tokens may be smaller than before",
            ),
        ]);
    }

    #[test]
    fn both_sides_say_why_a_newcomer_does_not_fit() {
        check(&[
            (
                Refusal::Founders { refuser: 3, refused: 5 },
                "it has a --peers list of length 5, we have one of length 3",
                "it has a --peers list of length 3, we have one of length 5",
            ),
            (
                Refusal::Ahead,
                "its clock is more than an hour ahead of ours",
                "our clock is more than an hour ahead of its",
            ),
            (
                Refusal::Closed,
                "it wants to join, and this group is fixed",
                "we want to join, and that group is fixed",
            ),
            (
                Refusal::Full,
                "it wants to join, and no id is left",
                "we want to join, and no id is left",
            ),
            (
                Refusal::Nowhere("x".into()),
                "it wants to be found at 'x', which is no address",
                "we want to be found at 'x', which is no address",
            ),
            (
                Refusal::WillCall,
                "it is we who call, and we will",
                "it is the one who calls, and it will",
            ),
        ]);
    }
}
