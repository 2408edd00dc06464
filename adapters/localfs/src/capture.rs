//! Output kept in bounded memory: its head, its tail, and how much there was.

use std::collections::VecDeque;

use windlass_core::StoredOutput;

use crate::full_output::StorageResult;
use crate::text::{VisibleText, continues, end_within, floor, push_line, start_within, width};

/// Longest remark on a cut line, in bytes.
const LINE_REMARK: usize = 64;

/// Output as far as it has come.
#[derive(Debug)]
pub(crate) struct OutputCapture {
    head: Vec<u8>,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_room: usize,
    /// Most bytes of a line that are shown.
    line_room: usize,
    total: u64,
}

/// Output as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputExcerpt {
    /// Head and tail, with a line between that says what is left out.
    pub(crate) text: String,
    /// The true size in bytes.
    pub(crate) total: u64,
    /// Number of bytes left out.
    pub(crate) omitted: u64,
    /// Name of the whole output in the store.
    pub(crate) stored: Option<StoredOutput>,
}

impl OutputCapture {
    /// Keeps and shows at most `room` bytes beside the remarks: one part in four of the head, the
    /// rest of the tail, since what came last says most often how it ended.
    pub(crate) fn new(room: usize) -> Self {
        let head_room = room / 4;
        Self {
            head: Vec::new(),
            head_room,
            tail: VecDeque::new(),
            tail_room: room - head_room,
            line_room: usize::MAX,
            total: 0,
        }
    }

    /// Shows at most `most` bytes of each line.
    pub(crate) fn with_line_limit(self, most: usize) -> Self {
        Self { line_room: most, ..self }
    }

    /// Appends a part of the output.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let to_head = bytes.len().min(self.head_room - self.head.len());
        let (first, rest) = bytes.split_at(to_head);
        self.head.extend_from_slice(first);
        let rest = rest.get(rest.len().saturating_sub(self.tail_room)..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Returns true if the whole output still fits after `more` further bytes.
    pub(crate) fn has_room_for(&self, more: usize) -> bool {
        let room = (self.head_room + self.tail_room) as u64;
        self.total.saturating_add(more as u64) <= room
    }

    /// Returns the captured bytes: all of the output, or its head and its tail.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (first, last) = self.tail.as_slices();
        [self.head.as_slice(), first, last].concat()
    }

    /// Returns true if the output is shown whole. Bytes that are not UTF-8 take more room as text.
    pub(crate) fn is_whole(&self) -> bool {
        let kept = self.bytes();
        let mut lines = kept.split(|byte| *byte == b'\n');
        self.is_complete(&kept) && !lines.any(|line| self.is_long(line))
    }

    /// Returns true if the captured bytes are all of the output and have room as text.
    fn is_complete(&self, kept: &[u8]) -> bool {
        self.has_room_for(0) && width(kept) <= self.head_room + self.tail_room
    }

    /// Returns true if a line is cut. A line that is longer by less than the remark is not.
    fn is_long(&self, line: &[u8]) -> bool {
        line.len() > self.line_room.saturating_add(LINE_REMARK)
    }

    /// Shows a part of the output with its long lines cut; returns the number of bytes left out.
    fn show_lines(&self, part: &[u8], visible: &mut VisibleText) -> u64 {
        let mut omitted = 0;
        for line in part.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            if !self.is_long(text) {
                visible.push(line);
                continue;
            }
            let end = floor(text, self.line_room);
            let cut = text.len().saturating_sub(end);
            omitted += cut as u64;
            visible.push(text.get(..end).unwrap_or_default());
            visible.text.push_str(&format!("[... {cut} more bytes of this line]"));
            visible.push(line.get(text.len()..).unwrap_or_default());
        }
        omitted
    }

    /// The output as it is shown, with a note when some of it was not UTF-8, and with what became
    /// of the whole of it where that is not shown.
    pub(crate) fn show(self, fate: &StorageResult) -> OutputExcerpt {
        let total = self.total;
        let mut visible = VisibleText::default();
        let mut omitted;
        let kept = self.bytes();
        // Head and tail may touch, with a character across.
        if self.is_complete(&kept) {
            omitted = self.show_lines(&kept, &mut visible);
            // Only lines were cut. The rest is named unless it can be read, or nobody keeps it.
            if omitted > 0 && fate.is_lost() {
                push_line(&mut visible.text, &fate.describe_omission(omitted, total));
            }
        } else {
            let (head, tail) = kept.split_at(self.head.len());
            let head = head.get(..complete(head)).unwrap_or_default();
            let continued = tail.iter().take(3).take_while(|byte| continues(**byte));
            let tail = tail.get(continued.count()..).unwrap_or_default();
            let head = head.get(..start_within(head, self.head_room));
            let tail = tail.get(end_within(tail, self.tail_room)..);
            let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
            omitted = total.saturating_sub((head.len() + tail.len()) as u64);
            let cut = self.show_lines(head, &mut visible);
            push_line(&mut visible.text, &fate.describe_omission(omitted, total));
            omitted = omitted.saturating_add(cut + self.show_lines(tail, &mut visible));
        }
        let note = visible.note();
        let mut text = visible.text;
        if let Some(note) = note {
            push_line(&mut text, &note);
        }
        OutputExcerpt { text, total, omitted, stored: fate.stored_output() }
    }
}

