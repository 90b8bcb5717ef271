//! The exit code that says how a command failed.

use std::process::ExitCode;

use vorrang_experiment::failure::Failure;
use vorrang_node::terminal::{BAD, RESET, say_aside};

/// The exit codes of every command, for help texts.
pub(crate) const EXIT_CODES: &str = "Exit codes:\n  \
    0  fine\n  \
    1  violated: a property or a bound of a claim failed\n  \
    2  wrong use\n  \
    3  bounded: stopped before the end, and nothing was wrong so far\n  \
    4  I/O error: a file, a port, a process or the output could not be used";

/// Reports the error, once, and returns the exit code.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    let unsaid = match failure {
        Failure::Usage(why) | Failure::Failed(why) | Failure::World(why) => Some(why),
        Failure::Bounded(why) => why.as_ref(),
        Failure::AlreadySaid => None,
    };
    if let Some(why) = unsaid {
        say_aside(&format!("{BAD}error:{RESET} {why}"));
    }
    ExitCode::from(code(failure))
}

/// As [`EXIT_CODES`] has it.
pub(crate) const fn code(failure: &Failure) -> u8 {
    match failure {
        Failure::Failed(_) | Failure::AlreadySaid => 1,
        Failure::Usage(_) => 2,
        Failure::Bounded(_) => 3,
        Failure::World(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_way_to_fail_has_the_code_that_the_help_states() {
        let why = String::new;
        let ways = [
            (Failure::Failed(why()), "violated"),
            (Failure::AlreadySaid, "violated"),
            (Failure::Usage(why()), "wrong use"),
            (Failure::Bounded(Some(why())), "bounded"),
            (Failure::Bounded(None), "bounded"),
            (Failure::at(Path::new("/"), "no"), "I/O error"),
            (Failure::from(io::Error::other("no")), "I/O error"),
        ];
        for (failure, called) in ways {
            let stated = format!("{}  {called}", code(&failure));
            assert!(EXIT_CODES.contains(&stated), "{failure:?}: {stated}");
        }
    }
}
