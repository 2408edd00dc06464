//! Cases about requests: what goes out is what a provider's grammar takes, and each call keeps its
//! result.

use std::sync::Arc;

use windlass_core::{
    CallItem, Observation, ObservationStatus, Opaque, PromptItem, ReasoningItem, Seq, Settings,
};
use windlass_ports::SampleRequest;

use super::ProviderFixture;
use super::talk::{Talk, request, settings};
use crate::http::{Reply, Script};
use crate::store::{Checked, ensure, run};

pub(super) fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

pub(super) fn said(sample: u64, text: &str) -> PromptItem {
    PromptItem::text(Seq(sample), text)
}

pub(super) fn call(sample: u64, id: &str, name: &str, arguments: &str) -> PromptItem {
    let call = CallItem {
        // The engine makes another id of one that is there twice.
        provider_id: format!("wire-{id}"),
        name: name.into(),
        arguments: arguments.into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    };
    PromptItem::Call { sample: Seq(sample), id: id.into(), call: Arc::new(call) }
}

pub(super) fn result(
    id: &str,
    status: ObservationStatus,
    output: &str,
    edited: Option<&str>,
) -> PromptItem {
    PromptItem::Result {
        id: id.into(),
        observation: Arc::new(Observation::new(status, output)),
        edited: edited.map(Arc::from),
    }
}

pub(super) fn thought(sample: u64, by: &str) -> PromptItem {
    let opaque = Opaque {
        provider: by.into(),
        endpoint: by.into(),
        model: by.into(),
        payload: "{\"of\":\"another provider\"}".into(),
    };
    PromptItem::Reasoning {
        sample: Seq(sample),
        item: Arc::new(ReasoningItem {
            text: "hm".into(),
            opaque: Some(opaque),
            ..Default::default()
        }),
    }
}

/// What nobody said, in its frame.
pub(super) fn framed(text: &str) -> Arc<str> {
    format!("<context from=\"suite\">\n{text}\n</context>").into()
}

/// Conversations as turns leave them behind, the awkward ones above all.
fn conversations() -> Vec<Vec<PromptItem>> {
    use ObservationStatus as Status;
    let long = "x".repeat(200);
    vec![
        vec![user("hi")],
        vec![
            PromptItem::Context { text: framed("the workspace is empty") },
            user("hi"),
            said(2, "Hello."),
            user("\u{1f9ca} \"quoted\" \u{0}\u{7f}\u{2028}\\"),
        ],
        vec![
            user("both"),
            thought(2, "another"),
            said(2, "Let me look."),
            call(2, "a", "read_file", "{\"path\":\"a\"}"),
            call(2, "b", "read_file", "{\"path\":\"b\"}"),
            result("a", Status::Done, "one", None),
            result("b", Status::Denied, "not allowed", None),
            said(9, "It is one."),
            user("thanks"),
        ],
        vec![
            user("again and again"),
            call(2, "a", "f", "{}"),
            result("a", Status::Failed, "", None),
            call(5, "b", "f", "{}"),
            result("b", Status::Unknown, "nobody knows", None),
            call(8, "c", "f", "{}"),
            result("c", Status::Aborted, "half", None),
            PromptItem::Refusal { sample: Seq(11), text: "No.".into() },
            user("why?"),
        ],
        vec![
            user("what a model makes up"),
            call(2, "a", "no such tool!", "not JSON"),
            call(2, "b", "", "[1]"),
            call(2, &long, &long, "{\"a\":"),
            result("a", Status::Failed, "there is no such tool", None),
            result("b", Status::Failed, "there is no such tool", None),
            result(&long, Status::NotStarted, "it was cut off", None),
        ],
        vec![
            user("edited"),
            call(2, "a", "f", "{\"n\":1}"),
            result("a", Status::Done, "done", Some("{\"n\":2}")),
            PromptItem::Context { text: framed("time is short") },
            said(5, "One."),
            said(5, "Two."),
        ],
    ]
}

pub(super) fn with_tools() -> Settings {
    let tool = |name: &str| {
        crate::tool_spec(
            name,
            "One of the suite's.",
            "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}",
        )
    };
    settings().with(|it| it.tools = vec![tool("read_file"), tool("f")])
}

/// The most tokens that a request asks for are those of the settings, or fewer that the turn's budget
/// leaves.
///
/// # Errors
/// A violation when it asks for others.
pub fn no_longer_answer_is_asked_for_than_is_left(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let talk = Talk::new(fixture, Script::respond(|_| Reply::say("Hello.")))?;
        for (most, bound, wanted) in [
            (None, Some(300), 300),
            (Some(200), Some(300), 200),
            (Some(400), Some(300), 300),
            (Some(400), None, 400),
        ] {
            let settings = settings().with(|it| it.max_output_tokens = most);
            let asked = request(settings, &[user("hi")])?;
            let asked = SampleRequest { output_bound: bound, ..asked };
            let sent = talk.sent(asked, "a limit").await?.max_tokens;
            ensure!(
                sent == Some(wanted),
                "of {most:?} tokens a budget leaves {bound:?}, and {sent:?} are asked for"
            );
        }
        Ok(())
    })
}

