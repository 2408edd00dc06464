//! A provider and the server that it asks, and what a case makes of an answer.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    AppendList, Assembler, AssemblerLimits, AssemblerOutput, FailureKind, Item, Prompt, PromptItem,
    Retry, Seq, SessionId, Settings, StopReason, StreamEvent, TurnId, Usage,
};
use windlass_ports::{Provider, ProviderError, SampleRequest, SampleStream, StreamState};

use super::{Endpoint, ProviderFixture};
use crate::answer::{Answer, MODEL, Part};
use crate::http::{Ended, ModelRequest, ModelServer, Protocol, ProtocolCapabilities, Script};
use crate::store::{Checked, Violation, ensure};

/// The key that the providers of the suite are given.
pub(super) const KEY: &str = "sk-suite-0f5a1c9e";
/// The most that the providers of the suite may take of one answer, in bytes.
pub(super) const MOST: usize = 512 * 1024;

/// A provider and the server that it asks.
pub(super) struct Talk {
    pub(super) server: ModelServer,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) protocol: &'static dyn Protocol,
    pub(super) model: String,
    patience: Duration,
}

impl Talk {
    pub(super) fn new(
        fixture: &dyn ProviderFixture,
        script: impl Into<Script>,
    ) -> Result<Self, Violation> {
        let protocol = fixture.protocol();
        let server = serve(script.into().speaking(protocol))?;
        let provider = fixture.provider(&endpoint(server.base_url()));
        let (model, patience) = (fixture.model().to_owned(), fixture.patience());
        Ok(Self { server, provider, protocol, model, patience })
    }

    /// Asks, and reads the whole answer.
    pub(super) async fn ask(&self) -> Result<Told, Violation> {
        self.ask_for(hello()?).await
    }

    /// Asks the model of the fixture, and reads the whole answer.
    pub(super) async fn ask_for(&self, mut request: SampleRequest) -> Result<Told, Violation> {
        Arc::make_mut(&mut request.prompt.settings).model.clone_from(&self.model);
        if !self.protocol.capabilities().call_ids {
            request.prompt.items = request.prompt.items.iter().map(without_id).collect();
        }
        let told = match self.provider.sample(request).await {
            Ok(stream) => read(stream, Vec::new()).await?,
            Err(error) => Told::failed(error),
        };
        Ok(told.spoken_in(self.protocol))
    }

    /// Asks for an answer, which must come, and reads the request as it was sent.
    pub(super) async fn sent(
        &self,
        request: SampleRequest,
        what: &str,
    ) -> Result<ModelRequest, Violation> {
        self.ask_for(request)
            .await?
            .end
            .map_err(|error| Violation::new(format!("{what} could not be sent: {error}")))?;
        let sent = self.server.samples().pop().map(|sent| sent.read()).ok_or_else(|| {
            Violation::new(format!("{what}: no request came to the protocol's path"))
        })?;
        let (asked, wanted) = (sent.model.as_deref(), self.model.as_str());
        ensure!(asked == Some(wanted), "{what}: the model {wanted} was asked for as {asked:?}");
        Ok(sent)
    }

    /// Asks, and takes the error that must come.
    pub(super) async fn fails(&self, what: &str) -> Result<ProviderError, Violation> {
        self.ask().await?.error(what)
    }

    /// Holds the server to having been asked so many times, each time as scripted.
    pub(super) fn was_asked(&self, times: usize, what: &str) -> Checked {
        let asked = self.server.requests().len();
        ensure!(asked == times, "{what}: {asked} requests came for {times} samples");
        let misses = self.server.misses();
        ensure!(misses.is_empty(), "{what}: {misses:?}");
        Ok(())
    }

    /// Waits until a reply has ended, which must be soon and because the provider hung up.
    pub(super) async fn hung_up(&self, index: usize, what: &str) -> Checked {
        let patience = self.patience;
        let ended = tokio::time::timeout(patience, self.server.ended(index)).await;
        let ended = ended.map_err(|_| {
            let words = format!("{what}: the connection was still open after {patience:?}");
            Violation::new(words)
        })?;
        ensure!(
            ended == Ended::HungUp,
            "{what}: the provider read on until the answer was {ended:?}"
        );
        Ok(())
    }
}

pub(super) fn serve(script: impl Into<Script>) -> Result<ModelServer, Violation> {
    let failed = |error| Violation::new(format!("the suite's server did not start: {error}"));
    ModelServer::start(script).map_err(failed)
}

pub(super) fn endpoint(base_url: String) -> Endpoint {
    Endpoint { base_url, key: KEY.into(), most_bytes: MOST }
}

/// What a provider told of one answer.
pub(super) struct Told {
    pub(super) items: Vec<Item>,
    protocol: Option<&'static dyn Protocol>,
    pub(super) end: Result<End, ProviderError>,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct End {
    pub(super) stop: StopReason,
    pub(super) usage: Option<Usage>,
    pub(super) response_id: Option<String>,
}

impl Told {
    fn failed(error: ProviderError) -> Self {
        Self { items: Vec::new(), protocol: None, end: Err(error) }
    }

    /// Names the protocol that it was told in.
    pub(super) fn spoken_in(self, protocol: &'static dyn Protocol) -> Self {
        Self { protocol: Some(protocol), ..self }
    }

    /// Takes the error that must have come.
    pub(super) fn error(self, what: &str) -> Result<ProviderError, Violation> {
        match self.end {
            Err(error) => Ok(error),
            Ok(_) => Err(Violation::new(format!(
                "{what} passed for an answer: {:?}",
                parts(&self.items)
            ))),
        }
    }

