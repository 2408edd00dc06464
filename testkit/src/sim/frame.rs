//! Frames: how a simulated log lies in its file, as pure functions on bytes.
//!
//! An append is one unit: a head of fixed width with the length and a checksum, then a line for
//! each fact. No text of a fact holds a zero byte, so a unit with one, or one that the file ends
//! within, is what an interrupted write left. A unit that has all its bytes and does not check is
//! damage.

use sha2::{Digest as _, Sha256};

/// Bytes before the facts of a unit.
const HEAD: usize = 26;

/// One append, as it lies in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Where it begins.
    pub(super) offset: usize,
    /// All of its bytes.
    pub(super) len: usize,
    /// The texts of its facts.
    pub(super) texts: Vec<Vec<u8>>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scan {
    /// The appends that are whole.
    pub(super) units: Vec<Unit>,
    /// Where they end.
    pub(super) end: usize,
    /// What comes after them.
    pub(super) tail: Tail,
}

/// What comes after the last whole unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    Clean,
    /// What an interrupted write left.
    Torn,
    /// Damage.
    Corrupt,
}

/// Checks that a scan makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checking {
    /// It does.
    Careful,
    /// It takes every line that reads for a fact.
    Careless,
}

/// A unit that begins at `offset`.
pub(super) fn encode(offset: usize, texts: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for text in texts {
        body.extend_from_slice(text);
        body.push(b'\n');
    }
    let mut unit = format!("{:08x} {:016x}\n", body.len(), sum(offset, &body)).into_bytes();
    unit.extend_from_slice(&body);
    unit
}

fn sum(offset: usize, body: &[u8]) -> u64 {
    let mut sum = Sha256::new();
    sum.update((offset as u64).to_le_bytes());
    sum.update((body.len() as u64).to_le_bytes());
    sum.update(body);
    let digest = sum.finalize();
    let first = digest.iter().take(8);
    first.fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Reads a file.
pub(super) fn scan(bytes: &[u8], checking: Checking) -> Scan {
    let mut scan = Scan { units: Vec::new(), end: 0, tail: Tail::Clean };
    while let Some(rest) = bytes.get(scan.end..)
        && !rest.is_empty()
    {
        match unit(scan.end, rest) {
            Ok(unit) => {
                scan.end += unit.len;
                scan.units.push(unit);
            }
            Err(tail) => {
                if checking == Checking::Careless {
                    careless(&mut scan, rest);
                }
                scan.tail = tail;
                break;
            }
        }
    }
    scan
}

fn unit(offset: usize, rest: &[u8]) -> Result<Unit, Tail> {
    let head = rest.get(..HEAD).ok_or(Tail::Torn)?;
    if head.contains(&0) {
        return Err(Tail::Torn);
    }
    let words = std::str::from_utf8(head).map_err(|_| Tail::Corrupt)?;
    let (len, check) = words.trim_end_matches('\n').split_once(' ').ok_or(Tail::Corrupt)?;
    let len = usize::from_str_radix(len, 16).map_err(|_| Tail::Corrupt)?;
    let check = u64::from_str_radix(check, 16).map_err(|_| Tail::Corrupt)?;
    let body = rest.get(HEAD..HEAD + len).ok_or(Tail::Torn)?;
    if body.contains(&0) {
        // Nothing is written behind a unit that is not synced.
        return Err(match rest.len() == HEAD + len {
            true => Tail::Torn,
            false => Tail::Corrupt,
        });
    }
    if sum(offset, body) != check {
        return Err(Tail::Corrupt);
    }
    let lines = body.strip_suffix(b"\n").ok_or(Tail::Corrupt)?;
    let texts = lines.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
    Ok(Unit { offset, len: HEAD + len, texts: texts.collect() })
}

/// Takes what is left of a unit for whole.
fn careless(scan: &mut Scan, rest: &[u8]) {
    let Some(body) = rest.get(HEAD..) else { return };
    let lines = body.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.take_while(|line| line.ends_with(b"\n") && !line.contains(&0));
    let texts: Vec<Vec<u8>> = whole.map(|line| line.trim_ascii_end().to_vec()).collect();
    if texts.is_empty() {
        return;
    }
    let len = HEAD + texts.iter().map(|text| text.len() + 1).sum::<usize>();
    scan.units.push(Unit { offset: scan.end, len, texts });
    scan.end += len;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    fn two() -> (Vec<u8>, usize) {
        let mut file = encode(0, &texts(&["one", "two"]));
        let first = file.len();
        file.extend(encode(first, &texts(&["three"])));
        (file, first)
    }

    #[test]
    fn what_is_written_is_read() {
        let (file, first) = two();
        let read = scan(&file, Checking::Careful);
        assert_eq!((read.end, &read.tail), (file.len(), &Tail::Clean));
        assert_eq!(read.units[0].texts, texts(&["one", "two"]));
        assert_eq!(read.units[1].texts, texts(&["three"]));
        assert_eq!(read.units[1].offset, first);
    }

    #[test]
    fn any_part_of_the_last_unit_is_torn_and_never_whole() {
        let (file, first) = two();
        for len in first + 1..file.len() {
            let read = scan(&file[..len], Checking::Careful);
            assert_eq!((read.units.len(), read.tail), (1, Tail::Torn), "{len}");
        }
        for lost in first..file.len() {
            let mut file = file.clone();
            file[lost] = 0;
            let read = scan(&file, Checking::Careful);
            assert_eq!((read.units.len(), read.tail), (1, Tail::Torn), "{lost}");
        }
    }

    #[test]
    fn a_changed_byte_is_damage_and_so_is_a_hole_with_something_behind_it() {
        let (file, first) = two();
        for (at, byte) in [(first + 30, b'X'), (30, b'X'), (30, 0)] {
            let mut file = file.clone();
            file[at] = byte;
            assert_eq!(scan(&file, Checking::Careful).tail, Tail::Corrupt, "{at}");
        }
    }

    #[test]
    fn a_unit_in_another_place_does_not_check() {
        let unit = encode(0, &texts(&["one"]));
        let file = [unit.clone(), unit].concat();
        assert_eq!(scan(&file, Checking::Careful).tail, Tail::Corrupt);
    }
}
