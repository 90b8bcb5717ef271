//! `vorrang members`: who belongs to the group.

use std::process::ExitCode;
use std::time::Duration;

use vorrang_terminal::table::table;
use vorrang_terminal::{harmless, print, wrapped};

use super::locks::{for_so_long, json, now};
use super::run;
use super::target::TargetArgs;
use super::wait_time::wait_time;
use super::watch::{self, shown};
use crate::api::{Evicted, Member, Members as Answer};
use crate::client::Client;
use crate::failure::{EXIT_CODES, Failure};

/// Show the members of the group
///
/// As the member sees it that is asked: its membership view, who belongs to that, who has been
/// silent for too long (suspected), and who was evicted and why. Locks are granted only where the
/// view has a majority. VOTER is 'lost' where a member has lost the data directory with which it
/// voted: then it votes on nothing until somebody says --add.
///
/// --evict, --add and --replace change the group, and end when its members have agreed on that.
/// They work at the Unix socket alone, and the log of the daemon has who has asked.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("Examples:\n  vorrang members\n  vorrang members --watch\n  \
    vorrang members --add d           # d has joined, and is to vote\n  \
    vorrang members --evict c         # c is stopped, and is not to come back\n  \
    vorrang members --replace c d     # d votes instead of c\n\n{EXIT_CODES}"))]
pub(crate) struct Members {
    /// Have the group go on without this member, and without its vote: what its clients hold is
    /// lost. Stop it first: one that is up comes in again, though with 'data' it does not vote
    /// then. One that is silent is evicted by itself, and keeps its vote
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "watch"])]
    evict: Option<String>,
    /// With 'data': let this member vote, with the directory that it has now. It is one that has
    /// joined, or one that has lost its disk and was started again
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "watch", "evict"])]
    add: Option<String>,
    /// The same, and then evict another: NEW votes instead of OLD
    #[arg(long, value_names = ["OLD", "NEW"], num_args = 2,
          conflicts_with_all = ["json", "watch", "evict", "add"])]
    replace: Option<Vec<String>>,
    /// Print JSON instead of a table: with --watch one object a line
    #[arg(long)]
    json: bool,
    /// Show them again and again, until Ctrl-C: every second, or as often as is said
    #[arg(long, value_name = "TIME", value_parser = wait_time, num_args = 0..=1,
          default_missing_value = watch::EVERY, require_equals = true)]
    watch: Option<Duration>,
    #[command(flatten)]
    target: TargetArgs,
}

impl Members {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let client = Client::new(self.target.target()?);
        if let Some(changes) = self.changes() {
            return run(make(&client, changes))?.map(|()| ExitCode::SUCCESS);
        }
        let show = async || {
            let members = client.members().await?;
            Ok(match (self.json, self.watch) {
                (true, None) => json(serde_json::to_string_pretty(&members)),
                (true, Some(_)) => json(serde_json::to_string(&members)),
                (false, _) => text(&members),
            })
        };
        run(shown(self.watch, show))?.map(|()| ExitCode::SUCCESS)
    }
}

impl Members {
    /// What is to be changed, if anything is. Whoever votes instead of another does so before that
    /// one is gone, so that at no time fewer vote than before.
    fn changes(&self) -> Option<Vec<Change>> {
        if let Some([old, new]) = self.replace.as_deref() {
            let mut changes = vec![Change::Add(new.clone())];
            // One that has lost its disk takes its own place.
            if old != new {
                changes.push(Change::Evict(old.clone()));
            }
            return Some(changes);
        }
        let change = self.evict.clone().map(Change::Evict);
        change.or_else(|| self.add.clone().map(Change::Add)).map(|it| vec![it])
    }
}

/// Has the group changed, one thing after the other.
async fn make(client: &Client, changes: Vec<Change>) -> Result<(), Failure> {
    for change in changes {
        match &change {
            Change::Add(name) => client.add_voter(name).await?,
            Change::Evict(name) => client.evict(name).await?,
        }
        print(&change.done()).map_err(|why| Failure::Storage(format!("standard output: {why}")))?;
    }
    Ok(())
}

