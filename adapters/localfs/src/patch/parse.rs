//! Text of a patch to its files and chunks. A fault names its line and what was expected there.

use std::fmt;

use super::{FileAction, FilePatch, Patch, PatchChunk, PatchLine};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const LAST: &str = "*** End of File";
/// Most characters of a line that a fault shows.
const SHOWN: usize = 80;
/// Most files of one patch.
pub(crate) const FILES: usize = 256;

/// Place where a text is no patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchFault {
    /// Number of the line, from 1.
    line: usize,
    expected: &'static str,
    /// The line that is there; `None` at the end of the text.
    found: Option<String>,
}

impl fmt::Display for PatchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found ", self.line, self.expected)?;
        match &self.found {
            Some(found) => write!(f, "`{found}`"),
            None => f.write_str("the end of the patch"),
        }
    }
}

/// Reads a patch. Empty lines around it and between its files do not count. If its first line ends
/// with `\r\n`, all of them do.
pub(crate) fn parse(text: &str) -> Result<Patch, PatchFault> {
    let crlf = text.trim_start().strip_prefix(BEGIN).is_some_and(|rest| rest.starts_with("\r\n"));
    let end = |line| if crlf { str::strip_suffix(line, '\r').unwrap_or(line) } else { line };
    let mut lines = PatchLines { lines: text.split('\n').map(end).collect(), next: 0 };
    while lines.lines.pop_if(|line| line.trim().is_empty()).is_some() {}
    lines.skip_empty();
    if lines.take_marker(BEGIN).is_none() {
        return Err(lines.fault("`*** Begin Patch`"));
    }
    let mut files = Vec::new();
    lines.skip_empty();
    while lines.take_marker(END).is_none() {
        if files.len() >= FILES {
            return Err(lines.fault("`*** End Patch`, since a patch has at most 256 files"));
        }
        files.push(lines.file(files.is_empty())?);
        lines.skip_empty();
    }
    if lines.peek().is_some() {
        return Err(lines.fault("nothing after `*** End Patch`"));
    }
    if files.is_empty() {
        lines.next = lines.next.saturating_sub(1);
        return Err(lines.fault(FILE));
    }
    Ok(Patch { files })
}

const FILE: &str = "`*** Add File: `, `*** Delete File: ` or `*** Update File: ` and a path";

/// Lines of a patch, and the next one to read.
struct PatchLines<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

impl<'a> PatchLines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    fn fault(&self, expected: &'static str) -> PatchFault {
        let found = self.peek().map(|line| line.chars().take(SHOWN).collect());
        PatchFault { line: self.next + 1, expected, found }
    }

    fn skip_empty(&mut self) {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.next += 1;
        }
    }

    /// Takes a line that is this marker.
    fn take_marker(&mut self, marker: &str) -> Option<()> {
        self.peek().filter(|line| line.trim_end() == marker)?;
        self.next += 1;
        Some(())
    }

    /// Takes a line that is this marker and a path.
    fn take_path(&mut self, marker: &str) -> Option<String> {
        let path = self.peek()?.strip_prefix(marker)?.trim();
        if path.is_empty() {
            return None;
        }
        self.next += 1;
        Some(path.to_owned())
    }

    fn file(&mut self, first: bool) -> Result<FilePatch, PatchFault> {
        if let Some(path) = self.take_path(ADD) {
            let content = self.content()?;
            return Ok(FilePatch { path, action: FileAction::Add { content } });
        }
        if let Some(path) = self.take_path(DELETE) {
            return Ok(FilePatch { path, action: FileAction::Delete });
        }
        if let Some(path) = self.take_path(UPDATE) {
            let move_to = self.take_path(MOVE);
            let chunks = self.chunks()?;
            if chunks.is_empty() && move_to.is_none() {
                return Err(self.fault("`@@`, or a line that begins with a blank, `+` or `-`"));
            }
            return Ok(FilePatch { path, action: FileAction::Update { move_to, chunks } });
        }
        Err(self.fault(match first {
            true => FILE,
            false => {
                "`*** End Patch`, the next file, or a line of this one: `@@`, a blank, `+` or `-`"
            }
        }))
    }

    /// The content of a new file.
    fn content(&mut self) -> Result<String, PatchFault> {
        let mut content = String::new();
        let first = self.next;
        while let Some(line) = self.peek().and_then(|line| line.strip_prefix('+')) {
            content.push_str(line);
            content.push('\n');
            self.next += 1;
        }
        if self.next == first {
            return Err(self.fault("a line of the new file, which begins with `+`"));
        }
        Ok(content)
    }

    fn chunks(&mut self) -> Result<Vec<PatchChunk>, PatchFault> {
        let mut chunks: Vec<PatchChunk> = Vec::new();
        while let Some(line) = self.peek() {
            let opens = line.trim_end() == "@@" || line.starts_with("@@ ");
            let marked = line.starts_with([' ', '+', '-']) || chunks.is_empty() && line.is_empty();
            if !opens && !marked {
                break;
            }
            chunks.push(self.chunk()?);
        }
        Ok(chunks)
    }

    /// One chunk: the lines that place it, and its own up to the next one.
    fn chunk(&mut self) -> Result<PatchChunk, PatchFault> {
        let (line, mut contexts) = (self.next + 1, Vec::new());
        while let Some(place) = self.peek().and_then(|line| line.strip_prefix("@@")) {
            if !place.trim().is_empty() {
                contexts.push(place.strip_prefix(' ').unwrap_or(place).to_owned());
            }
            self.next += 1;
        }
        let mut chunk = PatchChunk { line, contexts, lines: Vec::new(), at_end: false };
        while let Some(line) = self.peek().and_then(chunk_line) {
            chunk.lines.push(line);
            self.next += 1;
        }
        self.drop_gap(&mut chunk);
        let changes = chunk.lines.iter().any(|line| !matches!(line, PatchLine::Keep(_)));
        if !changes {
            return Err(self.fault("a line of the change, which begins with `+` or `-`"));
        }
        chunk.at_end = self.take_marker(LAST).is_some();
        Ok(chunk)
    }

    /// Empty lines before the next section stand for nothing: without a mark they are lines of the
    /// file only between others.
    fn drop_gap(&self, chunk: &mut PatchChunk) {
        let mut last = self.next;
        while last > 0 && self.lines.get(last - 1).is_some_and(|line| line.is_empty()) {
            last -= 1;
            chunk.lines.pop();
        }
    }
}

