//! Requested wait before a retry: `retry-after-ms`, and `Retry-After` in seconds or as a date (RFC
//! 9110, section 10.2.3). A date is compared with the response's own `Date`. A wait that is only in
//! the message is read from there.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_ports::WireHeaders;

/// Longest accepted wait, in milliseconds: a day.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// Returns the wait that the headers request, in milliseconds.
pub fn retry_after_ms(headers: &WireHeaders) -> Option<u64> {
    let text = |name: &str| headers.text(name).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| decimal_ms(text, 1.0)) {
        return Some(ms);
    }
    let asked = text("retry-after")?;
    if let Some(ms) = decimal_ms(asked, 1000.0) {
        return Some(ms);
    }
    let moment = http_date(asked)?;
    let now = text("date").and_then(http_date).or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(since.as_secs())
    })?;
    let wait = moment.saturating_sub(now).saturating_mul(1000);
    Some(wait.min(LONGEST_MS))
}

fn decimal_ms(text: &str, unit: f64) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    seconds_ms(number * unit / 1000.0)
}

/// Converts seconds to milliseconds, at most a day; `None` when the number is no duration.
pub(crate) fn seconds_ms(seconds: f64) -> Option<u64> {
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    // A cast of a float saturates.
    Some(((seconds * 1000.0).ceil() as u64).min(LONGEST_MS))
}

/// Parses a duration at the start of a text, such as `1.2s`, `6m0s`, `20ms` or `30 seconds`, in
/// milliseconds, at most a day.
pub(crate) fn duration_ms(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let mut total: Option<f64> = None;
    loop {
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let (digits, tail) = split(rest, number);
        let (unit, tail) = split(tail.trim_start_matches(' '), |c| c.is_ascii_alphabetic());
        let seconds = match unit.to_ascii_lowercase().as_str() {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        let Ok(count) = digits.parse::<f64>() else {
            break;
        };
        total = Some(total.unwrap_or(0.0) + count * seconds);
        rest = tail;
    }
    total.and_then(seconds_ms)
}

/// Returns the wait that a message requests, in milliseconds, at most a day.
pub(crate) fn message_delay_ms(words: &str) -> Option<u64> {
    let words = words.to_ascii_lowercase();
    let asks = ["try again in ", "try again after ", "retry in ", "retry after ", "please wait "];
    let after = |ask: &&str| words.split_once(*ask).map(|(_, after)| after);
    asks.iter().filter_map(after).find_map(duration_ms)
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// Parses an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT` to seconds since the Unix epoch.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let zone = words.next()?;
    let sane = (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if zone != "GMT" || !sane || !(1970..=9999).contains(&year) {
        return None;
    }
    // Days from civil, with the year beginning in March so that the leap day comes last.
    let (shifted_year, shifted_month) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = shifted_year * 365 + leaps + (153 * shifted_month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> Option<u64> {
        let mut headers = WireHeaders::default();
        for (name, value) in pairs {
            headers.push(name, *value, false);
        }
        retry_after_ms(&headers)
    }

    #[test]
    fn reads_all_forms() {
        assert_eq!(asked(&[]), None);
        assert_eq!(asked(&[("retry-after", "3")]), Some(3_000));
        assert_eq!(asked(&[("retry-after", "0.25")]), Some(250));
        assert_eq!(asked(&[("retry-after-ms", "120"), ("retry-after", "3")]), Some(120));
        assert_eq!(asked(&[("retry-after", "-1")]), None);
        assert_eq!(asked(&[("retry-after", "1e300")]), Some(LONGEST_MS));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let later = "Sun, 06 Nov 1994 08:50:07 GMT";
        assert_eq!(asked(&[("retry-after", later), ("date", date)]), Some(30_000));
        assert_eq!(asked(&[("retry-after", date), ("date", later)]), Some(0));
        assert_eq!(asked(&[("retry-after", "soon")]), None);
    }

    #[test]
    fn reads_words() {
        for (words, ms) in [
            ("Please try again in 1.2s. Visit us.", Some(1_200)),
            ("try again in 6m0.5s", Some(360_500)),
            ("Please retry in 23.5s.", Some(23_500)),
            ("Please retry after 6 seconds.", Some(6_000)),
            ("try again in 20ms", Some(20)),
            ("Try again in 1h2m3s", Some(3_723_000)),
            ("try again in 9999999d", Some(LONGEST_MS)),
            ("try again in 2 minutes, or so", Some(120_000)),
            ("try again in a while", None),
            ("try again in 5", None),
            ("try again in 1.2.3s", None),
            ("try again later", None),
            ("retry in \u{e9}5s", None),
        ] {
            assert_eq!(message_delay_ms(words), ms, "{words}");
        }
    }

    #[test]
    fn counts_days_as_the_calendar_does() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
    }
}
