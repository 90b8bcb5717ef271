//! Plots of sweeps.

use std::collections::{BTreeMap, BTreeSet};

use vorrang_draw::plot::{Axis, COLOURS, Plot, Point, STYLES, Says, Series, Theory};
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
    /// The title, if another than what is plotted.
    pub title: Option<String>,
    /// Where the y axis begins and ends, if that is not up to the numbers.
    pub limits: (Option<f64>, Option<f64>),
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
    /// The algorithms of the whole sheet, also where only some of its points are wanted.
    algorithms: BTreeSet<&'a str>,
}

/// The default of the y axis: the first of these that was measured.
const USUAL: [&str; 5] =
    ["messages_per_entry", "messages", "detection_mean", "sync_delay_mean", "response_mean"];

/// The labels of columns, where they differ from their names.
const CALLED: [(&str, &str); 13] = [
    ("nodes", "nodes, N"),
    ("latency", "latency of messages, ms"),
    ("messages_per_entry", "messages per entry"),
    ("sync_delay_mean", "synchronisation delay"),
    ("response_mean", "response time"),
    ("throughput", "throughput"),
    ("load_max_per_entry", "messages per entry at the busiest node"),
    ("bytes_per_entry", "bytes per entry"),
    ("think", "time between requests, ms"),
    ("loss", "messages lost, %"),
    ("hold", "time inside, ms"),
    ("fairness", "fairness of waiting (1 if all wait alike)"),
    ("load_fairness", "fairness of load (1 if all nodes send and receive alike)"),
];

/// Columns that tell runs apart and are no measured figures: those up to here.
const LAST_PARAMETER: &str = "time_unit";

/// The column of names.
const ALGORITHM: &str = "algorithm";

/// Columns that follow from others where nothing is said of them.
const FOLLOWS: [(&str, &str); 1] = [("hold", "latency")];

/// Columns whose values say nothing that another does not.
const NO_PARAMETER: [&str; 7] =
    ["sweep", "points", "point", "problem", "setup", "seed", LAST_PARAMETER];

