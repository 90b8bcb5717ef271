//! Means over seeds, and how far to trust them.

/// A mean, with half the width of its 95 % confidence interval if there is more than one sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The mean of the samples, by Student's t; none if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let count = samples.len();
        let mean = samples.iter().sum::<f64>() / count as f64;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let half_width = (count > 1).then(|| {
            let deviation = (squares / (count - 1) as f64).sqrt();
            student_t(count - 1) * deviation / (count as f64).sqrt()
        });
        (count > 0).then_some(Self { mean, half_width })
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn student_t(degrees_of_freedom: usize) -> f64 {
    const T: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match degrees_of_freedom {
        1..=30 => T[degrees_of_freedom - 1],
        // The first two terms of Cornish and Fisher's expansion: within 0.0005 from here on.
        more => 1.959_964 + 2.372_27 / more as f64 + 2.822_5 / (more as f64).powi(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sample_says_nothing_of_its_error() {
        assert_eq!(Estimate::of(&[3.0]), Some(Estimate { mean: 3.0, half_width: None }));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn the_interval_is_students() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((estimate.mean - 2.5).abs() < 1e-12);
        // 3.182 * sqrt(5/3) / 2
        assert!((estimate.half_width.unwrap() - 2.054).abs() < 1e-3);
        assert!((student_t(31) - 2.0395).abs() < 5e-4);
        assert!((student_t(1000) - 1.9623).abs() < 5e-4);
    }
}
