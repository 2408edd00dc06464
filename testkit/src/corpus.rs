//! Fuzzing in ordinary tests: a property over seeds on disk, and over changed copies of them.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

/// The largest seed, in bytes: a corpus is written by hand.
const SEED_BYTES: u64 = 64 * 1024;

/// The largest copy, in bytes.
const COPY_BYTES: usize = 128 * 1024;

/// The most changes to one copy.
const CHANGES: u64 = 6;

/// Texts that are at the edge of something in most formats.
const EDGES: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\r",
    b"\"",
    b"\\",
    b"/",
    b"../",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\\u0000",
    b"\\ud800",
    b"data:",
    b"\n\n",
    b"[DONE]",
    b"**/",
    b"{}",
    b"99999999999999999999",
];

/// Holds a property against each file of a folder, and against `copies` changed copies of each. The
/// same files give the same copies, everywhere.
///
/// It is what a fuzzer does, without its guidance and in a second: the property is the same
/// function that a `cargo fuzz` target calls, and what the fuzzer found lies in the folder.
///
/// ```
/// # let dir = std::env::temp_dir().join(format!("windlass-corpus-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// # std::fs::write(dir.join("seed"), "1,2,3")?;
/// let held = windlass_testkit::corpus::over(&dir, 100, |data| {
///     let text = String::from_utf8_lossy(data);
///     assert_eq!(text.split(',').collect::<Vec<_>>().join(","), text);
/// });
/// assert_eq!(held, 101);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Answers against how many inputs it held.
///
/// # Panics
/// When the property panics; the message has the input, to be put into a file of the folder. Also
/// when the folder has no file or cannot be read, or a file is larger than 64 KiB.
pub fn over(folder: impl AsRef<Path>, copies: u64, property: impl Fn(&[u8])) -> u64 {
    let folder = folder.as_ref();
    let seeds = seeds(folder);
    assert!(!seeds.is_empty(), "{} has no seeds", folder.display());
    let mut held = 0;
    for (at, (name, seed)) in seeds.iter().enumerate() {
        hold(&property, seed, name, 0);
        let mut luck = Luck::of(at as u64);
        for copy in 1..=copies {
            let changed = changed(seed, &seeds, &mut luck);
            hold(&property, &changed, name, copy);
        }
        held += copies + 1;
    }
    held
}

fn hold(property: &impl Fn(&[u8]), input: &[u8], name: &str, copy: u64) {
    let held = catch_unwind(AssertUnwindSafe(|| property(input)));
    if let Err(why) = held {
        let said = why
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| why.downcast_ref::<&str>().copied());
        let said = said.unwrap_or("it panicked without words");
        resume_unwind(Box::new(format!(
            "copy {copy} of the seed {name} breaks the property: {said}\ninput: b\"{}\"",
            input.escape_ascii()
        )));
    }
}

/// The files of a folder by name.
fn seeds(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = || -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let mut seeds = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let bytes = entry.metadata()?.len();
            assert!(bytes <= SEED_BYTES, "the seed {name} has {bytes} bytes");
            seeds.push((name, fs::read(entry.path())?));
        }
        seeds.sort();
        Ok(seeds)
    };
    let seeds = read().map_err(|error| format!("reading {}: {error}", folder.display()));
    assert!(seeds.is_ok(), "{}", seeds.err().unwrap_or_default());
    seeds.unwrap_or_default()
}

/// A copy with a few changes.
fn changed(seed: &[u8], seeds: &[(String, Vec<u8>)], luck: &mut Luck) -> Vec<u8> {
    let mut copy = seed.to_vec();
    for _ in 0..=luck.below(CHANGES) {
        change(&mut copy, seeds, luck);
        copy.truncate(COPY_BYTES);
    }
    copy
}

fn change(copy: &mut Vec<u8>, seeds: &[(String, Vec<u8>)], luck: &mut Luck) {
    let (from, to) = luck.range(copy.len());
    match luck.below(8) {
        0 => {
            if let Some(byte) = copy.get_mut(from) {
                *byte ^= 1 << luck.below(8);
            }
        }
        1 => {
            if let Some(byte) = copy.get_mut(from) {
                *byte = luck.byte();
            }
        }
        2 => drop(copy.drain(from..to)),
        3 => copy.truncate(from),
        4 => {
            let part = copy.get(from..to).unwrap_or_default().to_vec();
            copy.splice(from..from, part);
        }
        5 => {
            let other = luck.below(seeds.len() as u64) as usize;
            let other = seeds.get(other).map_or(&[][..], |(_, other)| other);
            let (begin, end) = luck.range(other.len());
            let part = other.get(begin..end).unwrap_or_default().to_vec();
            copy.splice(from..to, part);
        }
        6 => {
            let edge = luck.below(EDGES.len() as u64) as usize;
            let edge = EDGES.get(edge).copied().unwrap_or_default();
            copy.splice(from..from, edge.iter().copied());
        }
        _ => {
            let many = luck.below(40) as usize;
            let byte = luck.byte();
            copy.splice(from..from, std::iter::repeat_n(byte, many));
        }
    }
}

/// Pseudo-random numbers: xorshift64*, which is enough to pick places.
struct Luck(u64);

impl Luck {
    fn of(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `bound`; 0 where there is nothing below.
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 8) % bound.max(1)
    }

    fn byte(&mut self) -> u8 {
        (self.next() >> 32) as u8
    }

    /// A short range of something of this length.
    fn range(&mut self, len: usize) -> (usize, usize) {
        let from = self.below(len as u64 + 1) as usize;
        let many = self.below(32) as usize;
        (from, (from + many).min(len))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_breaks_is_told_with_its_input_and_the_same_each_time() {
        let dir = std::env::temp_dir().join(format!("windlass-seeds-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("a"), "hello").unwrap();
        fs::write(dir.join("b"), "world").unwrap();
        let run = || {
            let inputs = RefCell::new(Vec::new());
            let held = over(&dir, 500, |data| inputs.borrow_mut().push(data.to_vec()));
            assert_eq!(held, 1_002);
            inputs.into_inner()
        };
        let (one, two) = (run(), run());
        assert_eq!(one, two);
        let different: std::collections::BTreeSet<&Vec<u8>> = one.iter().collect();
        // Of five bytes there are not that many, and some changes undo each other.
        assert!(different.len() > 700, "{}", different.len());
        let broken = catch_unwind(|| over(&dir, 500, |data| assert!(!data.contains(&0))));
        let said = broken.unwrap_err().downcast::<String>().unwrap();
        assert!(said.contains("input: b\"") && said.contains("\\x00"), "{said}");
        fs::remove_dir_all(&dir).unwrap();
        assert!(catch_unwind(|| over(&dir, 1, |_| {})).is_err());
    }
}
