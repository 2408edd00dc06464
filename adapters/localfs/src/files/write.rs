//! `write_file`: a file's whole content, new or in place of the old.

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::Bench;
use crate::fault::{Fault, said};
use crate::open;
use crate::planned::planned;
use crate::put::{Put, put, writable};
use crate::root::{Ahead, Missing};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    content: String,
}

pub(super) fn run(arguments: &Arguments, bench: &Bench<'_>) -> Result<Observation, Fault> {
    let Arguments { path, content } = arguments;
    check(content, bench)?;
    let place = bench.root.find(path, Missing::Create)?;
    let before = open::target(&place)?;
    let done = if before.is_some() {
        "replaced"
    } else {
        "created"
    };
    put(&Put {
        place: &place,
        content: content.as_bytes(),
        before,
        unchanged: false,
        key: bench.key,
        stop: bench.stop,
    })?;
    Ok(said(
        ObservationStatus::Done,
        format!("{done} `{path}` ({} bytes)", content.len()),
    ))
}

/// Says what would be written where.
pub(super) fn plan(arguments: &Arguments, bench: &Bench<'_>) -> Result<Observation, Fault> {
    let Arguments { path, content } = arguments;
    check(content, bench)?;
    let size = content.len();
    let would = match bench.root.foresee(path)? {
        Ahead::There(place) => match open::target(&place)? {
            Some(before) => {
                writable(&place, &before)?;
                format!(
                    "replace `{path}`: {} bytes by {size} bytes.",
                    before.st_size
                )
            }
            None => format!("create `{path}` with {size} bytes."),
        },
        Ahead::Beyond(1) => format!("create `{path}` with {size} bytes, and its folder."),
        Ahead::Beyond(folders) => {
            format!("create `{path}` with {size} bytes, and {folders} folders on its path.")
        }
    };
    Ok(planned(&would, bench.config.room()))
}

fn check(content: &str, bench: &Bench<'_>) -> Result<(), Fault> {
    let most = bench.config.file_bytes;
    if content.len() as u64 > most {
        return Err(Fault::Said(format!(
            "the content has {} bytes, the limit is {most}: write it in parts with the shell",
            content.len()
        )));
    }
    Ok(())
}
