//! The log of a node, on standard error beside what the conversation says.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;
use vorrang_net::EVENT_TARGET;

use crate::nonblocking_output::NonblockingOutput;
use vorrang_experiment::failure::Failure;

/// The environment variable of the log filter.
const VARIABLE: &str = "VORRANG_LOG";

/// Logs what `VORRANG_LOG` asks for. What the conversation shows by itself is not in the log.
pub(crate) fn start(output: &NonblockingOutput) -> Result<(), Failure> {
    let asked = std::env::var_os(VARIABLE).unwrap_or_default();
    let filter = filter(&asked.to_string_lossy()).map_err(Failure::Usage)?;
    let output = output.clone();
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(move || output.logger())
        .with_filter(filter.with_target(EVENT_TARGET, LevelFilter::OFF));
    tracing_subscriber::registry().with(lines).init();
    Ok(())
}

/// Reads the log filter: levels, each for all parts of the program or for one of them.
fn filter(text: &str) -> Result<Targets, String> {
    let mut directives = text.split(',').map(str::trim).filter(|it| !it.is_empty()).peekable();
    if directives.peek().is_none() {
        return Ok(Targets::new().with_default(LevelFilter::WARN));
    }
    directives.try_fold(Targets::new(), |filter, directive| {
        let (target, level) = match directive.split_once('=') {
            Some((target, level)) => (Some(target), level),
            None => (None, directive),
        };
        // Nothing at all would be read as errors.
        let read = level.parse().ok().filter(|_: &LevelFilter| !level.is_empty());
        let level = read.ok_or_else(|| {
            format!(
                "{VARIABLE}: '{level}' in '{text}' is not a level: say off, error, warn, info, \
                 debug or trace, for all or for a part, as in 'info' or 'vorrang_net=debug,info'"
            )
        })?;
        Ok(match target {
            Some(target) => filter.with_target(target, level),
            None => filter.with_default(level),
        })
    })
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::LevelFilter as Level;

    use super::*;

    fn logged(text: &str, target: &str) -> Level {
        let filter = filter(text).expect(text);
        let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        let is_on = |level: &&Level| {
            level.into_level().is_some_and(|level| filter.would_enable(target, &level))
        };
        levels.iter().rev().find(is_on).copied().unwrap_or(Level::OFF)
    }

    #[test]
    fn levels_are_for_all_or_for_a_part() {
        for (text, net, elsewhere) in [
            ("", Level::WARN, Level::WARN),
            ("info", Level::INFO, Level::INFO),
            ("DEBUG", Level::DEBUG, Level::DEBUG),
            ("off", Level::OFF, Level::OFF),
            ("vorrang_net=debug,info", Level::DEBUG, Level::INFO),
            ("info, vorrang_net=trace", Level::TRACE, Level::INFO),
            ("vorrang_net=debug", Level::DEBUG, Level::OFF),
            ("vorrang_net::link=debug,error", Level::ERROR, Level::ERROR),
        ] {
            assert_eq!(logged(text, "vorrang_net::meet"), net, "{text}");
            assert_eq!(logged(text, "vorrang_cli"), elsewhere, "{text}");
        }
    }

    #[test]
    fn what_is_no_level_is_named() {
        for (text, named) in [
            ("inof", "'inof' in 'inof'"),
            ("vorrang_net=debgu,info", "'debgu' in 'vorrang_net=debgu,info'"),
            ("info,[span]=", "'' in 'info,[span]='"),
        ] {
            let why = filter(text).expect_err(text);
            assert!(why.contains(named) && why.contains("VORRANG_LOG"), "{why}");
        }
    }
}
