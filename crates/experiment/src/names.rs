//! Names that people type, and what they may have meant.

use crate::failure::Failure;

/// The error for an unknown name.
pub fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Failure {
    let all: Vec<&str> = known.clone().collect();
    let hint = match nearest(name, known) {
        Some(nearest) => format!("; did you mean '{nearest}'?"),
        None => String::new(),
    };
    let all = match all[..] {
        [] => "there is none".to_owned(),
        _ => format!("there are {}", all.join(", ")),
    };
    Failure::Usage(format!("unknown {what} '{name}'{hint}\n  {all}"))
}

/// The known name that is most like `name`, if any is much like it.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.7;
    known
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|&(likeness, _)| likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
