//! Chains and routers over scripted providers: who is asked, and what becomes of failures.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{
    AppendList, FailedAttempt, FailureKind, Prompt, Retry, Seq, SessionId, TurnId,
};
use windlass_ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};
use windlass_route::{Fallback, FallbackProvider, ModelPattern, Router};
use windlass_testkit::provider::ScriptedProvider;
use windlass_testkit::provider::{Step, cut_after, fail, say};

/// A scripted provider under a name of its own.
struct NamedProvider(&'static str, ScriptedProvider);

#[async_trait]
impl Provider for NamedProvider {
    fn name(&self) -> &str {
        self.0
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.1.capabilities()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        assert_eq!(request.prompt.settings.provider, self.0);
        self.1.sample(request).await
    }
}

fn named(name: &'static str, script: impl IntoIterator<Item = Step>) -> Arc<NamedProvider> {
    Arc::new(NamedProvider(name, ScriptedProvider::new(script)))
}

fn request(provider: &str, model: &str) -> SampleRequest {
    let settings = windlass_testkit::settings().with(|it| {
        it.provider = provider.into();
        it.model = model.into();
    });
    let prompt = Prompt { settings: Arc::new(settings), items: AppendList::default() };
    SampleRequest::new(SessionId::new("s").unwrap(), TurnId(1), Seq(2), prompt)
}

/// Reads one answer to its end. A failure comes back as the log would record it.
async fn read(
    provider: &dyn Provider,
    request: SampleRequest,
) -> Result<(), (FailedAttempt, Retry)> {
    let failed = |error: ProviderError, asked: Option<&windlass_core::RequestRecord>| {
        let attempt = FailedAttempt {
            kind: error.kind,
            provider: asked.map(|asked| asked.provider.clone()),
            model: asked.map(|asked| asked.model.clone()),
        };
        (attempt, error.retry)
    };
    let mut stream = match provider.sample(request).await {
        Ok(stream) => stream,
        Err(mut error) => {
            let asked = error.details.request.take();
            return Err(failed(error, asked.as_deref()));
        }
    };
    let asked = stream.request_record();
    let mut events = Vec::new();
    loop {
        match stream.next(&mut events).await {
            Ok(StreamState::More) => {}
            Ok(StreamState::End) => return Ok(()),
            Err(error) => return Err(failed(error, asked.as_ref())),
        }
    }
}

/// Attempts at one sample, as an engine makes them, until one succeeds or none is worth it.
async fn attempts(provider: &dyn Provider, most: usize) -> (Vec<(String, Retry)>, bool) {
    let mut request = request("chain", "m");
    let mut told = Vec::new();
    for _ in 0..most {
        match read(provider, request.clone()).await {
            Ok(()) => return (told, true),
            Err((attempt, retry)) => {
                told.push((attempt.provider.clone().unwrap_or_default(), retry));
                request.failed.push(attempt);
                if retry == Retry::Never {
                    break;
                }
            }
        }
    }
    (told, false)
}

fn chain(links: impl IntoIterator<Item = Arc<NamedProvider>>) -> Fallback {
    let link = |provider: Arc<NamedProvider>| FallbackProvider::new(provider);
    Fallback::new("chain", links.into_iter().map(link)).unwrap()
}

const OVERLOADED: FailureKind = FailureKind::Overloaded;

#[tokio::test]
async fn the_next_is_asked_at_once_and_each_request_is_one_request() {
    let first = named("first", [fail(OVERLOADED, Retry::AfterMs(9_000))]);
    let second = named("second", [cut_after("half an ans"), say("hi")]);
    let third = named("third", [say("hi")]);
    let chain = chain([first.clone(), second.clone(), third.clone()])
        .on([OVERLOADED, FailureKind::Truncated])
        .unwrap();
    let (told, answered) = attempts(&chain, 9).await;
    let expected = [("first".to_owned(), Retry::Now), ("second".to_owned(), Retry::Now)];
    assert_eq!((told.as_slice(), answered), (&expected[..], true));
    assert_eq!(first.1.asked().len() + second.1.asked().len() + third.1.asked().len(), 3);
}

#[tokio::test]
async fn a_failure_that_is_not_named_stays_with_the_provider() {
    let refused = FailureKind::InvalidRequest;
    let first = named("first", [fail(refused, Retry::Never)]);
    let second = named("second", []);
    let (told, _) = attempts(&chain([first, second.clone()]), 9).await;
    assert_eq!(told, [("first".to_owned(), Retry::Never)]);
    assert_eq!(second.1.asked().len(), 0);
}

#[tokio::test]
async fn after_the_last_the_chain_begins_again_when_that_makes_sense() {
    let first = named("first", [fail(OVERLOADED, Retry::Soon), say("hi")]);
    let wrong = fail(FailureKind::Quota, Retry::Never);
    let second = named("second", [wrong]);
    let (told, answered) = attempts(&chain([first, second]), 9).await;
    let expected = [("first".to_owned(), Retry::Now), ("second".to_owned(), Retry::Soon)];
    assert_eq!((told.as_slice(), answered), (&expected[..], true));
}

#[tokio::test(start_paused = true)]
async fn who_failed_rests_and_is_asked_again_when_rested() {
    let overloaded = fail(OVERLOADED, Retry::AfterMs(5_000));
    let first = named("first", [overloaded, say("hi")]);
    let second = named("second", [say("hi"), say("hi")]);
    let chain = chain([first.clone(), second.clone()]);
    assert!(attempts(&chain, 9).await.1);
    // Another sample begins with the second as long as the first rests.
    assert!(attempts(&chain, 9).await.1);
    assert_eq!((first.1.asked().len(), second.1.asked().len()), (1, 2));
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    assert!(attempts(&chain, 9).await.1);
    assert_eq!((first.1.asked().len(), second.1.asked().len()), (2, 2));
}

#[tokio::test]
async fn a_link_with_a_model_of_its_own_is_asked_for_that() {
    let first = named("first", [fail(OVERLOADED, Retry::Soon)]);
    let second = named("second", [say("hi")]);
    let links =
        [FallbackProvider::new(first), FallbackProvider::new(second.clone()).with_model("small")];
    let chain = Fallback::new("chain", links).unwrap();
    assert!(attempts(&chain, 9).await.1);
    assert_eq!(second.1.prompts()[0].settings.model, "small");
}

#[tokio::test]
async fn what_makes_no_chain_is_refused_in_words() {
    let said = |chain: Result<Fallback, ProviderError>| chain.err().unwrap().context;
    assert!(said(Fallback::new("chain", [])).contains("no provider"));
    let twice = [named("a", []), named("a", [])].map(|one| FallbackProvider::new(one));
    assert!(said(Fallback::new("chain", twice)).contains("twice"));
    let overflow = chain([named("a", [])]).on([FailureKind::ContextOverflow]);
    assert!(said(overflow).contains("ContextOverflow"));
}

#[tokio::test]
async fn a_router_asks_whom_the_settings_name_or_whose_the_model_is() {
    let a = named("a", [say("hi")]);
    let b = named("b", [say("hi")]);
    let providers: [Arc<dyn Provider>; 2] = [a.clone(), b.clone()];
    let router = Router::new("auto", providers).unwrap();
    let router = router.rule(ModelPattern::new("big-*"), "b", Some("grand")).unwrap();
    read(&router, request("a", "m")).await.unwrap();
    read(&router, request("auto", "big-1")).await.unwrap();
    assert_eq!((a.1.asked().len(), b.1.asked().len()), (1, 1));
    assert_eq!(b.1.prompts()[0].settings.model, "grand");
    for (provider, model) in [("c", "m"), ("auto", "m")] {
        let (attempt, retry) = read(&router, request(provider, model)).await.unwrap_err();
        assert_eq!((attempt.kind, retry), (FailureKind::NotFound, Retry::Never));
    }
    assert!(router.rule(ModelPattern::new("*"), "c", None).is_err());
    let twice: [Arc<dyn Provider>; 2] = [named("a", []), named("a", [])];
    assert!(Router::new("auto", twice).is_err());
}
