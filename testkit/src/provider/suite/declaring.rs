//! Cases about what a provider declares: a wrong declaration fails either way.

use serde_json::json;
use windlass_core::{
    CallItem, FailureKind, Item, ObservationStatus, PromptItem, Seq, Settings, Temperature,
    WebSearch,
};

use super::ProviderFixture;
use super::asking::{result, thought, user, with_tools};
use super::talk::{Talk, classed, request, settings};
use crate::answer::{Answer, WebSource};
use crate::http::{ModelRequest, Reply, RequestPart, Script};
use crate::store::{Checked, Violation, ensure, run};

/// The word for an effort that every dialect knows.
const EFFORT: &str = "high";
/// What the reasoning of the suite holds in the provider's own form.
const SEALED: &str = "c3VpdGUtc2VhbGVk";

/// True if a request says what its settings need.
type Says = fn(&ModelRequest) -> bool;

/// Settings that need a capability, with its name, its declaration, and a check that a request says
/// it.
fn needs(talk: &Talk) -> [(&'static str, bool, Settings, Says); 4] {
    let declared = talk.provider.capabilities();
    let effort = settings().with(|it| it.effort = Some(EFFORT.into()));
    let half = settings().with(|it| it.temperature = Temperature::from_thousandths(500));
    [
        ("tools", declared.tools, with_tools(), |sent| !sent.tools.is_empty()),
        ("an effort", declared.effort, effort, |sent| sent.effort.is_some()),
        ("a temperature", declared.temperature, half, |sent| sent.temperature == Some(0.5)),
        ("a web search", declared.web_search.is_some(), searching(), |sent| sent.web_search),
    ]
}

/// Settings that let the provider search the web.
fn searching() -> Settings {
    settings().with(|it| it.options.web_search = Some(WebSearch::default()))
}

/// What is declared goes out.
///
/// # Errors
/// A violation when a request that needs it is refused, or goes out without it.
pub fn what_is_declared_is_done(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let talk = Talk::new(fixture, Script::respond(|_| Reply::say("Hello.")))?;
        for (what, declared, settings, says) in needs(&talk) {
            if !declared {
                continue;
            }
            let told = talk.ask_for(request(settings, &[user("hi")])?).await?;
            told.end.map_err(|error| {
                Violation::new(format!("{what} is declared and refused: {error}"))
            })?;
            let sent = talk.server.samples().pop().map(|sent| sent.read());
            ensure!(says(&sent.unwrap_or_default()), "{what} is declared and not sent");
        }
        Ok(())
    })
}

/// A request that needs what is not declared is refused as unsupported, before anything is sent.
///
/// # Errors
/// A violation when it is sent, or refused otherwise.
pub fn what_is_not_declared_is_unsupported(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let talk = Talk::new(fixture, Script::respond(|_| Reply::say("Hello.")))?;
        for (what, declared, settings, _) in needs(&talk) {
            if declared {
                continue;
            }
            let what = format!("what needs {what}, which is not declared and must be refused,");
            let told = talk.ask_for(request(settings, &[user("hi")])?).await?;
            let error = told.error(&what)?;
            classed(&error, &[FailureKind::Unsupported], false, &what)?;
            talk.was_asked(0, &what)?;
        }
        Ok(())
    })
}

