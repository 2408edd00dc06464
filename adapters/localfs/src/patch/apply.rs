//! Chunks of a patch applied to the lines of a file. Each chunk has one place or none: lines are
//! compared exactly, then without the blanks at their ends, and nothing else.

use super::{PatchChunk, PatchLine};

/// Most places of a chunk that are listed.
const PLACES: usize = 20;

/// Reason why a chunk has no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkFault {
    /// Line of the patch where the chunk begins.
    pub(crate) line: usize,
    /// What is wrong with it.
    pub(crate) kind: ChunkFaultKind,
}

/// What is wrong with a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChunkFaultKind {
    /// The file does not have its lines, which are these.
    Missing(String),
    /// The file has them only before the end of the chunk above, at this line.
    Above(usize),
    /// The file has them at several lines.
    Repeated(Vec<usize>),
    /// The file has no such line after the chunk above.
    NoContext(String),
    /// The chunk ends with the file, and its lines do not.
    NotLast,
}

/// Applies chunks to a file.
///
/// Lines that stay keep their own bytes. Added lines end as the first line of the file does, with
/// `\n` or `\r\n`. A file without a line end at its end keeps that.
///
/// # Errors
/// [`ChunkFault`] of the first chunk without a place of its own.
pub(crate) fn apply(content: &[u8], chunks: &[PatchChunk]) -> Result<Vec<u8>, ChunkFault> {
    let file = FileLines::of(content);
    let mut after = Vec::with_capacity(content.len());
    let mut done = 0;
    for chunk in chunks {
        let at = file.place(chunk, done)?;
        after.extend(file.lines.get(done..at).unwrap_or_default().iter().map(|line| line.to_vec()));
        done = at;
        for line in &chunk.lines {
            match line {
                PatchLine::Keep(_) => {
                    after.extend(file.lines.get(done).map(|line| line.to_vec()));
                    done += 1;
                }
                PatchLine::Remove(_) => done += 1,
                PatchLine::Add(text) => after.push(file.added(text)),
            }
        }
    }
    after.extend(file.lines.get(done..).unwrap_or_default().iter().map(|line| line.to_vec()));
    let mut joined = after.join(&b'\n');
    if file.ended && !after.is_empty() {
        joined.push(b'\n');
    }
    Ok(joined)
}

/// Lines of a file without their `\n`.
struct FileLines<'a> {
    lines: Vec<&'a [u8]>,
    /// True if the last line has a line end.
    ended: bool,
    crlf: bool,
}

impl<'a> FileLines<'a> {
    fn of(content: &'a [u8]) -> Self {
        let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        let ended = lines.pop_if(|line| line.is_empty()).is_some();
        let crlf = ended && lines.first().is_some_and(|line| line.ends_with(b"\r"));
        Self { lines, ended, crlf }
    }

    fn added(&self, text: &str) -> Vec<u8> {
        let mut line = text.as_bytes().to_vec();
        if self.crlf && !line.ends_with(b"\r") {
            line.push(b'\r');
        }
        line
    }

    /// Returns the index of the line where a chunk begins, at or after `from`.
    fn place(&self, chunk: &PatchChunk, from: usize) -> Result<usize, ChunkFault> {
        let fault = |kind| ChunkFault { line: chunk.line, kind };
        let context = self.after_contexts(&chunk.contexts, from).map_err(fault)?;
        let old = chunk.old();
        if old.is_empty() {
            return self.insertion(chunk, context).map_err(fault);
        }
        let mut all = self.all(&old, |line, wanted| line == wanted.as_bytes());
        if all.is_empty() {
            all = self.all(&old, same_but_end);
        }
        if all.is_empty() {
            return Err(fault(ChunkFaultKind::Missing(old.join("\n"))));
        }
        if chunk.at_end {
            all.retain(|at| at + old.len() == self.lines.len());
            if all.is_empty() {
                return Err(fault(ChunkFaultKind::NotLast));
            }
        }
        let above = all.first().copied().unwrap_or_default();
        all.retain(|at| *at >= context.from);
        match all.as_slice() {
            [] => Err(fault(ChunkFaultKind::Above(above + 1))),
            [at] => Ok(*at),
            [first, ..] if context.certain => Ok(*first),
            [_, ..] => {
                let lines = all.iter().take(PLACES).map(|at| at + 1);
                Err(fault(ChunkFaultKind::Repeated(lines.collect())))
            }
        }
    }

    /// Returns the place of a chunk that only adds lines: after its context, or at the end.
    fn insertion(&self, chunk: &PatchChunk, context: Context) -> Result<usize, ChunkFaultKind> {
        if chunk.contexts.is_empty() || chunk.at_end {
            return Ok(self.lines.len());
        }
        match context.certain {
            true => Ok(context.from + 1),
            false => Err(ChunkFaultKind::Repeated(context.lines)),
        }
    }