    /// Holds it to being this answer.
    pub(super) fn is(self, answer: &Answer, what: &str) -> Result<End, Violation> {
        let end = self.end.map_err(|error| {
            let kind = error.kind;
            Violation::new(format!("{what} failed as {kind:?}: {error}"))
        })?;
        let told = parts(&self.items);
        let given = given(answer, self.protocol);
        ensure!(told == given, "{what}: {told:?} was told where {given:?} was given");
        Ok(end)
    }
}

/// A call as it is told where the protocol has no ids.
fn without_id(item: &PromptItem) -> PromptItem {
    let mut item = item.clone();
    if let PromptItem::Call { call, .. } = &mut item {
        Arc::make_mut(call).provider_id.clear();
    }
    item
}

/// Reads the rest of an answer, of which some events have come.
pub(super) async fn read(
    mut stream: Box<dyn SampleStream>,
    mut events: Vec<StreamEvent>,
) -> Result<Told, Violation> {
    let end = loop {
        match stream.next(&mut events).await {
            Ok(StreamState::More) => {}
            Ok(StreamState::End) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    told(events, end)
}

/// What all events of an answer come to.
pub(super) fn told(
    events: Vec<StreamEvent>,
    end: Result<(), ProviderError>,
) -> Result<Told, Violation> {
    // The caps of an engine are not what is under test.
    let caps = AssemblerLimits { bytes: usize::MAX, parts: usize::MAX };
    let (mut assembler, mut out) = (Assembler::new(caps), Vec::new());
    for event in events {
        let pushed = assembler.push(event, &mut out);
        pushed.map_err(|error| Violation::new(format!("assembling the answer: {error}")))?;
    }
    let (mut items, mut ended) = (Vec::new(), None);
    for assembled in out {
        match assembled {
            AssemblerOutput::Delta(_) => {}
            AssemblerOutput::Item(item) => items.push(item),
            AssemblerOutput::Ended { stop, usage, response_id } => {
                ended = Some(End { stop, usage, response_id });
            }
        }
    }
    let end = match (end, ended) {
        (Ok(()), Some(end)) => Ok(end),
        (Err(error), None) => Err(error),
        (Ok(()), None) => {
            let words = "the stream ended as if whole, and no Finished was among its events";
            return Err(Violation::new(words));
        }
        (Err(error), Some(_)) => {
            return Err(Violation::new(format!(
                "the answer was Finished, and then came an error: {error}"
            )));
        }
    };
    Ok(Told { items, protocol: None, end })
}

/// The parts that items stand for, without what only the provider can read.
pub(super) fn parts(items: &[Item]) -> Vec<Part> {
    let part = |item: &Item| match item {
        Item::Text { text, .. } => Part::Text(text.to_string()),
        Item::Refusal { text } => Part::Refusal(text.to_string()),
        Item::Reasoning(item) => Part::Reasoning { text: item.text.clone(), encrypted: None },
        Item::Call(call) => Part::Call {
            id: call.provider_id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        },
    };
    items.iter().map(part).collect()
}

/// The parts of an answer as [`parts`] gives them, where this protocol gives them.
pub(super) fn given(answer: &Answer, protocol: Option<&dyn Protocol>) -> Vec<Part> {
    let able = protocol.map_or_else(ProtocolCapabilities::all, |protocol| protocol.capabilities());
    let part = |part: &Part| match part {
        Part::Reasoning { text, .. } => Part::Reasoning { text: text.clone(), encrypted: None },
        Part::Refusal(text) if !able.refusals => Part::Text(text.clone()),
        Part::Call { name, arguments, .. } if !able.call_ids => {
            Part::Call { id: String::new(), name: name.clone(), arguments: arguments.clone() }
        }
        Part::Text(_) | Part::Refusal(_) | Part::Call { .. } => part.clone(),
    };
    answer.parts().iter().map(part).collect()
}

/// Holds an error to a class, and to whether it is worth another try.
pub(super) fn classed(
    error: &ProviderError,
    kinds: &[FailureKind],
    again: bool,
    what: &str,
) -> Checked {
    let kind = error.kind;
    ensure!(
        kinds.contains(&kind),
        "{what} is of the class {kind:?} and must be of {kinds:?}: {error}"
    );
    ensure!(
        (error.retry != Retry::Never) == again,
        "{what} says {:?} of another try: {error}",
        error.retry
    );
    ensure!(
        !error.context.is_empty() && error.context.len() < 16 * 1024,
        "{what} is told in {} bytes",
        error.context.len()
    );
    Ok(())
}

/// A request for an answer to `hi`.
pub(super) fn hello() -> Result<SampleRequest, Violation> {
    says("hi")
}

/// A request for an answer to these words of a user.
pub(super) fn says(text: &str) -> Result<SampleRequest, Violation> {
    request(settings(), &[PromptItem::User { text: text.into() }])
}

pub(super) fn request(
    settings: Settings,
    items: &[PromptItem],
) -> Result<SampleRequest, Violation> {
    let session = SessionId::new("suite").map_err(|error| Violation::new(error.to_string()))?;
    let items: AppendList<PromptItem> = items.iter().cloned().collect();
    let prompt = Prompt { settings: Arc::new(settings), items };
    Ok(SampleRequest::new(session, TurnId(1), Seq(2), prompt))
}

pub(super) fn settings() -> Settings {
    crate::settings().with(|it| {
        it.provider = "suite".into();
        it.model = MODEL.into();
        it.instructions = "Be brief.".into();
    })
}
