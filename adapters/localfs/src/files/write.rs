//! `write_file`: a file's whole content, new or in place of the old.

use std::io::Read;

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};
use windlass_ports::FileChange;

use super::FileToolContext;
use super::kept::{self, ContentBefore};
use crate::fault::{CallFailure, message};
use crate::open;
use crate::planned::planned;
use crate::replace::{FileReplacement, writable};
use crate::root::{ForeseenPath, MissingFolders};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteArguments {
    path: String,
    content: String,
}

pub(super) fn run(
    arguments: &WriteArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let WriteArguments { path, content } = arguments;
    check(content, bench)?;
    let place = bench.root.resolve(path, MissingFolders::Create)?;
    let before = open::target(&place)?;
    let done = if before.is_some() { "replaced" } else { "created" };
    let old = before.and_then(|_| kept::read(&place, bench));
    let kept = match (&before, &old) {
        (None, _) => ContentBefore::Absent,
        (Some(_), Some(old)) => ContentBefore::Read(old),
        (Some(stat), None) => ContentBefore::Unread(u64::try_from(stat.st_size).unwrap_or(0)),
    };
    let put = FileReplacement {
        target: &place,
        content: content.as_bytes(),
        before,
        like: None,
        unchanged: false,
        key: bench.key,
        stop: bench.stop,
    };
    kept::replace(&put, kept, bench)?;
    Ok(message(ObservationStatus::Done, format!("{done} `{path}` ({} bytes)", content.len())))
}

/// Says what would be written where.
pub(super) fn plan(
    arguments: &WriteArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let WriteArguments { path, content } = arguments;
    check(content, bench)?;
    let size = content.len();
    let would = match bench.root.resolve_preview(path)? {
        ForeseenPath::Resolved(place) => match open::target(&place)? {
            Some(before) => {
                writable(&place, &before)?;
                format!("replace `{path}`: {} bytes by {size} bytes.", before.st_size)
            }
            None => format!("create `{path}` with {size} bytes."),
        },
        ForeseenPath::InsideMissing(1) => {
            format!("create `{path}` with {size} bytes, and its folder.")
        }
        ForeseenPath::InsideMissing(folders) => {
            format!("create `{path}` with {size} bytes, and {folders} folders on its path.")
        }
    };
    Ok(planned(&would, bench.config.room()))
}

/// Returns what would be written.
pub(super) fn preview(
    arguments: &WriteArguments,
    bench: &FileToolContext<'_>,
) -> Option<FileChange> {
    let before = match bench.root.resolve_preview(&arguments.path).ok()? {
        ForeseenPath::InsideMissing(_) => None,
        ForeseenPath::Resolved(place) => match open::target(&place).ok()? {
            None => None,
            Some(_) => {
                let (file, _) = open::file(&place).ok()?;
                let mut text = String::new();
                file.take(bench.config.file_bytes).read_to_string(&mut text).ok()?;
                Some(text)
            }
        },
    };
    Some(FileChange { before, after: arguments.content.clone() })
}

fn check(content: &str, bench: &FileToolContext<'_>) -> Result<(), CallFailure> {
    let most = bench.config.file_bytes;
    if content.len() as u64 > most {
        return Err(CallFailure::Message(format!(
            "the content has {} bytes, the limit is {most}: write it in parts with the shell",
            content.len()
        )));
    }
    Ok(())
}
