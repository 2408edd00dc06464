//! The replayer: answers from a cassette, and has no network.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_ports::sync::Mutex;
use windlass_ports::{
    Wire, WireBody, WireError, WireErrorKind, WireHeader, WireRequest, WireResponse,
};

use crate::cassette::{BodyEnd, Exchange, RecordedBytes, RecordedOutcome};
use crate::difference;
use crate::error::ReplayError;
use crate::file;
use crate::matching::{MatchRules, RequestKey};
use crate::redaction::Redaction;

/// Most misses that are kept; more are counted.
const MISSES: usize = 256;

/// Most kinds of request that a miss names.
const NAMED: usize = 4;

/// Answers requests with what was recorded for them.
///
/// A request has a recording when method, path and body are the same, the body as JSON. Among
/// recordings that are equal each is used once, in the order in which the requests were sent.
pub struct Replayer {
    path: PathBuf,
    terms: MatchRules,
    exchanges: Vec<(RequestKey, Exchange)>,
    torn_bytes: usize,
    state: Mutex<ReplayerState>,
}

#[derive(Default)]
struct ReplayerState {
    /// By place in `exchanges`.
    used: Vec<bool>,
    misses: Vec<UnmatchedRequest>,
}

/// A request that had no recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedRequest {
    /// Method and path of the request.
    pub request: String,
    /// The number of the recorded exchange whose request is most like it.
    pub nearest: Option<u64>,
    /// Difference from that one. Bounded; control characters are escaped.
    pub reason: String,
}

impl fmt::Display for UnmatchedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no recording of {}: {}", self.request, self.reason)
    }
}

impl Replayer {
    /// Reads a cassette.
    ///
    /// # Errors
    /// [`ReplayError`] when it cannot be read, is none, or a newer version wrote it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReplayError> {
        let path = path.as_ref();
        let cassette = file::read(path)?;
        if cassette.torn_bytes > 0 {
            tracing::warn!(
                path = %path.display(),
                bytes = cassette.torn_bytes,
                "the last line of the cassette is torn: who recorded it was killed"
            );
        }
        let terms = MatchRules::default();
        let keyed = |exchange: Exchange| (terms.recorded_key(&exchange.request), exchange);
        let exchanges: Vec<_> = cassette.exchanges.into_iter().map(keyed).collect();
        let used = vec![false; exchanges.len()];
        Ok(Self {
            path: path.to_owned(),
            terms,
            exchanges,
            torn_bytes: cassette.torn_bytes,
            state: Mutex::new(ReplayerState { used, misses: Vec::new() }),
        })
    }

    /// Leaves out of the comparison what these JSON pointers (RFC 6901) name in bodies, for
    /// example `/prompt_cache_key`.
    #[must_use]
    pub fn ignoring<P: Into<String>>(mut self, pointers: impl IntoIterator<Item = P>) -> Self {
        self.terms.ignored.extend(pointers.into_iter().map(Into::into));
        self.rekeyed()
    }

    /// Takes the same secrets out of requests as the recorder did, so that they compare equal.
    #[must_use]
    pub fn redacting(mut self, redaction: Redaction) -> Self {
        self.terms.redaction = redaction;
        self.rekeyed()
    }

    /// The requests that had no recording, the first 256 of them. A test asserts that this is
    /// empty.
    #[must_use]
    pub fn unmatched_requests(&self) -> Vec<UnmatchedRequest> {
        self.state.lock().misses.clone()
    }

    /// The recorded exchanges that nobody has asked for, by number, method and path.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        let state = self.state.lock();
        let unused = self.exchanges.iter().zip(&state.used);
        unused
            .filter(|(_, used)| !**used)
            .map(|((key, exchange), _)| format!("{}: {}", exchange.n, named(key)))
            .collect()
    }

    /// Returns the number of bytes of an incomplete last line; they are not used.
    #[must_use]
    pub fn torn_bytes(&self) -> usize {
        self.torn_bytes
    }

    fn rekeyed(mut self) -> Self {
        for (key, exchange) in &mut self.exchanges {
            *key = self.terms.recorded_key(&exchange.request);
        }
        self
    }

    /// Takes the recording of a request.
    fn take_recording(&self, asked: &RequestKey) -> Result<&RecordedOutcome, WireError> {
        let mut state = self.state.lock();
        let mut places = self.exchanges.iter().zip(state.used.iter_mut());
        let found = places.find(|((key, _), used)| !**used && key == asked);
        if let Some(((_, exchange), used)) = found {
            *used = true;
            return Ok(&exchange.outcome);
        }
        let miss = self.record_unmatched(asked);
        let words = format!(
            "{miss}. The cassette is {}; to record what is missing, run the same with a recorder \
             over the real endpoint (windlass: --record FILE)",
            self.path.display()
        );
        if state.misses.len() < MISSES {
            state.misses.push(miss);
        }
        Err(WireError::new(WireErrorKind::Unrecorded, words))
    }

    fn record_unmatched(&self, asked: &RequestKey) -> UnmatchedRequest {
        let like = |key: &RequestKey| key.method == asked.method && key.path == asked.path;
        let candidates = self.exchanges.iter().filter(|(key, _)| like(key));
        // Of equals the first: a later one is greater only if it agrees in more.
        let nearest = candidates.rev().max_by_key(|(key, _)| {
            let same = key.body == asked.body;
            (same, difference::agreement(&key.body, &asked.body))
        });
        let reason = match nearest {
            None => self.nothing_like(),
            Some((key, _)) if key.body == asked.body => {
                let equal = self.exchanges.iter().filter(|(key, _)| key == asked);
                let numbers: Vec<String> =
                    equal.map(|(_, exchange)| exchange.n.to_string()).take(NAMED).collect();
                format!("its recordings (exchange {}) have been used already", numbers.join(", "))
            }
            Some((key, exchange)) => format!(
                "the nearest, exchange {}, differs first {}",
                exchange.n,
                difference::first(&key.body, &asked.body).unwrap_or_default()
            ),
        };
        UnmatchedRequest {
            request: named(asked),
            nearest: nearest.map(|(_, exchange)| exchange.n),
            reason,
        }
    }

    fn nothing_like(&self) -> String {
        let mut others: Vec<String> = Vec::new();
        for (key, _) in &self.exchanges {
            let name = named(key);
            if !others.contains(&name) {
                others.push(name);
            }
            if others.len() == NAMED {
                break;
            }
        }
        match others.is_empty() {
            true => String::from("nothing is recorded at all"),
            false => format!("what is recorded is of {}", others.join(" and of ")),
        }
    }
}

