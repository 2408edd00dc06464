//! Times in the form of AG-UI: ISO 8601, in UTC.

use windlass_engine::core::Timestamp;

/// Formats a time as `2026-09-21T14:13:20.000Z`.
pub(crate) fn iso_time(at: Timestamp) -> String {
    let (days, ms) = (at.0 / 86_400_000, at.0 % 86_400_000);
    let (year, month, day) = date(days);
    let (s, ms) = (ms / 1_000, ms % 1_000);
    let (hour, minute, s) = (s / 3_600, s / 60 % 60, s % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{s:02}.{ms:03}Z")
}

/// Returns the date of a day since 1970. Years begin in March here, so that a leap day is the last.
fn date(days: u64) -> (u64, u64, u64) {
    // Days from the 1st of March of the year 0.
    let days = days.saturating_add(719_468);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month_of_year = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month_of_year <= 2);
    (year, month_of_year, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc() {
        let written = |ms| iso_time(Timestamp(ms));
        assert_eq!(written(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(written(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(written(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(written(951_868_800_000), "2000-03-01T00:00:00.000Z");
        assert_eq!(written(1_790_000_000_123), "2026-09-21T14:13:20.123Z");
        assert_eq!(written(4_107_542_399_000), "2100-02-28T23:59:59.000Z");
        assert_eq!(written(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }
}