    /// Finds the lines after `@@`, each after the one before. They may be indented otherwise.
    fn after_contexts(&self, contexts: &[String], from: usize) -> Result<Context, ChunkFaultKind> {
        let mut found = Context { from, certain: false, lines: Vec::new() };
        let mut next = from;
        for (at, text) in contexts.iter().enumerate() {
            let rest = self.lines.get(next..).unwrap_or_default();
            let matching = |same: fn(&[u8], &str) -> bool| {
                let lines = rest.iter().enumerate().filter(|(_, line)| same(line, text));
                lines.map(|(line, _)| next + line).take(PLACES).collect::<Vec<usize>>()
            };
            let mut all = matching(same_but_end);
            if all.is_empty() {
                all = matching(same_but_ends);
            }
            let Some(first) = all.first().copied() else {
                return Err(ChunkFaultKind::NoContext(text.clone()));
            };
            let certain = all.len() == 1 && (at == 0 || found.certain);
            let lines = all.iter().map(|line| line + 1).collect();
            found = Context { from: first, certain, lines };
            next = first + 1;
        }
        Ok(found)
    }

    /// Returns every place where the file has these lines.
    fn all(&self, wanted: &[&str], same: fn(&[u8], &str) -> bool) -> Vec<usize> {
        let windows = self.lines.windows(wanted.len()).enumerate();
        let fit = windows.filter(|(_, window)| {
            window.iter().zip(wanted).all(|(line, wanted)| same(line, wanted))
        });
        fit.map(|(at, _)| at).collect()
    }
}

/// Place of the lines after `@@`.
struct Context {
    /// Index of the innermost one, or of the first line that may be changed.
    from: usize,
    /// True if there are such lines and each has one place.
    certain: bool,
    /// Places of the innermost one, from 1.
    lines: Vec<usize>,
}

fn same_but_end(line: &[u8], wanted: &str) -> bool {
    line.trim_ascii_end() == wanted.as_bytes().trim_ascii_end()
}

fn same_but_ends(line: &[u8], wanted: &str) -> bool {
    line.trim_ascii() == wanted.as_bytes().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::super::FileAction;
    use super::super::parse::parse;
    use super::*;

    fn applied(content: &str, chunks: &str) -> Result<String, ChunkFaultKind> {
        let text = format!("*** Begin Patch\n*** Update File: f\n{chunks}\n*** End Patch");
        let patch = parse(&text).unwrap();
        let Some(FileAction::Update { chunks, .. }) = patch.files.first().map(|f| &f.action) else {
            panic!("{patch:?}");
        };
        let after = apply(content.as_bytes(), chunks).map_err(|fault| fault.kind)?;
        Ok(String::from_utf8(after).unwrap())
    }

    #[test]
    fn lines_are_replaced_where_they_are() {
        let file = "a\nb\nc\nd\n";
        assert_eq!(applied(file, " b\n-c\n+C\n+CC").unwrap(), "a\nb\nC\nCC\nd\n");
        assert_eq!(applied(file, "-a\n@@\n-d\n+D").unwrap(), "b\nc\nD\n");
        assert_eq!(applied(file, "+e").unwrap(), "a\nb\nc\nd\ne\n");
        assert_eq!(applied(file, "@@ b\n+e").unwrap(), "a\nb\ne\nc\nd\n");
        assert_eq!(applied(file, " d\n+e\n*** End of File").unwrap(), "a\nb\nc\nd\ne\n");
        assert_eq!(applied("a", "-a\n+b").unwrap(), "b");
        assert_eq!(applied("", "+b").unwrap(), "b\n");
        assert_eq!(applied("a\n", "-a").unwrap(), "");
    }

    #[test]
    fn blanks_at_the_end_do_not_count_and_stay() {
        let file = "a  \r\nb\r\nc\r\n";
        assert_eq!(applied(file, " a\n-b\n+B").unwrap(), "a  \r\nB\r\nc\r\n");
        assert_eq!(applied("a \nb\n", " a\n-b  ").unwrap(), "a \n");
        // A place where the lines are exact is the place, also if others are nearly so.
        assert_eq!(applied("x \nx\n", "-x\n+y").unwrap(), "x \ny\n");
        assert!(matches!(applied(" x\n", "-x\n+y"), Err(ChunkFaultKind::Missing(_))));
    }

    #[test]
    fn a_chunk_has_one_place_or_none() {
        let file = "fn a() {\n    go();\n}\nfn b() {\n    go();\n}\n";
        let change = "-    go();\n+    stop();";
        assert_eq!(applied(file, change), Err(ChunkFaultKind::Repeated(vec![2, 5])));
        let in_b = "fn a() {\n    go();\n}\nfn b() {\n    stop();\n}\n";
        assert_eq!(applied(file, &format!("@@ fn b() {{\n{change}")).unwrap(), in_b);
        let in_a = "fn a() {\n    stop();\n}\nfn b() {\n    go();\n}\n";
        assert_eq!(applied(file, &format!("@@ fn a() {{\n{change}")).unwrap(), in_a);
        assert_eq!(
            applied(file, &format!("{change}\n*** End of File")),
            Err(ChunkFaultKind::NotLast)
        );
        let none = applied(file, &format!("@@ fn c() {{\n{change}"));
        assert_eq!(none, Err(ChunkFaultKind::NoContext("fn c() {".into())));
        let above = format!(" fn b() {{\n{change}\n@@\n fn a() {{\n{change}");
        assert_eq!(applied(file, &above), Err(ChunkFaultKind::Above(1)));
        assert_eq!(applied(file, "@@ }\n+x"), Err(ChunkFaultKind::Repeated(vec![3, 6])));
    }
}
