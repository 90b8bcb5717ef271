//! The caption of a picture: what went wrong, and which node waits for which.

use crate::chart::{Chart, Fate};
use crate::story::{Clock, Story};

/// Sentences, each with whether it is about something bad.
pub(crate) fn of(story: &Story, chart: &Chart) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    if let Some(wrong) = &story.wrong {
        let at = wrong.at.map_or_else(String::new, |at| match story.clock {
            Clock::Steps => format!("In step {at}: "),
            Clock::Nanoseconds => format!("At {}: ", story.when(at)),
        });
        all.push((format!("{at}{}.", wrong.what.trim_end_matches('.')), true));
        let waits = match &story.waits {
            Some(known) => Some(known.clone()).filter(|it| !it.is_empty()),
            None => waiting(story, chart),
        };
        all.extend(waits.map(|text| (text, false)));
    }
    if let Some(from) = story.repeats_from {
        let text = format!("What happens from {} on repeats for ever.", story.when(from));
        all.push((text, false));
    }
    all.extend(story.remarks.iter().map(|text| (text.clone(), false)));
    all
}

/// Which nodes wait for which when the run is over.
pub(crate) fn waiting(story: &Story, chart: &Chart) -> Option<String> {
    let waits = chart.waits(story);
    if waits.is_empty() {
        return None;
    }
    let lane = |node: usize| story.lanes.get(node).map_or("?", String::as_str);
    let mut sentences = Vec::new();
    let mut nodes: Vec<usize> = waits.iter().map(|it| it.0).collect();
    nodes.dedup();
    for node in nodes {
        let whom: Vec<&str> = waits.iter().filter(|it| it.0 == node).map(|it| lane(it.1)).collect();
        sentences.push(format!("{} waits for {}", lane(node), and(&whom)));
    }
    let mut text = format!("When it ends, {}", sentences.join("; "));
    if let Some(circle) = Chart::circle(&waits).filter(|it| it.len() > 1) {
        let mut names: Vec<&str> = circle.iter().map(|&node| lane(node)).collect();
        names.push(names[0]);
        text += &format!(": a cycle, {}", names.join(" → "));
    }
    let under_way = chart.arrows.iter().filter(|it| it.fate == Fate::UnderWay).count();
    text += match under_way {
        0 => ". No message is under way that could change it.",
        1 => ". One message is still under way.",
        _ => ". Messages are still under way.",
    };
    Some(text)
}

/// `a`, `a and b`, `a, b and c`.
fn and(names: &[&str]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_as_people_do() {
        assert_eq!(and(&["a"]), "a");
        assert_eq!(and(&["a", "b", "c"]), "a, b and c");
    }
}
