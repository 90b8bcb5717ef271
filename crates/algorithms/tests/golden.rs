//! Golden runs: small runs of every algorithm that read as prose.
//!
//! A file in `golden` names the algorithm and the number of nodes in its first line; what stands at
//! the margin is done, what is indented is the answer. `VORRANG_REWRITE=1 cargo test -p
//! vorrang-algorithms --test golden` writes the answers anew: look at every difference as if it
//! were code.

use std::fs;
use std::path::Path;

use vorrang_algorithms::card::Setup;
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_algorithms::mutex::{Command, Notice};
use vorrang_algorithms::registry::{self, Make, Visit, mutex_cards};
use vorrang_protocol::{Group, Protocol};
use vorrang_trace::Stage;

struct Play<'a> {
    script: &'a str,
    setup: Setup,
}

impl Visit for Play<'_> {
    type Output = Result<String, String>;

    fn visit<P>(self, card: &'static Card, node: impl Make<P>) -> Self::Output
    where
        P: Protocol<Command = Command, Notice = Notice>,
    {
        let exclusion = Exclusion::new((card.terms.admission)(&self.setup));
        let monitor = (exclusion, HappenedBefore::default());
        let mut stage = Stage::new(self.setup.group.members().map(node), monitor);
        let played = stage.play(self.script)?;
        Ok(format!("{played}= {} messages\n", stage.messages()))
    }
}

/// Plays a file: `algorithm NAME nodes N [flaw FLAW]`, then the script.
fn play(text: &str) -> Result<String, String> {
    let (header, script) = text.split_once('\n').ok_or("a run has a header and a script")?;
    let words: Vec<&str> = header.split_whitespace().collect();
    let ["algorithm", name, "nodes", size, flaw @ ..] = &words[..] else {
        return Err(format!("not a header: {header}"));
    };
    let size: u32 = size.parse().map_err(|_| format!("not a number of nodes: {size}"))?;
    let script = script.split_once("\n= ").map_or(script, |(script, _)| script);
    let setup = Setup::new(Group::of(size));
    let play = Play { script, setup };
    let played = match flaw {
        [] => registry::visit(name, setup, play),
        ["flaw", flaw] => registry::visit_flawed(name, flaw, setup, play),
        _ => return Err(format!("not a header: {header}")),
    };
    let played = played.ok_or_else(|| format!("no such algorithm or flaw: {header}"))??;
    Ok(format!("{header}\n{played}"))
}

#[test]
fn golden_runs_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let rewrite = std::env::var_os("VORRANG_REWRITE").is_some();
    let mut covered = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let played = play(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        covered.extend(played.split_whitespace().nth(1).map(str::to_owned));
        if rewrite {
            fs::write(&path, played).unwrap();
        } else {
            assert_eq!(played, text, "{} has changed", path.display());
        }
    }
    for card in mutex_cards() {
        assert!(covered.iter().any(|name| name == card.name), "{} has no golden run", card.name);
    }
}
