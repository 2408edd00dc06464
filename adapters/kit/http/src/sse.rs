//! Parser of server-sent events: pure, bounded, and without copies for events within one chunk. It
//! follows the WHATWG HTML standard, section 9.2.6.

use memchr::memchr2;

/// Limits of a parser: bytes, lines and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseCaps {
    /// Bytes of one line.
    pub line: usize,
    /// Bytes of one event's data, including the LF between its lines.
    pub event: usize,
    /// Bytes of a whole stream.
    pub stream: u64,
    /// Lines from one blank line to the next, including comments.
    pub event_lines: u64,
    /// Lines of a whole stream, including blank ones.
    pub lines: u64,
    /// Events of a whole stream.
    pub events: u64,
}

impl SseCaps {
    /// Creates caps with this many bytes for a line, an event and a stream, and the default lines
    /// and events.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self { line: bytes, event: bytes, stream: bytes as u64, ..Self::default() }
    }
}

impl Default for SseCaps {
    fn default() -> Self {
        Self {
            line: 8 * 1024 * 1024,
            event: 8 * 1024 * 1024,
            stream: 256 * 1024 * 1024,
            event_lines: 256 * 1024,
            lines: 16 * 1024 * 1024,
            events: 4 * 1024 * 1024,
        }
    }
}

/// Error of a stream that exceeds its caps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line has more bytes than this.
    #[error("a line of the stream is longer than {0} bytes")]
    Line(usize),
    /// An event's data has more bytes than this.
    #[error("an event of the stream is larger than {0} bytes")]
    Event(usize),
    /// The stream has more bytes than this.
    #[error("the stream is larger than {0} bytes")]
    Stream(u64),
    /// An event has more lines than this.
    #[error("an event of the stream has more than {0} lines")]
    EventLines(u64),
    /// The stream has more lines than this.
    #[error("the stream has more than {0} lines")]
    Lines(u64),
    /// The stream has more events than this.
    #[error("the stream has more than {0} events")]
    Events(u64),
}

/// One event, with its bytes as sent. The dialect decides how to handle invalid UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Value of the `event` field; empty without one.
    pub name: &'a [u8],
    /// Data, with its lines joined by LF.
    pub data: &'a [u8],
}

/// Parses one event stream.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct SseParser {
    caps: SseCaps,
    total: u64,
    lines: u64,
    /// Lines since the last blank one.
    event_lines: u64,
    events: u64,
    /// Partial line of an earlier chunk.
    line: Vec<u8>,
    /// True once a line has ended: a byte order mark counts only before the first.
    begun: bool,
    /// True if the last byte was a CR, so that a following LF belongs to it.
    after_cr: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// True once `name` and `data` were returned and must be cleared.
    dispatched: bool,
    last_id: Vec<u8>,
    retry_ms: Option<u64>,
}

impl SseParser {
    /// Creates a parser that accepts at most `caps`.
    #[must_use]
    pub fn new(caps: SseCaps) -> Self {
        Self { caps, ..Self::default() }
    }

