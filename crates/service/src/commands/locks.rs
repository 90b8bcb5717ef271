//! `vorrang locks`: who holds what.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use vorrang_terminal::table::table;
use vorrang_terminal::{harmless, wrapped};

use super::run;
use super::target::TargetArgs;
use super::wait_time::wait_time;
use super::watch::{self, shown};
use crate::api::{Hold, HoldState, Kind, Locks as Answer, Unreached};
use crate::client::Client;
use crate::failure::{EXIT_CODES, Failure};

/// Show who holds what since when, and who waits
///
/// Of all members that can be asked: a member that cannot is named below the table, and what its
/// clients hold is missing. Each row is a hold of a client, those who hold a name before those who
/// wait for it. Of two exclusive holds of a name the later one has the larger token.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("Examples:\n  vorrang locks\n  vorrang locks --watch 2s nightly\n  \
    vorrang locks --json | jq '.holds[] | select(.state == \"waiting\")'\n\n{EXIT_CODES}"))]
pub(crate) struct Locks {
    /// Only holds of clients of the daemon that is asked
    #[arg(long)]
    local: bool,
    /// Only names that begin so
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,
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

impl Locks {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let client = Client::new(self.target.target()?);
        let show = async || {
            let mut locks = client.locks(self.local).await?;
            locks.holds.retain(|hold| hold.name.starts_with(&self.prefix));
            Ok(match (self.json, self.watch) {
                (true, None) => json(serde_json::to_string_pretty(&locks)),
                (true, Some(_)) => json(serde_json::to_string(&locks)),
                (false, _) => text(&locks, now()),
            })
        };
        run(shown(self.watch, show))?.map(|()| ExitCode::SUCCESS)
    }
}

/// A line, or some.
pub(crate) fn json(text: serde_json::Result<String>) -> String {
    text.expect("our own types are JSON") + "\n"
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

fn text(locks: &Answer, now: u64) -> String {
    let mut text = if locks.holds.is_empty() {
        "nothing is held, and nobody waits\n".to_owned()
    } else {
        let header = ["NAME", "KIND", "STATE", "FOR", "MEMBER", "CLIENT", "TOKEN"];
        let header = header.map(str::to_owned).to_vec();
        let mut places = BTreeMap::new();
        let rows = locks.holds.iter().map(|hold| row(hold, now, &mut places));
        table(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
    };
    for Unreached { member, why } in &locks.unreached {
        let line = format!("\n{} could not be asked: {}\n", harmless(member), harmless(why));
        text += &wrapped(&line);
    }
    text
}

fn row<'a>(
    hold: &'a Hold,
    now: u64,
    places: &mut BTreeMap<(&'a str, &'a str, Kind), u32>,
) -> Vec<String> {
    let state = if hold.state == HoldState::Waiting {
        // Those of one member wait in this order; between members there is none.
        let place = places.entry((&hold.member, &hold.name, hold.kind)).or_default();
        *place += 1;
        format!("waiting ({place})")
    } else {
        hold.state.to_string()
    };
    let kind = match hold.permits {
        Some(permits) => format!("{} of {permits}", hold.kind),
        None => hold.kind.to_string(),
    };
    let said = hold.value.as_ref().or(hold.label.as_ref()).unwrap_or(&hold.client);
    vec![
        harmless(&hold.name),
        kind,
        state,
        for_so_long(now.saturating_sub(hold.since)),
        harmless(&hold.member),
        harmless(said),
        hold.token.clone().unwrap_or_default(),
    ]
}

/// The two largest units that say something.
pub(crate) fn for_so_long(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        (_, _, _) => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        let shown = [0, 59, 60, 3599, 3600, 86399, 86400, 200_000].map(for_so_long);
        let wanted = ["0s", "59s", "1m 0s", "59m 59s", "1h 0m", "23h 59m", "1d 0h", "2d 7h"];
        assert_eq!(shown, wanted);
    }

    fn hold(name: &str, state: HoldState, member: &str) -> Hold {
        Hold {
            member: member.to_owned(),
            id: "1".to_owned(),
            kind: Kind::Lock,
            name: name.to_owned(),
            permits: None,
            value: None,
            state,
            since: 100,
            ended: None,
            token: (state == HoldState::Held).then(|| "0".repeat(31) + "7"),
            label: Some("host:1 x\x1b[2J".to_owned()),
            client: "uid 0".to_owned(),
        }
    }

    #[test]
    fn who_waits_at_one_member_is_numbered_and_nothing_reaches_the_terminal() {
        let holds = vec![
            hold("a", HoldState::Held, "m"),
            hold("a", HoldState::Waiting, "m"),
            hold("a", HoldState::Waiting, "m"),
            hold("a", HoldState::Waiting, "n"),
        ];
        let (member, why) = ("o".to_owned(), "it is gone".to_owned());
        let unreached = vec![Unreached { member, why }];
        let shown = text(&Answer { holds, unreached }, 165);
        let states: Vec<&str> =
            ["held ", "waiting (1)", "waiting (2)", "waiting (1)", "o could not be asked: it is"]
                .into_iter()
                .collect();
        let mut rest = &shown[..];
        for state in states {
            let place = rest.find(state).unwrap_or_else(|| panic!("{state}: {shown}"));
            rest = &rest[place + state.len()..];
        }
        assert!(shown.contains("1m 5s") && shown.contains(r"x\x1b[2J"), "{shown}");
        let nothing = Answer { holds: Vec::new(), unreached: Vec::new() };
        assert_eq!(text(&nothing, 0), "nothing is held, and nobody waits\n");
    }
}
