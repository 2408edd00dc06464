//! The index of a sealed segment, a file beside it. It is a cache: a missing, damaged or foreign
//! one is rebuilt from the segment.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::rc::Rc;

use windlass_core::{Seq, SessionId};

use crate::bytes::{ByteReader, put_summary, put_text, put_varint};
use crate::disk::read_full_at;
use crate::format::{SegmentId, SessionKey};
use crate::paths::{self, StorePaths};
use crate::segment_map::{Extent, SegmentMap, SessionExtents, UnitLocation, UnitRun};

const MAGIC: &[u8; 8] = b"wlindex2";
const FIRST: usize = 64;
const PAGE: usize = 4096;
const ENTRY: usize = 16;
/// Entries of a page; a count and a checksum follow them.
const ENTRIES: usize = (PAGE - 8) / ENTRY;
/// Bytes of the header of a block.
const BLOCK: usize = 16;
/// Bytes to read of a block first; most blocks are smaller.
const GLANCE: usize = 1024;
/// Bytes to read at once of many blocks.
const WINDOW: usize = 64 * 1024;
/// Most bytes of a block that are read. A sparse file may claim any length.
const MOST_BLOCK: u64 = 64 * 1024 * 1024;

/// An index that cannot be used.
#[derive(Debug)]
pub(crate) struct UnusableIndex;

impl From<io::Error> for UnusableIndex {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// Writes the index of a segment.
pub(crate) fn write(paths: &StorePaths, map: &SegmentMap) -> io::Result<()> {
    let Some(bytes) = encode(map) else {
        return Err(io::Error::other("a segment is too large for an index"));
    };
    paths::put(&paths.index(map.segment), &bytes, false)
}

fn encode(map: &SegmentMap) -> Option<Vec<u8>> {
    let mut keys: Vec<&SessionKey> = map.tracks.keys().collect();
    keys.sort_unstable();
    let pages = keys.len().div_ceil(ENTRIES);
    let mut out = Vec::with_capacity(FIRST + pages * PAGE);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&map.segment.writer.to_le_bytes());
    out.extend_from_slice(&map.segment.number.to_le_bytes());
    out.extend_from_slice(&map.end.to_le_bytes());
    out.extend_from_slice(&u32::try_from(pages).ok()?.to_le_bytes());
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out.resize(FIRST + pages * PAGE, 0);
    for (number, keys) in keys.chunks(ENTRIES).enumerate() {
        let mut page = Vec::with_capacity(PAGE);
        for key in keys {
            let at = u32::try_from(out.len()).ok()?;
            page.extend_from_slice(&key.0.to_le_bytes());
            page.extend_from_slice(&at.to_le_bytes());
            page.extend_from_slice(&0_u32.to_le_bytes());
            encode_block(&mut out, map.tracks.get(key)?)?;
        }
        page.resize(PAGE - 8, 0);
        page.extend_from_slice(&u32::try_from(keys.len()).ok()?.to_le_bytes());
        let crc = crc32c::crc32c(&page);
        page.extend_from_slice(&crc.to_le_bytes());
        let from = FIRST + number * PAGE;
        out.get_mut(from..from + PAGE)?.copy_from_slice(&page);
    }
    Some(out)
}

fn encode_block(out: &mut Vec<u8>, track: &SessionExtents) -> Option<()> {
    let (mut heads, mut units) = (Vec::new(), Vec::new());
    put_text(&mut heads, track.id.as_str());
    put_varint(&mut heads, track.runs.len() as u64);
    for UnitRun { extent, units: of_run } in &track.runs {
        put_varint(&mut heads, extent.base.0);
        heads.extend_from_slice(&extent.base_link.0);
        put_summary(&mut heads, extent.base_summary.as_ref());
        put_varint(&mut heads, extent.last.0);
        heads.extend_from_slice(&extent.link.0);
        put_summary(&mut heads, extent.summary());
        put_varint(&mut heads, extent.bytes);
        put_varint(&mut heads, u64::from(extent.start));
        put_varint(&mut heads, u64::from(extent.latest));
        put_varint(&mut units, of_run.len() as u64);
        let mut end = 0;
        for unit in of_run {
            put_varint(&mut units, (u64::from(unit.offset) - end) / 4);
            put_varint(&mut units, u64::from(unit.len) / 4);
            put_varint(&mut units, u64::from(unit.count));
            end = unit.end();
        }
    }
    for part in [&heads, &units] {
        out.extend_from_slice(&u32::try_from(part.len()).ok()?.to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(part).to_le_bytes());
    }
    out.extend_from_slice(&heads);
    out.extend_from_slice(&units);
    Some(())
}

