//! Remains: what the segments still have of a session, found unit by unit from their bytes alone,
//! whatever stands between. It is what can be saved of a log that no read can follow any more.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::ControlFlow;

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::disk::{LogFile, read_full_at};
use crate::error;
use crate::format::{self, FIRST, Head, Key, Place};
use crate::places;
use crate::shelf::Shelf;

/// How many damaged bytes are handed over at once.
const PIECE: u64 = 192 * 1024;

/// A piece of what is about to be overwritten.
#[derive(Debug)]
pub enum Remains<'a> {
    /// The text form of a fact whose unit passes its checks. Whether it fits those before is not
    /// said: they may be what is damaged.
    Fact(&'a [u8]),
    /// Bytes that do not pass their checks, as they stand.
    Damaged {
        /// Their file, in the folder of the store.
        file: &'a str,
        /// Where they begin in it.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
}

/// Takes pieces as long as it answers that it wants more.
pub(crate) type Take<'t> = &'t mut dyn FnMut(Remains<'_>) -> ControlFlow<()>;

/// What is looked for: all of a session behind a position.
pub(crate) struct Behind<'a> {
    pub(crate) shelf: &'a Shelf,
    pub(crate) session: &'a SessionId,
    pub(crate) after: Seq,
}

/// A unit that passes its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sound {
    first: Seq,
    place: Place,
    offset: u64,
    len: u32,
}

impl Behind<'_> {
    /// Hands over each fact once, in the order of positions as far as that can be told, and then what
    /// is damaged.
    pub(crate) fn hand_over(&self, take: Take<'_>) -> Result<(), StoreError> {
        let (sound, damaged) = self.find()?;
        let mut seen = HashSet::new();
        for unit in sound {
            let path = self.shelf.path(unit.place);
            let at = |error| error::reading(error, &path);
            let Some(file) = places::open_to_read(&path).map_err(at)? else {
                continue;
            };
            let mut bytes = vec![0; unit.len as usize];
            read_full_at(&file, &mut bytes, unit.offset).map_err(at)?;
            let head = format::read_head(unit.place, unit.offset, &bytes);
            let held = head.and_then(|head| format::read_held(&head, &bytes));
            let texts = held.into_iter().flat_map(|held| held.texts);
            for (text, seq) in texts.zip(unit.first.0..) {
                if self.fact(Seq(seq), text, &mut seen, take).is_break() {
                    return Ok(());
                }
            }
        }
        for ((place, offset), end) in damaged {
            let path = self.shelf.path(place);
            let at = |error| error::reading(error, &path);
            let Some(file) = places::open_to_read(&path).map_err(at)? else {
                continue;
            };
            let name = segment_name(place);
            if raw(&file, &name, offset, end, take).map_err(at)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Hands a fact over that was not handed over yet.
    fn fact(
        &self,
        seq: Seq,
        text: &[u8],
        seen: &mut HashSet<(Seq, u32)>,
        take: Take<'_>,
    ) -> ControlFlow<()> {
        // A unit may hold facts on both sides of the position, and a fact may stand twice.
        let wanted = seq > self.after && seen.insert((seq, crc32c::crc32c(text)));
        match wanted {
            true => take(Remains::Fact(text)),
            false => ControlFlow::Continue(()),
        }
    }

    /// The units of the session that are sound, and its damaged bytes, each with their end.
    #[expect(
        clippy::type_complexity,
        reason = "it is taken apart where it is asked for"
    )]
    fn find(&self) -> Result<(Vec<Sound>, BTreeMap<(Place, u64), u64>), StoreError> {
        let (key, places) = (Key::of(self.session), self.shelf.places());
        let (mut sound, mut damaged) = (Vec::new(), BTreeMap::new());
        let folder = places.lanes();
        for place in places
            .list_all()
            .map_err(|error| error::reading(error, &folder))?
        {
            let path = places.segment(place);
            let at = |error| error::reading(error, &path);
            let Some(file) = places::open_to_read(&path).map_err(at)? else {
                continue;
            };
            each_unit(&file, place, &mut |offset, head, unit| {
                if head.erased || head.key != key || head.last() <= self.after {
                    return;
                }
                if format::read_held(head, unit).is_none() {
                    damaged.insert((place, offset), offset + u64::from(head.len));
                    return;
                }
                sound.push(Sound {
                    first: head.first,
                    place,
                    offset,
                    len: head.len,
                });
            })
            .map_err(at)?;
        }
        let stands: HashSet<(Place, u64)> =
            sound.iter().map(|unit| (unit.place, unit.offset)).collect();
        for (place, damage) in self.shelf.standing(self.session)?.damages {
            let at = (place, damage.offset);
            if damage.half.is_some() && !stands.contains(&at) {
                damaged.entry(at).or_insert(damage.end);
            }
        }
        sound.sort_unstable();
        Ok((sound, damaged))
    }
}

/// The name of a segment's file in the folder of the store.
pub(crate) fn segment_name(place: Place) -> String {
    format!("lanes/{:04x}/{:08x}.seg", place.lane, place.number)
}

/// Hands bytes of a file over as they stand.
pub(crate) fn raw(
    file: &dyn LogFile,
    name: &str,
    from: u64,
    to: u64,
    take: Take<'_>,
) -> io::Result<ControlFlow<()>> {
    let mut at = from;
    while at < to {
        let size = usize::try_from((to - at).min(PIECE)).unwrap_or_default();
        let mut bytes = vec![0; size];
        let read = read_full_at(file, &mut bytes, at)?;
        bytes.truncate(read);
        let piece = Remains::Damaged {
            file: name,
            offset: at,
            bytes: &bytes,
        };
        if read == 0 {
            break;
        }
        if take(piece).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        at += read as u64;
    }
    Ok(ControlFlow::Continue(()))
}

/// Goes through the units of a segment whose heads are sound, whatever stands between them.
pub(crate) fn each_unit(
    file: &dyn LogFile,
    place: Place,
    take: &mut dyn FnMut(u64, &Head, &[u8]),
) -> io::Result<()> {
    let len = file.len()?;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    let read = read_full_at(file, &mut bytes, 0)?;
    bytes.truncate(read);
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let mut at = FIRST as usize;
    while at <= written {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(head) = format::read_head(place, at as u64, rest) else {
            // Damage: go on at the next unit.
            at += 4;
            continue;
        };
        let size = (head.len as usize).min(rest.len());
        take(at as u64, &head, rest.get(..size).unwrap_or_default());
        at += head.len as usize;
    }
    Ok(())
}
