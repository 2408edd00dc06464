//! A small provider of Chat Completions that keeps every promise of the port, or all but one.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a fault is planted in one place")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use windlass_core::{FailureKind, Retry, StreamEvent};
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    StreamState, WebSearchSupport,
};
use windlass_testkit::http::Protocol;
use windlass_testkit::provider::suite::{Endpoint, ProviderFixture};

use crate::answer::{Answer, Meaning, error, protocol, refused, text, truncated};
use crate::fault::Fault;
use crate::protocol::Marked;
use crate::request::{body, images};
use crate::wire::{Body, Events, Head, Read, head};

/// How much of a refusal is read.
const REFUSAL: usize = 64 * 1024;

/// Makes providers that all have the same fault.
pub(crate) struct Making(pub(crate) Fault);

impl ProviderFixture for Making {
    fn protocol(&self) -> &'static dyn Protocol {
        &Marked
    }

    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider> {
        Arc::new(Reference(Arc::new(Shared {
            fault: self.0,
            at: at.clone(),
            sulks: AtomicBool::new(false),
            mixed: Arc::default(),
            turn: Arc::default(),
        })))
    }

    fn patience(&self) -> Duration {
        // These hang, and the case is to find that.
        let hangs = [Fault::ReadsOnWhenDropped, Fault::AsksOnWhenDropped, Fault::OneAtATime];
        if hangs.contains(&self.0) { Duration::from_millis(400) } else { Duration::from_secs(60) }
    }
}

struct Reference(Arc<Shared>);

struct Shared {
    fault: Fault,
    at: Endpoint,
    sulks: AtomicBool,
    /// One answer for all samples, where they are mixed.
    mixed: Arc<Mutex<Answer>>,
    /// Whose turn it is, where there is one sample at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// What it can do where it has no fault.
fn all() -> ProviderCapabilities {
    let all = ProviderCapabilities::default().with_tools().with_effort().with_temperature();
    all.with_web_search(WebSearchSupport::default())
}

#[async_trait]
impl Provider for Reference {
    fn name(&self) -> &str {
        "reference"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let all = all();
        match self.0.fault {
            Fault::DeclaresNoToolsAndSendsThem => ProviderCapabilities::default(),
            Fault::DeclaresReasoningThatItHasNot => all.with_reasoning(),
            _ => all,
        }
    }

    fn model(&self, _model: &str) -> ModelCapabilities {
        let mut known = ModelCapabilities::unknown();
        known.images = true;
        known.structured_output = true;
        known
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let shared = self.0.clone();
        let sampled = if shared.fault == Fault::AsksOnWhenDropped {
            let asking = shared.clone();
            tokio::spawn(async move { asking.sample(request).await }).await.unwrap()
        } else {
            self.0.clone().sample(request).await
        };
        sampled.map_err(|error| shared.hide(error))
    }
}

impl Shared {
    async fn sample(
        self: Arc<Self>,
        request: SampleRequest,
    ) -> Result<Box<dyn SampleStream>, ProviderError> {
        match self.fault {
            Fault::DeclaresNoToolsAndSendsThem => {}
            Fault::RefusesWhatItDeclares => ProviderCapabilities::default().check(&request)?,
            _ => all().check(&request)?,
        }
        if self.sulks.load(Ordering::SeqCst) {
            return Err(error(FailureKind::Unavailable, "it failed before"));
        }
        let turn = match self.fault {
            Fault::OneAtATime => Some(self.turn.clone().lock_owned().await),
            _ => None,
        };
        let sent = body(&request, &images(&request, self.fault).await, self.fault);
        let mut base = self.at.base_url.clone();
        let mut attempts = 0;
        let (head, mut body) = loop {
            attempts += 1;
            let (head, body) = self.exchange(&base, &sent).await?;
            let again = self.fault == Fault::AsksAgain && head.status == 503 && attempts == 1;
            let to = head.header("location").filter(|_| self.fault == Fault::FollowsRedirects);
            match to.and_then(|to| to.strip_suffix("/chat/completions")) {
                Some(to) if head.status / 100 == 3 => base = to.to_owned(),
                Some(_) | None if again => {}
                Some(_) | None => break (head, body),
            }
        };
        if head.status != 200 {
            let said = self.refusal(&mut body).await;
            return Err(refused(&head, &said, self.fault));
        }
        if let Some(coding) = head.header("content-encoding")
            && self.fault != Fault::PassesOverWhatItCannotRead
        {
            return Err(protocol(&format!("the answer is {coding}")));
        }
        Ok(Box::new(Stream {
            shared: self,
            head,
            body: Some(body),
            events: Events::default(),
            answer: Answer::default(),
            begun: false,
            whole: None,
            _turn: turn,
        }))
    }

    /// Sends one request and reads the head of its response.
    async fn exchange(&self, base: &str, sent: &str) -> Result<(Head, Body), ProviderError> {
        let host = base.trim_start_matches("http://").trim_end_matches("/v1");
        let gone = |why: std::io::Error| {
            let mut gone = error(FailureKind::Unavailable, why.to_string());
            if self.fault == Fault::GivesUpOnWhoIsNotThere {
                gone.retry = Retry::Never;
            }
            gone
        };
        let mut socket = TcpStream::connect(host).await.map_err(gone)?;
        let (key, length) = (&self.at.key, sent.len());
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{sent}"
        );
        socket.write_all(request.as_bytes()).await.map_err(gone)?;
        head(socket, self.fault).await.map_err(gone)
    }

