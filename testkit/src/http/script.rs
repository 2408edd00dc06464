//! The script of a model server: which reply a request gets.

use std::collections::VecDeque;

use serde_json::json;
use windlass_ports::sync::Mutex;

use super::grammar::{self, Profile};
use super::protocol::{Protocol, protocol_of};
use super::reply::{Body, Reply};
use super::request::Request;
use crate::answer::MODEL;

/// Which reply a request gets.
pub struct Script {
    samples: Source,
    models: Reply,
    strict: Strict,
    handshakes: Handshakes,
    protocols: Vec<&'static dyn Protocol>,
}

/// Which requests are refused for their form.
#[derive(Clone, Copy)]
enum Strict {
    /// None.
    No,
    /// Those that no server of their protocol takes.
    Protocol,
    /// Those that this server would.
    Server(&'static Profile),
}

/// What the handshake of this number is refused with, if it is.
type Handshakes = Box<dyn Fn(usize) -> Option<Reply> + Send + Sync>;

enum Source {
    List(Mutex<VecDeque<Reply>>),
    Function(Box<dyn Fn(&Request) -> Reply + Send + Sync>),
}

impl Script {
    /// These replies, one a sample, in order. A sample after the last one is answered with a 400
    /// that no client retries, and kept as a miss.
    #[must_use]
    pub fn list(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::over(Source::List(Mutex::new(replies.into_iter().collect())))
    }

    /// A reply found by the request: for processes that are killed and ask again.
    #[must_use]
    pub fn respond(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::over(Source::Function(Box::new(reply)))
    }

    /// Sets the reply to `GET /v1/models`; by default it lists the model `scripted`.
    #[must_use]
    pub fn models(mut self, reply: Reply) -> Self {
        self.models = reply;
        self
    }

    /// Refuses each request that is against the grammar of its protocol: it is answered with a 400 that says what is wrong with it, takes no reply of the script, and is
    /// kept as a miss.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = Strict::Protocol;
        self
    }

    /// The same by what another server takes.
    #[must_use]
    pub fn strict_as(mut self, profile: &'static Profile) -> Self {
        self.strict = Strict::Server(profile);
        self
    }

    /// Refuses handshakes of WebSockets by their number, from 0, with a reply of HTTP; by default
    /// none is refused.
    #[must_use]
    pub fn refusing(
        mut self,
        handshakes: impl Fn(usize) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        self.handshakes = Box::new(handshakes);
        self
    }

    fn over(samples: Source) -> Self {
        let listed = json!({ "id": MODEL, "object": "model", "created": 0, "owned_by": "testkit" });
        Self {
            samples,
            models: Reply::json(200, &json!({ "object": "list", "data": [listed] })),
            strict: Strict::No,
            handshakes: Box::new(|_| None),
            protocols: Vec::new(),
        }
    }

    /// Speaks this protocol too, before those of the kit.
    #[must_use]
    pub fn speaking(mut self, protocol: &'static dyn Protocol) -> Self {
        self.protocols.push(protocol);
        self
    }

    /// The protocol in which a request asks a model.
    pub(super) fn protocol(&self, request: &Request) -> Option<&'static dyn Protocol> {
        protocol_of(&self.protocols, request)
    }

    /// The reply to a request, or why there is none.
    pub(super) fn reply(&self, request: &Request) -> Result<Reply, String> {
        let (method, path) = (request.method.as_str(), request.called());
        match (method, path) {
            ("GET", "/v1/models") => return Ok(self.models.clone()),
            ("POST", _) | (Request::MESSAGE, "/v1/responses") if request.protocol().is_some() => {}
            _ => return Err(format!("{method} {path}: this server does not serve it")),
        }
        let fault = match self.strict {
            Strict::No => None,
            Strict::Protocol => request.protocol().and_then(|protocol| protocol.fault(request)),
            Strict::Server(profile) => grammar::fault_for(profile, request),
        };
        if let Some(fault) = fault {
            return Err(fault);
        }
        let mut reply = self.sample(request)?;
        if let Body::Answer(answer) = &mut reply.body {
            answer.answers_for(request.read().model.as_deref());
        }
        Ok(reply)
    }

    /// The script's own reply to a sample.
    fn sample(&self, request: &Request) -> Result<Reply, String> {
        let (method, path) = (request.method.as_str(), request.route());
        match &self.samples {
            Source::Function(reply) => Ok(reply(request)),
            Source::List(list) => {
                let next = list.lock().pop_front();
                let number = request.number;
                next.ok_or_else(|| {
                    format!(
                        "{method} {path}: the script has run out at request {number}: add a \
                         reply, or find out who asks once too often"
                    )
                })
            }
        }
    }

    /// What a handshake is refused with, if it is.
    pub(super) fn handshake(&self, number: usize) -> Option<Reply> {
        (self.handshakes)(number)
    }

    pub(super) fn remaining(&self) -> usize {
        match &self.samples {
            Source::List(list) => list.lock().len(),
            Source::Function(_) => 0,
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Self {
        Self::list([reply])
    }
}

impl<const N: usize> From<[Reply; N]> for Script {
    fn from(replies: [Reply; N]) -> Self {
        Self::list(replies)
    }
}

impl From<Vec<Reply>> for Script {
    fn from(replies: Vec<Reply>) -> Self {
        Self::list(replies)
    }
}
