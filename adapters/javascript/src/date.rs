//! Reads the text of a date, as `Date.parse` does. Local time is UTC, whatever the machine's zone is.

/// Longest text that is read as a date, in bytes.
const MAX_TEXT: usize = 128;

/// Latest and, negated, earliest time of a `Date`, in milliseconds since the Unix epoch.
const MAX_MS: i64 = 8_640_000_000_000_000;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Zones of RFC 2822 with their hours from UTC.
const ZONES: [(&str, i64); 11] = [
    ("z", 0),
    ("gmt", 0),
    ("utc", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// Returns the time of a text in milliseconds since the Unix epoch, or NaN if it is no date.
///
/// Texts are in the form of ISO 8601 (`2026-11-26`, `2026-11-26T06:00:00.000Z`, `2026-11-26 06:00`), of
/// RFC 2822 and of `toString` (`Thu, 26 Nov 2026 06:00:00 +0100`), or `Nov 26, 2026 6:00 PM`,
/// `11/26/2026` and `2026/11/26`. A text without a zone is in UTC.
pub(crate) fn parse(text: &str) -> f64 {
    let text = text.trim();
    if text.len() > MAX_TEXT {
        return f64::NAN;
    }
    let parts = iso(text).or_else(|| words(text));
    let ms = parts.and_then(|parts| parts.ms()).filter(|ms| ms.abs() <= MAX_MS);
    // Each integer of this size is a double.
    ms.map_or(f64::NAN, |ms| ms as f64)
}

/// Parts of a date. The offset is in minutes from UTC.
#[derive(Default)]
struct DateParts {
    year: i64,
    month: i64,
    day: i64,
    time_ms: i64,
    offset: i64,
}

impl DateParts {
    fn ms(&self) -> Option<i64> {
        let in_range = (1..=12).contains(&self.month) && (1..=31).contains(&self.day);
        let days = days_before(self.year, self.month) + self.day - 1;
        in_range.then(|| days * 86_400_000 + self.time_ms - self.offset * 60_000)
    }
}

/// Returns the days from the Unix epoch to the first of a month, in the proleptic Gregorian calendar.
fn days_before(year: i64, month: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Most digits of a number in a date.
const MAX_DIGITS: usize = 6;

/// Takes exactly so many digits, at most [`MAX_DIGITS`].
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let all = count <= MAX_DIGITS && number.bytes().all(|b| b.is_ascii_digit());
    Some((number.parse().ok().filter(|_| all)?, rest))
}

fn iso(text: &str) -> Option<DateParts> {
    let (year, rest) = match text.strip_prefix('+') {
        Some(rest) => digits(rest, 6)?,
        None => match text.strip_prefix('-') {
            Some(rest) => {
                digits(rest, 6).filter(|(year, _)| *year > 0).map(|(year, rest)| (-year, rest))?
            }
            None => digits(text, 4)?,
        },
    };
    let mut parts = DateParts { year, month: 1, day: 1, ..DateParts::default() };
    let mut rest = rest;
    if let Some(month) = rest.strip_prefix('-') {
        (parts.month, rest) = digits(month, 2)?;
        if let Some(day) = rest.strip_prefix('-') {
            (parts.day, rest) = digits(day, 2)?;
        }
    }
    if rest.is_empty() {
        return Some(parts);
    }
    let time = rest.strip_prefix(['T', 't', ' '])?.trim_start();
    let begins = |c: char| c.is_ascii_alphabetic() || ['+', '-'].contains(&c);
    let (clock, named) = time.split_at_checked(time.find(begins).unwrap_or(time.len()))?;
    parts.time_ms = time_ms(clock.trim_end())?;
    parts.offset = if named.is_empty() { 0 } else { zone(&named.to_ascii_lowercase())? };
    Some(parts)
}

/// Reads `6:00`, `06:00:00` or `06:00:00.000`.
fn time_ms(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let mut parts = clock.split(':').map(|part| {
        let short = (1..=2).contains(&part.len());
        digits(part, part.len()).filter(|_| short).map(|(number, _)| number)
    });
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    let is_time = parts.next().is_none() && hour <= 24 && minute < 60 && second < 60;
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    let ms: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let time = ((hour * 60 + minute) * 60 + second) * 1_000 + ms;
    (is_time && is_fraction && time <= 86_400_000).then_some(time)
}

/// Reads `z`, `est`, `gmt+01:00` or an offset as minutes.
fn zone(word: &str) -> Option<i64> {
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == word) {
        return Some(hours * 60);
    }
    offset(word.strip_prefix("gmt").or_else(|| word.strip_prefix("utc")).unwrap_or(word))
}

/// Reads `+01:00`, `+0100` or `+01` as minutes.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, rest) = digits(rest, 2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        minutes => digits(minutes, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Reads a date in words, in any order that is not ambiguous.
fn words(text: &str) -> Option<DateParts> {
    let text = text.split('(').next()?.to_ascii_lowercase();
    let (mut month, mut numbers, mut parts) = (None, Vec::new(), DateParts::default());
    let mut noon = None;
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let starts = |name: &&str| word.starts_with(*name);
        if let Some((name, day_and_year)) = hyphenated(word) {
            month = Some(name);
            numbers.extend(day_and_year);
        } else if let Some(at) = MONTHS.iter().position(starts) {
            month = i64::try_from(at + 1).ok();
        } else if DAYS.iter().any(starts) {
            // The rest tells the day.
        } else if ["am", "pm"].contains(&word) {
            noon = Some(word == "pm");
        } else if let Some(minutes) = zone(word) {
            parts.offset = minutes;
        } else if word.contains(':') {
            let bare = word.trim_end_matches(['a', 'p', 'm', 'z']);
            if let Some(half) = word.strip_prefix(bare).filter(|half| ["am", "pm"].contains(half)) {
                noon = Some(half == "pm");
            }
            parts.time_ms = time_ms(bare)?;
        } else if let [one, two, three] = word.split('/').collect::<Vec<_>>()[..] {
            // The year is first if it has four digits.
            let (of_month, day, year) =
                if one.len() == 4 { (two, three, one) } else { (one, two, three) };
            let number = |text: &str| digits(text, text.len()).map(|(number, _)| number);
            month = number(of_month);
            numbers.extend([(day.len(), number(day)?), (year.len(), number(year)?)]);
        } else {
            numbers.push((word.len(), digits(word, word.len())?.0));
        }
    }
    parts.month = month?;
    let [first, second] = numbers[..] else { return None };
    let (day, year) = if first.0 > 2 { (second, first) } else { (first, second) };
    parts.day = day.1;
    parts.year = match year {
        (3.., year) => year,
        (_, year) if year < 50 => 2_000 + year,
        (_, year) => 1_900 + year,
    };
    if let Some(afternoon) = noon {
        let half = 12 * 3_600_000;
        parts.time_ms = parts.time_ms % half + if afternoon { half } else { 0 };
    }
    Some(parts)
}

