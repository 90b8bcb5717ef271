//! What a plot is of: series of points and what the theory says of them, along two axes.

/// One of the two directions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Axis {
    /// Its label, with the unit.
    pub name: String,
    /// Whether equal steps are equal ratios.
    pub is_log: bool,
    /// Whether its values are shares of 1, which may all be close to it.
    pub is_share: bool,
    /// Where it begins and ends, if that is not up to the values.
    pub limits: (Option<f64>, Option<f64>),
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// The name.
    pub name: String,
    /// What it is of: series of one thing have one colour.
    pub colour: usize,
    /// Under which circumstances: these have one marker and one dash.
    pub style: usize,
    /// The measured points.
    pub points: Vec<Point>,
    /// What the theory says.
    pub theory: Vec<Theory>,
}

/// A measured point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// How far it may be from the truth.
    pub error: Option<f64>,
}

/// What the theory says of a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Theory {
    /// Where.
    pub x: f64,
    /// What it says.
    pub says: Says,
}

/// A value, or the bounds of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Says {
    /// It predicts a value.
    Value(f64),
    /// It gives a lower and an upper bound; infinite if there is none.
    Bounds(f64, f64),
}
