//! What is done to the script of a session: taken back, gone on with by lot, written and read.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use vorrang_node::terminal::print;
use vorrang_sim::Random;

use super::input::cut;
use super::{Problem, Session, Surface, read_script};
use crate::interrupt;

/// Random steps at once.
const MOST_AT_RANDOM: u64 = 100_000;

impl Session {
    pub(super) fn undo(&mut self, count: u64) -> Result<(), Problem> {
        if self.lines.is_empty() {
            return Err("nothing has been done".into());
        }
        for _ in 0..count.min(self.lines.len() as u64) {
            // A comment goes with the step before it.
            while let Some(line) = self.lines.pop() {
                let is_step = !line.starts_with('#');
                self.undone.push(line);
                if is_step {
                    break;
                }
            }
        }
        self.replay();
        self.has_warned = self.staged.violation().is_some();
        let last = self.lines.last().map_or("the beginning", String::as_str);
        let steps = self.lines.iter().filter(|line| !line.starts_with('#')).count();
        let many = if steps == 1 { "step" } else { "steps" };
        self.tell(&format!("back to {steps} {many}: {}\n", cut(last)))?;
        if self.surface == Surface::Terminal {
            self.show_situation()?;
        }
        Ok(())
    }

    pub(super) fn redo(&mut self, count: u64) -> Result<(), Problem> {
        if self.undone.is_empty() {
            return Err("nothing has been undone".into());
        }
        for _ in 0..count {
            let Some(line) = self.undone.pop() else { break };
            let rest = std::mem::take(&mut self.undone);
            self.step(&line)?;
            self.undone = rest;
        }
        Ok(())
    }

    pub(super) fn random(&mut self, rest: &str) -> Result<(), Problem> {
        let (steps, seed) = rest.split_once(' ').unwrap_or((rest, ""));
        let steps = count(steps)?.min(MOST_AT_RANDOM);
        if !seed.is_empty() {
            self.seed = seed.trim().parse().map_err(|_| format!("'{}' is no seed", cut(seed)))?;
        }
        let mut random = Random::new(self.seed);
        self.tell(&format!("seed {}\n", self.seed))?;
        self.seed = self.seed.wrapping_add(1);
        self.undone.clear();
        for _ in 0..steps {
            if interrupt::is_raised() {
                break;
            }
            let mut options = self.staged.options();
            let is_timer = |it: &String| it.starts_with("timer ");
            // Where messages are timely, time-outs that are long enough do not run out before.
            if self.is_timely && options.iter().any(|it| it.starts_with("deliver ")) {
                options.retain(|it| !is_timer(it));
            }
            if options.is_empty() || self.staged.violation().is_some() {
                break;
            }
            let line = options.swap_remove(random.below(options.len() as u64) as usize);
            let said = self.take(&line)?;
            print(&format!("{line}\n{said}"))?;
        }
        if self.surface == Surface::Terminal {
            self.warn()?;
            self.show_situation()?;
        }
        Ok(())
    }

    pub(super) fn save(&mut self, path: &str, overwrites: bool) -> Result<(), Problem> {
        if path.is_empty() {
            return Err("say save FILE".into());
        }
        let body = self.replay();
        let text = format!("{}\n{body}= {} messages\n", self.header, self.staged.messages());
        let file = if overwrites {
            File::create(path)
        } else {
            OpenOptions::new().write(true).create_new(true).open(path)
        };
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => Ok(self.tell(&format!("saved in {path}\n"))?),
            Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(format!("'{path}' is there already; save! {path} overwrites it").into())
            }
            Err(why) => Err(format!("cannot write '{path}': {why}").into()),
        }
    }

    pub(super) fn load(&mut self, path: &str) -> Result<(), Problem> {
        if path.is_empty() {
            return Err("say load FILE, or the name of a golden run (vorrang step --list)".into());
        }
        // A file that cannot be read ends no session.
        let script = read_script(Path::new(path)).map_err(|why| why.to_string())?;
        let mut loaded = Self::of_script(&script, self.args.order, (self.surface, self.draws))?;
        (loaded.wrong, loaded.first_wrong) = (self.wrong, self.first_wrong.take());
        loaded.found = self.found.take();
        (loaded.seed, loaded.signs) = (self.seed, self.signs);
        *self = loaded;
        Ok(self.greet()?)
    }

    pub(super) fn history(&self) -> String {
        let mut text = format!("{}\n", self.header);
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

/// How often something is to be done: once, if nothing is said.
pub(super) fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count @ 1..) => Ok(count),
        Ok(0) | Err(_) if !text.is_empty() => Err(format!("'{}' is not a number", cut(text))),
        Ok(0) | Err(_) => Ok(1),
    }
}
