//! A wire of canned responses, and how the tests ask and read.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_ports::{
    Wire, WireBody, WireError, WireErrorKind, WireHeaders, WireRequest, WireResponse,
};

/// How a canned body ends.
#[derive(Clone, Copy)]
pub(crate) enum CannedEnd {
    Whole,
    Broken,
}

/// One canned response.
pub(crate) enum CannedResponse {
    Response(WireHeaders, VecDeque<Bytes>, CannedEnd),
    Failure(WireError),
}

impl CannedResponse {
    pub(crate) fn with(mut self, name: &str, value: &'static str) -> Self {
        if let Self::Response(headers, ..) = &mut self {
            headers.push(name, value, false);
        }
        self
    }
}

pub(crate) struct Canned(Mutex<VecDeque<CannedResponse>>);

pub(crate) fn canned(cans: impl IntoIterator<Item = CannedResponse>) -> Canned {
    Canned(Mutex::new(cans.into_iter().collect()))
}

pub(crate) fn ok(chunks: &[&[u8]], last: CannedEnd) -> CannedResponse {
    let chunks = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk));
    CannedResponse::Response(WireHeaders::default(), chunks.collect(), last)
}

pub(crate) fn unreachable() -> CannedResponse {
    CannedResponse::Failure(WireError::new(WireErrorKind::Unreachable, "refused"))
}

#[async_trait]
impl Wire for Canned {
    async fn send(&self, _: WireRequest) -> Result<WireResponse, WireError> {
        let next = self.0.lock().unwrap().pop_front().unwrap();
        match next {
            CannedResponse::Failure(error) => Err(error),
            CannedResponse::Response(headers, chunks, last) => {
                Ok(WireResponse { status: 200, headers, body: Box::new(Body(chunks, last)) })
            }
        }
    }
}

struct Body(VecDeque<Bytes>, CannedEnd);

impl WireBody for Body {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        Poll::Ready(match (self.0.pop_front(), self.1) {
            (Some(chunk), _) => Ok(Some(chunk)),
            (None, CannedEnd::Whole) => Ok(None),
            (None, CannedEnd::Broken) => {
                Err(WireError::new(WireErrorKind::Broken, "connection reset"))
            }
        })
    }
}

/// What a response brought.
#[derive(Debug, PartialEq)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: u16,
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: Option<(WireErrorKind, String)>,
}

pub(crate) async fn read(mut response: WireResponse) -> ReceivedResponse {
    let mut seen = ReceivedResponse { status: response.status, chunks: Vec::new(), end: None };
    loop {
        match response.body.chunk().await {
            Ok(Some(chunk)) => seen.chunks.push(chunk.to_vec()),
            Ok(None) => return seen,
            Err(error) => {
                seen.end = Some((error.kind, error.context));
                return seen;
            }
        }
    }
}

/// The text of a body that is whole.
pub(crate) async fn sent(body: Box<dyn WireBody>) -> String {
    let response = WireResponse { status: 200, headers: WireHeaders::default(), body };
    let seen = read(response).await;
    assert_eq!(seen.end, None);
    String::from_utf8(seen.chunks.concat()).unwrap()
}

pub(crate) fn post(path: &str, body: &str) -> WireRequest {
    WireRequest {
        method: "POST",
        url: format!("http://127.0.0.1:9{path}"),
        headers: WireHeaders::default(),
        body: Some(Bytes::copy_from_slice(body.as_bytes()).into()),
        head_ms: 1_000,
    }
}

pub(crate) fn get(path: &str) -> WireRequest {
    WireRequest { method: "GET", body: None, ..post(path, "") }
}