/// Reads `26-nov-2026` or `nov-26-2026`: the month, then day and year with their lengths.
fn hyphenated(word: &str) -> Option<(i64, [(usize, i64); 2])> {
    let [one, two, year] = word.split('-').collect::<Vec<_>>()[..] else { return None };
    let month = |text: &str| {
        let at = MONTHS.iter().position(|name| text.starts_with(*name))?;
        i64::try_from(at + 1).ok()
    };
    let (name, day) = match month(one) {
        Some(name) => (name, two),
        None => (month(two)?, one),
    };
    let number = |text: &str| digits(text, text.len()).map(|(number, _)| (text.len(), number));
    Some((name, [number(day)?, number(year)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_utc() {
        let day = 1_795_651_200_000.0;
        let six = day + 6.0 * 3_600_000.0;
        for (text, ms) in [
            ("1970-01-01", 0.0),
            ("2026-11-26", day),
            ("26-Nov-2026", day),
            ("Nov-26-2026", day),
            ("26-November-26 06:00", six),
            ("2026-11", day - 25.0 * 86_400_000.0),
            ("2024", 1_704_067_200_000.0),
            ("2024-02-29", 1_709_164_800_000.0),
            ("+002026-11-26", day),
            ("-000001-01-01T00:00:00Z", -62_198_755_200_000.0),
            ("2026-11-26T06:00", six),
            ("2026-11-26T06:00:00Z", six),
            ("2026-11-26 06:00:00.250", six + 250.0),
            ("2026-11-26T07:00:00+01:00", six),
            ("2026-11-25T24:00:00Z", day),
            ("Thu, 26 Nov 2026 06:00:00 GMT", six),
            ("Thu Nov 26 2026 06:00:00 GMT+0000 (Coordinated Universal Time)", six),
            ("Thu, 26 Nov 2026 07:00:00 +0100", six),
            ("26 November 2026", day),
            ("Nov 26, 2026", day),
            ("November 26, 2026 6:00 PM", six + 12.0 * 3_600_000.0),
            ("Nov 26, 2026 12:00am", day),
            ("11/26/2026", day),
            ("11/26/26, 6:00:00 AM", six),
            ("1 Jan 99", 915_148_800_000.0),
            (" 2026-11-26 ", day),
            ("Nov 26, 2026 01:00 EST", six),
            ("Thu, 26 Nov 2026 07:00:00 +01:00", six),
            ("Thu, 26 Nov 2026 07:00:00 GMT+01:00", six),
            ("2026/11/26", day),
            ("2026/11/26 06:00", six),
            ("2026-11-26 06:00:00 UTC", six),
        ] {
            assert_eq!(parse(text), ms, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "soon",
            "2026-13-01",
            "2026-01-32",
            "2026-1-1",
            "26:00",
            "2026-11-26T25:00",
            "2026-11-26T06",
            "2026-11-26T06:00:00+1",
            "Nov 2026",
            "+999999-01-01",
            "1/2",
            "1e3",
            "-000000-01-01",
            "Jan 1 999999999",
            "Jan 1 9223372036854775807",
            "1/1/99999999999",
            "\u{e4}\u{e4}",
        ] {
            assert!(parse(text).is_nan(), "{text}");
        }
        assert!(parse(&"1".repeat(1_000)).is_nan());
    }
}