impl<'a> Points<'a> {
    /// All points of a sheet.
    pub fn new(header: &'a [String], rows: Vec<&'a [String]>) -> Self {
        let column = header.iter().position(|it| it == ALGORITHM);
        let algorithms = column
            .map_or_else(BTreeSet::new, |column| rows.iter().map(|row| &*row[column]).collect());
        Self { header, rows, algorithms }
    }
}

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

    /// Whether nobody varied a column: it follows from one that is not measured in the same way,
    /// as the time inside, which is one latency unless something is said, follows from the latency.
    fn follows(&self, column: usize) -> bool {
        FOLLOWS.iter().any(|(name, from)| {
            let Some(from) = self.column(from).filter(|_| self.header[column] == *name) else {
                return false;
            };
            let mut known: BTreeMap<&str, &str> = BTreeMap::new();
            for row in &self.rows {
                if *known.entry(&row[from]).or_insert(&row[column]) != row[column] {
                    return false;
                }
            }
            known.len() > 1
        })
    }

    /// Those that tell series of one algorithm apart: what follows from x, such as how many ask,
    /// and what an algorithm assumes, such as the order of messages, does not.
    fn others(&self, x: usize) -> Vec<usize> {
        let Some(algorithm) = self.column(ALGORITHM) else { return Vec::new() };
        let differ = |column: usize| {
            let mut seen: BTreeMap<(&str, &str), &str> = BTreeMap::new();
            self.rows.iter().any(|row| {
                let known = seen.entry((&row[algorithm], &row[x])).or_insert(&row[column]);
                *known != row[column]
            })
        };
        let varied = self.varied().into_iter().filter(|&it| it != x && it != algorithm);
        varied.filter(|&it| differ(it) && !self.follows(it)).collect()
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
        let is_own = |it: usize| is_number(it) && !self.follows(it);
        nodes.or_else(|| varied.iter().copied().find(|&it| is_own(it))).ok_or_else(|| {
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
pub(crate) fn value(text: &str) -> Option<f64> {
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

/// Of more series than this, bands lie over each other until none is seen.
const MOST_BANDS: usize = 6;

/// Makes a plot of measured points.
pub fn plot(points: &Points<'_>, wanted: &Wanted) -> Result<Plot, Failure> {
    if points.rows.is_empty() {
        return Err(Failure::usage("there are no points to plot"));
    }
    let x = points.x(wanted.x.as_deref())?;
    let y = points.y(wanted.y.as_deref())?;
    let (mut series, styles) = all_series(points, (x, y));
    let mut notes = Vec::new();
    let is_bound = |it: &Theory| matches!(it.says, Says::Bounds(..));
    if series.len() > MOST_BANDS && series.iter().any(|it| it.theory.iter().any(is_bound)) {
        for theory in series.iter_mut().map(|it| &mut it.theory) {
            theory.retain(|it| !is_bound(it));
        }
        notes.push(format!(
            "Where the theory gives bounds only, they are not drawn: there are more than \
             {MOST_BANDS} series (--where)."
        ));
    }
    if styles.len() > STYLES {
        notes.push(format!(
            "Of {} circumstances only {STYLES} have signs of their own, and then they begin anew: \
             --where leaves some out.",
            styles.len()
        ));
    }
    let (is_log_x, is_log_y) = wanted.log.unwrap_or_else(|| logs(&series));
    if let (true, Some(low)) = (is_log_y, wanted.limits.0.filter(|it| *it <= 0.0)) {
        return Err(Failure::usage(format!(
            "--ylim {low}..: the y axis is logarithmic, and has nothing at or below 0: say --log \
             none or --log x"
        )));
    }
    let unit = points.rows[0].get(points.column(LAST_PARAMETER).unwrap_or(0));
    let x_name = called(&points.header[x]);
    let title = format!("{} against {}", capital(&called(y)), before(&x_name, ','));
    let is_share = y.ends_with("fairness");
    let limits = wanted.limits;
    Ok(Plot {
        title: wanted.title.clone().unwrap_or(title),
        remark: wanted.remark.clone(),
        x: Axis { name: x_name, is_log: is_log_x, ..Axis::default() },
        y: Axis { name: with_unit(y, unit), is_log: is_log_y, is_share, limits },
        styles,
        series,
        notes,
    })
}

/// The name of a quantity with its unit.
fn with_unit(y: &str, unit: Option<&String>) -> String {
    let unit = unit.map_or("", String::as_str);
    let is_time =
        ["sync_delay", "response", "detection", "duration"].iter().any(|it| y.contains(it));
    match y {
        "throughput" => format!("throughput, entries per {unit}"),
        _ if is_time => format!("{}, {unit}", called(y)),
        _ => called(y),
    }
}

/// All series that have points, and the circumstances that tell those of one algorithm apart. An
/// algorithm has its colour whether or not another has no points.
fn all_series(points: &Points<'_>, (x, y): (usize, &str)) -> (Vec<Series>, Vec<String>) {
    let others = points.others(x);
    let algorithm =
        |row: &[String]| points.column(ALGORITHM).map_or_else(String::new, |it| row[it].clone());
    let families: BTreeSet<&str> = points.rows.iter().map(|row| family(&row[x])).collect();
    let style = |row: &[String]| -> Vec<String> {
        let said = |&it: &usize| {
            let name = called(&points.header[it]);
            format!("{} {}", before(&name, ','), row[it])
        };
        // Two distributions with one mean are two things.
        let of_family = (families.len() > 1).then(|| family(&row[x]).to_owned());
        others.iter().map(said).chain(of_family).collect()
    };
    let mut groups: BTreeMap<(String, Vec<String>), Vec<&[String]>> = BTreeMap::new();
    for row in &points.rows {
        groups.entry((algorithm(row), style(row))).or_default().push(row);
    }
    let colours = colours_by_algorithm(points, groups.keys().map(|it| &*it.0).collect());
    let mut styles: Vec<&Vec<String>> = Vec::new();
    for row in &points.rows {
        let known = groups.get_key_value(&(algorithm(row), style(row)));
        if let Some(((_, style), _)) = known.filter(|it| !styles.contains(&&it.0.1)) {
            styles.push(style);
        }
    }
    let mut all = Vec::new();
    for ((algorithm, style), rows) in &groups {
        let name = [std::slice::from_ref(algorithm), &style[..]].concat().join(", ");
        let mut series = series(points, &name, rows, (x, y));
        series.colour = colours.iter().position(|it| *it == algorithm.as_str()).unwrap_or(0);
        series.style = styles.iter().position(|it| *it == style).unwrap_or(0);
        all.push(series);
    }
    all.retain(|it| !it.points.is_empty());
    (all, styles.iter().map(|it| it.join(", ")).collect())
}

/// The algorithms in the order of their colours. One has the same in every plot of a sheet,
/// whichever points are wanted, unless there are more than there are colours.
fn colours_by_algorithm<'a>(points: &'a Points<'_>, drawn: BTreeSet<&'a str>) -> Vec<&'a str> {
    let all = &points.algorithms;
    if all.len() > COLOURS { drawn.into_iter().collect() } else { all.iter().copied().collect() }
}

/// What a time is drawn from, as it is written before its parameters: `exp` in `exp:2ms`.
fn family(text: &str) -> &str {
    text.rsplit_once(':').map_or("constant", |(family, _)| before(family, ':'))
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
        let says = match (theory("typical"), theory("low"), theory("high")) {
            (Some(typical), ..) => Says::Value(typical),
            (None, Some(low), Some(high)) if (high - low).abs() <= high.abs() * 1e-9 => {
                Says::Value(low)
            }
            (None, None, None) => continue,
            (None, low, high) => {
                let bound = |it: Option<f64>, none: f64| it.unwrap_or(none);
                Says::Bounds(bound(low, 0.0), bound(high, f64::INFINITY))
            }
        };
        series.theory.push(Theory { x, says });
    }
    series
}

/// What is before a sign.
fn before(text: &str, sign: char) -> &str {
    text.split([sign, '(']).next().unwrap_or("").trim_end()
}

/// A column of a sheet that can be plotted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether it is measured; else it is an option of the runs.
    pub is_measured: bool,
    /// Whether its values are numbers.
    pub is_number: bool,
    /// Its values: all of an option, the least and the most of a figure.
    pub values: String,
}