/// Reads a line of a chunk. An empty one is an empty line that stays: its blank is often left out.
fn chunk_line(line: &str) -> Option<PatchLine> {
    let mut rest = line.chars();
    match rest.next() {
        None => Some(PatchLine::Keep(String::new())),
        Some(' ') => Some(PatchLine::Keep(rest.as_str().to_owned())),
        Some('-') => Some(PatchLine::Remove(rest.as_str().to_owned())),
        Some('+') => Some(PatchLine::Add(rest.as_str().to_owned())),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_patch_has_all_of_its_parts() {
        let text = "\n*** Begin Patch\n*** Add File: new/a.txt\n+one\n+\n*** Delete File: b\n\
                    *** Update File: c\n*** Move to: d e\n@@ class A\n@@  def f\n keep\n-old\n+new\n\n\
                    +more\n*** End of File\n*** Update File: f\n-x\n@@\n+y\n\n*** End Patch\n\n";
        let patch = parse(text).unwrap();
        let paths: Vec<&str> = patch.paths().collect();
        assert_eq!(paths, ["new/a.txt", "b", "c", "d e", "f"]);
        let [add, delete, update, last] = patch.files.as_slice() else {
            panic!("{patch:?}");
        };
        assert_eq!(add.action, FileAction::Add { content: "one\n\n".into() });
        assert_eq!(delete.action, FileAction::Delete);
        let FileAction::Update { move_to: Some(to), chunks } = &update.action else {
            panic!("{update:?}");
        };
        let [chunk] = chunks.as_slice() else { panic!("{chunks:?}") };
        assert_eq!((to.as_str(), chunk.line, chunk.at_end), ("d e", 9, true));
        assert_eq!(chunk.contexts, ["class A", " def f"]);
        assert_eq!(chunk.old(), ["keep", "old", ""]);
        let FileAction::Update { move_to: None, chunks } = &last.action else {
            panic!("{last:?}");
        };
        assert_eq!(chunks.iter().map(|chunk| chunk.lines.len()).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_fault_names_its_line_and_what_was_expected() {
        assert_eq!(fault(""), "line 1: expected `*** Begin Patch`, found the end of the patch");
        assert_eq!(fault("diff"), "line 1: expected `*** Begin Patch`, found `diff`");
        let begin = "*** Begin Patch\n";
        let cases = [
            ("*** End Patch", "line 2: expected `*** Add File: `"),
            ("*** Add File: a\ntext\n*** End Patch", "line 3: expected a line of the new file"),
            ("*** Add File: a\n+text\nmore", "line 4: expected `*** End Patch`, the next file"),
            ("*** Add File:  \n+x\n*** End Patch", "line 2: expected `*** Add File: `"),
            ("*** Update File: a\n*** End Patch", "line 3: expected `@@`, or a line"),
            (
                "*** Update File: a\n@@ x\n same\n*** End Patch",
                "line 5: expected a line of the change",
            ),
            ("*** Update File: a\n-x\n", "line 4: expected `*** End Patch`, the next file"),
            ("*** Delete File: a\n*** End Patch\nx", "line 4: expected nothing after"),
        ];
        for (text, expected) in cases {
            let said = fault(&format!("{begin}{text}"));
            assert!(said.starts_with(expected), "{text:?}: {said}");
        }
    }
}
