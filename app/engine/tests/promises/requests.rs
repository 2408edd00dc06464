//! Requests: what each is to the one before it, and what a redactor leaves of their answers.

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    Delta, EffectClass, Fact, Item, Permissions, PromptItem, ReasoningItem, Rule, RuleVerdict,
    StreamEvent, Widening,
};
use windlass_engine::ports::{NoApprover, Redactor};
use windlass_engine::{Event, LiveKind, PrefixReport};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::hooks::ScriptedHooks;
use windlass_testkit::provider::{ScriptedProvider, Step, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};
use windlass_testkit::{Answer, Gate};

use crate::world::{Cast, World, failure, hello, me, ms, soon};

/// Takes out every `x`, and holds back whatever has not ended with a space.
#[derive(Default)]
struct NoX(std::collections::BTreeMap<u32, String>);

impl Redactor for NoX {
    fn push(&mut self, slot: u32, text: &str) -> String {
        let held = self.0.entry(slot).or_default();
        held.push_str(text);
        let end = held.rfind(' ').map_or(0, |at| at + 1);
        let out: String = held.drain(..end).collect();
        self.redact(&out)
    }

    fn end(&mut self, slot: u32) -> String {
        let held = self.0.remove(&slot).unwrap_or_default();
        self.redact(&held)
    }

