//! Plots of sweeps.

use std::collections::{BTreeMap, BTreeSet};

use vorrang_draw::plot::{Axis, Plot, Point, Series};
use vorrang_protocol::parse_duration_ns;

use crate::failure::Failure;
use crate::names::unknown;
use crate::statistics::Estimate;

/// The axes of a plot.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The column that goes to the right.
    pub x: Option<String>,
    /// The column that goes up.
    pub y: Option<String>,
    /// Which axes are logarithmic; none if that is up to the numbers.
    pub log: Option<(bool, bool)>,
    /// Below the title.
    pub remark: String,
}

/// A sheet of measured points.
#[derive(Debug)]
pub struct Points<'a> {
    /// The names of the columns.
    pub header: &'a [String],
    /// A row for each point.
    pub rows: Vec<&'a [String]>,
}

/// The default of the y axis: the first of these that was measured.
const USUAL: [&str; 5] =
    ["messages_per_entry", "messages", "detection_mean", "sync_delay_mean", "response_mean"];

/// The labels of columns, where they differ from their names.
const CALLED: [(&str, &str); 10] = [
    ("nodes", "nodes, N"),
    ("messages_per_entry", "messages per entry"),
    ("sync_delay_mean", "synchronisation delay"),
    ("response_mean", "response time"),
    ("throughput", "entries"),
    ("load_max_per_entry", "messages per entry at the busiest node"),
    ("bytes_per_entry", "bytes per entry"),
    ("think", "time between requests, ms"),
    ("loss", "messages lost, %"),
    ("hold", "time inside, ms"),
];

/// Columns that tell runs apart and are no measured figures: those up to here.
const LAST_PARAMETER: &str = "time_unit";

/// Columns whose values say nothing that another does not.
const NO_PARAMETER: [&str; 7] =
    ["sweep", "points", "point", "problem", "setup", "seed", LAST_PARAMETER];

impl Points<'_> {
    fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|it| it == name)
    }

    fn cell(&self, row: &[String], name: &str) -> Option<f64> {
        value(row.get(self.column(name)?)?)
    }

    /// Whether nothing went wrong in a run: the figures of one that stopped early are no costs.
    fn is_fine(&self, row: &[String]) -> bool {
        let holds = |name: &str| self.column(name).is_none_or(|it| row[it] != "false");
        holds("safe") && holds("quiescent")
    }

    /// The columns in which runs differ.
    fn varied(&self) -> Vec<usize> {
        let last = self.column(LAST_PARAMETER).unwrap_or(0);
        (0..last)
            .filter(|&it| !NO_PARAMETER.contains(&&*self.header[it]))
            .filter(|&it| self.rows.iter().map(|row| &row[it]).collect::<BTreeSet<_>>().len() > 1)
            .collect()
    }

    /// Those that tell series of one algorithm apart: what follows from x, such as how many ask,
    /// and what an algorithm assumes, such as the order of messages, does not.
    fn others(&self, x: usize) -> Vec<usize> {
        let Some(algorithm) = self.column("algorithm") else { return Vec::new() };
        let differ = |column: usize| {
            let mut seen: BTreeMap<(&str, &str), &str> = BTreeMap::new();
            self.rows.iter().any(|row| {
                let known = seen.entry((&row[algorithm], &row[x])).or_insert(&row[column]);
                *known != row[column]
            })
        };
        let varied = self.varied().into_iter().filter(|&it| it != x && it != algorithm);
        varied.filter(|&it| differ(it)).collect()
    }

    fn x(&self, wanted: Option<&str>) -> Result<usize, Failure> {
        let varied = self.varied();
        let is_number = |it: usize| self.rows.iter().all(|row| value(&row[it]).is_some());
        if let Some(name) = wanted {
            let last = self.column(LAST_PARAMETER).unwrap_or(0);
            let names = self.header[..last].iter().map(String::as_str);
            return match self.column(name) {
                Some(it) if it < last && is_number(it) => Ok(it),
                Some(it) if it < last => {
                    Err(Failure::usage(format!("--x {name}: its values are no numbers")))
                }
                Some(_) | None => Err(unknown("column for --x", name, names)),
            };
        }
        let nodes = self.column("nodes").filter(|it| varied.contains(it));
        nodes.or_else(|| varied.iter().copied().find(|&it| is_number(it))).ok_or_else(|| {
            Failure::usage("nothing varies in these points: sweep over several values of an option")
        })
    }

    fn y(&self, wanted: Option<&str>) -> Result<&str, Failure> {
        let first = self.column(LAST_PARAMETER).map_or(0, |it| it + 1);
        let is_known = |name: &str| {
            let column = self.column(name).filter(|&it| it >= first);
            column.is_some_and(|it| self.rows.iter().any(|row| value(&row[it]).is_some()))
        };
        let figures = || self.header[first..].iter().map(String::as_str).filter(|it| is_known(it));
        match wanted {
            Some(name) => figures().find(|it| *it == name).ok_or_else(|| {
                unknown("figure for --y", name, figures().collect::<Vec<_>>().into_iter())
            }),
            None => USUAL
                .into_iter()
                .find_map(|name| figures().find(|it| *it == name))
                .or_else(|| figures().next())
                .ok_or_else(|| Failure::usage("there are no figures in these points")),
        }
    }
}

