//! Output, for people and for programs.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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

/// Prints a value as JSON.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value can be written");
    print(&format!("{text}\n"))
}

/// Rows of objects, as comma-separated values with a header. What a row does not have is empty.
pub(crate) fn print_csv(rows: &[Value]) -> Result<(), Failure> {
    let rows: Vec<Fields> = rows.iter().map(csv_fields).collect();
    let header = csv_header(&rows);
    let lines = rows.iter().map(|row| csv_row(&header, row));
    print(&csv_text(std::iter::once(header.clone()).chain(lines))?)
}

/// A bar on standard error, on a terminal, once the work has taken a second.
pub(crate) fn progress(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template(template).expect("a template of ours is right");
    bar.set_style(style);
    bar
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