/// Something that is to be different.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Change {
    Add(String),
    Evict(String),
}

impl Change {
    /// What is said when it is so.
    fn done(&self) -> String {
        match self {
            Self::Add(name) => format!("{} votes\n", harmless(name)),
            Self::Evict(name) => format!("{} is evicted\n", harmless(name)),
        }
    }
}

fn text(answer: &Answer) -> String {
    let header = ["NAME", "STATE", "VOTER", "ADDRESS", "HTTP", "TROUBLE"].map(str::to_owned);
    let rows = answer.members.iter().map(|member| row(member, &answer.this));
    let view = match (answer.view, answer.majority) {
        (Some(view), true) => format!("view {view}, of which a majority answers"),
        (Some(view), false) => format!("view {view}, and nothing is granted here"),
        (None, _) => "no view yet, so nothing is granted here".to_owned(),
    };
    let mut head = format!(
        "group {}, member {}, {}: {view}\n",
        harmless(&answer.group),
        harmless(&answer.this),
        harmless(&answer.algorithm)
    );
    if let Some(why) = &answer.trouble {
        head += &format!("{}\n", harmless(why));
    }
    if let Some(Evicted { at, why }) = &answer.evicted {
        let ago = for_so_long(now().saturating_sub(*at));
        head += &format!("evicted {ago} ago: {}\n", harmless(why));
    }
    let cells: Vec<_> = std::iter::once(header.to_vec()).chain(rows).collect();
    format!("{}\n{}", wrapped(&head), table(&cells))
}

fn row(member: &Member, this: &str) -> Vec<String> {
    let shown = |text: &Option<String>| text.as_deref().map(harmless).unwrap_or_default();
    let name = harmless(&member.name);
    vec![
        if member.name == this { format!("{name} (this)") } else { name },
        member.state.to_string(),
        match (member.voter, member.vote_lost) {
            (_, true) => "lost",
            (true, false) => "yes",
            (false, false) => "no",
        }
        .to_owned(),
        shown(&member.address),
        shown(&member.http),
        shown(&member.trouble),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::MemberState;

    #[test]
    fn it_says_whether_anything_can_be_granted_and_why_somebody_is_out() {
        let member = |name: &str, state, trouble: Option<&str>| Member {
            name: name.to_owned(),
            address: Some("127.0.0.1:7400".to_owned()),
            http: None,
            state,
            voter: name != "d",
            vote_lost: name == "b",
            trouble: trouble.map(str::to_owned),
        };
        let mut answer = Answer {
            group: "g".to_owned(),
            this: "a".to_owned(),
            algorithm: "suzuki-kasami".to_owned(),
            view: Some(3),
            majority: true,
            trouble: None,
            evicted: Some(Evicted { at: now() - 65, why: "it was silent".to_owned() }),
            members: vec![
                member("a", MemberState::Member, None),
                member("b", MemberState::Absent, Some("nobody answers there")),
                member("d", MemberState::Member, None),
            ],
        };
        let shown = text(&answer);
        assert!(shown.contains("view 3, of which a majority answers"), "{shown}");
        assert!(shown.contains("a (this)") && shown.contains("nobody answers there"), "{shown}");
        let votes = |name: &str| {
            let row = shown.lines().find(|line| line.starts_with(name)).expect("a row");
            ["yes", "no", "lost"].into_iter().find(|it| row.split_whitespace().any(|is| is == *it))
        };
        assert_eq!(["a", "b", "d"].map(votes), [Some("yes"), Some("lost"), Some("no")], "{shown}");
        assert!(shown.contains("\nevicted 1m 5s ago: it was silent\n"), "{shown}");
        answer.majority = false;
        answer.trouble = Some("two of three are missing".to_owned());
        let shown = text(&answer);
        assert!(shown.contains("nothing is granted here\ntwo of three are missing\n"), "{shown}");
        answer.view = None;
        assert!(text(&answer).contains("no view yet"));
    }
}