/// Whatever stands in a prompt, the request is one that the strictest provider takes, names the
/// model and the tools, and holds the user's words.
///
/// # Errors
/// A violation when it is not.
pub fn requests_keep_the_grammar(fixture: &dyn ProviderFixture) -> Checked {
    let bare = settings().with(|it| it.instructions = String::new());
    run(async {
        let talk = Talk::new(fixture, Script::respond(|_| Reply::say("Hello.")))?;
        let mut asked = 0;
        for settings in [with_tools(), bare] {
            for items in conversations() {
                let told = talk.ask_for(request(settings.clone(), &items)?).await?;
                told.end.map_err(|error| {
                    let words = format!("a request could not be sent: {error}");
                    crate::store::Violation::new(words)
                })?;
                asked += 1;
                talk.was_asked(asked, "conversations")?;
                for sent in talk.server.samples().iter().skip(asked - 1) {
                    let protocol = fixture.protocol();
                    let fault = protocol.fault(sent);
                    ensure!(fault.is_none(), "{}", fault.unwrap_or_default());
                    ensure!(protocol.serves(sent), "{} is of another protocol", sent.path);
                    let model = sent.read().model;
                    ensure!(
                        model.as_deref() == Some(talk.model.as_str()),
                        "the model {} was asked for as {model:?}",
                        talk.model
                    );
                    let (seen, wanted) = (sent.asked(), last_words(&items));
                    ensure!(
                        seen.user == wanted,
                        "the last words of the user are {wanted:?}, and {:?} was sent",
                        seen.user
                    );
                    let tools: Vec<_> = settings.tools.iter().map(|tool| &tool.name).collect();
                    ensure!(
                        seen.tools.iter().eq(tools.iter().copied()),
                        "the tools are {tools:?}, and {:?} were sent",
                        seen.tools
                    );
                }
            }
        }
        Ok(())
    })
}

fn last_words(items: &[PromptItem]) -> Option<String> {
    let words = items.iter().rev().find_map(|item| match item {
        PromptItem::User { text } => Some(text),
        PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Text { .. }
        | PromptItem::Refusal { .. }
        | PromptItem::Reasoning { .. }
        | PromptItem::Call { .. }
        | PromptItem::Result { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
    });
    words.map(ToString::to_string)
}

/// Each call goes out with its own result, in the order of the calls; where somebody changed its
/// arguments, the call stands as the model wrote it and the result says what ran.
///
/// # Errors
/// A violation when a call has another's result, or none.
pub fn calls_keep_their_results(fixture: &dyn ProviderFixture) -> Checked {
    use ObservationStatus as Status;
    let items = [
        user("three"),
        call(2, "c", "f", "{\"n\":1}"),
        call(2, "a", "f", "{\"n\":2}"),
        call(2, "b", "f", "{\"n\":3}"),
        result("c", Status::Done, "one", None),
        result("a", Status::Done, "two", Some("{\"n\":22}")),
        result("b", Status::Denied, "three", None),
    ];
    run(async {
        let talk = Talk::new(fixture, Reply::say("Hello."))?;
        drop(talk.ask_for(request(with_tools(), &items)?).await?);
        talk.was_asked(1, "three calls")?;
        let asked = talk.server.samples().first().map(|sent| sent.asked());
        let asked = asked.unwrap_or_default();
        let able = fixture.protocol().capabilities().call_ids;
        let id = |id: &str| if able { id.to_owned() } else { String::new() };
        let call = |of: &str, n: u32| (id(of), "f".into(), format!("{{\"n\":{n}}}"));
        let calls = [call("c", 1), call("a", 2), call("b", 3)];
        ensure!(asked.calls == calls, "the calls {calls:?} were sent as {:?}", asked.calls);
        let ids: Vec<&str> = asked.results.iter().map(|(id, _)| id.as_str()).collect();
        ensure!(ids == [id("c"), id("a"), id("b")], "results were sent for {ids:?}");
        ensure!(asked.results.len() == 3, "{} results were sent", asked.results.len());
        for ((_, output), words) in asked.results.iter().zip(["one", "two", "three"]) {
            let says = output.ends_with(words);
            ensure!(says, "the result {words:?} was sent as {output:?}");
            let changed = output.contains("{\"n\":22}");
            ensure!(
                changed == (words == "two"),
                "only two ran with other arguments, and {words} says {output:?}"
            );
        }
        Ok(())
    })
}
