//! `grep`: the lines of files that a regular expression matches, in linear time and in parallel.

use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use rustix::fs::FileType;
use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::grep_file::{FileGrep, FileMatches, GrepLines};
use super::grep_files::GrepFiles;
use super::name_pattern::NamePattern;
use super::{FileToolContext, list, shown_prefix, walk_remarks};
use crate::fault::CallFailure;
use crate::ignore_rules::{IgnoreRules, IgnoredFiles};
use crate::open::{self, OpenEntry};
use crate::root::MissingFolders;
use crate::text::{name, push_line};
use crate::walk::{FolderWalk, WalkedFiles};

/// Most lines of context before and after a match.
const CONTEXT: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrepArguments {
    pattern: String,
    #[serde(default = "list::here")]
    path: String,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    files_only: bool,
    #[serde(default)]
    include_ignored: bool,
}

pub(super) fn run(
    arguments: &GrepArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let matcher = matcher(arguments)?;
    let pattern = arguments.glob.as_deref().map(NamePattern::new).transpose()?;
    let lines = match arguments.files_only {
        true => GrepLines::FirstOnly,
        false => GrepLines::WithContext(arguments.context.min(CONTEXT)),
    };
    // One more than is shown tells whether there are more.
    let most = bench.config.matches.max(1).saturating_add(1);
    let grep = FileGrep { matcher: &matcher, lines, most, stop: bench.stop };
    let place = bench.root.resolve(&arguments.path, MissingFolders::Refuse)?;
    let found = match open::either(&place)? {
        OpenEntry::File(file) => {
            let mut found = Found { searched: 1, ..Found::default() };
            match grep.file(file) {
                Ok(matches) => found.add(arguments.path.clone(), matches),
                Err(halt) => found.walked.halt = Some(halt),
            }
            found
        }
        OpenEntry::Folder(folder) => {
            let folder = Arc::new(folder);
            let ignored = IgnoredFiles::asked(arguments.include_ignored);
            let wanted = |path: &[u8], kind| {
                kind == FileType::RegularFile && pattern.as_ref().is_none_or(|it| it.fits(path))
            };
            let rules = IgnoreRules::of(bench.root, &arguments.path, ignored)?;
            let (start, stop) = (folder.clone(), bench.stop);
            let walked = FolderWalk { folder: start, rules, wanted: &wanted, stop }.run();
            let searched = GrepFiles::new(folder, &walked.files, grep).run();
            let left_out = WalkedFiles {
                files: Vec::new(),
                unread: walked.unread + searched.unread,
                halt: walked.halt.or(searched.halt),
                ..walked
            };
            let mut found = Found { files: Vec::new(), searched: searched.texts, walked: left_out };
            let prefix = shown_prefix(&arguments.path);
            for (path, matches) in searched.found {
                found.add(format!("{prefix}{}", name(path)), matches);
            }
            found
        }
    };
    Ok(found.report(arguments, bench))
}

fn matcher(arguments: &GrepArguments) -> Result<RegexMatcher, CallFailure> {
    RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(1 << 20)
        .build(&arguments.pattern)
        .map_err(|error| {
            CallFailure::Message(format!(
                "the pattern does not read: {error}; it is a regular expression for one line, \
                 without look-around and back-references, escape what is meant literally"
            ))
        })
}

/// Matches in all files.
#[derive(Default)]
struct Found {
    files: Vec<(String, FileMatches)>,
    /// Number of text files that were searched.
    searched: u64,
    walked: WalkedFiles,
}

impl Found {
    fn add(&mut self, path: String, matches: FileMatches) {
        self.walked.unread += u64::from(matches.unread);
        if !matches.lines.is_empty() {
            self.files.push((path, matches));
        }
    }

    fn report(self, arguments: &GrepArguments, bench: &FileToolContext<'_>) -> Observation {
        let mut page = Page { text: String::new(), room: bench.config.room(), matches: 0 };
        let most = bench.config.matches.max(1);
        let whole = match arguments.files_only {
            true => self.files.iter().all(|(path, _)| page.matches < most && page.file(path)),
            false => self.files.iter().all(|(path, found)| page.lines(path, found, most)),
        };
        let Page { mut text, matches, .. } = page;
        if let Some(halt) = self.walked.halt {
            return halt.observation(text);
        }
        if matches == 0 && whole {
            text = format!("[no line in {} text files matches]", self.searched);
        }
        if !whole {
            let note = format!(
                "[stopped after {matches} matches; there are more: narrow the pattern, the path \
                 or `glob`]"
            );
            push_line(&mut text, &note);
        }
        walk_remarks(&mut text, &self.walked);
        Observation::new(ObservationStatus::Done, text)
    }
}

/// Lines as far as they have room.
struct Page {
    text: String,
    room: usize,
    matches: usize,
}

impl Page {
    /// Adds the name of a file; returns false without room.
    fn file(&mut self, path: &str) -> bool {
        let shown = self.push(&format!("{path}\n"));
        self.matches += usize::from(shown);
        shown
    }

    /// Adds the lines of a file; returns false if one is left out.
    fn lines(&mut self, path: &str, found: &FileMatches, most: usize) -> bool {
        for line in &found.lines {
            if line.after_gap && !self.text.is_empty() && !self.push("--\n") {
                return false;
            }
            if line.matches && self.matches >= most {
                return false;
            }
            let mark = if line.matches { ':' } else { '-' };
            if !self.push(&format!("{path}{mark}{}{mark} {}\n", line.number, line.text)) {
                return false;
            }
            self.matches += usize::from(line.matches);
        }
        true
    }

    fn push(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() <= self.room;
        if fits {
            self.text.push_str(line);
        }
        fits
    }
}