/// The end of the last whole character.
fn complete(bytes: &[u8]) -> usize {
    let last = floor(bytes, bytes.len().saturating_sub(1));
    let whole = std::str::from_utf8(bytes.get(last..).unwrap_or_default()).is_ok();
    if whole { bytes.len() } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(room: usize, parts: &[&[u8]]) -> OutputExcerpt {
        let mut capture = OutputCapture::new(room);
        for part in parts {
            capture.push(part);
        }
        capture.show(&StorageResult::NotStored)
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let shown = show(8, &["ab".as_bytes(), "cä".as_bytes(), b"fg"]);
        assert_eq!(
            shown,
            OutputExcerpt { text: "abcäfg".into(), total: 7, omitted: 0, stored: None }
        );
    }

    #[test]
    fn what_does_not_fit_keeps_head_and_tail_and_the_true_size() {
        let shown = show(8, &[b"0123456789", b"abcdefghij"]);
        let text = "01\n[... 12 bytes omitted ...]\nefghij".into();
        assert_eq!(shown, OutputExcerpt { text, total: 20, omitted: 12, stored: None });
    }

    #[test]
    fn how_it_was_cut_on_its_way_does_not_matter() {
        let bytes: Vec<u8> = "aäb€c😀".repeat(40).into_bytes();
        for room in [0, 1, 3, 7, 64, 100, 1_000] {
            let whole = show(room, &[&bytes]);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let triple: Vec<&[u8]> = bytes.chunks(3).collect();
            assert_eq!(whole, show(room, &single), "{room}");
            assert_eq!(whole, show(room, &triple), "{room}");
        }
    }

    #[test]
    fn a_cut_splits_no_character_and_counts_what_it_drops() {
        for room in 8..64 {
            let shown = show(room, &["€".repeat(100).as_bytes()]);
            assert!(!shown.text.contains('\u{fffd}'), "{room}: {}", shown.text);
            let euros = shown.text.matches('€').count() as u64 * 3;
            assert_eq!(euros + shown.omitted, 300, "{room}");
        }
    }

    #[test]
    fn what_is_shown_fits_whatever_it_is() {
        let remarks = show(0, &[&[0xff; 9]]).text.len();
        for room in 0..64 {
            for part in [&b"\xff"[..], b"a\xff", b"\xe2\x82", "€".as_bytes(), b"ab"] {
                for times in [1, 7, 12, 500] {
                    let shown = show(room, &[&part.repeat(times)]);
                    let most = room + remarks + 64;
                    assert!(shown.text.len() <= most, "{room} {part:?} {times}");
                    assert!(shown.omitted <= shown.total, "{room} {part:?} {times}");
                }
            }
        }
    }

    #[test]
    fn a_long_line_is_cut_and_the_rest_of_it_counted() {
        let long = [b"a\n".to_vec(), vec![b'x'; 500], b"\nb\n".to_vec()].concat();
        let mut capture = OutputCapture::new(1_000).with_line_limit(100);
        capture.push(&long);
        assert!(!capture.is_whole());
        let shown = capture.show(&StorageResult::NotStored);
        let text = format!("a\n{}[... 400 more bytes of this line]\nb\n", "x".repeat(100));
        assert_eq!(shown, OutputExcerpt { text, total: 505, omitted: 400, stored: None });
        let mut capture = OutputCapture::new(1_000).with_line_limit(100);
        capture.push(&long);
        let shown = capture.show(&StorageResult::Full).text;
        assert!(shown.ends_with(&StorageResult::Full.describe_omission(400, 505)), "{shown}");
        let mut capture = OutputCapture::new(400).with_line_limit(40);
        capture.push(&long);
        let shown = capture.show(&StorageResult::NotStored);
        let ends = "\n[... 105 bytes omitted ...]\n";
        assert!(shown.text.contains(ends) && shown.text.ends_with("\nb\n"), "{shown:?}");
        let xs = shown.text.matches('x').count() as u64;
        assert_eq!(xs + shown.omitted, 500);
    }

    #[test]
    fn bytes_that_are_no_text_are_said() {
        let shown = show(64, &[b"a\xff\xfeb"]);
        assert!(shown.text.starts_with("a\u{fffd}\u{fffd}b\n[2 bytes were not UTF-8"), "{shown:?}");
    }
}
