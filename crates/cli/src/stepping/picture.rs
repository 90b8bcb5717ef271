//! The run as a picture: small beside the list of next steps, and in a file.

use vorrang_draw::Story;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::story_from_trace;
use vorrang_node::terminal::print;
use vorrang_trace::Recording;

use super::diagram::{Signs, beside, diagram};
use super::{Problem, Session, view};

/// So many lines of a diagram beside the list of next steps, or as many as the list has.
const LINES: usize = 12;
/// A run of more steps is not drawn again after each.
const MOST_STEPS: usize = 10_000;

/// Draws a run as the words of a line say; which file it was.
pub(crate) type Draws = fn(&str, &Recording) -> Result<String, Failure>;

impl Session {
    /// Writes the run so far as a picture.
    pub(super) fn draw(&mut self, rest: &str) -> Result<(), Problem> {
        if rest.is_empty() {
            return Err("say draw FILE, such as run.svg; diagram shows the run here".into());
        }
        // Whatever a file is like, the session goes on.
        let file = (self.draws)(rest, &self.recording()).map_err(|why| why.to_string())?;
        Ok(self.tell(&format!("drawn in {file}\n"))?)
    }

    /// Shows the diagram, or says what is shown of it from now on.
    pub(super) fn set_diagram(&mut self, rest: &str) -> Result<(), Problem> {
        match rest {
            "" => {
                let signs = self.signs.unwrap_or_else(Signs::of_locale);
                let lines = diagram(&self.story()?, self.width(), usize::MAX, signs);
                if lines.is_empty() {
                    return Err("there is nothing to see yet, or no room for it".into());
                }
                self.tell(&(lines.join("\n") + "\n"))?;
            }
            "off" => self.signs = None,
            "on" => self.signs = Some(Signs::of_locale()),
            "ascii" => self.signs = Some(Signs::ASCII),
            "unicode" => self.signs = Some(Signs::UNICODE),
            _ => return Err("say diagram, diagram on, off, ascii or unicode".into()),
        }
        Ok(())
    }

    /// What can happen next, with the last steps beside it or above.
    pub(super) fn show_situation(&self) -> Result<(), Failure> {
        let next = view::next(&self.options(), view::FEW);
        let Some(signs) = self.signs.filter(|_| self.lines.len() < MOST_STEPS) else {
            return print(&next);
        };
        let list: Vec<String> = next.lines().map(str::to_owned).collect();
        let (story, width) = (self.story()?, self.width());
        let lines = LINES.max(list.len());
        let wide = list.iter().map(|it| vorrang_node::terminal::length(it)).max().unwrap_or(0);
        let room = width.saturating_sub(wide + 3);
        if room >= BESIDE {
            let drawn = diagram(&story, room, lines, signs);
            if let Some(text) = beside(&list, &drawn, width) {
                return print(&text);
            }
        }
        let drawn = diagram(&story, width, LINES, signs);
        let above: String = drawn.into_iter().map(|line| line + "\n").collect();
        print(&(above + &next))
    }

    fn recording(&self) -> Recording {
        let mut recording = self.staged.recording();
        recording.header =
            recording.header.with("command", &format!("vorrang step {}", self.header));
        recording
    }

    fn story(&self) -> Result<Story, Failure> {
        story_from_trace::story(&self.recording(), false)
    }
}

/// With less room beside the list a diagram goes above it.
const BESIDE: usize = 36;
