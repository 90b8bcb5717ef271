//! Which rows of a sheet are wanted: conditions on its columns, as they are typed.

use std::cmp::Ordering;
use std::str::FromStr;

use crate::failure::Failure;
use crate::names::unknown;
use crate::plotting::{Points, in_order, value};

/// A condition on a column: `load=heavy`, `algorithm=lamport,maekawa`, `nodes>=4`, `flaw!=x`.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    column: String,
    is: Relation,
    /// What it is compared with: one of these, or the number.
    with: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Longer signs come first.
const SIGNS: [(&str, Relation); 6] = [
    ("!=", Relation::Unequal),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::More),
];

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let first = text.find(['=', '<', '>', '!']);
        let sign = first.and_then(|at| {
            SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign)).map(|it| (at, it))
        });
        let Some((at, (sign, is))) = sign.filter(|(at, _)| *at > 0) else {
            return Err(format!(
                "'{text}' is not a condition: write a column, one of = != < <= > >=, and values, \
                 as in load=heavy, algorithm=lamport,maekawa or nodes>=4"
            ));
        };
        let rest = &text[at + sign.len()..];
        let with: Vec<String> = rest.split(',').map(|it| it.trim().to_owned()).collect();
        let is_order = !matches!(is, Relation::Equal | Relation::Unequal);
        if is_order && (with.len() > 1 || value(&with[0]).is_none()) {
            return Err(format!("'{text}': {rest} is not a number, as {sign} wants one"));
        }
        Ok(Self { column: text[..at].trim().to_owned(), is: *is, with })
    }
}

impl Condition {
    fn holds(&self, cell: &str) -> bool {
        let is_same = |with: &String| {
            with == cell || value(with).is_some_and(|with| value(cell) == Some(with))
        };
        let compared = || Some(value(cell)?.total_cmp(&value(&self.with[0])?));
        match self.is {
            Relation::Equal => self.with.iter().any(is_same),
            Relation::Unequal => !self.with.iter().any(is_same),
            Relation::Less => compared().is_some_and(Ordering::is_lt),
            Relation::AtMost => compared().is_some_and(Ordering::is_le),
            Relation::More => compared().is_some_and(Ordering::is_gt),
            Relation::AtLeast => compared().is_some_and(Ordering::is_ge),
        }
    }
}

/// So many values of a column are listed where none is wanted.
const MOST: usize = 30;

/// The points for which all conditions hold.
pub fn chosen<'a>(points: Points<'a>, conditions: &[Condition]) -> Result<Points<'a>, Failure> {
    let mut points = points;
    let (header, rows) = (points.header, &mut points.rows);
    for condition in conditions {
        let name = &condition.column;
        let Some(column) = header.iter().position(|it| it == name) else {
            let names = header.iter().map(String::as_str);
            return Err(unknown("column for --where", name, names));
        };
        let mut values: Vec<&str> = rows.iter().map(|row| &*row[column]).collect();
        rows.retain(|row| condition.holds(&row[column]));
        if rows.is_empty() {
            in_order(&mut values);
            let more = if values.len() > MOST { ", …" } else { "" };
            values.truncate(MOST);
            return Err(Failure::usage(format!(
                "--where leaves no points: {name} is {}{more}",
                values.join(", ")
            )));
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(condition: &str) -> Result<usize, String> {
        let header = ["algorithm", "nodes", "loss"].map(str::to_owned);
        let rows = [["a", "2", "10%"], ["a", "10", ""], ["b", "4", "5%"]];
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        let points = Points::new(&header, rows.iter().map(Vec::as_slice).collect());
        let condition = condition.parse()?;
        chosen(points, &[condition]).map(|it| it.rows.len()).map_err(|it| it.to_string())
    }

    #[test]
    fn rows_are_chosen_by_texts_and_by_numbers() {
        let count = |condition: &str| left(condition).expect("it is one");
        assert_eq!(count("algorithm=a"), 2);
        assert_eq!(count("algorithm=a,b"), 3);
        assert_eq!(count("algorithm!=a"), 1);
        assert_eq!(count("nodes>2"), 2, "10 is more than 2 as a number");
        assert_eq!((count("nodes>=4"), count("nodes<4"), count("nodes<=4")), (2, 1, 2));
        assert_eq!(count("loss=10%"), 1);
        assert_eq!(count("loss<=5%"), 1, "what is not there is not less");
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_would_be_one() {
        let why = |condition: &str| left(condition).unwrap_err();
        assert!(why("heavy").contains("as in load=heavy"), "{}", why("heavy"));
        assert!(why("=heavy").contains("is not a condition"));
        assert!(why("nodes>x").contains("x is not a number"), "{}", why("nodes>x"));
        assert!(why("node=2").contains("did you mean 'nodes'?"), "{}", why("node=2"));
        let none = "--where leaves no points: algorithm is a, b";
        assert_eq!(why("algorithm=c"), none);
    }
}