/// A number as it is written in a sheet: also a share, or a time, in milliseconds.
fn value(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return Some(number).filter(|it| it.is_finite());
    }
    if let Some(share) = text.strip_suffix('%') {
        return share.parse().ok();
    }
    // The parameter of a distribution that decides its mean.
    let time = text.rsplit(':').next().unwrap_or(text);
    parse_duration_ns(time).ok().map(|ns| ns as f64 / 1e6)
}

fn called(name: &str) -> String {
    let known = CALLED.iter().find(|(key, _)| *key == name);
    known.map_or_else(|| name.replace('_', " "), |(_, called)| (*called).to_owned())
}

/// Makes a plot of measured points.
pub fn plot(points: &Points<'_>, wanted: &Wanted) -> Result<Plot, Failure> {
    if points.rows.is_empty() {
        return Err(Failure::usage("there are no points to plot"));
    }
    let x = points.x(wanted.x.as_deref())?;
    let y = points.y(wanted.y.as_deref())?;
    let others = points.others(x);
    let mut groups: BTreeMap<String, Vec<&[String]>> = BTreeMap::new();
    for row in &points.rows {
        let algorithm = points.column("algorithm").map_or("", |it| &row[it]);
        let mut name = algorithm.to_owned();
        for &other in &others {
            name += &format!(", {} {}", called(&points.header[other]), row[other]);
        }
        groups.entry(name).or_default().push(row);
    }
    let series: Vec<Series> =
        groups.iter().map(|(name, rows)| series(points, name, rows, (x, y))).collect();
    let with_ranges = series.len() <= 3;
    let series: Vec<Series> = series
        .into_iter()
        .map(|mut it| {
            let is_exact = |it: &(f64, f64, f64)| (it.2 - it.1).abs() <= it.2.abs() * 1e-9;
            it.theory.retain(|span| with_ranges || is_exact(span));
            it
        })
        .filter(|it| !it.points.is_empty())
        .collect();
    let (is_log_x, is_log_y) = wanted.log.unwrap_or_else(|| logs(&series));
    let unit = points.rows[0].get(points.column(LAST_PARAMETER).unwrap_or(0));
    let unit = unit.map_or("", String::as_str);
    let is_time =
        ["sync_delay", "response", "detection", "duration"].iter().any(|it| y.contains(it));
    let y_name = match y {
        "throughput" => format!("entries per {unit}"),
        _ if is_time => format!("{}, {unit}", called(y)),
        _ => called(y),
    };
    let x_name = called(&points.header[x]);
    Ok(Plot {
        title: format!(
            "{} against {}",
            capital(&called(y)),
            x_name.split(',').next().unwrap_or("")
        ),
        remark: wanted.remark.clone(),
        x: Axis { name: x_name, is_log: is_log_x },
        y: Axis { name: y_name, is_log: is_log_y },
        series,
    })
}

