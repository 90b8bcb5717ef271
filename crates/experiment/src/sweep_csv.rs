//! The file that a sweep writes: comma-separated values, one row a point, each row whole by itself.
//!
//! Every row names the sweep that it belongs to (a digest of all its parameters), how many points
//! that has, and which of them it is. So an interrupted sweep can be continued, parts that several
//! machines computed can be joined, and rows of different sweeps are never mixed up.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::csv_rows::csv_text;
use crate::failure::Failure;

/// Where a sheet goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To standard output, when all rows are there.
    Out,
    /// Into this file. A link has been followed, so that writing leaves it in place.
    File(PathBuf),
}

impl FromStr for Destination {
    type Err = String;

    /// `-` is standard output, anything else a file.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("a file has a name; - is standard output".to_owned()),
            "-" => Ok(Self::Out),
            path => followed(path.into()).map(Self::File),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Out => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// The target of a path, existing or not.
fn followed(mut path: PathBuf) -> Result<PathBuf, String> {
    const MOST_LINKS: usize = 40;
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err("too many links lead to each other".to_owned())
}

/// The rows of one sweep, as far as they are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SweepCsv {
    /// The names of the columns.
    pub header: Vec<String>,
    /// Which sweep, and how many points it has.
    pub identity: Option<(String, u64)>,
    /// The rows, by the number of their point.
    pub rows: BTreeMap<u64, Vec<String>>,
    /// Where the last whole row ended: what follows was cut off in the middle of writing.
    whole_bytes: u64,
}

/// The columns that every sheet begins with.
pub const IDENTITY: [&str; 3] = ["sweep", "points", "point"];

impl SweepCsv {
    /// Reads a file. A last line that was cut off in the middle of writing is left out.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::at(path, why);
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let whole = text.rfind('\n').map_or("", |last| &text[..=last]);
        let mut reader = csv::ReaderBuilder::new().from_reader(whole.as_bytes());
        let header: Vec<String> = reader
            .headers()
            .map_err(|error| wrong(error.to_string()))?
            .iter()
            .map(str::to_owned)
            .collect();
        if header.len() < IDENTITY.len() || header[..IDENTITY.len()] != IDENTITY {
            return Err(wrong(format!(
                "this is not the file of a sweep: its first columns should be {}",
                IDENTITY.join(",")
            )));
        }
        let mut sheet =
            Self { header, identity: None, rows: BTreeMap::new(), whole_bytes: whole.len() as u64 };
        for (index, row) in reader.records().enumerate() {
            let row = row.map_err(|error| wrong(error.to_string()))?;
            let row: Vec<String> = row.iter().map(str::to_owned).collect();
            sheet.add(row).map_err(|why| wrong(format!("line {}: {why}", index + 2)))?;
        }
        Ok(sheet)
    }

    /// Adds a row, which must belong to the same sweep and agree with one that is already there.
    pub fn add(&mut self, row: Vec<String>) -> Result<(), String> {
        let number =
            |text: &str| text.parse::<u64>().map_err(|_| format!("'{text}' is not a number"));
        let (points, point) = (number(&row[1])?, number(&row[2])?);
        let identity = (row[0].clone(), points);
        if point >= points {
            return Err(format!("point {point} of {points} does not exist"));
        }
        match &self.identity {
            None => self.identity = Some(identity),
            Some(ours) if *ours != identity => {
                return Err(format!(
                    "it belongs to another sweep: {} with {} points, not {} with {}",
                    identity.0, identity.1, ours.0, ours.1
                ));
            }
            Some(_) => {}
        }
        match self.rows.get(&point) {
            Some(known) if *known != row => {
                Err(format!("point {point} has been computed twice, with different results"))
            }
            Some(_) => Ok(()),
            None => {
                self.rows.insert(point, row);
                Ok(())
            }
        }
    }

    /// How many rows are of runs in which something was wrong.
    fn failed_rows(&self) -> usize {
        let verdicts: Vec<usize> = (0..)
            .zip(&self.header)
            .filter(|(_, name)| ["safe", "quiescent"].contains(&name.as_str()))
            .map(|(column, _)| column)
            .collect();
        let is_wrong = |row: &&Vec<String>| verdicts.iter().any(|&it| row[it] == "false");
        self.rows.values().filter(is_wrong).count()
    }

    /// Whether every run in it was fine.
    pub fn verdict(&self) -> Result<(), Failure> {
        let which = match self.failed_rows() {
            0 => return Ok(()),
            1 => "one run was".to_owned(),
            many => format!("{many} runs were"),
        };
        Err(Failure::Failed(format!(
            "{which} not safe or left a node waiting: see the columns safe, quiescent and \
             violation"
        )))
    }

    /// All rows in the order of their points.
    pub fn text(&self) -> Result<String, Failure> {
        csv_text(std::iter::once(&self.header).chain(self.rows.values()))
    }

    /// Writes all rows in the order of their points, all or nothing.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = self.text()?;
        let temporary = PathBuf::from(format!("{}.part", path.display()));
        let write = || {
            fs::write(&temporary, text)?;
            if let Ok(before) = fs::metadata(path) {
                fs::set_permissions(&temporary, before.permissions())?;
            }
            fs::rename(&temporary, path)
        };
        write().map_err(|error| {
            // A row that could not be written whole must not be read later.
            let _ = fs::remove_file(&temporary);
            Failure::at(path, error)
        })
    }

    /// Opens the file to add rows as they come, from the end of its last whole row.
    pub fn appender(&self, path: &Path) -> Result<Appender, Failure> {
        let opened = OpenOptions::new().append(true).open(path);
        let cut = opened.and_then(|file| file.set_len(self.whole_bytes).map(|()| file));
        let file = cut.map_err(|error| Failure::at(path, error))?;
        Ok(Appender { file, path: path.to_owned() })
    }

    /// No row yet.
    pub const fn new(header: Vec<String>) -> Self {
        Self { header, identity: None, rows: BTreeMap::new(), whole_bytes: 0 }
    }

    /// Starts a file with its header.
    pub fn create(path: &Path, header: Vec<String>) -> Result<Self, Failure> {
        let wrong = |error: std::io::Error| Failure::at(path, error);
        let file = File::create_new(path).map_err(wrong)?;
        let mut appender = Appender { file, path: path.to_owned() };
        appender.append(&header)?;
        let whole_bytes = appender.file.metadata().map_err(wrong)?.len();
        Ok(Self { whole_bytes, ..Self::new(header) })
    }
}