    fn redact(&self, text: &str) -> String {
        text.replace('x', "_")
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_redactor_takes_out_is_in_no_delta_no_fact_and_no_request() {
    let hooks = ScriptedHooks::new([]).with_redactor(|| Box::<NoX>::default());
    let answer = Answer::new()
        .reasoning("xo xo")
        .text("a fox and an ox")
        .call("pay", json!({ "to": "max" }));
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let provider = ScriptedProvider::new([
        // Few enough reads that nobody lags.
        Step::from(answer.pieces_of(2)).batched(6),
        say("exit"),
    ]);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(ScriptedTools::new([counter.tool()])),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast.hooks(&hooks));
    let conversation = world.open("s").await;
    let mut events = conversation.subscribe(None);
    let watching = tokio::spawn(async move {
        let mut live = String::new();
        loop {
            match events.next().await.unwrap() {
                Event::Live(deltas) => {
                    for delta in deltas.iter() {
                        if let LiveKind::Delta { delta: Delta::Text { text, .. }, .. } = &delta.kind
                        {
                            live.push_str(text);
                        }
                    }
                }
                Event::Ended(_) => return live,
                Event::Fact(_) | Event::Lagged { .. } | Event::Store(_) => {}
            }
        }
    });
    let input = conversation.send(hello()).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "e_it");
    conversation.close().await;
    assert_eq!(soon(watching).await.unwrap(), "a fo_ and an o_e_it");
    let texts = world.picked(|fact| match fact {
        Fact::ItemAdded(added) => match &added.item {
            Item::Text { text, .. } | Item::Refusal { text } => Some(text.to_string()),
            Item::Reasoning(item) => Some(item.text.clone()),
            Item::Call(call) => Some(call.arguments.clone()),
        },
        _ => None,
    });
    assert_eq!(texts, ["_o _o", "a fo_ and an o_", r#"{"to":"max"}"#, "e_it"]);
    let prompts = provider.prompts();
    let seen = prompts[1].items.iter().find_map(|item| match item {
        PromptItem::Text { text, .. } => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(seen.as_deref(), Some("a fo_ and an o_"));
}

#[tokio::test(start_paused = true)]
async fn what_goes_back_to_the_provider_unread_holds_nothing_that_a_redactor_takes_out() {
    let answer = Answer::new()
        .sealed_reasoning("an ox", "the same, under a seal")
        .sealed_reasoning("an ass", "an ox")
        .sealed_reasoning("an ass", "an ass")
        .call("pay", json!({ "to": "bob" }));
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let run = async |hooks: ScriptedHooks| {
        let answer = Step::from(answer.clone().pieces_of(2));
        let provider = ScriptedProvider::new([answer, say("done")]);
        let cast = Cast {
            provider: Arc::new(provider.clone()),
            tools: Arc::new(ScriptedTools::new([counter.tool()])),
            ..Cast::new([], [])
        };
        let world = World::of(FaultyStore::new(), cast.hooks(&hooks));
        world.turn().await;
        let payload = |item: &ReasoningItem| item.opaque.as_ref().map(|kept| kept.payload.clone());
        let recorded = world.picked(|fact| match fact {
            Fact::ItemAdded(added) => match &added.item {
                Item::Reasoning(item) => Some(payload(item)),
                Item::Text { .. } | Item::Refusal { .. } | Item::Call(_) => None,
            },
            _ => None,
        });
        let prompts = provider.prompts();
        let items = prompts[1].items.iter();
        let sent = items.filter_map(|item| match item {
            PromptItem::Reasoning { item, .. } => Some(payload(item)),
            _ => None,
        });
        assert_eq!(sent.collect::<Vec<_>>(), recorded);
        recorded
    };
    let sealed = |text: &str| Some(format!("{text:?}"));
    let all = ["the same, under a seal", "an ox", "an ass"].map(sealed);
    assert_eq!(run(ScriptedHooks::new([])).await, all);
    let hooks = ScriptedHooks::new([]).with_redactor(|| Box::<NoX>::default());
    assert_eq!(run(hooks).await, [None, None, sealed("an ass")]);
}

#[tokio::test(start_paused = true)]
async fn no_model_is_asked_where_what_rewrites_its_words_is_missing() {
    let redacting = || ScriptedHooks::new([]).with_redactor(|| Box::<NoX>::default());
    let provider = ScriptedProvider::responding(|_| say("an ox"));
    let mut cast = Cast::new([], []);
    cast.provider = Arc::new(provider.clone());
    let world = World::of(FaultyStore::new(), cast.clone().hooks(&redacting()));
    let world = world.tuned(|settings| settings.redaction = Some("scripted".into()));
    let (report, _) = world.turn().await;
    assert_eq!(report.answer, "an o_");
    let mut store = world.store.clone();
    drop(world);
    for (hooks, stands) in [
        (ScriptedHooks::new([]), false),
        (redacting().with_redaction("others"), false),
        (redacting(), true),
    ] {
        let asked = provider.prompts().len();
        let world = World::of(store.reopen(), cast.clone().hooks(&hooks));
        let (report, took) = world.turn().await;
        if stands {
            assert_eq!(report.answer, "an o_");
        } else {
            let why = failure(&report);
            assert!(why.starts_with("Hook: "), "{why}");
            assert!(
                why.contains("rewritten by scripted, which is not among the hooks here"),
                "{why}"
            );
            assert_eq!(took, ms(0), "it is not tried again");
            assert_eq!(provider.prompts().len(), asked, "nobody was asked");
        }
        store = world.store.clone();
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_redactor_still_held_back_when_the_user_spoke_is_nowhere() {
    let gate = Gate::new();
    let text = "one two thr".to_owned();
    let half = Step::default().batch([StreamEvent::Text { slot: 0, text }]).then_gate(&gate);
    let provider = ScriptedProvider::new([half, say("as you wish")]);
    let hooks = ScriptedHooks::new([]).with_redactor(|| Box::<NoX>::default());
    let mut cast = Cast::new([], []).hooks(&hooks);
    cast.provider = Arc::new(provider);
    let world = World::of(FaultyStore::new(), cast);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    conversation.flush().await.unwrap();
    conversation.steer(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let partial = world.picked(|fact| match fact {
        Fact::SampleCut(fact) => Some(fact.partial.clone()),
        _ => None,
    });
    assert_eq!(partial, ["one two "], "what was shown, and no more");
}

#[tokio::test(start_paused = true)]
async fn each_request_extends_the_last_until_the_settings_change() {
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let steps = (0..40).map(|n| call("pay", json!({ "n": n })));
    let script = steps.chain([say("done"), say("again"), say("other")]);
    let provider = ScriptedProvider::new(script);
    let cast = Cast {
        provider: Arc::new(provider),
        tools: Arc::new(ScriptedTools::new([counter.tool()])),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast);
    let conversation = world.open("s").await;
    let turn = async || {
        let input = conversation.send(hello()).await.unwrap();
        soon(conversation.outcome(input)).await.unwrap();
        conversation.prefix().await.unwrap()
    };
    let mut wanted = PrefixReport { requests: 41, extended: 40, ..PrefixReport::default() };
    assert_eq!(turn().await, wanted);
    (wanted.requests, wanted.extended) = (42, 41);
    assert_eq!(turn().await, wanted);
    let mut settings = (*conversation.state().await.unwrap().settings).clone();
    settings.instructions = "Be brief.".into();
    conversation.configure(settings, me(), Widening::Forbidden).await.unwrap();
    (wanted.requests, wanted.broken) = (43, 1);
    assert_eq!(turn().await, wanted);
}

#[tokio::test(start_paused = true)]
async fn rules_are_found_in_what_the_arguments_say() {
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let spelled = Answer::new().call_text("pay", r#"{"to":"\u006dallory"}"#);
    let provider = ScriptedProvider::new([
        Step::from(spelled),
        call("pay", json!({ "to": "alice" })),
        call("pay", json!({ "to": "bob" })),
        say("done"),
    ]);
    let cast = Cast {
        provider: Arc::new(provider),
        tools: Arc::new(ScriptedTools::new([counter.tool()])),
        ..Cast::new([], [])
    };
    let rule = |verdict, pattern: &str| Rule {
        verdict,
        tool: "pa*".into(),
        argument: Some(windlass_engine::core::ArgumentPattern {
            name: "to".into(),
            pattern: pattern.into(),
        }),
    };
    let world = World::of(FaultyStore::new(), cast.approver(NoApprover)).tuned(move |settings| {
        settings.permissions = Permissions::Ask;
        settings.rules = vec![rule(RuleVerdict::Allow, "a*"), rule(RuleVerdict::Deny, "mal*")];
    });
    world.turn().await;
    let met = world.picked(|fact| match fact {
        Fact::ItemAdded(added) => match &added.item {
            Item::Call(call) => Some(call.rules.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(met, [vec![1], vec![0], vec![]]);
    let statuses = world.picked(|fact| match fact {
        Fact::CallObserved(fact) => Some(format!("{:?}", fact.observation.status)),
        _ => None,
    });
    assert_eq!(statuses, ["Denied", "Done", "Denied"]);
    assert_eq!(counter.total(), 1);
}
