//! Which places of a picture are taken, so that no label is written over another.

use std::collections::HashMap;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Area(pub(crate) f64, pub(crate) f64, pub(crate) f64, pub(crate) f64);

impl Area {
    /// Around the middle of a line of text.
    pub(crate) fn around((x, y): (f64, f64), width: f64, height: f64) -> Self {
        Self(x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0)
    }

    fn meets(&self, other: &Self) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }
}

/// The occupied areas, by squares of the picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    squares: HashMap<(i32, i32), Vec<Area>>,
}

const SQUARE: f64 = 64.0;

impl Taken {
    fn squares(area: &Area) -> impl Iterator<Item = (i32, i32)> + use<> {
        let place = |at: f64| (at / SQUARE).floor() as i32;
        let (rows, columns) = (place(area.1)..=place(area.3), place(area.0)..=place(area.2));
        rows.flat_map(move |row| columns.clone().map(move |column| (row, column)))
    }

    /// Whether nothing is there.
    pub(crate) fn is_free(&self, area: &Area) -> bool {
        let meets = |square| {
            self.squares.get(&square).is_some_and(|all| all.iter().any(|it| it.meets(area)))
        };
        !Self::squares(area).any(meets)
    }

    /// Occupies an area, even if it is not free.
    pub(crate) fn take(&mut self, area: Area) {
        for square in Self::squares(&area) {
            self.squares.entry(square).or_default().push(area);
        }
    }

    /// Takes the first of these places that is free.
    pub(crate) fn first(&mut self, places: impl IntoIterator<Item = Area>) -> Option<Area> {
        let found = places.into_iter().find(|area| self.is_free(area))?;
        self.take(found);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_over_something() {
        let mut taken = Taken::default();
        let area = |x| Area::around((x, 100.0), 40.0, 10.0);
        assert_eq!(taken.first([area(100.0)]), Some(area(100.0)));
        assert_eq!(taken.first([area(110.0), area(141.0)]), Some(area(141.0)));
        assert_eq!(taken.first([area(120.0)]), None);
        assert!(taken.is_free(&Area::around((100.0, 120.0), 40.0, 10.0)));
    }
}