/// Adds rows to a file, each in one piece.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
}

impl Appender {
    /// Adds a row.
    pub fn append(&mut self, row: &[String]) -> Result<(), Failure> {
        let line = csv_text(std::iter::once(row))?;
        self.file.write_all(line.as_bytes()).map_err(|error| Failure::at(&self.path, error))
    }
}

/// Which part of a sweep: the points whose number leaves this remainder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Counted from 1.
    part: u64,
    parts: u64,
}

impl Shard {
    /// Whether a point is in it.
    pub const fn contains(self, point: u64) -> bool {
        point % self.parts == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, parts)| {
            Some(Self { part: part.parse().ok()?, parts: parts.parse().ok()? })
        });
        match numbers {
            Some(shard) if (1..=shard.parts).contains(&shard.part) => Ok(shard),
            Some(shard) => Err(format!("there is no part {} of {}", shard.part, shard.parts)),
            None => Err(format!("'{text}' is not a part: write 3/16 for the third of sixteen")),
        }
    }
}

#[cfg(test)]
mod tests {
    use vorrang_testkit::Folder;

    use super::*;

    fn row(sweep: &str, points: u64, point: u64, value: &str) -> Vec<String> {
        vec![sweep.to_owned(), points.to_string(), point.to_string(), value.to_owned()]
    }

    fn sheet() -> SweepCsv {
        let header = IDENTITY.iter().chain(&["value"]).map(|&name| name.to_owned()).collect();
        SweepCsv::new(header)
    }

    #[test]
    fn rows_of_another_sweep_are_refused() {
        let mut sheet = sheet();
        sheet.add(row("a", 3, 0, "1")).unwrap();
        let why = sheet.add(row("b", 3, 1, "1")).unwrap_err();
        assert!(why.contains("another sweep: b with 3 points, not a with 3"), "{why}");
        assert!(sheet.add(row("a", 4, 1, "1")).unwrap_err().contains("another sweep"));
        assert!(sheet.add(row("a", 3, 3, "1")).unwrap_err().contains("point 3 of 3"));
    }

    #[test]
    fn a_point_may_come_twice_if_both_agree() {
        let mut sheet = sheet();
        sheet.add(row("a", 3, 1, "x")).unwrap();
        sheet.add(row("a", 3, 1, "x")).unwrap();
        let why = sheet.add(row("a", 3, 1, "y")).unwrap_err();
        assert!(why.contains("point 1 has been computed twice"), "{why}");
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out_and_written_over() {
        let folder = Folder::new("sweep");
        let path = folder.file("cut.csv");
        fs::write(&path, "sweep,points,point,value\na,3,0,1\na,3,1").unwrap();
        let sheet = SweepCsv::read(&path).unwrap();
        assert_eq!(sheet.rows.keys().copied().collect::<Vec<_>>(), [0]);
        sheet.appender(&path).unwrap().append(&row("a", 3, 2, "7")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "sweep,points,point,value\na,3,0,1\na,3,2,7\n"
        );
    }

    #[test]
    fn every_point_is_in_exactly_one_part() {
        let parts: Vec<Shard> = (1..=5).map(|part| format!("{part}/5").parse().unwrap()).collect();
        for point in 0..100 {
            assert_eq!(parts.iter().filter(|part| part.contains(point)).count(), 1);
        }
    }

    #[test]
    fn what_is_not_a_part_is_refused() {
        let error = |text: &str| text.parse::<Shard>().unwrap_err();
        assert_eq!(error("0/4"), "there is no part 0 of 4");
        assert_eq!(error("5/4"), "there is no part 5 of 4");
        assert!(error("x").contains("'x' is not a part"));
    }
}
