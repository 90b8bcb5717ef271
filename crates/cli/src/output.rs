//! Tables and figures, for people and for programs.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use anstyle::{AnsiColor, Reset, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::failure::Failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const RESET: Reset = Reset;

/// How a command prints what it found.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct Format {
    /// Print JSON instead of text, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Print comma-separated values instead of text, for spreadsheets
    #[arg(long)]
    pub(crate) csv: bool,
}

impl Format {
    /// Whether people are to read it.
    pub(crate) const fn is_text(self) -> bool {
        !self.json && !self.csv
    }
}

/// Prints to standard output; colours only where a terminal shows them and `NO_COLOR` is not set.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value can be written");
    print(&format!("{text}\n"))
}

/// Rows of objects with the same keys, as comma-separated values with a header.
pub(crate) fn print_csv(rows: &[Value]) -> Result<(), Failure> {
    let mut text = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut text);
    let wrong = |error: csv::Error| Failure::Failed(error.to_string());
    if let Some(Value::Object(first)) = rows.first() {
        writer.write_record(first.keys()).map_err(wrong)?;
    }
    for row in rows {
        writer.write_record(csv_fields(row)).map_err(wrong)?;
    }
    drop(writer);
    print(&String::from_utf8_lossy(&text))
}

/// An object's values as fields; what is none is empty.
pub(crate) fn csv_fields(row: &Value) -> Vec<String> {
    let field = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match row {
        Value::Object(fields) => fields.values().map(field).collect(),
        other => vec![field(other)],
    }
}

/// Rows of cells, aligned; the first row is the header.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        let line = cells.join("  ");
        let line = line.trim_end();
        if index == 0 {
            text.push_str(&format!("{BOLD}{line}{RESET}\n"));
        } else {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

/// How wide a table is.
pub(crate) fn table_width(rows: &[Vec<String>]) -> usize {
    let text = anstream::adapter::strip_str(&table(rows)).to_string();
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// The same, as a table in Markdown.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
        if index == 0 {
            text.push_str(&format!("|{}\n", " --- |".repeat(row.len())));
        }
    }
    text
}

/// A whole number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A figure with as many places as it is worth: at most three, and none that are all zero.
pub(crate) fn figure(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A bar on standard error, on a terminal, once the work has taken a second.
pub(crate) fn progress(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template(template).expect("a template of ours is right");
    bar.set_style(style);
    bar
}

/// A line on standard error that tells how far work has come whose end nobody knows.
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
    fn figures_have_no_idle_places() {
        assert_eq!(figure(24.0), "24");
        assert_eq!(figure(1.0 / 3.0), "0.333");
        assert_eq!(figure(0.5), "0.5");
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123_456), "123,456");
    }

    #[test]
    fn a_row_has_one_field_a_key() {
        let row = json!({ "a": null, "b": "x,y", "c": 1.5, "d": { "e": 1 } });
        assert_eq!(csv_fields(&row), ["", "x,y", "1.5", "{\"e\":1}"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), "b".into()], vec!["–long–".into(), "c".into()]];
        let text = anstream::adapter::strip_str(&table(&rows)).to_string();
        assert_eq!(text, "a       b\n–long–  c\n");
    }
}