    /// Discards everything received, which was no stream.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.caps);
    }

    /// Returns the last event id that the stream sent.
    #[must_use]
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// Returns the reconnection time that the stream requested, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Parses `input` up to its next event. Returns the number of consumed bytes, and the event.
    ///
    /// Call it again with the rest until it returns no event; then all of the input is consumed.
    ///
    /// # Errors
    /// [`SseError`] when the stream exceeds the caps.
    pub fn next<'x>(
        &'x mut self,
        input: &'x [u8],
    ) -> Result<(usize, Option<SseEvent<'x>>), SseError> {
        self.forget();
        let mut at = 0;
        while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
            if std::mem::take(&mut self.after_cr) && rest.first() == Some(&b'\n') {
                at += 1;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.carry(rest)?;
                at = input.len();
                break;
            };
            let (line, tail) = rest.split_at(end);
            at += end + 1;
            self.after_cr = tail.first() == Some(&b'\r');
            if self.line.is_empty() && self.begun {
                if let Some((data, blank)) = self.alone(line, input.get(at..).unwrap_or_default()) {
                    self.check(data.len(), line.len())?;
                    self.line_ends(false)?;
                    self.line_ends(true)?;
                    self.dispatch()?;
                    self.count(at + blank)?;
                    return Ok((at + blank, Some(SseEvent { name: &self.name, data })));
                }
                if self.handle_line(line)? {
                    self.dispatch()?;
                    self.count(at)?;
                    return Ok((at, Some(self.event())));
                }
            } else {
                self.carry(line)?;
                if self.handle_carried_line()? {
                    self.dispatch()?;
                    self.count(at)?;
                    return Ok((at, Some(self.event())));
                }
            }
        }
        self.count(at)?;
        Ok((at, None))
    }

    /// Ends the stream, and returns an event whose closing blank line is missing.
    ///
    /// The standard drops such an event. It is returned here, since a truncated JSON text does not
    /// parse, so a truncated event cannot pass for a complete one.
    ///
    /// # Errors
    /// [`SseError`] when the last event exceeds the caps.
    pub fn finish(&mut self) -> Result<Option<SseEvent<'_>>, SseError> {
        self.forget();
        let ended = !self.line.is_empty() && self.handle_carried_line()?;
        if ended || self.has_data {
            self.dispatch()?;
            return Ok(Some(self.event()));
        }
        Ok(None)
    }

    /// Returns the data of an event that consists of this one line, and the bytes of the blank line
    /// after it, if that is in the input too. Nearly every event of nearly every stream has this
    /// form.
    fn alone<'x>(&mut self, line: &'x [u8], after: &[u8]) -> Option<(&'x [u8], usize)> {
        if self.has_data {
            return None;
        }
        let data = line.strip_prefix(b"data:")?;
        let lf = usize::from(self.after_cr && after.first() == Some(&b'\n'));
        let end = after.get(lf)?;
        if !matches!(end, b'\n' | b'\r') {
            return None;
        }
        self.after_cr = *end == b'\r';
        Some((data.strip_prefix(b" ").unwrap_or(data), lf + 1))
    }

    fn event(&self) -> SseEvent<'_> {
        SseEvent { name: &self.name, data: &self.data }
    }

    /// Counts a returned event.
    fn dispatch(&mut self) -> Result<(), SseError> {
        self.dispatched = true;
        self.events = self.events.saturating_add(1);
        if self.events > self.caps.events {
            return Err(SseError::Events(self.caps.events));
        }
        Ok(())
    }

    /// Counts a complete line. A blank one ends an event or a group of lines without data.
    fn line_ends(&mut self, blank: bool) -> Result<(), SseError> {
        self.lines = self.lines.saturating_add(1);
        if self.lines > self.caps.lines {
            return Err(SseError::Lines(self.caps.lines));
        }
        self.event_lines = if blank { 0 } else { self.event_lines.saturating_add(1) };
        if self.event_lines > self.caps.event_lines {
            return Err(SseError::EventLines(self.caps.event_lines));
        }
        Ok(())
    }

    fn forget(&mut self) {
        if std::mem::take(&mut self.dispatched) {
            self.name.clear();
            self.data.clear();
            self.has_data = false;
        }
    }

    fn carry(&mut self, part: &[u8]) -> Result<(), SseError> {
        if self.line.len().saturating_add(part.len()) > self.caps.line {
            return Err(SseError::Line(self.caps.line));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn count(&mut self, used: usize) -> Result<(), SseError> {
        self.total = self.total.saturating_add(used as u64);
        if self.total > self.caps.stream {
            return Err(SseError::Stream(self.caps.stream));
        }
        Ok(())
    }

    fn check(&self, data: usize, line: usize) -> Result<(), SseError> {
        if line > self.caps.line {
            return Err(SseError::Line(self.caps.line));
        }
        if data > self.caps.event {
            return Err(SseError::Event(self.caps.event));
        }
        Ok(())
    }

    fn handle_carried_line(&mut self) -> Result<bool, SseError> {
        let mut line = std::mem::take(&mut self.line);
        let bom = if self.begun { None } else { line.strip_prefix(b"\xef\xbb\xbf") };
        self.begun = true;
        let ended = self.handle_line(bom.unwrap_or(&line));
        line.clear();
        self.line = line;
        ended
    }

    /// Handles a complete line. Returns true if it ends an event.
    fn handle_line(&mut self, line: &[u8]) -> Result<bool, SseError> {
        self.line_ends(line.is_empty())?;
        if line.is_empty() {
            if !self.has_data {
                self.name.clear();
            }
            return Ok(self.has_data);
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                // The LF that joins it to the line before counts too.
                let joined = self.data.len() + usize::from(self.has_data);
                self.check(joined.saturating_add(value.len()), line.len())?;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.check(0, line.len())?;
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.check(0, line.len())?;
                self.last_id.clear();
                self.last_id.extend_from_slice(value);
            }
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                self.check(0, line.len())?;
                let digits = std::str::from_utf8(value).ok();
                self.retry_ms = digits.and_then(|text| text.parse().ok()).or(self.retry_ms);
            }
            // A comment, or a field that the standard does not name.
            _ => self.check(0, line.len())?,
        }
        Ok(false)
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
