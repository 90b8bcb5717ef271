//! What is printed, for people and for programs.

use std::collections::{HashMap, HashSet};
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Whether standard output went away, as it does in `vorrang list | head -1`.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads standard output any more.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Prints to standard output; colours only where a terminal shows them and `NO_COLOR` is not set.
///
/// A reader that goes away ends the printing and nothing else: the exit code still has a verdict to
/// give.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if is_closed() {
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        printed => printed.map_err(|why| Failure::World(format!("standard output: {why}"))),
    }
}

/// Says something besides, a line on standard error. If that is closed there is nobody to tell.
pub(crate) fn say_aside(line: &str) {
    // In one piece: on a terminal, standard output must not come between a line and its end.
    let _ = anstream::stderr().lock().write_all(format!("{line}\n").as_bytes());
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

/// The fields of a row, each with the name of its column.
pub(crate) type Fields = Vec<(String, String)>;

/// An object as a row: what is none is empty, a list is its words, and what is inside an object has
/// both names, as in `messages_by_kind.REQUEST`.
pub(crate) fn csv_fields(row: &Value) -> Fields {
    let mut fields = Vec::new();
    add_fields(&mut fields, String::new(), row);
    fields
}

fn add_fields(fields: &mut Fields, name: String, value: &Value) {
    let text = match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                let dot = if name.is_empty() { "" } else { "." };
                add_fields(fields, format!("{name}{dot}{key}"), value);
            }
            return;
        }
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        Value::Null | Value::String(_) | Value::Bool(_) | Value::Number(_) => word(value),
    };
    fields.push((name, text));
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The columns of all rows, in the order in which they first come.
pub(crate) fn csv_header(rows: &[Fields]) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = rows.iter().flatten().map(|(name, _)| name);
    names.filter(|name| seen.insert(name.as_str())).cloned().collect()
}

/// A row's fields in the order of these columns.
pub(crate) fn csv_row(header: &[String], row: &Fields) -> Vec<String> {
    let fields: HashMap<&str, &str> = row.iter().map(|(name, it)| (&**name, &**it)).collect();
    header.iter().map(|name| fields.get(&**name).copied().unwrap_or_default().to_owned()).collect()
}

/// Lines of comma-separated values.
pub(crate) fn csv_text<R>(rows: impl Iterator<Item = R>) -> Result<String, Failure>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut text = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut text);
    for row in rows {
        writer.write_record(row).map_err(|error| Failure::World(error.to_string()))?;
    }
    drop(writer);
    Ok(String::from_utf8_lossy(&text).into_owned())
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
    fn a_row_has_a_field_for_every_column_and_no_json_in_it() {
        let row = csv_fields(&json!({ "a": null, "b": "x,y", "d": { "e": 1 }, "f": [2, "g"] }));
        let other = csv_fields(&json!({ "c": 1.5, "b": true }));
        let header = csv_header(&[row.clone(), other.clone()]);
        assert_eq!(header, ["a", "b", "d.e", "f", "c"]);
        assert_eq!(csv_row(&header, &row), ["", "x,y", "1", "2 g", ""]);
        assert_eq!(csv_row(&header, &other), ["", "true", "", "", "1.5"]);
    }
}