/// The sources of an answer are told where web search is declared: each with its address and its title,
/// and with a part of the text that the text has. What the provider wants back goes back.
///
/// # Errors
/// A violation when a source is missing or another, or when a part of the search does not go back.
pub fn sources_are_told_where_searches_are_declared(fixture: &dyn ProviderFixture) -> Checked {
    let source = WebSource {
        query: "age of winches".into(),
        url: "https://example.org/winch?a=1&b=2".into(),
        title: "Winches \u{2014} a history".into(),
    };
    let text = "\u{c9}\u{1f600} Winches are old.";
    let answer = Answer::new().cited_text(text, source.clone());
    run(async {
        let talk = Talk::new(fixture, [Reply::answer(answer.clone()), Reply::say("Bye.")])?;
        if talk.provider.capabilities().web_search.is_none() {
            return Ok(());
        }
        let told = talk.ask_for(request(searching(), &[user("how old?")])?).await?;
        let items = told.items;
        told.end.map_err(|error| Violation::new(format!("a search failed: {error}")))?;
        let cited = items.iter().find_map(|item| match item {
            Item::Text { text, citations, .. } => Some((text.clone(), citations.to_vec())),
            Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_) => None,
        });
        let (said, cited) = cited.unwrap_or_default();
        ensure!(*said == *text, "the text {text:?} was told as {said:?}");
        let [citation] = &cited[..] else {
            return Err(Violation::new(format!("one source was given, and {cited:?} was told")));
        };
        let same = (&citation.url, &citation.title) == (&source.url, &source.title);
        ensure!(same, "the source {source:?} was told as {citation:?}");
        let whole =
            citation.span.is_none_or(|span| (span.start, span.end) == (0, text.len() as u64));
        ensure!(
            whole,
            "a source of all {} bytes was told as one of {:?}",
            text.len(),
            citation.span
        );
        goes_back(&talk, &items).await
    })
}

/// Holds a provider to sending back what it told in its own form.
async fn goes_back(talk: &Talk, items: &[Item]) -> Checked {
    let sample = Seq(2);
    let shown = items.iter().cloned().map(|item| match item {
        Item::Text { text, opaque, .. } => PromptItem::Text { sample, text, opaque },
        Item::Refusal { text } => PromptItem::Refusal { sample, text },
        Item::Reasoning(item) => PromptItem::Reasoning { sample, item },
        Item::Call(call) => PromptItem::Call { sample, id: "c".into(), call },
    });
    let items: Vec<PromptItem> =
        [user("how old?")].into_iter().chain(shown).chain([user("and now?")]).collect();
    let told = talk.ask_for(request(searching(), &items)?).await?;
    told.is(&Answer::new().text("Bye."), "the answer after a search")?;
    let body = talk.server.samples().pop().map(|sent| sent.body).unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    let opaque = items.iter().filter_map(|item| match item {
        PromptItem::Text { opaque, .. } => opaque.as_deref(),
        PromptItem::Reasoning { item, .. } => item.opaque.as_ref(),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Refusal { .. }
        | PromptItem::Call { .. }
        | PromptItem::Result { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
    });
    for opaque in opaque {
        let sent = body.contains(&opaque.payload);
        ensure!(sent, "{} was told in the provider's form and does not go back", opaque.payload);
    }
    Ok(())
}

/// Reasoning in the provider's own form is told, and goes back byte for byte, exactly where that
/// is declared.
///
/// # Errors
/// A violation when it does not, or does undeclared.
pub fn reasoning_comes_back_as_declared(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().sealed_reasoning("hm", SEALED).text("Hello.");
    run(async {
        let replies = [Reply::answer(answer.clone()), Reply::say("Bye."), Reply::say("Bye.")];
        let talk = Talk::new(fixture, replies)?;
        let declared = talk.provider.capabilities().reasoning;
        let told = talk.ask().await?;
        let reasoning = told.items.iter().find_map(|item| match item {
            Item::Reasoning(item) => Some(item.clone()),
            Item::Text { .. } | Item::Refusal { .. } | Item::Call(_) => None,
        });
        told.is(&answer, "an answer with reasoning")?;
        let opaque = reasoning.as_ref().and_then(|item| item.opaque.clone());
        ensure!(opaque.is_some() || !declared, "reasoning that goes back is declared and not told");
        ensure!(opaque.is_none() || declared, "reasoning that goes back is told and not declared");
        let Some(item) = reasoning else {
            return Err(Violation::new("the reasoning of an answer is not told"));
        };
        let sample = Seq(2);
        let text = "Hello.";
        let items = [
            user("hi"),
            PromptItem::Reasoning { sample, item },
            PromptItem::text(sample, text),
            user("and now?"),
        ];
        let foreign = [&[user("hi"), thought(2, "another")], &items[2..]].concat();
        let told = talk.ask_for(request(settings(), &foreign)?).await?;
        told.is(&Answer::new().text("Bye."), "the answer after another provider's reasoning")?;
        let body = talk.server.samples().pop().map(|sent| sent.body).unwrap_or_default();
        let sent = String::from_utf8_lossy(&body).contains("another provider");
        ensure!(!sent, "the reasoning of another provider was sent, and is none of this one's");
        let told = talk.ask_for(request(settings(), &items)?).await?;
        told.is(&Answer::new().text("Bye."), "the answer after it")?;
        let request = talk.server.samples().pop();
        let (kinds, body) =
            request.map(|sent| (kinds(&sent.read()), sent.body)).unwrap_or_default();
        let sent = String::from_utf8_lossy(&body).into_owned();
        let back = opaque.is_some_and(|opaque| sent.contains(&opaque.payload));
        ensure!(
            back == declared,
            "reasoning that goes back is declared ({declared}) and was sent ({back})"
        );
        ensure!(
            declared || !sent.contains(SEALED),
            "reasoning that goes back is sent and not declared"
        );
        let place = if declared {
            &["user", "opaque", "text", "user"][..]
        } else {
            &["user", "text", "user"]
        };
        ensure!(kinds == place, "with reasoning in its place, {kinds:?} was sent for {place:?}");
        Ok(())
    })
}

fn kinds(request: &ModelRequest) -> Vec<&'static str> {
    request.parts.iter().map(RequestPart::kind).collect()
}

