//! `list_dir`: what is in a folder, sorted, as deep as asked.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, FileType, readlinkat, statat};
use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::{FileToolContext, IGNORED};
use crate::fault::CallFailure;
use crate::ignore_rules::{IgnoreRules, IgnoredFiles};
use crate::open::{self, kind_name};
use crate::root::{MissingFolders, folder_at};
use crate::text::{name, push_line};
use crate::tree::entries;

/// Depth of the deepest listing.
const DEEPEST: u32 = 16;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArguments {
    #[serde(default = "here")]
    path: String,
    #[serde(default = "one")]
    depth: u32,
    #[serde(default)]
    include_ignored: bool,
}

pub(super) fn here() -> String {
    String::from(".")
}

fn one() -> u32 {
    1
}

pub(super) fn run(
    arguments: &ListArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let place = bench.root.resolve(&arguments.path, MissingFolders::Refuse)?;
    let folder = open::folder(&place)?;
    let left = bench.config.entries.max(1);
    let mut listing = FolderLister { bench, text: String::new(), left, cut: false, ignored: 0 };
    let depth = arguments.depth.clamp(1, DEEPEST);
    let ignored = IgnoredFiles::asked(arguments.include_ignored);
    let rules = IgnoreRules::of(bench.root, &arguments.path, ignored)?;
    match listing.folder(&folder, &rules, &arguments.path, "", depth) {
        Ok(()) => {}
        Err(CallFailure::Halted(halt)) => return Ok(halt.observation(listing.text)),
        Err(fault @ CallFailure::Message(_)) => return Err(fault),
    }
    if listing.text.is_empty() && !listing.cut && listing.ignored == 0 {
        listing.text.push_str("[the folder is empty]");
    }
    if listing.cut {
        push_line(
            &mut listing.text,
            "[not all entries are shown; list a folder below, or use a smaller depth]",
        );
    }
    if listing.ignored > 0 {
        push_line(&mut listing.text, &format!("[{} {IGNORED}]", listing.ignored));
    }
    Ok(Observation::new(ObservationStatus::Done, listing.text))
}

struct FolderLister<'a> {
    bench: &'a FileToolContext<'a>,
    text: String,
    left: usize,
    cut: bool,
    /// Number of entries that the rules leave out.
    ignored: u64,
}

impl FolderLister<'_> {
    fn folder(
        &mut self,
        folder: &OwnedFd,
        rules: &IgnoreRules,
        shown: &str,
        prefix: &str,
        depth: u32,
    ) -> Result<(), CallFailure> {
        let found = entries(folder, shown, self.left, rules, self.bench.stop)?;
        self.ignored = self.ignored.saturating_add(found.ignored);
        for (entry, kind) in &found.entries {
            self.bench.stop.check()?;
            let path = format!("{prefix}{}", name(entry));
            let entry = OsStr::from_bytes(entry);
            if self.left == 0 || !self.line(&format!("{path}{}", suffix(folder, entry, *kind))) {
                self.cut = true;
                return Ok(());
            }
            self.left -= 1;
            if *kind == FileType::Directory && depth > 1 && entry != ".git" {
                self.below(folder, rules, entry, &path, depth - 1)?;
            }
        }
        if found.more > 0 {
            self.cut = true;
            self.line(&format!("{prefix}[... {} more entries]", found.more));
        }
        Ok(())
    }

    /// Adds a line, if there is room for it.
    fn line(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < self.bench.config.room();
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
        }
        fits
    }

    /// Lists a folder below. One that cannot be read is said and does not end the listing.
    fn below(
        &mut self,
        folder: &OwnedFd,
        rules: &IgnoreRules,
        entry: &OsStr,
        path: &str,
        depth: u32,
    ) -> Result<(), CallFailure> {
        let listed = match folder_at(folder, entry) {
            Ok(below) => {
                let rules = rules.enter(entry, &below);
                self.folder(&below, &rules, path, &format!("{path}/"), depth)
            }
            Err(errno) => Err(CallFailure::os("list", path, errno)),
        };
        match listed {
            Err(CallFailure::Message(text)) => {
                self.cut |= !self.line(&format!("[{text}]"));
                Ok(())
            }
            listed => listed,
        }
    }
}

/// Suffix of a listed name: a slash, a size, a target or a type.
fn suffix(folder: &OwnedFd, entry: &OsStr, kind: FileType) -> String {
    match kind {
        FileType::Directory => String::from("/"),
        FileType::RegularFile => match statat(folder, entry, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => format!(" ({} bytes)", stat.st_size),
            Err(errno) => format!(" ({errno})"),
        },
        FileType::Symlink => match readlinkat(folder, entry, Vec::new()) {
            Ok(target) => format!(" -> {}", name(target.to_bytes())),
            Err(errno) => format!(" (symbolic link: {errno})"),
        },
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => format!(" ({})", kind_name(kind)),
    }
}
