//! Algorithms and problems by their names.

use vorrang_algorithms::group::locks::flaws::LocksFlaw;
use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::problem::Problem as _;

use crate::catalogue::{Entry, catalogue};
use crate::failure::Failure;
use crate::names::unknown;
use crate::options::check::CheckArgs;
use crate::options::choice::Choice as _;
use crate::problem::Subject;

/// The algorithm of that name.
pub fn algorithm(name: &str) -> Result<&'static Entry, Failure> {
    let named = |entry: &&Entry| entry.algorithm.about().name == name;
    catalogue().iter().find(named).ok_or_else(|| {
        unknown("algorithm", name, catalogue().iter().map(|entry| entry.algorithm.about().name))
    })
}

/// The algorithms of these names, each once; `all` for all of the problem; by default those that
/// solve it as it stands and no variant of it.
pub fn algorithms(names: &[String], problem: Option<&str>) -> Result<Vec<&'static Entry>, Failure> {
    let wanted = problem.unwrap_or(Mutex::NAME);
    let about = |entry: &&Entry| entry.algorithm.about();
    let is_of = |entry: &&Entry| about(entry).problem == wanted;
    let is_meant = |entry: &&Entry| slug(about(entry).solves) == slug(wanted);
    let is_plain = |entry: &&Entry| about(entry).solves == about(entry).problem_title;
    let solves: Vec<&Entry> = catalogue().iter().filter(|it| is_of(it) || is_meant(it)).collect();
    if solves.is_empty() {
        return Err(unknown("problem", wanted, problems().iter().map(String::as_str)));
    }
    match names {
        [] => {
            let plain: Vec<&Entry> = solves.iter().copied().filter(is_plain).collect();
            Ok(if plain.is_empty() { solves } else { plain })
        }
        names if names.iter().any(|name| name == "all") => Ok(solves),
        names => {
            let mut entries: Vec<&Entry> = Vec::new();
            for name in names {
                let entry = algorithm(name)?;
                let is_known = |known: &&Entry| about(known).name == about(&entry).name;
                if problem.is_some() && !solves.iter().any(is_known) {
                    return Err(Failure::usage(format!(
                        "{name} solves {}, not --problem {wanted}",
                        about(&entry).solves
                    )));
                }
                if !entries.iter().any(is_known) {
                    entries.push(entry);
                }
            }
            Ok(entries)
        }
    }
}

/// The names of all problems and variants.
pub fn problems() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for about in catalogue().iter().map(|entry| entry.algorithm.about()) {
        for name in [about.problem.to_owned(), slug(about.solves)] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// A name as it is typed.
fn slug(text: &str) -> String {
    text.replace(' ', "-")
}

/// The subject of a check: the algorithm, or it with the mistake that was asked for. A mistake of
/// locks on views is none of the algorithm.
pub fn subject(entry: &'static Entry, args: &CheckArgs) -> Result<&'static dyn Subject, Failure> {
    match args.flaw.as_deref() {
        None => Ok(&*entry.correct),
        Some(_) if args.slip().is_some() => Ok(&*entry.correct),
        Some(name) if args.views.on_views => {
            let found = entry.flawed.iter().find(|(known, _)| *known == name);
            let own = entry.flawed.iter().map(|(name, _)| *name);
            let known = own.chain(LocksFlaw::ALL.iter().map(|(_, name)| *name));
            let what = format!("flaw of {}", entry.algorithm.about().name);
            found.map(|(_, flawed)| &**flawed).ok_or_else(|| unknown(&what, name, known))
        }
        Some(name) => flawed(entry, name),
    }
}

/// The algorithm with that mistake.
pub fn flawed(entry: &'static Entry, name: &str) -> Result<&'static dyn Subject, Failure> {
    let found = entry.flawed.iter().find(|(known, _)| *known == name);
    found.map(|(_, flawed)| &**flawed).ok_or_else(|| {
        let what = format!("flaw of {}", entry.algorithm.about().name);
        unknown(&what, name, entry.flawed.iter().map(|(name, _)| *name))
    })
}