    async fn refusal(&self, body: &mut Body) -> Vec<u8> {
        let mut said = Vec::new();
        while let Read::Bytes(bytes) = body.read().await {
            let whole = self.fault == Fault::ReadsAllOfARefusal;
            if whole || said.len() < REFUSAL {
                said.extend_from_slice(&bytes);
            } else {
                break;
            }
        }
        said.truncate(REFUSAL);
        said
    }

    /// Takes the key out of an error, and what a terminal would act on.
    fn hide(&self, mut error: ProviderError) -> ProviderError {
        if self.fault == Fault::SulksAfterAFailure {
            self.sulks.store(true, Ordering::SeqCst);
        }
        if self.fault != Fault::ShowsTheKey {
            let hide = |text: &str| text.replace(&self.at.key, "[redacted]");
            error.context = hide(&error.context).escape_debug().to_string();
            error.details.request_id = error.details.request_id.map(|id| hide(&id));
        }
        error
    }
}

struct Stream {
    shared: Arc<Shared>,
    head: Head,
    /// Gone once the answer is whole or broken.
    body: Option<Body>,
    events: Events,
    answer: Answer,
    begun: bool,
    /// What has come of a body that is one JSON object.
    whole: Option<Vec<u8>>,
    _turn: Option<tokio::sync::OwnedMutexGuard<()>>,
}

#[async_trait]
impl SampleStream for Stream {
    async fn next(&mut self, out: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        let Some(body) = &mut self.body else {
            return Ok(StreamState::End);
        };
        let read = body.read().await;
        let taken = self.take(read, out);
        let fault = self.shared.fault;
        match taken {
            Ok(Meaning::More) => Ok(StreamState::More),
            Ok(Meaning::End) => {
                self.body = None;
                Ok(StreamState::End)
            }
            Err(error) => {
                if fault == Fault::TellsHalfACall {
                    self.answer.close(out);
                }
                self.body = None;
                Err(self.shared.hide(error))
            }
        }
    }
}

impl Stream {
    fn take(&mut self, read: Read, out: &mut Vec<StreamEvent>) -> Result<Meaning, ProviderError> {
        let (fault, most) = (self.shared.fault, self.shared.at.most_bytes);
        let mixed = self.shared.mixed.clone();
        let mut mixed = mixed.lock().unwrap();
        let answer = match fault {
            Fault::MixesAnswers => &mut *mixed,
            _ => &mut self.answer,
        };
        match read {
            Read::Bytes(bytes) => {
                let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
                let page_asked = fault == Fault::TakesAPageForAnAnswer;
                match first {
                    Some(b'{') if !self.begun && !page_asked => self.whole = Some(Vec::new()),
                    Some(b'<' | b'{') if !self.begun => return page(&bytes, fault, out),
                    _ => {}
                }
                self.begun = self.begun || first.is_some();
                if let Some(whole) = &mut self.whole {
                    whole.extend_from_slice(&bytes);
                    if whole.len() > most && fault != Fault::TakesAnyBody {
                        return Err(error(FailureKind::TooLarge, "too large"));
                    }
                    return Ok(Meaning::More);
                }
                let bytes = match fault {
                    Fault::DecodesEachReadAlone => text(&bytes, fault).into_bytes(),
                    _ => bytes,
                };
                let events = self.events.push(&bytes, most, fault);
                let events = events.map_err(|_| error(FailureKind::TooLarge, "too large"))?;
                for data in events {
                    if answer.event(&data, fault, out)? == Meaning::End {
                        return Ok(Meaning::End);
                    }
                }
                Ok(Meaning::More)
            }
            Read::End if self.whole.is_some() => {
                let whole = self.whole.take().unwrap_or_default();
                answer.whole(&whole, fault, out)
            }
            // Only the end of a connection may look like that of an answer.
            Read::End => {
                let framed = ["transfer-encoding", "content-length"];
                let framed = framed.iter().any(|name| self.head.header(name).is_some());
                let closes = fault == Fault::TakesAClosedConnectionForTheEnd;
                if closes && framed {
                    return Err(truncated());
                }
                answer.end(fault, out).map(|()| Meaning::End)
            }
            Read::Broken => Err(truncated()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.shared.fault == Fault::ReadsOnWhenDropped
            && let Some(mut body) = self.body.take()
        {
            tokio::spawn(async move { while let Read::Bytes(_) = body.read().await {} });
        }
    }
}

/// A page in place of an answer.
fn page(bytes: &[u8], fault: Fault, out: &mut Vec<StreamEvent>) -> Result<Meaning, ProviderError> {
    if fault != Fault::TakesAPageForAnAnswer {
        return Err(protocol("a page came, and no answer"));
    }
    let text = text(bytes, fault);
    out.push(StreamEvent::Text { slot: 0, text });
    let (text, opaque) = (None, None);
    out.push(StreamEvent::Done { slot: 0, text, opaque });
    let reason = windlass_core::StopReason::Stop;
    out.push(StreamEvent::Finished { reason });
    Ok(Meaning::End)
}
