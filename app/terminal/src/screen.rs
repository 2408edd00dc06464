//! A screen that keeps its scrollback: finished lines are written once, and a live area below them is
//! redrawn in place. Nothing here writes or reads a clock: bytes come out for the caller to write.

mod control;
mod encode;
mod glyph;
mod live;
mod queue;
#[cfg(test)]
mod tests;
mod wrap;

use std::time::{Duration, Instant};

use crate::text::Line;

pub(crate) use encode::encode;
pub(crate) use glyph::clean;
use live::{Drawn, View};
use queue::Queue;
pub(crate) use wrap::{cut, rows};

/// Shortest time between two frames: 30 a second.
const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// Bytes of finished lines after which a frame ends. The row that passes them is at most 32 KiB long, so a
/// frame has at most 256 KiB of them.
const CHUNK: usize = 224 * 1024;

/// Time without frames after a resize, as more of them are likely to follow.
const SETTLES: Duration = Duration::from_millis(100);

/// The same within tmux, which breaks rows at once and tells of it after up to 250 ms.
const SETTLES_IN_TMUX: Duration = Duration::from_millis(300);

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of columns.
    pub columns: u16,
    /// Number of rows.
    pub rows: u16,
}

impl Size {
    /// Columns of text in a row. The last one stays free, where a cursor would wait to break the row.
    fn width(self) -> usize {
        usize::from(self.columns.saturating_sub(1)).max(1)
    }
}

/// Colors that a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorSupport {
    /// No colors. Bold, faint, underlined and other text is still told apart.
    None,
    /// The 16 colors of the terminal's palette.
    #[default]
    Basic,
    /// Colors by their red, green and blue parts.
    True,
}

/// Place of the cursor in a live area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Index of the line.
    pub row: usize,
    /// Column in it, from 0.
    pub column: usize,
}

/// Lines below the finished ones, which are replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveArea {
    /// Lines, each of which is cut where the terminal's row ends.
    pub lines: Vec<Line>,
    /// Visible cursor, if there is one.
    pub cursor: Option<Cursor>,
}

/// Turns finished lines and a live area into bytes for a terminal, at most 30 times a second.
///
/// ```
/// use std::time::Instant;
/// use windlass_terminal::{ColorSupport, Line, LiveArea, Screen, Size};
///
/// let mut screen = Screen::new(Size { columns: 80, rows: 24 }, ColorSupport::Basic);
/// screen.commit([Line::plain("finished")]);
/// screen.set_live(LiveArea { lines: vec![Line::plain("working")], cursor: None });
/// let bytes = screen.frame(Instant::now()).unwrap_or_default();
/// assert!(bytes.windows(10).any(|part| part == b"finished\r\n"));
/// assert!(screen.due().is_none());
/// ```
#[derive(Debug)]
pub struct Screen {
    size: Size,
    colors: ColorSupport,
    tmux: bool,
    truncates: bool,
    control: Vec<u8>,
    queue: Queue,
    live: LiveArea,
    drawn: Drawn,
    changed: bool,
    resized: bool,
    suspended: bool,
    /// Times before which there is no frame: the last one is too young, or a resize.
    next: Option<Instant>,
    settled: Option<Instant>,
}

impl Screen {
    /// Creates a screen for a terminal whose cursor is at the begin of an empty row.
    #[must_use]
    pub fn new(size: Size, colors: ColorSupport) -> Self {
        Self {
            size,
            colors,
            tmux: false,
            truncates: false,
            control: Vec::new(),
            queue: Queue::default(),
            live: LiveArea::default(),
            drawn: Drawn::default(),
            changed: false,
            resized: false,
            suspended: false,
            next: None,
            settled: None,
        }
    }

    /// States that the terminal is tmux, which the variable `TMUX` shows. The clipboard is passed through it.
    #[must_use]
    pub fn within_tmux(self, tmux: bool) -> Self {
        Self { tmux, ..self }
    }