/// An open index file.
pub(crate) struct SegmentIndex {
    file: File,
    pages: u64,
    /// Bytes of the file, at most those of a block.
    most: u64,
    /// Pages that were read, for the next session that is looked up.
    read: RefCell<BTreeMap<u64, Rc<[KeyEntry]>>>,
}

/// Key of a session and the offset of its block.
type KeyEntry = (SessionKey, u64);

/// A session in a segment, without its units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) id: SessionId,
    pub(crate) extents: Vec<Extent>,
}

impl SegmentIndex {
    /// Opens the index of a segment with a file of `len` bytes.
    pub(crate) fn open(
        paths: &StorePaths,
        place: SegmentId,
        len: u64,
    ) -> Result<Self, UnusableIndex> {
        let file = paths::open_to_read(&paths.index(place))?.ok_or(UnusableIndex)?;
        let mut head = [0; FIRST];
        read_full_at(&file, &mut head, 0)?;
        let mut taker = ByteReader(&head);
        let fits = taker.array() == Some(*MAGIC)
            && taker.u16() == Some(place.writer)
            && taker.u32() == Some(place.number)
            && taker.u64() == Some(len);
        let pages = taker.u32().filter(|_| fits).ok_or(UnusableIndex)?;
        let crc = crc32c::crc32c(head.get(..26).unwrap_or_default());
        if taker.u32() != Some(crc) {
            return Err(UnusableIndex);
        }
        let most = file.metadata()?.len().min(MOST_BLOCK);
        Ok(Self { file, pages: u64::from(pages), most, read: RefCell::default() })
    }

    /// Finds a session.
    pub(crate) fn find(&self, key: SessionKey) -> Result<Option<IndexEntry>, UnusableIndex> {
        let Some(at) = self.place_of(key)? else {
            return Ok(None);
        };
        let (heads, _) = self.block(at, &self.bytes(at, GLANCE)?, false)?;
        read_heads(&heads).map(Some).ok_or(UnusableIndex)
    }

    /// Reads the units of one extent of a session.
    pub(crate) fn units(
        &self,
        key: SessionKey,
        extent: usize,
    ) -> Result<Vec<UnitLocation>, UnusableIndex> {
        let runs = self.runs(key)?;
        runs.into_iter().nth(extent).map(|run| run.units).ok_or(UnusableIndex)
    }

    /// Reads the extents of a session with their units; none if the segment has none of it.
    pub(crate) fn runs(&self, key: SessionKey) -> Result<Vec<UnitRun>, UnusableIndex> {
        let Some(at) = self.place_of(key)? else {
            return Ok(Vec::new());
        };
        let (heads, units) = self.block(at, &self.bytes(at, GLANCE)?, true)?;
        let entry = read_heads(&heads).ok_or(UnusableIndex)?;
        let mut taker = ByteReader(&units);
        let runs = entry.extents.into_iter().map(|extent| {
            let units = read_units(&mut taker, &extent).ok_or(UnusableIndex)?;
            Ok(UnitRun { extent, units })
        });
        runs.collect()
    }

    /// Reads all sessions.
    pub(crate) fn all(&self) -> Result<Vec<(SessionKey, IndexEntry)>, UnusableIndex> {
        let mut all = Vec::new();
        let (mut start, mut window) = (0, Vec::new());
        for page in 0..self.pages {
            for (key, at) in self.read_page(page)? {
                // Blocks follow one another in the order of the keys.
                if at < start || at + GLANCE as u64 > start + window.len() as u64 {
                    (start, window) = (at, self.bytes(at, WINDOW)?);
                }
                let from = usize::try_from(at - start).unwrap_or(usize::MAX);
                let (heads, _) = self.block(at, window.get(from..).unwrap_or_default(), false)?;
                all.push((key, read_heads(&heads).ok_or(UnusableIndex)?));
            }
        }
        Ok(all)
    }

    fn place_of(&self, key: SessionKey) -> Result<Option<u64>, UnusableIndex> {
        if self.pages == 0 {
            return Ok(None);
        }
        // Keys are hashes, so where one stands among them can be guessed well.
        let guess = (u128::from(key.0) * u128::from(self.pages)) >> 64;
        let mut at = u64::try_from(guess).unwrap_or(0).min(self.pages - 1);
        let (mut low, mut high) = (0, self.pages);
        while low < high {
            let page = self.page(at)?;
            let (Some(first), Some(last)) = (page.first(), page.last()) else {
                return Err(UnusableIndex);
            };
            if key < first.0 {
                high = at;
                at = at.saturating_sub(1);
            } else if key > last.0 {
                low = at + 1;
                at += 1;
            } else {
                let found = page.binary_search_by_key(&key, |entry| entry.0);
                let found = found.ok().and_then(|at| page.get(at));
                return Ok(found.map(|entry| entry.1));
            }
        }
        Ok(None)
    }

