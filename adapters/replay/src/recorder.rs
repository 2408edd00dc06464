//! The recorder: passes everything on as it is, and writes each exchange down once it has ended.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_ports::sync::Mutex;
use windlass_ports::{Segments, Wire, WireBody, WireError, WireHeaders, WireRequest, WireResponse};

use crate::cassette::{
    self, BodyEnd, EXCHANGE_BYTES, Exchange, RecordedBytes, RecordedFailure, RecordedOutcome,
    RecordedRequest,
};
use crate::error::ReplayError;
use crate::file::CassetteFile;
use crate::redaction::Redaction;

/// Records what passes through another wire.
pub struct Recorder {
    inner: Arc<dyn Wire>,
    shared: Arc<SharedRecorder>,
    cut_bytes: usize,
}

struct SharedRecorder {
    redaction: Redaction,
    state: Mutex<RecorderState>,
}

struct RecorderState {
    tape: CassetteFile,
    /// The number of the next request.
    next: u64,
    recorded: u64,
    /// Error that ended the recording.
    fault: Option<String>,
}

impl Recorder {
    /// Records into a new file.
    ///
    /// # Errors
    /// [`ReplayError::Exists`] where there is one, or when it cannot be made.
    pub fn new(
        inner: Arc<dyn Wire>,
        path: impl AsRef<Path>,
        redaction: Redaction,
    ) -> Result<Self, ReplayError> {
        let tape = CassetteFile::create(path.as_ref())?;
        Ok(Self::over(inner, redaction, tape, 1, 0))
    }

    /// Records at the end of a cassette, or into a new one where there is none. A torn last line
    /// is cut off: see [`cut_bytes`](Self::cut_bytes).
    ///
    /// # Errors
    /// [`ReplayError`] when the file is no cassette, is written by somebody else or by a newer
    /// version, or cannot be written.
    pub fn append(
        inner: Arc<dyn Wire>,
        path: impl AsRef<Path>,
        redaction: Redaction,
    ) -> Result<Self, ReplayError> {
        let (tape, cassette) = CassetteFile::append(path.as_ref())?;
        if cassette.torn_bytes > 0 {
            tracing::warn!(
                path = %path.as_ref().display(),
                bytes = cassette.torn_bytes,
                "a torn last line of the cassette is cut off: who recorded it was killed"
            );
        }
        let last = cassette.exchanges.last().map_or(0, |exchange| exchange.n);
        let next = last.saturating_add(1);
        Ok(Self::over(inner, redaction, tape, next, cassette.torn_bytes))
    }

    /// Returns the number of exchanges written.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.shared.state.lock().recorded
    }

    /// Returns the reason for an incomplete recording, if it is one: the disk is full, or an
    /// exchange is too large. The request was answered all the same; nothing after it is recorded.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.shared.state.lock().fault.clone()
    }

    /// Returns the number of bytes of a torn last line that were cut off when the file was opened.
    #[must_use]
    pub fn cut_bytes(&self) -> usize {
        self.cut_bytes
    }

    fn over(
        inner: Arc<dyn Wire>,
        redaction: Redaction,
        tape: CassetteFile,
        next: u64,
        cut_bytes: usize,
    ) -> Self {
        let state = Mutex::new(RecorderState { tape, next, recorded: 0, fault: None });
        Self { inner, shared: Arc::new(SharedRecorder { redaction, state }), cut_bytes }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("path", &self.shared.state.lock().tape.path())
            .field("redaction", &self.shared.redaction)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Wire for Recorder {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let mut take = ExchangeRecording::begin(self.shared.clone(), &request);
        match self.inner.send(request).await {
            Ok(response) => {
                take.answered(response.status, response.headers.clone());
                Ok(WireResponse {
                    status: response.status,
                    headers: response.headers,
                    body: Box::new(RecordingBody { inner: response.body, take }),
                })
            }
            Err(error) => {
                take.failed(&error);
                Err(error)
            }
        }
    }
}

/// A body that is passed on and kept.
struct RecordingBody {
    inner: Box<dyn WireBody>,
    take: ExchangeRecording,
}

