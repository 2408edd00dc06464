//! Search in an output: the lines that match a pattern, each with its offset. A line is searched once
//! for each excerpt that is shown of it, so the time is bounded by its length and the excerpts.

use regex::bytes::{Regex, RegexBuilder};
use windlass_core::{Observation, ObservationStatus};
use windlass_ports::{BlobError, CancelSignal};

use super::page::{floor, push_line};
use super::{OutputRequest, OutputSource, failed};

/// Bytes that are read at a time. A longer line is searched in parts of this length.
const CHUNK: usize = 64 * 1024;
/// Bytes by which the parts of a long line overlap, so that a match may lie across two.
const OVERLAP: usize = 1024;
/// Most bytes that are shown of one line.
const SHOWN: usize = 400;
/// Bytes that are shown before a match in a longer line.
const BEFORE: usize = 120;
/// Most matches in one answer.
const MATCHES: usize = 200;
/// Most bytes of a compiled pattern.
const PATTERN_BYTES: usize = 1 << 20;

/// Compiles a pattern.
///
/// # Errors
/// The reason why it is none.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_BYTES).build();
    built.map_err(|error| error.to_string())
}

/// Matches as far as they are found.
struct Matches<'a> {
    pattern: &'a Regex,
    text: String,
    count: usize,
    /// Bytes of the output that are shown already.
    shown_to: u64,
    limit: usize,
}

/// Shows the matching lines from the requested offset on.
pub(super) async fn show(
    source: &OutputSource<'_>,
    request: &OutputRequest,
    pattern: &Regex,
    cancel: &CancelSignal,
) -> Result<Observation, BlobError> {
    let OutputSource { length, .. } = *source;
    if request.offset >= length && length > 0 {
        let words = format!("the output has {length} bytes: give an offset below that");
        return Ok(failed(words));
    }
    let limit = request.limit;
    let mut matches = Matches { pattern, text: String::new(), count: 0, shown_to: 0, limit };
    // The part that is read and not searched yet, with its offset.
    let (mut part, mut at) = (Vec::new(), request.offset);
    loop {
        if cancel.is_cancelled() {
            let words = "Stopped: the output was not searched to its end.";
            return Ok(Observation::new(ObservationStatus::Aborted, words));
        }
        let from = at.saturating_add(part.len() as u64);
        let read = source.read(from, CHUNK).await?;
        let ended = read.is_empty();
        part.extend_from_slice(&read);
        let searched = match (ended, part.iter().rposition(|byte| *byte == b'\n')) {
            (true, _) => part.len(),
            (false, Some(line)) => line.saturating_add(1),
            (false, None) if part.len() > CHUNK => part.len(),
            (false, None) => continue,
        };
        let lines = part.get(..searched).unwrap_or_default();
        if let Err(next) = matches.search(lines, at) {
            return Ok(matches.done(source, request.offset, Some(next)));
        }
        if ended {
            return Ok(matches.done(source, request.offset, None));
        }
        let split = part.get(searched.saturating_sub(1)) != Some(&b'\n');
        let kept = if split { searched.saturating_sub(OVERLAP) } else { searched };
        part.drain(..kept);
        at = at.saturating_add(kept as u64);
    }
}

impl Matches<'_> {
    /// Searches lines that begin at an offset. Returns the offset of the first match for which
    /// there is no room.
    fn search(&mut self, lines: &[u8], at: u64) -> Result<(), u64> {
        let mut at = at;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            self.search_line(text.strip_suffix(b"\r").unwrap_or(text), at)?;
            at = at.saturating_add(line.len() as u64);
        }
        Ok(())
    }

    fn search_line(&mut self, line: &[u8], at: u64) -> Result<(), u64> {
        let pattern = self.pattern;
        // The beginning may have been shown with the part before it.
        let shown = self.shown_to.saturating_sub(at);
        let mut next = usize::try_from(shown).unwrap_or(usize::MAX);
        while next <= line.len()
            && let Some(found) = pattern.find_at(line, next)
        {
            let (from, to) = excerpt(line, found.start());
            let offset = at.saturating_add(from as u64);
            let shown = String::from_utf8_lossy(line.get(from..to).unwrap_or_default());
            let before = if from > 0 { "[...]" } else { "" };
            let after = if to < line.len() { "[...]" } else { "" };
            let shown = format!("{offset}: {before}{shown}{after}\n");
            // The first match is shown in any case, so that each answer makes progress.
            let full = self.text.len().saturating_add(shown.len()) > self.limit;
            if (full && self.count > 0) || self.count >= MATCHES {
                return Err(offset);
            }
            self.text.push_str(&shown);
            self.count = self.count.saturating_add(1);
            next = to.max(found.end());
            self.shown_to = at.saturating_add(next as u64);
            if to == line.len() {
                break;
            }
        }
        Ok(())
    }

    fn done(self, source: &OutputSource<'_>, from: u64, next: Option<u64>) -> Observation {
        let Self { mut text, count, .. } = self;
        let OutputSource { length, .. } = *source;
        let matches = match count {
            0 => String::from("no match"),
            1 => String::from("1 match"),
            count => format!("{count} matches"),
        };
        let place = match next {
            Some(next) => format!("before byte {next} of {length}; go on with offset {next}"),
            None if from == 0 => format!("in all {length} bytes"),
            None => format!("from byte {from} to the end at {length}"),
        };
        push_line(&mut text, &format!("[{matches} {place}{}]", source.lost()));
        Observation::new(ObservationStatus::Done, text)
    }
}

/// Returns the range of a line to show for a match.
fn excerpt(line: &[u8], start: usize) -> (usize, usize) {
    if line.len() <= SHOWN {
        return (0, line.len());
    }
    let from = match start.saturating_sub(BEFORE) {
        0 => 0,
        from => floor(line, from),
    };
    let to = from.saturating_add(SHOWN);
    (from, if to < line.len() { floor(line, to) } else { line.len() })
}