    fn page(&self, number: u64) -> Result<Rc<[KeyEntry]>, UnusableIndex> {
        if let Some(page) = self.read.borrow().get(&number) {
            return Ok(page.clone());
        }
        let page: Rc<[KeyEntry]> = self.read_page(number)?.into();
        self.read.borrow_mut().insert(number, page.clone());
        Ok(page)
    }

    fn read_page(&self, number: u64) -> Result<Vec<KeyEntry>, UnusableIndex> {
        let mut page = [0; PAGE];
        let read = read_full_at(&self.file, &mut page, FIRST as u64 + number * PAGE as u64)?;
        let (held, crc) = page.split_at(PAGE - 4);
        if read != PAGE || ByteReader(crc).u32() != Some(crc32c::crc32c(held)) {
            return Err(UnusableIndex);
        }
        let (entries, count) = held.split_at(PAGE - 8);
        let count = ByteReader(count).u32().ok_or(UnusableIndex)? as usize;
        let mut taker = ByteReader(entries);
        let mut page = Vec::with_capacity(count.min(ENTRIES));
        for _ in 0..count.min(ENTRIES) {
            let key = SessionKey(taker.u64().ok_or(UnusableIndex)?);
            let at = taker.u32().ok_or(UnusableIndex)?;
            taker.u32();
            page.push((key, u64::from(at)));
        }
        Ok(page)
    }

    /// Reads up to `count` bytes at `at`.
    fn bytes(&self, at: u64, count: usize) -> Result<Vec<u8>, UnusableIndex> {
        let mut bytes = vec![0; count];
        let read = read_full_at(&self.file, &mut bytes, at)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Reads the block at `at`, of which the first bytes are at hand, with its units if asked for.
    fn block(
        &self,
        at: u64,
        glance: &[u8],
        with_units: bool,
    ) -> Result<(Vec<u8>, Vec<u8>), UnusableIndex> {
        let mut taker = ByteReader(glance);
        let heads_len = taker.u32().ok_or(UnusableIndex)? as usize;
        let heads_crc = taker.u32().ok_or(UnusableIndex)?;
        let units_len = taker.u32().ok_or(UnusableIndex)? as usize;
        let units_crc = taker.u32().ok_or(UnusableIndex)?;
        if (heads_len + units_len) as u64 > self.most {
            return Err(UnusableIndex);
        }
        let heads = self.part(glance, at, BLOCK, heads_len, heads_crc)?;
        let units = match with_units {
            true => self.part(glance, at, BLOCK + heads_len, units_len, units_crc)?,
            false => Vec::new(),
        };
        Ok((heads, units))
    }

    /// Returns a part of a block, from the bytes read first or from the file.
    fn part(
        &self,
        glance: &[u8],
        at: u64,
        from: usize,
        len: usize,
        crc: u32,
    ) -> Result<Vec<u8>, UnusableIndex> {
        let part = match glance.get(from..from + len) {
            Some(part) => part.to_vec(),
            None => self.bytes(at + from as u64, len)?,
        };
        let sound = part.len() == len && crc32c::crc32c(&part) == crc;
        sound.then_some(part).ok_or(UnusableIndex)
    }
}

fn read_heads(heads: &[u8]) -> Option<IndexEntry> {
    let mut taker = ByteReader(heads);
    let id = SessionId::new(taker.text()?).ok()?;
    let count = usize::try_from(taker.varint()?).ok()?;
    let mut extents = Vec::with_capacity(count.min(heads.len()));
    for _ in 0..count {
        extents.push(Extent {
            base: Seq(taker.varint()?),
            base_link: taker.link()?,
            base_summary: taker.summary()?,
            last: Seq(taker.varint()?),
            link: taker.link()?,
            summary: taker.summary()?,
            bytes: taker.varint()?,
            start: taker.varint32()?,
            latest: taker.varint32()?,
        });
    }
    Some(IndexEntry { id, extents })
}

fn read_units(taker: &mut ByteReader<'_>, of: &Extent) -> Option<Vec<UnitLocation>> {
    let count = usize::try_from(taker.varint()?).ok()?;
    let mut units = Vec::with_capacity(count.min(taker.0.len()));
    let mut end = 0_u64;
    let mut last = of.base;
    for _ in 0..count {
        let offset = end.checked_add(taker.varint()?.checked_mul(4)?)?;
        let len = taker.varint32()?.checked_mul(4)?;
        let count = taker.varint32()?;
        let unit =
            UnitLocation { offset: u32::try_from(offset).ok()?, len, first: last.next(), count };
        last = last.plus(u64::from(count));
        end = unit.end();
        units.push(unit);
    }
    (last == of.last).then_some(units)
}
