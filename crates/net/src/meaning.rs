//! What it means for an application that nodes are absent, in the words of what it asks for.

use std::fmt;

use vorrang_protocol::{GroupHealth, GroupView, Needs, Prospect};

/// What a machine does for its application: reports of absent nodes say what becomes of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Service {
    /// It grants requests.
    #[default]
    Requests,
    /// It holds elections.
    Elections,
    /// It sends waves through a graph.
    Waves,
    /// It multicasts messages.
    Multicasts,
}

impl Service {
    /// What is asked of it: one, and several.
    pub(crate) const fn asked(self) -> (&'static str, &'static str) {
        match self {
            Self::Requests => ("request", "requests"),
            Self::Elections => ("election", "elections"),
            Self::Waves => ("wave", "waves"),
            Self::Multicasts => ("multicast", "multicasts"),
        }
    }

    /// Why a group cannot go on, if it is so: what stops then, and whether its members may be given
    /// stable storage.
    pub(crate) fn trouble(self, health: &GroupHealth, of: &GroupView) -> Option<String> {
        let stops = match self {
            Self::Requests => "nobody enters",
            Self::Elections => "no leader is found",
            Self::Waves => "no wave ends",
            Self::Multicasts => "nothing is delivered",
        };
        health.trouble_where(of, stops, self == Self::Requests)
    }

    /// What then happens to it, as in "it is granted" and "it can be granted".
    pub(crate) const fn fulfilled(self) -> (&'static str, &'static str) {
        match self {
            Self::Requests => ("is granted", "be granted"),
            Self::Elections | Self::Waves => ("ends", "end"),
            Self::Multicasts => ("is delivered to all", "be delivered to all"),
        }
    }
}

/// The meaning of absent nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaning {
    /// The algorithm.
    pub algorithm: String,
    /// What it does.
    pub service: Service,
    /// The nodes that its requests need.
    pub needs: Needs,
    /// So this becomes of them.
    pub prospect: Prospect,
    /// Whether a request of a node that is gone may still be granted.
    pub grants_gone: bool,
}

impl Meaning {
    /// Goes on with what becomes of requests until a node is back.
    pub(crate) fn until_back(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((one, several), (happens, _)) = (self.service.asked(), self.service.fulfilled());
        self.conclude(
            f,
            format_args!("until it is back, {several} may have to wait for it"),
            format_args!("until it is back, no {one} {happens}"),
        )
    }

    /// Goes on with what becomes of requests if a node will not be back.
    pub(crate) fn for_ever(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((one, several), (_, happen)) = (self.service.asked(), self.service.fulfilled());
        self.conclude(
            f,
            format_args!("{several} may wait for ever"),
            format_args!("no {one} can {happen} any more"),
        )
    }

    /// In these words if requests may have to wait or will.
    fn conclude(
        &self,
        f: &mut fmt::Formatter<'_>,
        doubtful: fmt::Arguments<'_>,
        hopeless: fmt::Arguments<'_>,
    ) -> fmt::Result {
        let ending = match self.prospect {
            Prospect::Fine => return write!(f, "; {self}"),
            Prospect::Doubtful => doubtful,
            Prospect::Hopeless => hopeless,
        };
        write!(f, ", and {self}: {ending}")
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { algorithm, service, needs, prospect, grants_gone } = self;
        if *grants_gone {
            return write!(f, "{algorithm} may grant it to the process that is gone");
        }
        match (needs, prospect) {
            (_, Prospect::Fine) => write!(f, "{algorithm} goes on without it"),
            (Needs::AllBut(0), _) => write!(f, "{algorithm} needs an answer of every node"),
            (Needs::AllBut(1), _) => {
                write!(f, "{algorithm} tolerates the loss of one node and not of more")
            }
            (Needs::AllBut(many), _) => {
                write!(f, "{algorithm} tolerates the loss of {many} nodes and not of more")
            }
            (Needs::One(it), _) => {
                write!(f, "{algorithm} needs node {it} for every {}", service.asked().0)
            }
            (Needs::Anyone | Needs::Nobody, _) => write!(f, "{algorithm} may need it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Until<'a>(&'a Meaning);

    impl fmt::Display for Until<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.until_back(f)?;
            f.write_str(" | ")?;
            self.0.for_ever(f)
        }
    }

    #[test]
    fn an_absence_is_told_in_the_words_of_what_is_asked_for() {
        let said = |service, needs, prospect| {
            let algorithm = "it".to_owned();
            let means = Meaning { algorithm, service, needs, prospect, grants_gone: false };
            Until(&means).to_string()
        };
        let hopeless = |service| said(service, Needs::AllBut(0), Prospect::Hopeless);
        assert_eq!(
            hopeless(Service::Requests),
            ", and it needs an answer of every node: until it is back, no request is granted | \
             , and it needs an answer of every node: no request can be granted any more"
        );
        assert!(hopeless(Service::Elections).ends_with("no election can end any more"));
        assert!(hopeless(Service::Waves).contains("no wave ends"));
        assert_eq!(
            said(Service::Multicasts, Needs::Anyone, Prospect::Doubtful),
            ", and it may need it: until it is back, multicasts may have to wait for it | \
             , and it may need it: multicasts may wait for ever"
        );
        let most = |many| said(Service::Multicasts, Needs::AllBut(many), Prospect::Hopeless);
        assert_eq!(
            most(1),
            ", and it tolerates the loss of one node and not of more: until it is back, no \
             multicast is delivered to all | , and it tolerates the loss of one node and not of \
             more: no multicast can be delivered to all any more"
        );
        assert!(most(2).contains("the loss of 2 nodes"));
        let fine = said(Service::Multicasts, Needs::Nobody, Prospect::Fine);
        assert_eq!(fine, "; it goes on without it | ; it goes on without it");
    }
}
