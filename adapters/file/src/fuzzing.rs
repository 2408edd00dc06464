//! What a fuzzer calls, and the tests over its seeds: properties of the log's reader for any bytes.

use std::io;

use windlass_core::SessionId;

use crate::disk::LogFile;
use crate::old::codec::{self, LEAST_UNIT};
use crate::old::scan::{Found, Scan};

/// How many units are read of one input.
const UNITS: usize = 4_096;

/// With a first byte below 64 the rest is read as a log file. Otherwise it is three bytes that say
/// where and how, and bodies by lines: a log of them is read as it was written, one that was cut
/// off is never damaged, and one with a changed byte never passes for a whole one.
///
/// # Panics
/// When a property does not hold.
pub fn log(data: &[u8]) {
    let Ok(id) = SessionId::new("fuzz") else {
        return;
    };
    match data {
        [mode, raw @ ..] if *mode < 64 => {
            read(&id, raw);
        }
        [mode, high, low, how, bodies @ ..] => {
            let at = usize::from(u16::from_be_bytes([*high, *low]));
            changed(&id, *mode, at, *how, bodies);
        }
        _ => {}
    }
}

/// A log of the first format of these batches of text forms, which no store writes any more;
/// nothing when one is too large.
#[must_use]
pub fn old_log(id: &SessionId, batches: &[Vec<Vec<u8>>]) -> Option<Vec<u8>> {
    let mut file = codec::file_head(id);
    let mut link = codec::genesis(id);
    for batch in batches {
        let offset = file.len() as u64;
        link = codec::encode_unit(&mut file, offset, &link, batch)?;
    }
    Some(file)
}

fn changed(id: &SessionId, mode: u8, at: usize, how: u8, bodies: &[u8]) {
    let bodies: Vec<Vec<u8>> = bodies
        .split(|byte| *byte == b'\n')
        .filter(|body| body.len() > 1 && !body.contains(&0))
        .take(16)
        .map(<[u8]>::to_vec)
        .collect();
    let mut file = codec::file_head(id);
    let mut link = codec::genesis(id);
    // Units of one to three bodies.
    for unit in bodies.chunks(1 + usize::from(mode % 3)) {
        let offset = file.len() as u64;
        match codec::encode_unit(&mut file, offset, &link, unit) {
            Some(last) => link = last,
            None => return,
        }
    }
    let whole = read(id, &file);
    assert_eq!(whole, (bodies.clone(), End::Whole));
    let at = at % file.len().max(1);
    if mode < 128 {
        file.truncate(at);
        let (read, end) = read(id, &file);
        assert!(bodies.starts_with(&read));
        assert_ne!(end, End::Damaged, "a log that was cut off is torn");
        return;
    }
    let Some(byte) = file.get_mut(at).filter(|_| how != 0) else {
        return;
    };
    *byte ^= how;
    let (read, end) = read(id, &file);
    assert!(
        bodies.starts_with(&read),
        "what is read is what was written"
    );
    assert_ne!(end, End::Whole, "a changed byte is noticed");
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Whole,
    Torn,
    Damaged,
    Newer,
}

/// The bodies of a log, and how it ends.
fn read(id: &SessionId, bytes: &[u8]) -> (Vec<Vec<u8>>, End) {
    let file = InMemory(bytes);
    let mut scan = Scan::new(&file, id);
    let mut bodies = Vec::new();
    for _ in 0..UNITS {
        let before = scan.place();
        let Ok(found) = scan.next() else {
            return (bodies, End::Damaged);
        };
        match found {
            Found::Unit(unit) => {
                assert!(scan.place().offset >= before.offset.saturating_add(LEAST_UNIT));
                assert!(scan.place().seq > before.seq);
                for body in &unit.bodies {
                    assert!(body.end <= bytes.len() as u64);
                    bodies.push(scan.bytes(body).unwrap_or_default().to_vec());
                }
            }
            Found::End { torn_bytes: 0 } => return (bodies, End::Whole),
            Found::End { torn_bytes } => {
                assert!(torn_bytes <= bytes.len() as u64);
                return (bodies, End::Torn);
            }
            Found::Damage(damage) => {
                assert!(damage.offset <= bytes.len() as u64);
                return (bodies, End::Damaged);
            }
            Found::Newer { .. } => return (bodies, End::Newer),
        }
    }
    (bodies, End::Damaged)
}

pub(crate) struct InMemory<'a>(pub(crate) &'a [u8]);

// A scan borrows its file; the trait object's bound asks for no more.
impl LogFile for InMemory<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.get(from..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(read)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}
