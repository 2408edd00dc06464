//! Short counts: reads and writes of a program that move fewer bytes than it asked for.
//!
//! `strace` can fail a call, and cannot shorten it. So a library in C stands before the calls of the C
//! library, as the loader preloads it. What goes past that library, as `io_uring` or memory that is
//! mapped, is not shortened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("short.c");

/// Reads and writes that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShortCalls {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Reads and writes, with one count for both.
    Both,
}

/// Bytes that a call moves, of those that it could move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShortPart {
    /// One byte.
    First,
    /// Half of them.
    Half,
    /// All but the last one.
    ButLast,
}

/// Calls that are short, and their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortPlan {
    /// Kinds of calls.
    pub calls: ShortCalls,
    /// Bytes that a call moves.
    pub part: ShortPart,
    /// Number of the call in the process, over all threads, from 1; `None` for each of them. Calls that
    /// move one byte or none are not counted.
    pub number: Option<u64>,
    /// True if the program is told that all was moved: so a program goes on that takes a short count for
    /// a whole one. A sweep that finds nothing then proves nothing.
    pub taken_for_whole: bool,
}

/// The library that shortens calls.
#[derive(Debug, Clone)]
pub struct ShortLibrary {
    path: PathBuf,
}

/// Reason why no calls can be shortened on this machine.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot build the library that shortens reads and writes: {0}; it needs Linux and a C compiler"
)]
pub struct NoShortLibrary(String);

impl ShortCalls {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Reads, Self::Writes, Self::Both];

    fn letters(self) -> &'static str {
        match self {
            Self::Reads => "r",
            Self::Writes => "w",
            Self::Both => "rw",
        }
    }
}

impl ShortPart {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::First, Self::Half, Self::ButLast];

    fn letter(self) -> &'static str {
        match self {
            Self::First => "1",
            Self::Half => "2",
            Self::ButLast => "-",
        }
    }
}

impl fmt::Display for ShortPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = match self.calls {
            ShortCalls::Reads => "read",
            ShortCalls::Writes => "write",
            ShortCalls::Both => "call",
        };
        match self.number {
            None => write!(f, "each {calls}")?,
            Some(number) => write!(f, "{calls} {number}")?,
        }
        f.write_str(match self.part {
            ShortPart::First => " moves one byte",
            ShortPart::Half => " moves half",
            ShortPart::ButLast => " lacks a byte",
        })?;
        match self.taken_for_whole {
            true => f.write_str(" and counts as whole"),
            false => Ok(()),
        }
    }
}

impl ShortLibrary {
    /// Builds the library in a folder with the machine's C compiler, `cc` or `$CC`.
    ///
    /// # Errors
    /// Not on Linux with 64 bits, or the compiler is missing or fails.
    pub fn build(folder: &Path) -> Result<Self, NoShortLibrary> {
        if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            return Err(NoShortLibrary("another operating system".to_owned()));
        }
        let failed = |error: io::Error| NoShortLibrary(error.to_string());
        let (source, path) = (folder.join("short.c"), folder.join("short.so"));
        std::fs::write(&source, SOURCE).map_err(failed)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut compiler = Command::new(compiler);
        compiler.args(["-O1", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-o"]);
        let built = compiler.arg(&path).arg(&source).output().map_err(failed)?;
        match built.status.success() {
            true => Ok(Self { path }),
            false => Err(NoShortLibrary(String::from_utf8_lossy(&built.stderr).into_owned())),
        }
    }

    /// Has the program of a command run under a plan, on the regular files below a folder. A symbolic
    /// link to the folder will not do. The file `note` is created at the first call that is shortened.
    ///
    /// The program must be linked dynamically to the C library.
    pub fn preload(&self, command: &mut Command, plan: ShortPlan, below: &Path, note: &Path) {
        command
            .env("LD_PRELOAD", &self.path)
            .env("WINDLASS_SHORT_CALLS", plan.calls.letters())
            .env("WINDLASS_SHORT_PART", plan.part.letter())
            .env("WINDLASS_SHORT_NUMBER", plan.number.unwrap_or(0).to_string())
            .env("WINDLASS_SHORT_AS_WHOLE", if plan.taken_for_whole { "yes" } else { "no" })
            .env("WINDLASS_SHORT_BELOW", below)
            .env("WINDLASS_SHORT_NOTE", note);
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use std::fs;

    use super::*;

    /// What `dd` leaves of ten bytes that it copies in one call, and what was noted.
    fn copied(plan: ShortPlan) -> (String, String) {
        let place = tempfile::TempDir::new().unwrap();
        let folder = place.path().canonicalize().unwrap();
        let library = ShortLibrary::build(&folder).unwrap();
        fs::create_dir(folder.join("in")).unwrap();
        fs::write(folder.join("in/a"), "0123456789").unwrap();
        let mut command = Command::new("dd");
        command.args(["if=in/a", "of=in/b", "bs=10", "count=1", "status=none"]);
        let note = folder.join("note");
        library.preload(&mut command, plan, &folder.join("in"), &note);
        let done = command.current_dir(&folder).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let note = fs::read_to_string(note).unwrap_or_default();
        (fs::read_to_string(folder.join("in/b")).unwrap(), note)
    }

    #[test]
    fn the_numbered_call_moves_a_part_and_the_program_is_told() {
        let plan = |calls, part, number| ShortPlan {
            calls,
            part,
            number: Some(number),
            taken_for_whole: false,
        };
        // dd does not read on after a short read, and writes on after a short write.
        let read = copied(plan(ShortCalls::Reads, ShortPart::Half, 1));
        assert_eq!(read, ("01234".to_owned(), "read: 5 of 10 bytes\n".to_owned()));
        let written = copied(plan(ShortCalls::Writes, ShortPart::ButLast, 1));
        assert_eq!(written, ("0123456789".to_owned(), "write: 9 of 10 bytes\n".to_owned()));
        let later = copied(plan(ShortCalls::Both, ShortPart::First, 3));
        assert_eq!(later, ("0123456789".to_owned(), String::new()));
    }

    #[test]
    fn a_short_count_that_is_taken_for_a_whole_one_loses_bytes() {
        let plan = ShortPlan {
            calls: ShortCalls::Writes,
            part: ShortPart::First,
            number: None,
            taken_for_whole: true,
        };
        assert_eq!(copied(plan).0, "0");
    }
}