/// Numbers by what they are worth, all else by the alphabet.
pub(crate) fn in_order(values: &mut Vec<&str>) {
    let number = |text: &str| value(text).unwrap_or(f64::INFINITY);
    values.sort_unstable_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
    values.dedup();
}

/// A number with six digits behind the point at most.
fn in_short(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The columns that can be plotted: options that vary, and figures that were measured.
pub fn columns(points: &Points<'_>) -> Vec<Column> {
    let option = |&it: &usize| {
        let mut values: Vec<&str> = Vec::new();
        for row in &points.rows {
            if !values.contains(&&*row[it]) {
                values.push(&row[it]);
            }
        }
        let name = points.header[it].clone();
        let is_number = points.rows.iter().all(|row| value(&row[it]).is_some());
        in_order(&mut values);
        let values = values.join(", ");
        Column { name, is_measured: false, is_number, values }
    };
    let first = points.column(LAST_PARAMETER).map_or(0, |it| it + 1);
    let is_part = |name: &str| name.contains("_theory_") || name.ends_with("_error");
    let figure = |it: usize| {
        let numbers = points.rows.iter().filter_map(|row| value(&row[it]));
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers {
            (least, most) = (least.min(number), most.max(number));
        }
        let name = points.header[it].clone();
        let is_one = least.is_finite() && !is_part(&name);
        let [from, to] = [least, most].map(in_short);
        let values = if from == to { from } else { format!("{from} to {to}") };
        is_one.then_some(Column { name, is_measured: true, is_number: true, values })
    };
    let options = points.varied();
    options.iter().map(option).chain((first..points.header.len()).filter_map(figure)).collect()
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
        plot(&Points::new(&header, rows), wanted)
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
        let plot = plot(&Points::new(&header, rows), &Wanted::default()).unwrap();
        assert!((plot.series[0].points[0].y - 2.0).abs() < 1e-9, "{:?}", plot.series[0].points);
    }

    #[test]
    fn what_else_was_varied_makes_series_of_its_own() {
        let (header, mut rows) = sheet();
        rows[1][4] = "light".to_owned();
        let rows = rows.iter().map(Vec::as_slice).collect();
        let plot = plot(&Points::new(&header, rows), &Wanted::default()).unwrap();
        let names: Vec<&str> = plot.series.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["a, load heavy", "a, load light", "b, load heavy"]);
        let looks: Vec<_> = plot.series.iter().map(|it| (it.colour, it.style)).collect();
        assert_eq!(looks, [(0, 0), (0, 1), (1, 0)]);
        assert_eq!(plot.styles, ["load heavy", "load light"]);
    }

    /// A sheet with these columns and rows, in which T is the unit and `messages` the figure.
    fn small(columns: &str, rows: &[&str]) -> (Vec<String>, Vec<Vec<String>>) {
        let cells = |line: String| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let row = |line: &&str| cells(format!("{line},T,5"));
        (cells(format!("{columns},time_unit,messages")), rows.iter().map(row).collect())
    }

    fn names(of: &(Vec<String>, Vec<Vec<String>>)) -> (String, Vec<String>) {
        let points = Points::new(&of.0, of.1.iter().map(Vec::as_slice).collect());
        let plot = plot(&points, &Wanted::default()).unwrap();
        (plot.x.name, plot.series.into_iter().map(|it| it.name).collect())
    }

    #[test]
    fn what_follows_from_another_option_is_neither_an_axis_nor_in_names() {
        let of = "algorithm,nodes,hold,latency";
        let rows = ["a,3,1ms,1ms", "a,5,1ms,1ms", "a,3,2ms,2ms", "a,5,2ms,2ms"];
        let two = ["a, latency of messages 1ms", "a, latency of messages 2ms"].map(str::to_owned);
        assert_eq!(names(&small(of, &rows)), ("nodes, N".to_owned(), two.to_vec()));
        let one = small(of, &["a,3,1ms,1ms", "a,3,2ms,2ms"]);
        assert_eq!(names(&one), ("latency of messages, ms".to_owned(), vec!["a".to_owned()]));
        // It was varied by itself.
        let own = small(of, &["a,3,1ms,1ms", "a,5,1ms,1ms", "a,3,2ms,1ms", "a,5,2ms,1ms"]);
        assert_eq!(names(&own).1, ["a, time inside 1ms", "a, time inside 2ms"]);
        let kinds = small(of, &["a,3,1ms,1ms", "a,3,2ms,2ms", "a,3,1ms,exp:1ms"]);
        assert_eq!(names(&kinds).1, ["a, constant", "a, exp"]);
    }

    #[test]
    fn an_algorithm_has_one_colour_in_all_plots_of_a_sheet() {
        let rows = ["a,3", "a,5", "b,3", "b,5", "c,3", "c,5"];
        let (header, rows) = small("algorithm,nodes", &rows);
        let mut points = Points::new(&header, rows.iter().map(Vec::as_slice).collect());
        points.rows.retain(|row| row[0] == "c");
        let plot = plot(&points, &Wanted::default()).unwrap();
        assert_eq!((plot.series.len(), plot.series[0].colour), (1, 2));
    }

    #[test]
    fn more_circumstances_than_there_are_signs_are_said() {
        for (many, notes) in [(STYLES, 0), (STYLES + 1, 1)] {
            let rows: Vec<String> =
                (0..many).flat_map(|it| [3, 5].map(|n| format!("a,{n},{it}%"))).collect();
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let (header, rows) = small("algorithm,nodes,loss", &rows);
            let points = Points::new(&header, rows.iter().map(Vec::as_slice).collect());
            let plot = plot(&points, &Wanted::default()).unwrap();
            assert_eq!(plot.notes.len(), notes, "{:?}", plot.notes);
        }
    }

    #[test]
    fn bounds_of_more_than_six_series_are_not_drawn_and_that_is_said() {
        let header = "algorithm,nodes,time_unit,messages,messages_theory_low,messages_theory_high";
        let header: Vec<String> = header.split(',').map(str::to_owned).collect();
        let row = |(algorithm, nodes): (usize, &str)| {
            let cells = [&*format!("a{algorithm}"), nodes, "T", "5", "1", "9"];
            cells.map(str::to_owned).to_vec()
        };
        for (count, bounds) in [(6, 12), (7, 0)] {
            let all = (0..count).flat_map(|it| [(it, "2"), (it, "4")]).map(row);
            let rows: Vec<Vec<String>> = all.collect();
            let rows = rows.iter().map(Vec::as_slice).collect();
            let plot = plot(&Points::new(&header, rows), &Wanted::default()).unwrap();
            assert_eq!(plot.series.iter().map(|it| it.theory.len()).sum::<usize>(), bounds);
            assert_eq!(plot.notes.len(), usize::from(bounds == 0), "{:?}", plot.notes);
        }
    }

    #[test]
    fn what_can_be_plotted_is_listed() {
        let (header, rows) = sheet();
        let rows = rows.iter().map(Vec::as_slice).collect();
        let all = columns(&Points::new(&header, rows));
        let shown: Vec<String> =
            all.iter().map(|it| format!("{} {} {}", it.is_measured, it.name, it.values)).collect();
        assert_eq!(shown[0], "false algorithm a, b");
        assert_eq!(shown[1], "false nodes 2, 64");
        let mut values = vec!["13", "3", "20", "7", "3", "x", "1ms"];
        in_order(&mut values);
        assert_eq!(values, ["1ms", "3", "7", "13", "20", "x"]);
        assert_eq!(shown.last().unwrap(), "true messages_per_entry 2 to 128");
    }

    #[test]
    fn theory_without_a_typical_value_gives_bounds_unless_they_are_one() {
        let (mut header, mut rows) = sheet();
        for end in ["low", "high"] {
            header.push(format!("messages_per_entry_theory_{end}"));
        }
        for (row, (low, high)) in
            rows.iter_mut().zip([("1", "9"), ("1", "9"), ("5", ""), ("3", "3"), ("", "")])
        {
            row.extend([low.to_owned(), high.to_owned()]);
        }
        let rows = rows.iter().map(Vec::as_slice).collect();
        let plot = plot(&Points::new(&header, rows), &Wanted::default()).unwrap();
        let says: Vec<Says> =
            plot.series.iter().flat_map(|it| &it.theory).map(|it| it.says).collect();
        assert_eq!(says, [Says::Value(2.0), Says::Bounds(5.0, f64::INFINITY), Says::Value(3.0)]);
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
