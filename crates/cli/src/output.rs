//! Output, for people and for programs.

use std::fmt;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::Value;
use vorrang_experiment::csv_rows::{Fields, csv_fields, csv_header, csv_row, csv_text};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::progress::Progress;
use vorrang_node::terminal::print;

/// How a command prints what it found.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct Format {
    /// Print JSON instead of text, for programs
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print comma-separated values instead of text, for spreadsheets
    #[arg(long, help_heading = "Output")]
    pub(crate) csv: bool,
}

impl Format {
    /// Whether people are to read it.
    pub(crate) const fn is_text(self) -> bool {
        !self.json && !self.csv
    }
}

/// The version that wrote a file or printed something.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints a value as JSON; every object says where it comes from.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&with_origin(value.clone(), &typed()));
    print(&format!("{}\n", text.expect("a JSON value can be written")))
}

/// Rows of objects, as comma-separated values with a header. What a row does not have is empty.
/// Every row says where it comes from: rows are taken apart and joined with others.
pub(crate) fn print_csv(rows: &[Value]) -> Result<(), Failure> {
    let command = typed();
    let rows = rows.iter().map(|row| csv_fields(&with_origin(row.clone(), &command)));
    let rows: Vec<Fields> = rows.collect();
    let header = csv_header(&rows);
    let lines = rows.iter().map(|row| csv_row(&header, row));
    print(&csv_text(std::iter::once(header.clone()).chain(lines))?)
}

/// The version and the command, in an object, or in each of a list. A command that repeats just
/// this is there already, and says more than the one that was typed.
fn with_origin(mut value: Value, command: &str) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.entry("version").or_insert_with(|| VERSION.into());
            fields.entry("command").or_insert_with(|| command.into());
        }
        Value::Array(rows) => {
            for row in rows {
                *row = with_origin(row.take(), command);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}

/// The command line of this process, as it can be typed again.
pub(crate) fn typed() -> String {
    format!("vorrang {}", arguments())
}

/// The same without the name of the program.
pub(crate) fn arguments() -> String {
    let words = std::env::args_os().skip(1).map(|word| in_shell(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// A word as it is typed in a shell.
fn in_shell(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:,=@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A bar on standard error, on a terminal, once the work has taken a second.
pub(crate) fn progress(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template(template).expect("a template of ours is right");
    let left = |at: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&time_left(at.pos(), at.len().unwrap_or(0), at.elapsed()));
    };
    bar.set_style(style.with_key("left", left));
    bar
}

/// How long the rest takes if it goes on as it went so far: by the whole of it, since what was done
/// in the last moment says little, and in the first ones nothing.
fn time_left(done: u64, all: u64, elapsed: Duration) -> String {
    if done == 0 {
        return "?".to_owned();
    }
    let left = elapsed.mul_f64(all.saturating_sub(done) as f64 / done as f64);
    format!("{:#}", HumanDuration(left))
}

/// Does work under such a bar.
pub(crate) fn with_bar<T>(total: u64, template: &str, work: impl FnOnce(Progress<'_>) -> T) -> T {
    let bar = progress(total, template);
    let done = work(&|position| {
        bar.set_position(position);
        show_after_a_second(&bar);
    });
    bar.finish_and_clear();
    done
}

/// A line on standard error that shows the progress of work of unknown length.
pub(crate) fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let style =
        ProgressStyle::with_template("{spinner} {msg}").expect("a template of ours is right");
    bar.set_style(style);
    bar
}

/// Shows the bar once a second has passed.
pub(crate) fn show_after_a_second(bar: &ProgressBar) {
    if bar.is_hidden() && bar.elapsed() > Duration::from_secs(1) && std::io::stderr().is_terminal()
    {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done() {
        let second = Duration::from_secs(1);
        let times = [(1, 10), (5, 10), (10, 10), (0, 10)];
        let left = times.map(|(done, all)| time_left(done, all, second));
        assert_eq!(left, ["9s", "1s", "0s", "?"]);
        assert_eq!(time_left(1, 241, second), "4m");
    }

    #[test]
    fn words_can_be_typed_again() {
        assert_eq!(in_shell("--crash=2@50ms"), "--crash=2@50ms");
        assert_eq!(in_shell("my run.png"), "'my run.png'");
        assert_eq!(in_shell("it's"), r"'it'\''s'");
        assert_eq!(in_shell(""), "''");
    }

    #[test]
    fn every_object_says_where_it_comes_from_and_keeps_a_better_command() {
        let rows = json!([{ "a": 1 }, { "command": "vorrang run x" }, 7]);
        let wanted = json!([
            { "a": 1, "version": VERSION, "command": "vorrang list" },
            { "command": "vorrang run x", "version": VERSION },
            7,
        ]);
        assert_eq!(with_origin(rows, "vorrang list"), wanted);
    }
}
