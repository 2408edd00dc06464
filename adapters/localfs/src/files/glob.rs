//! `glob`: the files whose names match a pattern.

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::name_pattern::NamePattern;
use super::{FileToolContext, list, shown_prefix, walk_remarks};
use crate::fault::CallFailure;
use crate::ignore_rules::{IgnoreRules, IgnoredFiles};
use crate::open;
use crate::root::MissingFolders;
use crate::text::{name, push_line};
use crate::walk::FolderWalk;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GlobArguments {
    pattern: String,
    #[serde(default = "list::here")]
    path: String,
    #[serde(default)]
    include_ignored: bool,
}

pub(super) fn run(
    arguments: &GlobArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let pattern = NamePattern::new(&arguments.pattern)?;
    let place = bench.root.resolve(&arguments.path, MissingFolders::Refuse)?;
    let folder = open::folder(&place)?;
    let ignored = IgnoredFiles::asked(arguments.include_ignored);
    let found = FolderWalk {
        folder: folder.into(),
        rules: IgnoreRules::of(bench.root, &arguments.path, ignored)?,
        wanted: &|path, _| pattern.fits(path),
        stop: bench.stop,
    }
    .run();
    let prefix = shown_prefix(&arguments.path);
    let mut text = String::new();
    let mut shown = 0;
    for path in &found.files {
        let line = format!("{prefix}{}\n", name(path));
        if shown >= bench.config.entries || text.len() + line.len() > bench.config.room() {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    if let Some(halt) = found.halt {
        return Ok(halt.observation(text));
    }
    if found.files.is_empty() {
        text.push_str("[no file matches]");
    } else if shown < found.files.len() {
        let more = found.files.len() - shown;
        push_line(&mut text, &format!("[{more} more files match; narrow the pattern or the path]"));
    }
    walk_remarks(&mut text, &found);
    Ok(Observation::new(ObservationStatus::Done, text))
}
