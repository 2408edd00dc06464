//! `apply_patch`: changes of several files, all of them or none.

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};
use windlass_ports::FileChange;

use super::patched_files::{PatchedFile, PatchedFiles};
use super::{FileToolContext, failure, patch_commit, patch_preview};
use crate::fault::{CallFailure, bounded};
use crate::patch::Patch;
use crate::patch::parse::parse;
use crate::planned::planned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchArguments {
    patch: String,
}

pub(super) fn run(
    arguments: &PatchArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let applied = prepared(arguments, bench).and_then(|patched| {
        patch_commit::commit(&patched, bench)?;
        Ok(patched)
    });
    match applied {
        Ok(patched) => {
            let text = format!("applied the patch:\n{}", list(&patched));
            Ok(bounded(ObservationStatus::Done, &text, bench.config.room()))
        }
        Err(CallFailure::Message(words)) => Ok(failure(&words, bench)),
        Err(halted @ CallFailure::Halted(_)) => Err(halted),
    }
}

/// Says which files would be changed.
pub(super) fn plan(
    arguments: &PatchArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let checked = prepared(arguments, bench).and_then(|patched| {
        patch_commit::check_writable(&patched, bench)?;
        Ok(patched)
    });
    match checked {
        Ok(patched) => {
            let would = format!("apply the patch:\n{}", list(&patched));
            Ok(planned(&would, bench.config.room()))
        }
        Err(CallFailure::Message(words)) => Ok(failure(&words, bench)),
        Err(halted @ CallFailure::Halted(_)) => Err(halted),
    }
}

/// Returns what would be changed.
pub(super) fn preview(
    arguments: &PatchArguments,
    bench: &FileToolContext<'_>,
) -> Option<FileChange> {
    patch_preview::change(&prepared(arguments, bench).ok()?)
}

/// Returns the paths that the patch of a call names. None if it does not read.
pub(super) fn paths(arguments: &PatchArguments) -> Vec<String> {
    let patch = parse(&arguments.patch);
    patch.iter().flat_map(Patch::paths).map(str::to_owned).collect()
}

fn prepared(
    arguments: &PatchArguments,
    bench: &FileToolContext<'_>,
) -> Result<PatchedFiles, CallFailure> {
    let patch = parse(&arguments.patch).map_err(|fault| {
        CallFailure::Message(format!("the patch does not read: {fault}; nothing was changed"))
    })?;
    PatchedFiles::of(&patch, bench)
}

/// Lists the files with a letter each: added, modified, deleted, or as they were.
fn list(patched: &PatchedFiles) -> String {
    let line = |file: &PatchedFile| {
        let (mark, note) = match (&file.already, &file.before, &file.after) {
            (Some(_), _, _) => ("=", " (already so)"),
            (None, None, Some(_)) => ("A", ""),
            (None, Some(_), Some(_)) => ("M", ""),
            (None, _, None) => ("D", ""),
        };
        format!("{mark} {}{note}\n", file.path)
    };
    patched.files.iter().map(line).collect()
}
