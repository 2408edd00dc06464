//! Disk: one file with its page cache. What is written is in the cache; what is synced survives a
//! loss of power; of the rest, any part does.

use super::dice::Dice;

/// A file that is appended to.
#[derive(Debug, Default, Clone)]
pub(super) struct File {
    /// What the platters hold.
    synced: Vec<u8>,
    /// What a reader sees.
    cache: Vec<u8>,
    /// Which bytes of the cache are still to be written out. A sync that failed forgets them: the
    /// next one has nothing to write and answers that all is well, as operating systems do.
    dirty: Vec<bool>,
}

/// How much of what was not synced a loss of power leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// All of it.
    All,
    /// None of it.
    None,
    /// Its beginning.
    Start,
    /// Some sectors.
    Sectors,
    /// Some bytes.
    Bytes,
}

impl Left {
    pub(super) const ALL: [Self; 5] =
        [Self::All, Self::None, Self::Start, Self::Sectors, Self::Bytes];
}

/// Bytes of a sector. Small, so that a fact lies in several.
const SECTOR: usize = 32;

impl File {
    /// What a reader sees.
    pub(super) fn seen(&self) -> &[u8] {
        &self.cache
    }

    /// Writes into the cache.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.cache.len() < end {
            self.cache.resize(end, 0);
            self.dirty.resize(end, true);
        }
        let cells = self.cache.iter_mut().zip(&mut self.dirty).skip(offset);
        for ((cell, dirty), byte) in cells.zip(bytes) {
            (*cell, *dirty) = (*byte, true);
        }
    }

    /// Cuts the file off, in the cache.
    pub(super) fn truncate(&mut self, len: usize) {
        self.cache.truncate(len);
        self.dirty.truncate(len);
    }

    /// Writes out what is to be written.
    pub(super) fn sync(&mut self) {
        self.synced.resize(self.cache.len(), 0);
        let cells = self.synced.iter_mut().zip(&self.cache).zip(&mut self.dirty);
        for ((to, from), dirty) in cells {
            if std::mem::take(dirty) {
                *to = *from;
            }
        }
    }

    /// Writes out some of it, fails, and forgets the rest.
    pub(super) fn fail_to_sync(&mut self, dice: &mut Dice) {
        let left = dice.pick(&Left::ALL).copied().unwrap_or(Left::None);
        self.synced = self.image(left, dice);
        self.dirty.fill(false);
    }

    /// Loses power.
    pub(super) fn lose_power(&mut self, left: Left, dice: &mut Dice) {
        self.synced = self.image(left, dice);
        self.cache = self.synced.clone();
        self.dirty = vec![false; self.cache.len()];
    }

    /// Returns true if a loss of power could lose something.
    pub(super) fn is_dirty(&self) -> bool {
        self.synced != self.cache
    }

    /// What the platters hold after a part of what was to be written has reached them. A byte that
    /// has not is what it was before, and zero where there was none.
    fn image(&self, left: Left, dice: &mut Dice) -> Vec<u8> {
        let kept = self.kept(left, dice);
        let mut image = self.synced.clone();
        let reach = kept.iter().rposition(|kept| *kept).map_or(0, |at| at + 1);
        if self.cache.len() < self.synced.len() {
            // Cut off, and that is a change of its own which may be lost.
            if left == Left::All || (left != Left::None && dice.chance(500)) {
                image.truncate(self.cache.len());
            }
        } else {
            let least = reach.max(self.synced.len());
            let most = self.cache.len();
            let len = match left {
                Left::All => most,
                Left::None | Left::Start | Left::Sectors | Left::Bytes => match dice.below(3) {
                    0 => most,
                    1 => least + dice.below(most - least + 1),
                    _ => least,
                },
            };
            image.resize(len, 0);
        }
        let cells = image.iter_mut().zip(&self.cache).zip(&kept);
        for ((to, from), kept) in cells {
            if *kept {
                *to = *from;
            }
        }
        image
    }

    /// Which bytes of the cache reach the platters.
    fn kept(&self, left: Left, dice: &mut Dice) -> Vec<bool> {
        let count = self.dirty.iter().filter(|dirty| **dirty).count();
        let start = dice.below(count + 1);
        let (mut seen, mut sector) = (0, (usize::MAX, false));
        let mut keep = |at: usize| {
            seen += 1;
            match left {
                Left::All => true,
                Left::None => false,
                Left::Start => seen <= start,
                Left::Sectors => {
                    if sector.0 != at / SECTOR {
                        sector = (at / SECTOR, dice.chance(500));
                    }
                    sector.1
                }
                Left::Bytes => dice.chance(900),
            }
        };
        let dirty = self.dirty.iter().enumerate();
        dirty.map(|(at, dirty)| *dirty && keep(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_synced_survives_and_of_the_rest_any_part() {
        let mut images = std::collections::BTreeSet::new();
        for seed in 0..400 {
            let mut dice = Dice::new(seed);
            let mut file = File::default();
            file.write(0, b"synced");
            file.sync();
            file.write(6, b"abc");
            assert_eq!(file.seen(), b"syncedabc");
            let left = *dice.pick(&Left::ALL).unwrap();
            file.lose_power(left, &mut dice);
            assert!(file.seen().starts_with(b"synced"));
            images.insert(file.seen()[6..].to_vec());
        }
        for image in [&b""[..], b"abc", b"a", b"ab\0", b"\0bc", b"\0\0c", b"\0\0\0"] {
            assert!(images.contains(image), "{image:?} of {images:?}");
        }
    }

    #[test]
    fn a_sync_after_one_that_failed_tells_a_lie() {
        let lost = (0..50).filter(|seed| {
            let mut dice = Dice::new(*seed);
            let mut file = File::default();
            file.write(0, b"abc");
            file.fail_to_sync(&mut dice);
            assert_eq!(file.seen(), b"abc", "a reader sees it");
            file.sync();
            file.lose_power(Left::All, &mut dice);
            file.seen() != b"abc"
        });
        assert!(lost.count() > 10);
    }

    #[test]
    fn what_is_written_again_is_synced() {
        let mut dice = Dice::new(1);
        let mut file = File::default();
        file.write(0, b"abc");
        file.fail_to_sync(&mut dice);
        file.write(0, b"abc");
        file.sync();
        file.lose_power(Left::None, &mut dice);
        assert_eq!(file.seen(), b"abc");
    }
}
