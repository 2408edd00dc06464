//! The cassette's text form: a head, then one exchange a line. Pure: bytes in, values out.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use windlass_ports::{WireError, WireErrorKind};

/// The version of the format that is written, and the newest that is read.
pub const CASSETTE_VERSION: u32 = 1;

/// The most bytes that a request's body and a response's body may have together to be recorded.
pub const EXCHANGE_BYTES: usize = 32 * 1024 * 1024;

/// First line of a cassette.
#[derive(Debug, Serialize, Deserialize)]
struct CassetteHeader {
    cassette: u32,
    #[serde(default)]
    written_by: Cow<'static, str>,
}

/// One request and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exchange {
    /// Its number: requests are numbered as they are sent, lines are in the order of their ends.
    pub(crate) n: u64,
    pub(crate) request: RecordedRequest,
    pub(crate) outcome: RecordedOutcome,
}

/// A request as it is kept: without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    /// The URL; a query is only said to have been there.
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<(String, RecordedBytes)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<RecordedBytes>,
}

/// Outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedOutcome {
    /// A response came.
    Answered {
        status: u16,
        headers: Vec<(String, RecordedBytes)>,
        chunks: Vec<RecordedBytes>,
        end: BodyEnd,
    },
    /// No response came.
    Failed { kind: RecordedFailure, words: String },
    /// The caller stopped waiting before a response came.
    Dropped,
}

/// End of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BodyEnd {
    /// The body was complete.
    Whole,
    /// It broke off, for this reason.
    Broken(String),
    /// The caller stopped reading.
    Dropped,
}

/// Classes of requests without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedFailure {
    Invalid,
    Unreachable,
    Untrusted,
    ConnectTimeout,
    HeadTimeout,
    Broken,
    Unrecorded,
    Unsupported,
    TooLarge,
}

impl RecordedFailure {
    pub(crate) fn of(error: &WireError) -> Self {
        match error.kind {
            WireErrorKind::Invalid => Self::Invalid,
            WireErrorKind::Unreachable => Self::Unreachable,
            WireErrorKind::Untrusted => Self::Untrusted,
            WireErrorKind::ConnectTimeout => Self::ConnectTimeout,
            WireErrorKind::HeadTimeout => Self::HeadTimeout,
            WireErrorKind::Broken => Self::Broken,
            WireErrorKind::Unrecorded => Self::Unrecorded,
            WireErrorKind::Unsupported => Self::Unsupported,
            WireErrorKind::TooLarge => Self::TooLarge,
        }
    }

    pub(crate) fn kind(self) -> WireErrorKind {
        match self {
            Self::Invalid => WireErrorKind::Invalid,
            Self::Unreachable => WireErrorKind::Unreachable,
            Self::Untrusted => WireErrorKind::Untrusted,
            Self::ConnectTimeout => WireErrorKind::ConnectTimeout,
            Self::HeadTimeout => WireErrorKind::HeadTimeout,
            Self::Broken => WireErrorKind::Broken,
            Self::Unrecorded => WireErrorKind::Unrecorded,
            Self::Unsupported => WireErrorKind::Unsupported,
            Self::TooLarge => WireErrorKind::TooLarge,
        }
    }
}

/// Bytes: as text where they are UTF-8, else as `{"base64": ".."}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "EncodedBytes", try_from = "EncodedBytes")]
pub(crate) struct RecordedBytes(pub(crate) Bytes);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum EncodedBytes {
    Text(String),
    Base64 { base64: String },
}

impl From<RecordedBytes> for EncodedBytes {
    fn from(piece: RecordedBytes) -> Self {
        match std::str::from_utf8(&piece.0) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64 { base64: STANDARD.encode(&piece.0) },
        }
    }
}

impl TryFrom<EncodedBytes> for RecordedBytes {
    type Error = base64::DecodeError;

    fn try_from(spelled: EncodedBytes) -> Result<Self, Self::Error> {
        Ok(Self(match spelled {
            EncodedBytes::Text(text) => text.into(),
            EncodedBytes::Base64 { base64 } => STANDARD.decode(base64)?.into(),
        }))
    }
}

/// Defect of a cassette.
#[derive(Debug)]
pub(crate) enum CassetteError {
    /// A newer version wrote it.
    Newer(u32),
    /// This line, from 1, does not read.
    Line(usize, serde_json::Error),
    /// There is no whole first line.
    NoHead,
}

/// A cassette that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cassette {
    /// In the order in which the requests were sent.
    pub(crate) exchanges: Vec<Exchange>,
    /// Bytes of whole lines.
    pub(crate) whole_bytes: usize,
    /// Bytes of a last line that has no end: its writer was killed.
    pub(crate) torn_bytes: usize,
}

impl Cassette {
    /// Reads a whole file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, CassetteError> {
        let whole_bytes = memchr::memrchr(b'\n', bytes).map_or(0, |at| at.saturating_add(1));
        let (whole, torn) = bytes.split_at(whole_bytes);
        let mut lines = whole.split_inclusive(|byte| *byte == b'\n').enumerate();
        let (_, first) = lines.next().ok_or(CassetteError::NoHead)?;
        let head: CassetteHeader =
            serde_json::from_slice(first).map_err(|error| CassetteError::Line(1, error))?;
        if head.cassette > CASSETTE_VERSION {
            return Err(CassetteError::Newer(head.cassette));
        }
        let mut exchanges = lines
            .map(|(at, line)| {
                let fault = |error| CassetteError::Line(at.saturating_add(1), error);
                serde_json::from_slice(line).map_err(fault)
            })
            .collect::<Result<Vec<Exchange>, CassetteError>>()?;
        exchanges.sort_by_key(|exchange| exchange.n);
        Ok(Self { exchanges, whole_bytes, torn_bytes: torn.len() })
    }
}

/// The first line of a new cassette.
pub(crate) fn head() -> Result<Vec<u8>, serde_json::Error> {
    line(&CassetteHeader {
        cassette: CASSETTE_VERSION,
        written_by: Cow::Borrowed(concat!("windlass-replay ", env!("CARGO_PKG_VERSION"))),
    })
}

/// The line of an exchange.
pub(crate) fn exchange(exchange: &Exchange) -> Result<Vec<u8>, serde_json::Error> {
    line(exchange)
}

fn line(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
