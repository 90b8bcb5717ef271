//! The parser of typed commands, with suggestions for unknown ones.

use std::str::FromStr;

use vorrang_experiment::names::nearest;
use vorrang_experiment::values::WallTime;

use crate::hosted::Hosted;
use crate::terminal::wrapped;

/// The commands of all problems.
const ALWAYS: [(&str, &str); 5] = [
    ("status", "how this node and its links are"),
    ("status --json", "the same, for programs"),
    ("state", "the algorithm's own state, a line for each of its variables"),
    ("help", "this"),
    ("quit", "leave the group; end of input does the same, unless --stay"),
];

/// A parsed command.
#[derive(PartialEq, Debug)]
pub(super) enum Order<C> {
    /// Something for the algorithm, and how long it may take.
    Command(C, Option<WallTime>),
    Withdraw,
    Status,
    StatusInJson,
    State,
    Help,
    Quit,
}

impl<C: FromStr<Err = String>> Order<C> {
    /// Reads a line; none if there is nothing in it.
    pub(super) fn read<Q: Hosted<Command = C>>(line: &str) -> Result<Option<Self>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_alone = words.len() == 1 || *words == ["status", "--json"];
        let is_word = |word: &&str| ALWAYS.iter().any(|(known, _)| known == word);
        if let Some(first) = words.first()
            && !(is_alone && is_word(first))
            && let Some(said) = Q::said(line)
        {
            return Ok(Some(Self::Command(said, None)));
        }
        Ok(Some(match *words {
            [] => return Ok(None),
            ["quit"] => Self::Quit,
            ["help"] => Self::Help,
            ["state"] => Self::State,
            ["status"] => Self::Status,
            ["status", "--json"] => Self::StatusInJson,
            ["withdraw"] if Q::steps().is_some() => Self::Withdraw,
            [alone @ ("quit" | "help" | "state"), more, ..] => {
                return Err(format!("{alone} is said alone, without '{more}'"));
            }
            ["withdraw", more, ..] if Q::steps().is_some() => {
                return Err(format!("withdraw is said alone, without '{more}'"));
            }
            ["status", more, ..] => {
                return Err(format!("status is said alone or with --json, not with '{more}'"));
            }
            [first, ..] => return Self::read_command::<Q>(first, &words).map(Some),
        }))
    }

    fn read_command<Q: Hosted<Command = C>>(first: &str, words: &[&str]) -> Result<Self, String> {
        let mut rest: Vec<&str> = words.to_vec();
        let within = match rest.iter().position(|&word| word == "--timeout") {
            Some(at) if Q::steps().is_some() => {
                rest.remove(at);
                if at == rest.len() {
                    return Err("--timeout needs a time, as in acquire --timeout 5s".to_owned());
                }
                let time = rest.remove(at);
                Some(time.parse().map_err(|why| format!("--timeout {time}: {why}"))?)
            }
            Some(_) | None => None,
        };
        let command = rest.join(" ").parse::<C>();
        command.map(|command| Self::Command(command, within)).map_err(|why| {
            let known = || words_known::<Q>().into_iter();
            match nearest(first, known()) {
                _ if known().any(|word| word == first) => why,
                Some(meant) => {
                    format!("unknown command '{first}': did you mean '{meant}'? help shows all")
                }
                None => format!("unknown command '{first}': help shows what there is"),
            }
        })
    }
}

/// The first words of all that can be typed.
fn words_known<Q: Hosted>() -> Vec<&'static str> {
    let first = |&(command, _): &(&'static str, _)| command.split(' ').next().unwrap_or(command);
    let mut words: Vec<&str> = Q::COMMANDS.iter().chain(&ALWAYS).map(first).collect();
    words.dedup();
    words
}

/// The list of commands with their meaning; below each other where the screen is narrow.
pub(super) fn help<Q: Hosted>() -> String {
    let all = || Q::COMMANDS.iter().chain(&ALWAYS);
    let width = all().map(|(command, _)| command.len()).max().unwrap_or(0);
    let is_narrow = crate::terminal::screen().is_some_and(|screen| screen < width + 50);
    let line = |(command, what): &(&str, &str)| {
        if is_narrow {
            format!("{command}\n    {what}\n")
        } else {
            format!("  {command:width$}  {what}\n")
        }
    };
    let lines = all().map(line).collect::<Vec<_>>().concat();
    wrapped(&lines).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vorrang_algorithms::election::Election;
    use vorrang_algorithms::mutex::{Claim, Command, Mutex};

    use super::*;

    fn read(line: &str) -> Result<Option<Order<Command>>, String> {
        Order::read::<Mutex>(line)
    }

    #[test]
    fn what_is_typed_is_understood() {
        let five = || Some(WallTime(Duration::from_secs(5)));
        let acquire = |claim, within| Ok(Some(Order::Command(Command::Acquire(claim), within)));
        assert_eq!(read("  \t "), Ok(None));
        assert_eq!(read("acquire"), acquire(Claim::Exclusive, None));
        assert_eq!(read(" acquire  --timeout 5s\r"), acquire(Claim::Exclusive, five()));
        assert_eq!(read("acquire --timeout 5s shared"), acquire(Claim::Shared, five()));
        assert_eq!(read("acquire group 2 --timeout 5s"), acquire(Claim::Group(2), five()));
        assert_eq!(read("status --json"), Ok(Some(Order::StatusInJson)));
        assert_eq!(read("withdraw"), Ok(Some(Order::Withdraw)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, words) in [
            ("aquire", "unknown command 'aquire': did you mean 'acquire'?"),
            ("witdraw", "did you mean 'withdraw'?"),
            ("xyzzy", "unknown command 'xyzzy': help shows what there is"),
            ("acquire --timeout", "--timeout needs a time"),
            ("acquire --timeout soon", "--timeout soon: write a time such as 500ms"),
            ("acquire group x", "a group is a number from 0 to 255, not 'x'"),
            ("acquire --fast", "unknown command 'acquire --fast': say acquire (shared, "),
            ("status --jsn", "status is said alone or with --json, not with '--jsn'"),
            ("quit now", "quit is said alone, without 'now'"),
            ("withdraw it", "withdraw is said alone, without 'it'"),
        ] {
            let why = read(line).unwrap_err();
            assert!(why.contains(words), "{line}: {why}");
        }
        let why = Order::read::<Election>("withdraw").unwrap_err();
        assert!(why.contains("unknown command 'withdraw'"), "{why}");
    }
}
