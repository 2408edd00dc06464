//! `windlass show --output`: prints the full output of one call.

use std::io::{self, IsTerminal as _, Write as _};

use windlass_engine::core::{CallId, Fact, Observation, Seq, SessionId};
use windlass_engine::ports::{BlobErrorKind, BlobStore, LogStore};

use super::closed;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_notice, visible};

/// Facts read at once.
const PAGE: usize = 1_000;
/// Bytes read at once.
const PART: usize = 1024 * 1024;

/// Prints the output of a call, in full if it is stored. Reports a missing part on standard error.
pub(super) async fn output(
    store: &dyn LogStore,
    blobs: &dyn BlobStore,
    session: &SessionId,
    call: CallId,
) -> Result<ExitKind, Failure> {
    let Some(seen) = observation(store, session, call).await? else {
        let words = format!(
            "session {session} has no call {call} that has ended: `windlass show {session}` \
             numbers them"
        );
        return Err(Failure::new(ExitKind::Usage, words));
    };
    let Some(kept) = &seen.stored_output else {
        if seen.omitted_bytes > 0 {
            let lost = seen.omitted_bytes;
            print_notice(&format!("{lost} bytes of this output were not stored"));
        }
        print(seen.output.as_bytes()).map_err(closed)?;
        return Ok(ExitKind::Completed);
    };
    // Verified as a whole before any of it is printed.
    let checked = blobs.verify(session, &kept.sha256).await;
    checked.map_err(|error| match error.kind {
        BlobErrorKind::NotFound => {
            let words = format!(
                "the output of call {call} is not in this store: it is in the store that the \
                 log was exported from, under the name {}",
                kept.sha256
            );
            Failure::new(ExitKind::Store, words)
        }
        BlobErrorKind::Disabled
        | BlobErrorKind::Full
        | BlobErrorKind::Corrupt
        | BlobErrorKind::Io => Failure::new(ExitKind::Store, error.to_string()),
    })?;
    if kept.bytes < seen.output_bytes {
        let (first, all) = (kept.bytes, seen.output_bytes);
        print_notice(&format!("the first {first} bytes were stored, of {all}"));
    }
    let mut at = 0;
    while at < kept.bytes {
        let part = blobs.read(session, &kept.sha256, at, PART).await;
        let part = part.map_err(|error| Failure::new(ExitKind::Store, error.to_string()))?;
        if part.is_empty() {
            let words = format!("the output of call {call} ends early: it was changed");
            return Err(Failure::new(ExitKind::Store, words));
        }
        print(&part).map_err(closed)?;
        at = at.saturating_add(part.len() as u64);
    }
    Ok(ExitKind::Completed)
}

/// Returns the observation of a call.
async fn observation(
    store: &dyn LogStore,
    session: &SessionId,
    call: CallId,
) -> Result<Option<Observation>, Failure> {
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(session, after, PAGE).await?;
        for fact in &facts {
            after = fact.seq;
            if let Fact::CallObserved(observed) = &fact.fact
                && observed.call == call
            {
                return Ok(Some((*observed.observation).clone()));
            }
        }
        if facts.len() < PAGE {
            return Ok(None);
        }
    }
}

/// Writes bytes to standard output unchanged. At a terminal, what steers it is made visible.
fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout();
    match out.is_terminal() {
        true => out.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?,
        false => out.write_all(bytes)?,
    }
    out.flush()
}
