//! `vorrang plot`: what a sweep has measured, over what the theory says.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use vorrang_draw::{Plot as Picture, Theme};
use vorrang_experiment::failure::Failure;
use vorrang_experiment::plotting::{Points, Wanted, plot};
use vorrang_experiment::sweep_csv::SweepCsv;

use crate::pixels;

/// Plot the results of a sweep: points with confidence intervals, over theory curves
///
/// Every algorithm is a series, named where it ends; so is every combination of other options of
/// the sweep. Several seeds become a mean with its 95 % confidence interval. Theory is dashed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang sweep --nodes 2..=64*2 --seeds 5 --csv out.csv\n  \
    vorrang plot out.csv -o messages.svg\n  \
    vorrang plot out.csv --y sync_delay_mean -o delay.svg\n  \
    vorrang plot loss.csv --x loss --y throughput --log none -o loss.svg")]
pub(crate) struct Plot {
    /// The file that `vorrang sweep` wrote
    file: PathBuf,
    /// The picture to write: .svg or .png
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The y axis: a column of figures [default: messages]
    #[arg(long, value_name = "COLUMN")]
    y: Option<String>,
    /// The x axis: a column of options [default: nodes, or the one that varies]
    #[arg(long, value_name = "COLUMN")]
    x: Option<String>,
    /// Which axes are logarithmic [default: where numbers lie far apart]
    #[arg(long, value_enum)]
    log: Option<Log>,
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

impl Plot {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        check_name(&self.output)?;
        let sheet = SweepCsv::read(&self.file)?;
        let wanted = Wanted {
            x: self.x,
            y: self.y,
            log: self.log.map(|log| match log {
                Log::None => (false, false),
                Log::X => (true, false),
                Log::Y => (false, true),
                Log::Both => (true, true),
            }),
            remark: String::new(),
        };
        let theme = match self.theme {
            Background::Auto => Theme::Auto,
            Background::Light => Theme::Light,
            Background::Dark => Theme::Dark,
        };
        save(&of_sheet(&sheet, &wanted)?, theme, &self.output)
    }
}

pub(crate) fn of_sheet(sheet: &SweepCsv, wanted: &Wanted) -> Result<Picture, Failure> {
    let rows = sheet.rows.values().map(Vec::as_slice).collect();
    plot(&Points { header: &sheet.header, rows }, wanted)
}

/// Whether a plot can be written to a file of that name.
pub(crate) fn check_name(path: &Path) -> Result<(), Failure> {
    match ending(path).as_str() {
        "svg" => Ok(()),
        "png" => pixels::check(Some(path)),
        _ => Err(Failure::usage(format!("{}: a plot is .svg or .png", path.display()))),
    }
}

fn ending(path: &Path) -> String {
    path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase()
}

pub(crate) fn save(picture: &Picture, theme: Theme, path: &Path) -> Result<(), Failure> {
    check_name(path)?;
    let svg = picture.svg(theme);
    let written = if ending(path) == "png" {
        fs::write(path, pixels::png(&svg, 2.0, Some(path))?)
    } else {
        fs::write(path, svg)
    };
    written.map_err(|error| Failure::at(path, error))
}
