//! The verdict about a run.

use vorrang_check::catch_panic;

use super::subject::Subject;
use crate::failure::Failure;
use crate::figures::{Measured, counts};
use crate::options::RunArgs;
use crate::survive::Verdict;

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// What is wrong, by its name; nothing if all is well.
    pub(super) property: String,
    /// The same in a sentence.
    pub(super) what: String,
    /// How many faults really happened, those of messages included.
    pub(super) faults: u64,
    pub(super) events: u64,
}

impl Judged {
    /// Whether the other is wrong in the same way.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.verdict, &self.property) == (other.verdict, &other.property)
    }

    /// Nothing else was claimed.
    fn excused(self) -> Self {
        let (property, what) = (String::new(), String::new());
        Self { verdict: Verdict::Fine, property, what, ..self }
    }

    fn unsafe_for(property: &str, what: String) -> Self {
        let (verdict, property) = (Verdict::Unsafe, property.to_owned());
        Self { verdict, property, what, faults: 0, events: 0 }
    }

    fn of(measured: Measured, name: &str) -> Self {
        let verdict = match (measured.safe, measured.quiescent) {
            (false, _) => Verdict::Unsafe,
            (true, false) => Verdict::Stuck,
            (true, true) => Verdict::Fine,
        };
        let what = measured.violation.unwrap_or_default();
        // What is assumed is on the card.
        let caveats = [format!("; {name} assumes that "), "; on views a node that ".to_owned()];
        let end = caveats.iter().filter_map(|it| what.find(it.as_str())).min();
        let what = what[..end.unwrap_or(what.len())].to_owned();
        let property = match (verdict, what.split_once(':')) {
            (Verdict::Fine, _) => String::new(),
            (Verdict::Stuck | Verdict::Unsafe, Some((property, _))) => property.to_owned(),
            (Verdict::Stuck | Verdict::Unsafe, None) => verdict.word().to_owned(),
        };
        let struck = counts(&measured.faults.unwrap_or_default());
        // What comes of a fault is none.
        let is_fault =
            |it: &&(&str, u64)| !matches!(it.0, "cut_off" | "slowed" | "messages_to_dead");
        let faults = struck.iter().filter(is_fault).map(|it| it.1).sum();
        Self { verdict, property, what, faults, events: measured.events }
    }
}

/// Runs a schedule in the simulator.
///
/// # Errors
///
/// If there is no such run: no schedule that was drawn is refused.
pub(super) fn judge(subject: &Subject, args: &RunArgs) -> Result<Judged, Failure> {
    let judged = judge_run(subject, || subject.entry.algorithm.run(args)?.simulate(None, None))?;
    Ok(match judged.verdict {
        Verdict::Stuck if !subject.serves_in_the_end(args) => judged.excused(),
        Verdict::Fine | Verdict::Stuck | Verdict::Unsafe => judged,
    })
}

/// Judges what comes of a run.
///
/// # Errors
///
/// If it does not come about.
pub(super) fn judge_run(
    subject: &Subject,
    run: impl FnOnce() -> Result<Measured, Failure>,
) -> Result<Judged, Failure> {
    let about = subject.entry.algorithm.about();
    match catch_panic(run) {
        Ok(Ok(measured)) => Ok(Judged::of(measured, about.name)),
        // A node refused what it should have been ready for.
        Ok(Err(Failure::Failed(why))) => Ok(Judged::unsafe_for("refused", why)),
        Ok(Err(failure)) => Err(failure),
        Err(panic) => Ok(Judged::unsafe_for("panic", panic)),
    }
}