/// The points of one series: means over seeds.
fn series(points: &Points<'_>, name: &str, rows: &[&[String]], (x, y): (usize, &str)) -> Series {
    let mut at: Vec<(f64, Vec<&[String]>)> = Vec::new();
    for row in rows {
        let Some(value) = value(&row[x]) else { continue };
        match at.iter_mut().find(|(known, _)| (known - value).abs() < 1e-12) {
            Some((_, all)) => all.push(row),
            None => at.push((value, vec![row])),
        }
    }
    let mut series = Series { name: name.to_owned(), ..Series::default() };
    for (x, rows) in at {
        let fine = rows.iter().filter(|row| points.is_fine(row));
        let samples: Vec<f64> = fine.filter_map(|row| points.cell(row, y)).collect();
        let Some(estimate) = Estimate::of(&samples) else { continue };
        let own = points.cell(rows[0], &format!("{y}_error"));
        let error = estimate.half_width.or(own);
        series.points.push(Point { x, y: estimate.mean, error });
        let theory = |end: &str| points.cell(rows[0], &format!("{y}_theory_{end}"));
        match (theory("typical"), theory("low"), theory("high")) {
            (Some(typical), ..) => series.theory.push((x, typical, typical)),
            (None, Some(low), Some(high)) => series.theory.push((x, low, high)),
            (None, ..) => {}
        }
    }
    series
}

/// Logarithmic where numbers lie far apart.
fn logs(series: &[Series]) -> (bool, bool) {
    const FAR: f64 = 16.0;
    let is_far = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        low > 0.0 && high / low >= FAR
    };
    let points = || series.iter().flat_map(|it| &it.points);
    (is_far(points().map(|it| it.x).collect()), is_far(points().map(|it| it.y).collect()))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> (Vec<String>, Vec<Vec<String>>) {
        let header = "point,algorithm,nodes,seed,load,contenders,order,time_unit,\
                      messages_per_entry,messages_per_entry_error,\
                      messages_per_entry_theory_typical";
        let rows = "0,a,2,1,heavy,2,any,T,2.0,0.5,2.0\n1,a,2,2,heavy,2,any,T,4.0,0.5,2.0\n\
                    2,a,64,1,heavy,64,any,T,128.0,0.5,\n3,b,2,1,heavy,1,fifo,T,3.0,0.5,\n\
                    4,b,64,1,heavy,63,fifo,T,,,";
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        (cells(header), rows.lines().map(cells).collect())
    }

    fn plotted(wanted: &Wanted) -> Result<Plot, Failure> {
        let (header, rows) = sheet();
        let rows = rows.iter().map(Vec::as_slice).collect();
        plot(&Points { header: &header, rows }, wanted)
    }

    #[test]
    fn seeds_become_means_with_errors_and_what_is_missing_is_left_out() {
        let plot = plotted(&Wanted::default()).unwrap();
        let names: Vec<&str> = plot.series.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["a", "b"]);
        let first = plot.series[0].points[0];
        assert!((first.y - 3.0).abs() < 1e-9 && first.error > Some(10.0), "{first:?}");
        assert_eq!(plot.series[0].points[1].error, Some(0.5), "its own, of one run");
        assert_eq!((plot.series[0].theory.len(), plot.series[1].points.len()), (1, 1));
        assert_eq!((plot.x.is_log, plot.y.is_log), (true, true));
    }

    #[test]
    fn runs_that_went_wrong_are_left_out_of_means() {
        let (mut header, mut rows) = sheet();
        header.push("quiescent".to_owned());
        for (number, row) in rows.iter_mut().enumerate() {
            row.push((number != 1).to_string());
        }
        let rows = rows.iter().map(Vec::as_slice).collect();
        let plot = plot(&Points { header: &header, rows }, &Wanted::default()).unwrap();
        assert!((plot.series[0].points[0].y - 2.0).abs() < 1e-9, "{:?}", plot.series[0].points);
    }

    #[test]
    fn what_else_was_varied_makes_series_of_its_own() {
        let (header, mut rows) = sheet();
        rows[1][4] = "light".to_owned();
        let rows = rows.iter().map(Vec::as_slice).collect();
        let plot = plot(&Points { header: &header, rows }, &Wanted::default()).unwrap();
        let names: Vec<&str> = plot.series.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["a, load heavy", "a, load light", "b, load heavy"]);
    }

    #[test]
    fn what_there_is_not_is_named() {
        let y = plotted(&Wanted { y: Some("mesages_per_entry".to_owned()), ..Wanted::default() });
        assert!(y.unwrap_err().to_string().contains("did you mean 'messages_per_entry'?"));
        let x = plotted(&Wanted { x: Some("load".to_owned()), ..Wanted::default() });
        assert!(x.unwrap_err().to_string().contains("no numbers"));
    }

    #[test]
    fn shares_and_times_are_numbers() {
        let values = ["10%", "1500us", "exp:2ms", "7", "x", ""].map(value);
        assert_eq!(values, [Some(10.0), Some(1.5), Some(2.0), Some(7.0), None, None]);
    }
}