    /// States that the terminal cuts rows on a resize, as xterm and the Linux console do. Others break them.
    #[must_use]
    pub fn with_truncation(self, truncates: bool) -> Self {
        Self { truncates, ..self }
    }

    /// Adds finished lines, which go to the scrollback once and in order.
    pub fn commit(&mut self, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            self.queue.push(line);
            self.changed = true;
        }
    }

    /// Replaces the live area.
    pub fn set_live(&mut self, live: LiveArea) {
        self.changed |= live != self.live;
        self.live = live;
    }

    /// Sets the terminal's size, after which there is no frame for a moment. Call it with the current size
    /// before each frame: a frame for a size that the terminal no longer has may leave rows of the live area
    /// behind.
    pub fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        self.drawn.resized();
        self.size = size;
        self.changed = true;
        self.resized = true;
    }

    /// Sets the window's title, without control characters.
    pub fn set_title(&mut self, title: &str) {
        control::title(title, &mut self.control);
        self.changed = true;
    }

    /// Notifies the person by the terminal's means, and rings the bell.
    pub fn notify(&mut self, text: &str) {
        control::notification(text, &mut self.control);
        self.changed = true;
    }

    /// Copies a text to the clipboard. Returns false and copies nothing if it has more than 74,000 bytes.
    pub fn copy(&mut self, text: &str) -> bool {
        let copied = control::clipboard(text, self.tmux, &mut self.control);
        self.changed |= copied;
        copied
    }

    /// Draws the next frame without waiting for the last one to age, for the answer to a key.
    pub fn hurry(&mut self) {
        self.next = None;
    }

    /// Returns the bytes of a frame, or none if nothing changed or the last frame or resize is too young.
    pub fn frame(&mut self, now: Instant) -> Option<Vec<u8>> {
        if std::mem::take(&mut self.resized) {
            self.settled = Some(now + if self.tmux { SETTLES_IN_TMUX } else { SETTLES });
        }
        let early = self.next.max(self.settled).is_some_and(|next| now < next);
        if self.suspended || !self.changed || early {
            return None;
        }
        let mut body = Vec::new();
        if !self.queue.is_empty() || self.drawn.is_broken() {
            self.clear(self.truncates, &mut body);
            self.queue.write(self.size, self.colors, CHUNK, &mut body);
        }
        if !self.queue.is_open() {
            self.drawn.draw(View::new(&self.live, self.size), self.colors, &mut body);
        }
        self.changed = !self.queue.is_empty();
        let mut out = std::mem::take(&mut self.control);
        if !body.is_empty() {
            out.extend_from_slice(BEGIN);
            out.append(&mut body);
            out.extend_from_slice(END);
        }
        if out.is_empty() {
            return None;
        }
        self.next = Some(now + INTERVAL);
        Some(out)
    }

    /// Returns the time at which `frame` will return bytes, or none if nothing changed.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let waits = self.changed && !self.suspended;
        waits.then(|| self.next.max(self.settled).unwrap_or_else(Instant::now))
    }

    /// Returns bytes that write all finished lines, clear the live area and show the cursor: for an editor, a
    /// pager or the end of the program. Until `resume` there is no further frame.
    pub fn suspend(&mut self) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.control);
        // A resize that has not settled may be followed by one that is not known, and then the rows are not
        // broken at this width. Rather than a finished line is cleared, a row stays.
        self.clear(self.truncates || self.tmux, &mut out);
        self.queue.write(self.size, self.colors, usize::MAX, &mut out);
        self.drawn.show(&mut out);
        self.suspended = true;
        out
    }

    /// Draws the live area again with the next frame, where the terminal's cursor is then: at the begin of an
    /// empty row.
    pub fn resume(&mut self) {
        self.suspended = false;
        self.changed = true;
    }

    fn clear(&mut self, truncated: bool, out: &mut Vec<u8>) {
        let broken_at = (!truncated).then_some(self.size.columns);
        self.drawn.clear(broken_at, out);
    }
}
