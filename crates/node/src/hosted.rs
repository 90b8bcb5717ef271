//! The commands on a terminal, for each problem.

use vorrang_algorithms::card::Card;
use vorrang_algorithms::detection::Detection;
use vorrang_algorithms::election::Election;
use vorrang_algorithms::group::input::Input;
use vorrang_algorithms::group::{self, GroupCommunication};
use vorrang_algorithms::multicast::ordered::FULL;
use vorrang_algorithms::multicast::{self, Multicast};
use vorrang_algorithms::mutex::{self, FencingToken, Mutex};
use vorrang_algorithms::setup::Setup;
use vorrang_algorithms::wave::Wave;
use vorrang_catalogue::Catalogued;
use vorrang_net::{Service, Steps};
use vorrang_protocol::{Needs, Refused};

/// A problem whose nodes can be run on a terminal.
pub(crate) trait Hosted: Catalogued {
    /// The commands on a terminal, a line each, with their meaning.
    const COMMANDS: &'static [(&'static str, &'static str)];
    /// What its machines do, in the words of reports about absent nodes.
    const SERVICE: Service = Service::Requests;
    /// The steps of a turn, if the problem has turns: then requests can be withdrawn, and a node
    /// that leaves the group releases its lock.
    fn steps() -> Option<Steps<Self::Command, Self::Notice>> {
        None
    }
    /// The command of any other line, if the problem has one. Then lines are obeyed one after the
    /// other, and each waits until the node accepts it.
    fn said(_line: &str) -> Option<Self::Command> {
        None
    }
    /// Whether a command that was refused is to be given again in a while.
    fn waits(_refused: Refused) -> bool {
        false
    }
    /// Whether a node takes more from now on, if this notice says so.
    fn room(_notice: &Self::Notice) -> Option<bool> {
        None
    }
    /// The nodes that an algorithm needs for a request.
    fn needs(card: &'static Card<Self>, setup: &Setup) -> Needs;
    /// Whether a notice says that what the node had was taken from it (or given to it, which is
    /// false).
    fn loses(_notice: &Self::Notice) -> Option<bool> {
        None
    }
    /// The fencing token that a notice gives, if it gives one.
    fn token(_notice: &Self::Notice) -> Option<FencingToken> {
        None
    }
    /// Whether a command gives back what may have been lost before.
    fn ends(_command: &Self::Command) -> bool {
        false
    }
    /// The confirmation of a command that has no other answer.
    fn obeyed(_command: &Self::Command) -> Option<&'static str> {
        None
    }
}

impl Hosted for Mutex {
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("acquire", "wait to enter (also: acquire shared, acquire group 2, acquire of a+b)"),
        ("release", "leave"),
        ("acquire --timeout 5s", "the same, and give up if it takes longer"),
        ("withdraw", "give up waiting: what is granted later is released at once"),
    ];

    fn steps() -> Option<Steps<Self::Command, Self::Notice>> {
        let steps = Steps::ended_by(mutex::Command::Release);
        Some(steps.evicted_by(mutex::Notice::Evicted))
    }

    fn needs(card: &'static Card<Self>, setup: &Setup) -> Needs {
        (card.terms.needs)(setup)
    }

    fn loses(notice: &Self::Notice) -> Option<bool> {
        match notice {
            mutex::Notice::Evicted => Some(true),
            mutex::Notice::Entered | mutex::Notice::EnteredAs(_) => Some(false),
            mutex::Notice::View { .. } => None,
        }
    }

    fn token(notice: &Self::Notice) -> Option<FencingToken> {
        match notice {
            mutex::Notice::EnteredAs(token) => Some(*token),
            mutex::Notice::Entered | mutex::Notice::Evicted | mutex::Notice::View { .. } => None,
        }
    }

    fn ends(command: &Self::Command) -> bool {
        *command == mutex::Command::Release
    }

    fn obeyed(command: &Self::Command) -> Option<&'static str> {
        Self::ends(command).then_some("released")
    }
}