impl WireBody for RecordingBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        let read = ready!(self.inner.poll_chunk(cx));
        match &read {
            Ok(Some(chunk)) => self.take.chunk(chunk),
            Ok(None) => self.take.ended(BodyEnd::Whole),
            Err(error) => {
                let words = self.take.redaction.text(&error.context);
                self.take.ended(BodyEnd::Broken(words));
            }
        }
        Poll::Ready(read)
    }
}

/// One exchange as it goes. Dropped before its end, it is written as far as it came.
struct ExchangeRecording {
    shared: Arc<SharedRecorder>,
    /// With the values of this request's sensitive headers.
    redaction: Redaction,
    n: u64,
    request: Option<WireRequest>,
    answered: Option<(u16, WireHeaders)>,
    chunks: Vec<Bytes>,
    bytes: usize,
}

impl ExchangeRecording {
    fn begin(shared: Arc<SharedRecorder>, request: &WireRequest) -> Self {
        let n = {
            let mut state = shared.state.lock();
            let n = state.next;
            state.next = n.saturating_add(1);
            n
        };
        Self {
            redaction: shared.redaction.with(&request.headers),
            shared,
            n,
            bytes: request.body.as_ref().map_or(0, Segments::len),
            request: Some(request.clone()),
            answered: None,
            chunks: Vec::new(),
        }
    }

    fn answered(&mut self, status: u16, headers: WireHeaders) {
        self.answered = Some((status, headers));
    }

    fn chunk(&mut self, chunk: &Bytes) {
        self.bytes = self.bytes.saturating_add(chunk.len());
        if self.bytes > EXCHANGE_BYTES {
            // What is too large to be written is not kept either.
            self.chunks.clear();
            return;
        }
        self.chunks.push(chunk.clone());
    }

    fn failed(&mut self, error: &WireError) {
        let words = self.redaction.text(&error.context);
        let kind = RecordedFailure::of(error);
        self.write(|_| RecordedOutcome::Failed { kind, words });
    }

    fn ended(&mut self, end: BodyEnd) {
        self.write(|take| match take.answered.take() {
            Some((status, headers)) => RecordedOutcome::Answered {
                status,
                headers: take.redaction.headers(&headers),
                chunks: take.redaction.chunks(&take.chunks),
                end,
            },
            None => RecordedOutcome::Dropped,
        });
    }

    /// Writes the exchange, once.
    fn write(&mut self, outcome: impl FnOnce(&mut Self) -> RecordedOutcome) {
        let Some(request) = self.request.take() else {
            return;
        };
        if self.bytes > EXCHANGE_BYTES {
            let n = self.n;
            let words = format!("exchange {n} is larger than {EXCHANGE_BYTES} bytes");
            self.shared.stop(words);
            return;
        }
        let body = request.body.as_ref();
        let exchange = Exchange {
            n: self.n,
            request: RecordedRequest {
                method: request.method.to_owned(),
                url: self.redaction.url(&request.url),
                headers: self.redaction.headers(&request.headers),
                body: body.map(|body| RecordedBytes(self.redaction.bytes(&body.to_bytes()).into())),
            },
            outcome: outcome(self),
        };
        self.shared.append(&exchange);
    }
}

impl Drop for ExchangeRecording {
    fn drop(&mut self) {
        self.ended(BodyEnd::Dropped);
    }
}

impl SharedRecorder {
    fn append(&self, exchange: &Exchange) {
        let line = match cassette::exchange(exchange) {
            Ok(line) => line,
            Err(error) => return self.stop(error.to_string()),
        };
        let mut state = self.state.lock();
        if state.fault.is_some() {
            return;
        }
        match state.tape.write(&line) {
            Ok(()) => state.recorded = state.recorded.saturating_add(1),
            Err(error) => {
                drop(state);
                self.stop(error.to_string());
            }
        }
    }

    fn stop(&self, words: String) {
        let mut state = self.state.lock();
        if state.fault.is_none() {
            let path = state.tape.path().display().to_string();
            tracing::warn!(path, words, "the recording stops here");
            state.fault = Some(words);
        }
    }
}