/// An opaque part of a call, such as the signature of the thought behind it, is told with the call
/// and goes back with it unchanged, in a protocol that has one.
///
/// # Errors
/// A violation when it is lost or changed, or made up where the protocol has none.
pub fn the_opaque_part_of_a_call_comes_back(fixture: &dyn ProviderFixture) -> Checked {
    let able = fixture.protocol().capabilities().sealed_calls;
    let answer = Answer::new().call("f", json!({ "a": 1 })).sealed(SEALED);
    run(async {
        let replies = [Reply::answer(answer.clone()), Reply::say("Bye."), Reply::say("Bye.")];
        let talk = Talk::new(fixture, replies)?;
        let told = talk.ask_for(request(with_tools(), &[user("hi")])?).await?;
        let call = told.items.iter().find_map(|item| match item {
            Item::Call(call) => Some(call.clone()),
            Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => None,
        });
        told.is(&answer, "an answer with a sealed call")?;
        let Some(call) = call else {
            return Err(Violation::new("the call of an answer is not told"));
        };
        ensure!(
            call.opaque.is_some() == able,
            "a call of a protocol with opaque parts ({able}) is told with {:?}",
            call.opaque
        );
        let called = |call| {
            let call = PromptItem::Call { sample: Seq(2), id: "a".into(), call };
            [user("hi"), call, result("a", ObservationStatus::Done, "one", None)]
        };
        let mut foreign = CallItem::clone(&call);
        if let Some(opaque) = &mut foreign.opaque {
            opaque.model = "another".into();
        }
        talk.sent(request(with_tools(), &called(foreign.into()))?, "a call of another model")
            .await?;
        let body = talk.server.samples().pop().map(|sent| sent.body).unwrap_or_default();
        let sent = String::from_utf8_lossy(&body).contains(SEALED);
        ensure!(
            !sent,
            "the opaque part of another model's call was sent, and is none of this one's"
        );
        let items = called(call);
        talk.sent(request(with_tools(), &items)?, "a sealed call").await?;
        let body = talk.server.samples().pop().map(|sent| sent.body).unwrap_or_default();
        let back = String::from_utf8_lossy(&body).contains(SEALED);
        ensure!(
            back == able,
            "the opaque part of a call was sent back ({back}) where it is one ({able})"
        );
        Ok(())
    })
}
