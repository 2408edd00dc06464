//! Tests of what counts as new.

use windlass_core::{CallItem, Observation, ObservationStatus, Opaque, ReasoningItem, Seq};

use super::*;

fn settings(instructions: &str) -> Arc<Settings> {
    Arc::new(windlass_testkit::settings().with(|it| {
        it.provider = "p".into();
        it.instructions = instructions.into();
    }))
}

fn call(id: &str, name: &str, arguments: &str) -> Arc<CallItem> {
    Arc::new(CallItem {
        provider_id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    })
}

fn thought(payload: &str) -> Arc<ReasoningItem> {
    Arc::new(ReasoningItem {
        text: "hm".into(),
        opaque: Some(Opaque {
            provider: "p".into(),
            endpoint: "e".into(),
            model: "m".into(),
            payload: payload.into(),
        }),
        ..ReasoningItem::default()
    })
}

const SAMPLE: Seq = Seq(2);

fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

fn called(id: &str, call: Arc<CallItem>) -> PromptItem {
    let (sample, id) = (SAMPLE, id.into());
    PromptItem::Call { sample, id, call }
}

fn result(id: &str) -> PromptItem {
    PromptItem::Result {
        id: id.into(),
        observation: Arc::new(Observation::new(ObservationStatus::Done, "42")),
        edited: None,
    }
}

/// A prompt of two, and an answer of a thought, words and a call.
fn known(settings: &Arc<Settings>) -> ServerContext {
    ServerContext {
        response_id: "r".into(),
        head: Bytes::new(),
        lowered: Vec::new(),
        prompt: Prompt {
            settings: settings.clone(),
            items: [user("a"), user("b")].into_iter().collect(),
        },
        items: vec![
            Item::Reasoning(thought("x")),
            Item::text("I look."),
            Item::Call(call("c", "f", "{}")),
        ],
    }
}

/// What goes on from it.
fn on() -> Vec<PromptItem> {
    let (sample, text) = (SAMPLE, "I look.");
    vec![
        user("a"),
        user("b"),
        PromptItem::Reasoning { sample, item: thought("x") },
        PromptItem::text(sample, text),
        called("c", call("c", "f", "{}")),
        result("c"),
    ]
}

fn rest(settings: &Arc<Settings>, items: Vec<PromptItem>) -> Result<usize, ResendReason> {
    let prompt = Prompt { settings: settings.clone(), items: items.into_iter().collect() };
    known(&self::settings("i")).first_new_item(&prompt)
}

#[test]
fn what_comes_after_the_answer_is_new() {
    let settings = settings("i");
    assert_eq!(rest(&settings, on()), Ok(5));
    let mut longer = on();
    longer.extend([user("d"), user("e")]);
    assert_eq!(rest(&settings, longer), Ok(5));
}

#[test]
fn each_item_of_prompt_and_answer_counts() {
    let settings = settings("i");
    for at in 0..5 {
        let mut other = on();
        other[at] = user("other");
        assert!(rest(&settings, other).is_err(), "{at}");
        let mut fewer = on();
        fewer.remove(at);
        assert!(rest(&settings, fewer).is_err(), "{at}");
        let mut more = on();
        more.insert(at, user("more"));
        assert!(rest(&settings, more).is_err(), "{at}");
        let mut cut = on();
        cut.truncate(at + 1);
        assert!(rest(&settings, cut).is_err(), "{at}");
    }
    assert!(rest(&self::settings("other"), on()).is_err());
}

#[test]
fn a_call_counts_by_the_id_that_the_model_gave_it() {
    let settings = settings("i");
    let long = "c".repeat(200);
    let others = [
        called("renamed", call("c", "f", "{}")),
        called("c", call("c", "g", "{}")),
        called("c", call("c", "f", "{\"a\":1}")),
        called("d", call("d", "f", "{}")),
    ];
    for other in others {
        let mut items = on();
        items[4] = other.clone();
        assert!(rest(&settings, items).is_err(), "{other:?}");
    }
    let item = called(&long, call(&long, "f", "{}"));
    // Its id would be sent in another spelling than the server knows it by.
    assert!(!is(&item, &Item::Call(call(&long, "f", "{}"))));
    let refusal = PromptItem::Refusal { sample: SAMPLE, text: "No.".into() };
    assert!(is(&refusal, &Item::Refusal { text: "No.".into() }));
    assert!(!is(&refusal, &Item::text("No.")));
}

#[test]
fn only_a_whole_answer_with_a_name_is_known() {
    let text = |text: &str| StreamEvent::Text { slot: 0, text: text.into() };
    let done = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let opened = |id: &str| StreamEvent::Opened { response_id: Some(id.into()), model: None };
    let ended = |reason| StreamEvent::Finished { reason };
    let known = |events: &[StreamEvent]| {
        let mut said = ItemCollector::default();
        events.iter().for_each(|event| said.push(event));
        let prompt = known(&settings("i")).prompt;
        said.into_context(prompt, Bytes::new(), Vec::new())
    };
    let whole = [opened("r"), text("a"), text("b"), done.clone(), ended(StopReason::Stop)];
    let told = known(&whole).unwrap();
    assert_eq!(told.response_id, "r");
    assert_eq!(told.items, [Item::text("ab")]);
    let short = [opened("r"), text("a"), done.clone(), ended(StopReason::Length)];
    assert!(known(&short).is_none());
    assert!(known(&whole[..4]).is_none());
    assert!(known(&whole[1..]).is_none());
    let nameless = [opened(""), text("a"), done, ended(StopReason::Stop)];
    assert!(known(&nameless).is_none());
}
