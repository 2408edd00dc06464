//! Images of a disk after a loss of power.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::Recording;
use super::change::{Change, Names, Node, ROOT, put};
use super::disk::{Content, Disk, Overlooked};

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What may be found after a loss of power.
#[derive(Debug, Clone)]
pub struct Image {
    /// How many steps of the recording were done.
    pub step: usize,
    /// What the journal said then.
    pub acknowledged: Vec<u8>,
    /// By path; `None` is a folder.
    pub(super) files: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

/// The images of a recording, in the order of time.
#[derive(Debug)]
pub struct Images<'a> {
    recording: &'a Recording,
    disk: Disk<'a>,
    done: usize,
    /// The steps after which power is lost, the last first.
    cuts: Vec<usize>,
    dice: Dice,
}

impl<'a> Images<'a> {
    pub(super) fn new(recording: &'a Recording, seed: u64, count: usize) -> Self {
        let mut dice = Dice(seed);
        let steps = recording.steps.len() as u64 + 1;
        let cut = |_| usize::try_from(dice.below(steps)).unwrap_or_default();
        let mut cuts: Vec<_> = (0..count).map(cut).collect();
        cuts.sort_unstable_by(|one, other| other.cmp(one));
        Self { recording, disk: recording.disk(), done: 0, cuts, dice }
    }

    fn image(&mut self) -> Image {
        let Self { disk, dice, .. } = self;
        let fate = Fate::draw(dice);
        let mut names = Dice(dice.next());
        let content =
            disk.found(|| fate.keeps(&mut names), |change, bytes| fate.put(change, bytes, dice));
        Image { step: self.done, acknowledged: disk.acknowledged.clone(), files: tree(&content) }
    }
}

impl Iterator for Images<'_> {
    type Item = Result<Image, Overlooked>;

    fn next(&mut self) -> Option<Self::Item> {
        let cut = self.cuts.pop()?;
        while self.done < cut {
            let step = self.recording.steps.get(self.done).copied()?;
            if let Err(error) = self.disk.step(step) {
                return Some(Err(error));
            }
            self.done += 1;
        }
        Some(Ok(self.image()))
    }
}

impl Image {
    /// Writes it into a folder, which is made and must not be there yet.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        // A folder comes before what is in it.
        for (path, content) in &self.files {
            let path = folder.join(path);
            match content {
                None => fs::create_dir(path)?,
                Some(bytes) => write_sparse(&path, bytes)?,
            }
        }
        Ok(())
    }
}

/// What is there of the changes that were not synced.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Nothing,
    All,
    /// Each by chance.
    Whole,
    /// Each sector by chance.
    Torn,
}

impl Fate {
    fn draw(dice: &mut Dice) -> Self {
        match dice.below(6) {
            0 => Self::Nothing,
            1 => Self::All,
            2 | 3 => Self::Whole,
            _ => Self::Torn,
        }
    }

    fn keeps(self, dice: &mut Dice) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::Whole | Self::Torn => dice.below(2) == 0,
        }
    }

    fn put(self, change: &Change, to: &mut Vec<u8>, dice: &mut Dice) {
        match (self, change) {
            (Self::Torn, Change::Write { at, bytes }) => {
                let mut done = 0;
                while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
                    let from = at + done;
                    let sector = rest.len().min(SECTOR - from % SECTOR);
                    if self.keeps(dice) {
                        put(to, from, rest.get(..sector).unwrap_or_default());
                    }
                    done += sector;
                }
            }
            (
                Self::Nothing | Self::All | Self::Whole | Self::Torn,
                Change::Write { .. } | Change::Length(_),
            ) => {
                if self.keeps(dice) {
                    change.apply(to);
                }
            }
        }
    }
}

/// SplitMix64, as in <https://prng.di.unimi.it/splitmix64.c> (public domain).
#[derive(Debug, Clone)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

/// The files that can be reached from the folder. One with two names, as half a rename may leave it,
/// is there twice.
fn tree(content: &Content) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(ROOT, PathBuf::new())];
    while let Some((folder, path)) = folders.pop() {
        for (name, node) in names_in(&content.names, folder) {
            let path = path.join(name);
            let bytes = content.contents.get(&node).cloned().unwrap_or_default();
            // A folder in itself is what no file system leaves.
            if bytes.is_none() && path.components().count() < 64 {
                folders.push((node, path.clone()));
            }
            found.insert(path, bytes);
        }
    }
    found
}

fn names_in(names: &Names, folder: Node) -> impl Iterator<Item = (&String, Node)> {
    let range = names.range((folder, String::new())..(folder + 1, String::new()));
    range.map(|((_, name), node)| (name, *node))
}

/// Holds what a recording makes of a folder against the folder.
pub(super) fn compare(content: &Content, root: &Path) -> Result<(), Overlooked> {
    let recorded = tree(content);
    let mut there = BTreeMap::new();
    read(root, Path::new(""), &mut there)
        .map_err(|error| Overlooked(format!("reading what was left: {error}")))?;
    let names = |files: &BTreeMap<PathBuf, _>| -> Vec<PathBuf> { files.keys().cloned().collect() };
    if names(&recorded) != names(&there) {
        return Err(Overlooked(format!(
            "it makes {:?} and there is {:?}",
            names(&recorded),
            names(&there)
        )));
    }
    for (path, bytes) in &recorded {
        if there.get(path) != Some(bytes) {
            let what = format!("{} is not as it was written", path.display());
            return Err(Overlooked(what));
        }
    }
    Ok(())
}

fn read(
    root: &Path,
    path: &Path,
    found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>,
) -> io::Result<()> {
    for entry in fs::read_dir(root.join(path))? {
        let entry = entry?;
        let path = path.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.insert(path.clone(), None);
            read(root, &path, found)?;
        } else {
            let bytes = fs::read(entry.path())?;
            found.insert(path, Some(bytes));
        }
    }
    Ok(())
}

/// Writes a file with holes where it is zero: databases lay out much that they do not fill.
fn write_sparse(path: &Path, bytes: &[u8]) -> io::Result<()> {
    const BLOCK: usize = 4096;
    const ZEROS: &[u8] = &[0; BLOCK];
    let file = File::create(path)?;
    file.set_len(bytes.len() as u64)?;
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        if !ZEROS.starts_with(block) {
            file.write_all_at(block, (number * BLOCK) as u64)?;
        }
    }
    Ok(())
}
