//! Rounds: ratios and their median.

use std::fmt;

/// The median of some ratios, with the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    /// The spread of some numbers; none when there are none.
    pub(crate) fn of(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_by(f64::total_cmp);
        let middle = numbers.len() / 2;
        let upper = *numbers.get(middle)?;
        let median = if numbers.len().is_multiple_of(2) {
            f64::midpoint(*numbers.get(middle.checked_sub(1)?)?, upper)
        } else {
            upper
        };
        Some(Self { median, least: *numbers.first()?, greatest: *numbers.last()? })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2} to {:.2})", self.median, self.least, self.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let odd = Spread::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!(odd.to_string(), "2.00 (1.00 to 3.00)");
        let even = Spread::of(vec![4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(even.to_string(), "2.50 (1.00 to 4.00)");
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
