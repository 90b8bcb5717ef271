//! `vorrang plot`: what a sweep has measured, over what the theory says.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use vorrang_draw::pdf::pdf;
use vorrang_draw::{Plot as Picture, Theme};
use vorrang_experiment::conditions::{Condition, chosen};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::plotting::{Points, Wanted, columns, plot};
use vorrang_experiment::sweep_csv::SweepCsv;
use vorrang_node::terminal::print;

use crate::pixels;
use vorrang_terminal::table::table;

/// Plot the results of a sweep: points with confidence intervals, over theory curves
///
/// Every algorithm is a series, named where it ends; so is every combination of other options of
/// the sweep. The colour is the algorithm, marker and dash are the other options: no two of up to
/// 24 algorithms share a colour. Several seeds become a mean with its 95 % confidence interval. The
/// theory is a broad pale line where it predicts a value, and a band where it gives bounds; bands
/// are drawn for up to 6 series.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang sweep --nodes 2..=64*2 --seeds 5 --csv out.csv\n  \
    vorrang plot out.csv -o messages.svg\n  \
    vorrang plot out.csv --y sync_delay_mean -o delay.svg\n  \
    vorrang plot out.csv --columns\n  \
    vorrang plot out.csv --where algorithm=lamport,maekawa --where 'nodes>=4' -o two.pdf\n  \
    vorrang plot out.csv --y fairness --ylim 0.9..1 --title 'Who waits' -o fairness.svg\n  \
    vorrang plot loss.csv --x loss --y throughput --log none -o loss.svg")]
pub(crate) struct Plot {
    /// The file that `vorrang sweep` wrote
    file: PathBuf,
    /// The picture to write: .svg, .pdf or, in a build with --features png, .png
    #[arg(long, short, value_name = "FILE", required_unless_present = "columns")]
    output: Option<PathBuf>,
    /// List what can be plotted: options that vary, and figures
    #[arg(long, conflicts_with = "output")]
    columns: bool,
    /// The y axis: a column of figures [default: messages]
    #[arg(long, value_name = "COLUMN")]
    y: Option<String>,
    /// The x axis: a column of options [default: nodes, or the one that varies]
    #[arg(long, value_name = "COLUMN")]
    x: Option<String>,
    /// Which axes are logarithmic [default: where numbers lie far apart]
    #[arg(long, value_enum)]
    log: Option<Log>,
    /// Which points: a column, one of = != < <= > >=, and values, as in load=heavy or
    /// algorithm=lamport,maekawa; several times for several conditions, all of which must hold
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<Condition>,
    /// The title [default: what is plotted against what]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Where the y axis begins and ends: 0.9..1, 10.. or ..500 [default: by the numbers]
    #[arg(long, value_name = "LOW..HIGH", value_parser = limits, allow_hyphen_values = true)]
    ylim: Option<Limits>,
    /// For which background: what the reader prefers, if the format can tell
    #[arg(long, value_enum, default_value = "auto")]
    theme: Background,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Log {
    /// Neither
    None,
    /// The one to the right
    X,
    /// The one up
    Y,
    /// Both
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Background {
    /// As the reader prefers
    Auto,
    /// White
    Light,
    /// Dark
    Dark,
}

type Limits = (Option<f64>, Option<f64>);

/// `0.9..1`, `10..` or `..500`.
fn limits(text: &str) -> Result<Limits, String> {
    let wrong = || format!("'{text}' is not a range: write 0.9..1, 10.. or ..500");
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let end = |text: &str| match text {
        "" => Ok(None),
        text => text.parse().ok().filter(|it: &f64| it.is_finite()).map(Some).ok_or_else(wrong),
    };
    match (end(low)?, end(high.trim_start_matches('='))?) {
        (None, None) => Err(wrong()),
        (Some(low), Some(high)) if low >= high => {
            Err(format!("'{text}': it ends at {high}, which is not above {low}"))
        }
        ends => Ok(ends),
    }
}

impl Plot {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        if let Some(output) = &self.output {
            check_name(output)?;
        }
        let sheet = SweepCsv::read(&self.file)?;
        let rows = sheet.rows.values().map(Vec::as_slice).collect();
        let points = chosen(Points::new(&sheet.header, rows), &self.conditions)?;
        let Some(output) = self.output else { return print(&listed(&points)) };
        let wanted = Wanted {
            x: self.x,
            y: self.y,
            log: self.log.map(|log| match log {
                Log::None => (false, false),
                Log::X => (true, false),
                Log::Y => (false, true),
                Log::Both => (true, true),
            }),
            title: self.title,
            limits: self.ylim.unwrap_or_default(),
            remark: String::new(),
        };
        let theme = match self.theme {
            Background::Auto => Theme::Auto,
            Background::Light => Theme::Light,
            Background::Dark => Theme::Dark,
        };
        save(&plot(&points, &wanted)?, theme, &output)
    }
}

/// What can be plotted, as a table.
fn listed(points: &Points<'_>) -> String {
    let mut rows = vec![["COLUMN", "FOR", "VALUES"].map(str::to_owned).to_vec()];
    for column in columns(points) {
        let axis = match (column.is_measured, column.is_number) {
            (true, _) => "--y",
            (false, true) => "--x, --where",
            (false, false) => "--where",
        };
        rows.push(vec![column.name, axis.to_owned(), column.values]);
    }
    table(&rows)
}

pub(crate) fn of_sheet(sheet: &SweepCsv, wanted: &Wanted) -> Result<Picture, Failure> {
    let rows = sheet.rows.values().map(Vec::as_slice).collect();
    plot(&Points::new(&sheet.header, rows), wanted)
}

/// Whether a plot can be written to a file of that name.
pub(crate) fn check_name(path: &Path) -> Result<(), Failure> {
    match ending(path).as_str() {
        "svg" | "pdf" => Ok(()),
        "png" => pixels::check(Some(path)),
        _ => Err(Failure::usage(format!("{}: a plot is .svg, .pdf or .png", path.display()))),
    }
}

fn ending(path: &Path) -> String {
    path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase()
}

pub(crate) fn save(picture: &Picture, theme: Theme, path: &Path) -> Result<(), Failure> {
    check_name(path)?;
    let svg = picture.svg(theme);
    let bytes = match ending(path).as_str() {
        "png" => pixels::png(&svg, 2.0, Some(path))?,
        "pdf" => pdf(&svg).map_err(Failure::Failed)?,
        _ => svg.into_bytes(),
    };
    fs::write(path, bytes).map_err(|error| Failure::at(path, error))
}
