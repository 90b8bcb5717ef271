//! A line of a script, read without knowing any algorithm: the one place that knows how a step is
//! written.

use vorrang_protocol::NodeId;

/// A parsed line, with the answers to the choices of its step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// The step.
    pub says: Says<'a>,
    /// The answers.
    pub choices: Vec<u32>,
}

/// The kinds of lines: see the [table](super).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is a line of a script")]
pub enum Says<'a> {
    Settle,
    Rest,
    /// Answers to the choices of the step that follows, and nothing else.
    Choose,
    Deliver(Which<'a>),
    Lose(Which<'a>),
    Duplicate(Which<'a>),
    Timer(NodeId, &'a str),
    Crash(NodeId),
    Restart(NodeId),
    /// Commands are parsed by the algorithm's problem.
    Command(NodeId, &'a str),
}

/// A message: the link, and how its text begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they say it all")]
pub struct Which<'a> {
    pub from: NodeId,
    pub to: NodeId,
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a step of so many nodes.
    ///
    /// # Errors
    ///
    /// If it is not a step, or speaks of a node that is not there.
    pub fn read(step: &'a str, nodes: usize) -> Result<Self, String> {
        read(step, nodes)
    }
}

fn read(step: &str, nodes: usize) -> Result<Line<'_>, String> {
    let (step, choices) = split_choices(step.trim());
    let node = |text: &str| node(text, nodes);
    let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
    let rest = rest.trim();
    let which = || which(word, rest, nodes);
    let says = match word {
        "settle" if rest.is_empty() => Says::Settle,
        "rest" if rest.is_empty() => Says::Rest,
        "" if !choices.is_empty() => Says::Choose,
        "choose" => return Err("say choose NUMBER, once for every choice".to_owned()),
        "deliver" => Says::Deliver(which()?),
        "lose" => Says::Lose(which()?),
        "duplicate" => Says::Duplicate(which()?),
        "crash" => Says::Crash(node(rest)?),
        "restart" => Says::Restart(node(rest)?),
        "timer" => {
            let (id, timer) = rest.split_once(' ').ok_or("say timer NODE NAME")?;
            Says::Timer(node(id)?, timer)
        }
        _ => {
            let (words, id) = step.rsplit_once(' ').ok_or("which node?")?;
            Says::Command(node(id)?, words)
        }
    };
    Ok(Line { says, choices })
}

/// `timer 2 Beat choose 1 0` is a step and two answers.
fn split_choices(step: &str) -> (&str, Vec<u32>) {
    let found = step.rmatch_indices("choose ").find_map(|(at, word)| {
        let before = &step[..at];
        let numbers = step[at + word.len()..].split_whitespace().map(str::parse);
        let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().ok()?;
        let is_a_word = before.is_empty() || before.ends_with(' ');
        (is_a_word && !numbers.is_empty()).then(|| (before.trim_end(), numbers))
    });
    found.unwrap_or((step, Vec::new()))
}

fn which<'a>(word: &str, rest: &'a str, nodes: usize) -> Result<Which<'a>, String> {
    let (link, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let (from, to) = link.split_once("->").ok_or_else(|| format!("say {word} FROM->TO"))?;
    Ok(Which { from: node(from, nodes)?, to: node(to, nodes)?, text: text.trim() })
}

fn node(text: &str, nodes: usize) -> Result<NodeId, String> {
    let id = match text.parse::<u32>() {
        Ok(id) => id,
        Err(_) if text.is_empty() => return Err("which node?".to_owned()),
        Err(_) => return Err(format!("'{text}' is not a node's number")),
    };
    let last = nodes - 1;
    if id as usize > last {
        return Err(format!("there is no node {id}: the last is {last}"));
    }
    Ok(NodeId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_choices_stand_at_the_end() {
        let read = |text| read(text, 3).unwrap();
        let line = read("timer 2 Beat choose 1 0");
        assert_eq!(line.says, Says::Timer(NodeId(2), "Beat"));
        assert_eq!(line.choices, [1, 0]);
        let line = read("choose 4");
        assert_eq!((line.says, line.choices), (Says::Choose, vec![4]));
        let line = read("deliver 0->1 LET US choose ONE");
        let which = Which { from: NodeId(0), to: NodeId(1), text: "LET US choose ONE" };
        assert_eq!((line.says, line.choices), (Says::Deliver(which), vec![]));
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        let error = |text| read(text, 3).unwrap_err();
        assert_eq!(error("crash"), "which node?");
        assert_eq!(error("crash x"), "'x' is not a node's number");
        assert_eq!(error("restart 3"), "there is no node 3: the last is 2");
        assert_eq!(error("lose 1"), "say lose FROM->TO");
        assert_eq!(error("timer 1"), "say timer NODE NAME");
        assert_eq!(error("choose"), "say choose NUMBER, once for every choice");
        assert_eq!(error("acquire"), "which node?");
    }
}
