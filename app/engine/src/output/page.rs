//! A page of an output: some bytes of it as text, with its position and how to go on.

use windlass_core::{Observation, ObservationStatus};
use windlass_ports::BlobError;

use super::{OutputRequest, OutputSource, failed};

/// Longest character in bytes; also the fewest bytes of a page.
const CHAR: usize = 4;

/// Shows a page. Ends it at the end of a line if that is near.
pub(super) async fn show(
    source: &OutputSource<'_>,
    request: &OutputRequest,
) -> Result<Observation, BlobError> {
    let OutputSource { length, .. } = *source;
    if length == 0 {
        let words = format!("[the output is empty{}]", source.lost());
        return Ok(Observation::new(ObservationStatus::Done, words));
    }
    if request.offset >= length {
        let words = format!("the output has {length} bytes: give an offset below that");
        return Ok(failed(words));
    }
    let limit = request.limit.max(CHAR);
    let read = source.read(request.offset, limit.saturating_add(CHAR)).await?;
    let (skipped, bytes) = page(&read, limit);
    let from = request.offset.saturating_add(skipped as u64);
    let next = from.saturating_add(bytes.len() as u64);
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    let last = next.saturating_sub(1);
    let more = match next < length {
        true => format!("; go on with offset {next}"),
        false => String::from(", the end"),
    };
    push_line(&mut text, &format!("[bytes {from} to {last} of {length}{more}{}]", source.lost()));
    Ok(Observation::new(ObservationStatus::Done, text))
}

/// Returns the bytes of a page, and the number of bytes before it that end a split character.
fn page(read: &[u8], limit: usize) -> (usize, &[u8]) {
    let split = read.iter().take(CHAR - 1).take_while(|byte| is_continuation(**byte)).count();
    // A page has a character at least. Bytes that are no text are shown as they are.
    let skipped = if split < read.len() { split } else { 0 };
    let rest = read.get(skipped..).unwrap_or_default();
    let whole = rest.len() <= limit;
    let end = if whole { rest.len() } else { end_of_page(rest, limit) };
    let shown = rest.get(..end).unwrap_or_default();
    if String::from_utf8_lossy(shown).len() <= limit.saturating_add(CHAR) {
        return (skipped, shown);
    }
    // Each byte that is no text is shown as three.
    (skipped, rest.get(..(limit / 3).max(1).min(rest.len())).unwrap_or_default())
}

fn end_of_page(bytes: &[u8], limit: usize) -> usize {
    let page = bytes.get(..limit).unwrap_or(bytes);
    let line = page.iter().rposition(|byte| *byte == b'\n').map(|at| at.saturating_add(1));
    if let Some(line) = line.filter(|line| *line >= limit - limit / 4) {
        return line;
    }
    floor(bytes, limit)
}

/// Returns the start of the character at `at`, which is 4 at least.
pub(super) fn floor(bytes: &[u8], at: usize) -> usize {
    let continues = |at: usize| bytes.get(at).copied().is_some_and(is_continuation);
    let back = (0..CHAR).find(|back| !continues(at.saturating_sub(*back)));
    at.saturating_sub(back.unwrap_or(0))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Adds a line of its own.
pub(super) fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_to_the_whole_whatever_their_size() {
        let text = "aä€😀\nline two\n".repeat(9);
        for limit in 4..60 {
            let (mut at, mut joined) = (0, Vec::new());
            while at < text.len() {
                let end = text.len().min(at + limit + CHAR);
                let (skipped, bytes) = page(&text.as_bytes()[at..end], limit);
                assert_eq!(skipped, 0, "{limit}");
                assert!(!bytes.is_empty() && bytes.len() <= limit + CHAR, "{limit}");
                assert!(std::str::from_utf8(bytes).is_ok(), "{limit} at {at}");
                joined.extend_from_slice(bytes);
                at += bytes.len();
            }
            assert_eq!(joined, text.as_bytes(), "{limit}");
        }
    }

    #[test]
    fn an_offset_within_a_character_begins_at_the_next_one() {
        assert_eq!(page(&"€x".as_bytes()[1..], 9), (2, &b"x"[..]));
        assert_eq!(page(&[0x80, 0x80], 9).1.len(), 2);
    }

    #[test]
    fn bytes_that_are_no_text_take_no_more_room() {
        let (_, bytes) = page(&[0xff; 200], 120);
        assert_eq!(bytes.len(), 40);
    }
}