impl fmt::Debug for Replayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayer")
            .field("path", &self.path)
            .field("exchanges", &self.exchanges.len())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Wire for Replayer {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        match self.take_recording(&self.terms.request_key(&request))? {
            RecordedOutcome::Answered { status, headers, chunks, end } => Ok(WireResponse {
                status: *status,
                headers: headers.iter().map(header).collect(),
                body: Box::new(ReplayedBody {
                    chunks: chunks.iter().map(|chunk| chunk.0.clone()).collect(),
                    end: end.clone(),
                }),
            }),
            RecordedOutcome::Failed { kind, words } => {
                Err(WireError::new(kind.kind(), words.as_str()))
            }
            RecordedOutcome::Dropped => Err(given_up("before a response came")),
        }
    }
}

/// The body of a recorded response.
struct ReplayedBody {
    chunks: VecDeque<Bytes>,
    end: BodyEnd,
}

impl WireBody for ReplayedBody {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        if let Some(chunk) = self.chunks.pop_front() {
            return Poll::Ready(Ok(Some(chunk)));
        }
        Poll::Ready(match &self.end {
            BodyEnd::Whole => Ok(None),
            BodyEnd::Broken(words) => Err(WireError::new(WireErrorKind::Broken, words.as_str())),
            BodyEnd::Dropped => Err(given_up("in the middle of the response")),
        })
    }
}

fn header((name, value): &(String, RecordedBytes)) -> WireHeader {
    WireHeader { name: name.clone(), value: value.0.clone(), sensitive: false }
}

fn given_up(when: &str) -> WireError {
    let words = format!(
        "the recording ends here: whoever recorded it stopped listening {when}; record it again, \
         without an interrupt"
    );
    WireError::new(WireErrorKind::Unrecorded, words)
}

fn named(key: &RequestKey) -> String {
    let path: String = key.path.chars().take(200).collect();
    format!("{} {path}", key.method)
}
