//! Sampling temperature of a model.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Highest temperature of any protocol, in thousandths.
const MAX: u16 = 2_000;

/// Sampling temperature of a model, from 0 to 2 in steps of a thousandth. Providers may take less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Temperature(u16);

impl Temperature {
    /// Creates a temperature of at most 2,000 thousandths.
    ///
    /// ```
    /// use windlass_core::Temperature;
    ///
    /// assert_eq!(Temperature::from_thousandths(700), "0.7".parse().ok());
    /// assert_eq!(Temperature::from_thousandths(2_001), None);
    /// ```
    #[must_use]
    pub fn from_thousandths(thousandths: u16) -> Option<Self> {
        (thousandths <= MAX).then_some(Self(thousandths))
    }

    /// Returns the thousandths.
    #[must_use]
    pub fn thousandths(self) -> u16 {
        self.0
    }

    /// Returns the number that providers take.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }

    /// Returns the nearest temperature of a number from 0 to 2.
    fn nearest(value: f64) -> Option<Self> {
        if !(0.0..=2.0).contains(&value) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2,000")]
        let thousandths = (value * 1_000.0 + 0.5) as u16;
        Self::from_thousandths(thousandths)
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl FromStr for Temperature {
    type Err = InvalidTemperature;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Self::nearest).ok_or(InvalidTemperature)
    }
}

impl Serialize for Temperature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::nearest(value).ok_or_else(|| serde::de::Error::custom(InvalidTemperature))
    }
}

/// Number that is no temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTemperature;

impl fmt::Display for InvalidTemperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a temperature is a number from 0 to 2")
    }
}

impl core::error::Error for InvalidTemperature {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::ToString;

    use serde::de::IntoDeserializer as _;
    use serde::de::value::Error;

    use super::*;

    fn read(value: f64) -> Result<Temperature, Error> {
        Temperature::deserialize(value.into_deserializer())
    }

    #[test]
    fn every_temperature_is_recorded_exactly() {
        for thousandths in 0..=MAX {
            let one = Temperature::from_thousandths(thousandths).unwrap();
            assert_eq!(read(one.value()), Ok(one));
            assert_eq!(one.to_string().parse::<Temperature>().unwrap(), one);
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        for text in ["-0.001", "2.001", "2.0004", "NaN", "inf", "warm", "", "1e9"] {
            assert_eq!(text.parse::<Temperature>(), Err(InvalidTemperature), "{text}");
        }
        assert!(read(2.1).is_err());
        assert_eq!("1".parse::<Temperature>().unwrap().thousandths(), 1_000);
    }
}
