//! Outputs: the full outputs of calls, if they are stored as blobs.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::IntoResponse;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use windlass_engine::core::{CallId, Fact, RecordedFact, Seq, SessionId, StoredOutput};
use windlass_engine::ports::{BlobError, BlobErrorKind, BlobStore};

use super::describe::answers::NoCall;
use super::failure;
use super::session_access::{PathNumber, ReadRight, SessionAccess};
use crate::problem::{Problem, ProblemCode};

/// Facts of one read.
const PAGE: usize = 256;
/// Bytes of one read of an output, which bounds the memory of one download.
const CHUNK: usize = 128 * 1024;

/// Returns the full output of a call, byte for byte, if it is longer than the log contains.
#[utoipa::path(
    get,
    path = "/sessions/{id}/calls/{call}/output",
    tag = "history",
    params(
        ("id" = String, Path, description = "The session."),
        ("call" = u64, Path, description = "The call."),
    ),
    responses(
        (status = 200, description = "The bytes.", body = Vec<u8>,
         content_type = "application/octet-stream",
         headers(("Content-Disposition" = String, description = "`attachment`."))),
        NoCall,
    )
)]
pub(crate) async fn read(
    seen: SessionAccess<ReadRight>,
    PathNumber(call): PathNumber,
) -> Result<impl IntoResponse, Problem> {
    let kept = find_output(&seen, CallId(call)).await?;
    let reading = OutputReader {
        blobs: seen.caller.tenant.blobs.clone(),
        session: seen.id.clone(),
        kept,
        at: 0,
    };
    let length = reading.kept.bytes;
    // Read first, so that a missing output is found before the response starts.
    let first = reading.next().await;
    let (first, rest) = match first {
        Ok(Some((first, rest))) => (first, Some(rest)),
        Ok(None) => (Bytes::new(), None),
        Err(error) => return Err(failure::blobs(&error)),
    };
    let rest = stream::try_unfold(rest, async |reading| match reading {
        Some(reading) => Ok(reading.next().await?.map(|(bytes, rest)| (bytes, Some(rest)))),
        None => Ok(None),
    });
    let body = Body::from_stream(stream::iter([Ok::<_, BlobError>(first)]).chain(rest));
    let name = format!("attachment; filename=\"{}-{call}.out\"", seen.id);
    let headers = [
        (CONTENT_TYPE, String::from("application/octet-stream")),
        (CONTENT_LENGTH, length.to_string()),
        (CONTENT_DISPOSITION, name),
        (X_CONTENT_TYPE_OPTIONS, String::from("nosniff")),
        (CACHE_CONTROL, String::from("no-store")),
    ];
    Ok((headers, body))
}

/// Output that is being read.
struct OutputReader {
    blobs: Arc<dyn BlobStore>,
    session: SessionId,
    kept: StoredOutput,
    at: u64,
}

impl OutputReader {
    /// Reads the next bytes; `None` at the end.
    async fn next(self) -> Result<Option<(Bytes, Self)>, BlobError> {
        let left = self.kept.bytes.saturating_sub(self.at);
        let wanted = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        if wanted == 0 {
            return Ok(None);
        }
        let name = &self.kept.sha256;
        let bytes = self.blobs.read(&self.session, name, self.at, wanted).await?;
        if bytes.len() != wanted {
            let context = format!("the output {name} is shorter than the log says");
            return Err(BlobError::new(BlobErrorKind::Corrupt, context));
        }
        let at = self.at.saturating_add(bytes.len() as u64);
        Ok(Some((bytes.into(), Self { at, ..self })))
    }
}

/// Locates the stored output of a call.
async fn find_output(
    seen: &SessionAccess<ReadRight>,
    call: CallId,
) -> Result<StoredOutput, Problem> {
    let mut after = Seq(call.0.saturating_sub(1));
    loop {
        let facts = seen.read(after, PAGE).await?;
        let observed = facts.iter().find_map(|fact| observed_output(fact, call));
        if let Some(kept) = observed {
            return kept.ok_or_else(no_output);
        }
        match facts.last() {
            Some(last) if facts.len() == PAGE => after = last.seq,
            Some(_) | None => return Err(no_output()),
        }
    }
}

fn observed_output(fact: &RecordedFact, call: CallId) -> Option<Option<StoredOutput>> {
    if let Fact::CallObserved(observed) = &fact.fact
        && observed.call == call
    {
        return Some(observed.observation.stored_output.clone());
    }
    None
}

fn no_output() -> Problem {
    let detail = "nothing is stored of this call beyond the log";
    Problem::new(ProblemCode::NoCall, detail)
}
