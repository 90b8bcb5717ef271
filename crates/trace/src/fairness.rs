//! How evenly something is shared out.

/// Jain's fairness index: 1 if all are equal, 1/n if one has everything.
pub(crate) fn jain(values: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    if squares <= 0.0 { 1.0 } else { sum * sum / (count * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_jains_index() {
        assert!((jain([5.0, 5.0, 5.0].into_iter()) - 1.0).abs() < 1e-12);
        assert!((jain([9.0, 0.0, 0.0].into_iter()) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(std::iter::empty()) - 1.0).abs() < 1e-12);
    }
}