impl Hosted for Election {
    const SERVICE: Service = Service::Elections;
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("elect", "call for an election, as if there were no leader"),
        ("unplug 1, plug 1", "notice that the cable to node 1 is gone, or there (bus-reset)"),
    ];

    fn needs(card: &'static Card<Self>, setup: &Setup) -> Needs {
        match card.terms {
            terms if terms.majority => most(setup),
            terms if terms.crashes => Needs::Nobody,
            _ => Needs::AllBut(0),
        }
    }
}

impl Hosted for Wave {
    const SERVICE: Service = Service::Waves;
    const COMMANDS: &'static [(&'static str, &'static str)] =
        &[("start", "begin the wave, or the work whose end it finds; at the initiator, and once")];

    /// An echo that does not come back from one node does not come back.
    fn needs(_: &'static Card<Self>, _: &Setup) -> Needs {
        Needs::AllBut(0)
    }
}

impl Hosted for Detection {
    const COMMANDS: &'static [(&'static str, &'static str)] = &[];

    fn needs(_: &'static Card<Self>, _: &Setup) -> Needs {
        Needs::Nobody
    }
}

impl Hosted for Multicast {
    const SERVICE: Service = Service::Multicasts;
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("cast TEXT", "multicast this to all members; so does any line that is no command"),
        ("leave", "leave when all have what was said here; the process stays; with --tries"),
        ("join", "join again, as a new incarnation; with --tries"),
    ];

    fn said(line: &str) -> Option<Self::Command> {
        let line = line.trim();
        match line {
            "leave" => return Some(multicast::Command::Leave),
            "join" => return Some(multicast::Command::Join),
            _ => {}
        }
        let text = match line.split_once(' ') {
            Some(("cast", text)) => text.trim_start(),
            Some(_) | None => line,
        };
        Some(multicast::Command::Cast(text.into()))
    }

    fn waits(refused: Refused) -> bool {
        refused == FULL
    }

    fn room(notice: &Self::Notice) -> Option<bool> {
        match notice {
            multicast::Notice::Delivered { .. }
            | multicast::Notice::Missed { .. }
            | multicast::Notice::Removed
            | multicast::Notice::Left
            | multicast::Notice::Begins { .. } => None,
            multicast::Notice::Full => Some(false),
            multicast::Notice::Room => Some(true),
        }
    }

    /// A sender waits for every member once its window is full, unless it keeps a history in its
    /// place or takes a silent member for crashed.
    fn needs(_: &'static Card<Self>, setup: &Setup) -> Needs {
        let waits = setup.tries.is_none() && setup.history.is_none();
        if waits { Needs::Anyone } else { Needs::Nobody }
    }
}

/// More than half of all nodes must be there.
fn most(setup: &Setup) -> Needs {
    Needs::AllBut(setup.group.size().saturating_sub(1) / 2)
}

impl Hosted for GroupCommunication {
    const SERVICE: Service = Service::Multicasts;
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("multicast TEXT", "tell all members this; so does any line that is no command"),
        ("leave", "leave the group; the process stays"),
        ("join", "join the group, again or for the first time"),
    ];

    fn said(line: &str) -> Option<Self::Command> {
        let text = || Input::Ask(group::Command::Multicast(line.trim().into()));
        Some(line.parse().unwrap_or_else(|_| text()))
    }

    /// Those who are left go on, if they are most.
    fn needs(_: &'static Card<Self>, setup: &Setup) -> Needs {
        most(setup)
    }

    fn obeyed(command: &Self::Command) -> Option<&'static str> {
        match command {
            Input::Ask(group::Command::Join) => Some("asks to join"),
            Input::Ask(group::Command::Leave) => Some("wants to leave"),
            Input::Ask(group::Command::Multicast(_))
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::Beat => None,
        }
    }
}
