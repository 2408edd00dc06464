//! Search of one open file, in bounded memory.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use crate::stop::{HaltReason, StopCheck};
use crate::text::{VisibleText, floor};

/// Longest line of a file that is searched, in bytes.
const LONGEST: usize = 1024 * 1024;
/// Most bytes of one line that are shown.
const SHOWN: usize = 400;

/// Lines of a file that are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrepLines {
    /// The first match only.
    FirstOnly,
    /// All matches, each with so many lines before and after it.
    WithContext(usize),
}

/// Search of files one by one.
#[derive(Clone, Copy)]
pub(super) struct FileGrep<'a> {
    /// Regular expression for a line.
    pub(super) matcher: &'a RegexMatcher,
    /// Lines to return.
    pub(super) lines: GrepLines,
    /// Most matches of one file.
    pub(super) most: usize,
    /// Check for a stop request.
    pub(super) stop: &'a StopCheck,
}

/// Matches in a file, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct FileMatches {
    /// Lines that match, and those around them.
    pub(super) lines: Vec<FoundLine>,
    /// Number of lines that match.
    pub(super) matches: usize,
    /// True if the file is not text.
    pub(super) binary: bool,
    /// True if the file could not be read to its end.
    pub(super) unread: bool,
}

/// Line of a file, as it is shown.
#[derive(Debug)]
pub(super) struct FoundLine {
    /// Number of the line, from 1.
    pub(super) number: u64,
    /// The line, or its part around the match.
    pub(super) text: String,
    /// True if it matches, and not only stands beside a match.
    pub(super) matches: bool,
    /// True if lines are left out between the line before and this one.
    pub(super) after_gap: bool,
}

impl FileGrep<'_> {
    /// Returns what to search files with. It has a buffer that is used again for each file.
    pub(super) fn searcher(&self) -> Searcher {
        let around = match self.lines {
            GrepLines::FirstOnly => 0,
            GrepLines::WithContext(lines) => lines,
        };
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(around)
            .after_context(around)
            .heap_limit(Some(LONGEST))
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }

    /// Searches one file.
    ///
    /// # Errors
    /// [`HaltReason`] when it must stop.
    pub(super) fn file(&self, file: File) -> Result<FileMatches, HaltReason> {
        self.file_with(&mut self.searcher(), file)
    }

    /// Searches one file with a searcher that is used for others too.
    ///
    /// # Errors
    /// [`HaltReason`] when it must stop.
    pub(super) fn file_with(
        &self,
        searcher: &mut Searcher,
        file: File,
    ) -> Result<FileMatches, HaltReason> {
        let mut sink = FileSink { grep: self, found: FileMatches::default(), gap: false };
        let reader = StoppableFile { file, stop: self.stop };
        let searched = searcher.search_reader(self.matcher, reader, &mut sink);
        let mut found = sink.found;
        if searched.is_err() {
            self.stop.check()?;
            found.unread = true;
        }
        if found.binary {
            return Ok(FileMatches { binary: true, ..FileMatches::default() });
        }
        Ok(found)
    }
}

/// File that cannot be read any more once its call must stop.
struct StoppableFile<'a> {
    file: File,
    stop: &'a StopCheck,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.check().is_err() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

struct FileSink<'a> {
    grep: &'a FileGrep<'a>,
    found: FileMatches,
    gap: bool,
}

impl FileSink<'_> {
    fn add(&mut self, number: Option<u64>, text: String, matches: bool) {
        let after_gap = std::mem::take(&mut self.gap);
        let number = number.unwrap_or_default();
        self.found.lines.push(FoundLine { number, text, matches, after_gap });
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = without_end(found.bytes());
        let hit = self.grep.matcher.find(line).ok().flatten().map_or(0, |hit| hit.start());
        self.add(found.line_number(), excerpt(line, hit), true);
        self.found.matches += 1;
        let most = match self.grep.lines {
            GrepLines::FirstOnly => 1,
            GrepLines::WithContext(_) => self.grep.most,
        };
        Ok(self.found.matches < most && self.grep.stop.check().is_ok())
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        self.add(around.line_number(), excerpt(without_end(around.bytes()), 0), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.gap = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.found.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The part of a line around a match.
fn excerpt(line: &[u8], hit: usize) -> String {
    let start = if line.len() <= SHOWN { 0 } else { floor(line, hit.saturating_sub(SHOWN / 4)) };
    let rest = line.get(start..).unwrap_or_default();
    let end = floor(rest, SHOWN);
    let mut visible = VisibleText::default();
    if start > 0 {
        visible.text.push_str("[...] ");
    }
    visible.push(rest.get(..end).unwrap_or_default());
    if end < rest.len() {
        visible.text.push_str(" [...]");
    }
    visible.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_holds_the_match_and_splits_no_character() {
        assert_eq!(excerpt("grün".as_bytes(), 0), "grün");
        let long = format!("{}needle{}", "ä".repeat(500), "ö".repeat(500));
        let shown = excerpt(long.as_bytes(), 1_000);
        assert!(shown.contains("needle") && shown.len() < SHOWN + 20, "{shown}");
        assert!(!shown.contains('\u{fffd}'), "{shown}");
        assert!(shown.starts_with("[...] ä") && shown.ends_with("ö [...]"), "{shown}");
    }
}
