//! Compaction: a session that is longer than its window settles, its request stands in every
//! request, and a summary that cannot be had holds nothing up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{
    Compacted, CompactionStrategy, ContextWindow, EffectClass, Fact, FailureKind, HookPoint,
    HookReply, HookSpec, HookTopic, Prompt, PromptItem, Retry, SUMMARY_INSTRUCTIONS, TurnOutcome,
    Widening,
};
use windlass_engine::ports::{HookCall, HookContext, HookError, Hooks, Redactor};
use windlass_engine::{AwaitedTurn, Event, LiveKind, NewInput};
use windlass_testkit::Answer;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::hooks::{ScriptedHook, ScriptedHooks};
use windlass_testkit::provider::{ScriptedProvider, Step, call, cut_after, fail, say, stall};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{Cast, World, me, ms, soon};

const REQUEST: &str = "Look at everything, in order, and remember the word winch.";
const SUMMARY: &str =
    "## Goal\nto look\n## Done\nlooked a lot\n## Open\nto look on\n## Facts\nxenon";
const STEPS: u32 = 60;

fn asks_for_summary(prompt: &Prompt) -> bool {
    prompt.settings.instructions == SUMMARY_INSTRUCTIONS
}

fn words(prompt: &Prompt) -> String {
    let texts = prompt.items.iter().map(|item| match item {
        PromptItem::User { text } | PromptItem::Context { text } => text.to_string(),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A model that looks again and again, at a window that holds a few of its results.
fn long(strategy: CompactionStrategy, summary: impl Fn() -> Step + Send + Sync + 'static) -> Long {
    let looks = Arc::new(AtomicU32::new(0));
    let count = looks.clone();
    let provider = ScriptedProvider::responding(move |request| {
        if asks_for_summary(&request.prompt) {
            return summary();
        }
        match count.fetch_add(1, Ordering::SeqCst) {
            n if n < STEPS => call("look", json!({ "n": n })),
            _ => say("seen"),
        }
    });
    let tool = ScriptedTool::new("look", EffectClass::ReadOnly).says("much ".repeat(400));
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(ScriptedTools::new([tool])),
        ..Cast::new([], [])
    };
    let window = ContextWindow { tokens: 6_000, strategy };
    Long { cast, provider, window, redaction: None, attempts: 1 }
}

struct Long {
    cast: Cast,
    provider: ScriptedProvider,
    window: ContextWindow,
    redaction: Option<String>,
    attempts: u32,
}

struct Lived {
    world: World,
    compacted: Vec<Compacted>,
    live: Vec<LiveKind>,
    took: u128,
}

impl Long {
    async fn live(self) -> Lived {
        let (window, redaction, attempts) = (self.window, self.redaction, self.attempts);
        let world = World::of(FaultyStore::new(), self.cast);
        let world = world.tuned(move |settings| {
            settings.redaction.clone_from(&redaction);
            settings.window = window;
            settings.limits.attempts = attempts;
            settings.max_output_tokens = Some(500);
        });
        let conversation = world.open("s").await;
        let mut events = conversation.subscribe(None);
        let watching = tokio::spawn(async move {
            let mut live = Vec::new();
            loop {
                match events.next().await.unwrap() {
                    Event::Live(all) => live.extend(all.iter().map(|one| one.kind.clone())),
                    Event::Ended(_) => return live,
                    Event::Fact(_) | Event::Lagged { .. } | Event::Store(_) => {}
                }
            }
        });
        let at = tokio::time::Instant::now();
        let input = conversation.send(NewInput::new(me(), REQUEST)).await.unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        let took = at.elapsed().as_millis();
        assert_eq!((report.outcome, &*report.answer), (TurnOutcome::Completed, "seen"));
        let prefix = conversation.prefix().await.unwrap();
        let compacted = world.picked(|fact| match fact {
            Fact::Compacted(fact) => Some(fact.clone()),
            _ => None,
        });
        let count = compacted.len() as u64;
        assert!(count >= 2, "{count} compactions");
        assert_eq!((prefix.replaced, prefix.broken), (count, 0), "{prefix:?}");
        assert_eq!(prefix.requests, prefix.extended + count + 1);
        conversation.close().await;
        for prompt in self.provider.prompts() {
            let words =
                |item: &PromptItem| matches!(item, PromptItem::User { text } if **text == *REQUEST);
            assert!(asks_for_summary(&prompt) || prompt.items.iter().any(words));
        }
        let live = soon(watching).await.unwrap();
        Lived { world, compacted, live, took }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_longer_than_its_window_settles() {
    for strategy in [CompactionStrategy::Clear, CompactionStrategy::Slide] {
        let lived = long(strategy, || panic!("nobody is asked")).live().await;
        assert!(lived.compacted.iter().all(|one| one.fallback.is_none()));
    }
}

/// Takes out every `x`.
struct NoX;

impl Redactor for NoX {
    fn push(&mut self, _: u32, text: &str) -> String {
        self.redact(text)
    }

    fn end(&mut self, _: u32) -> String {
        String::new()
    }

    fn redact(&self, text: &str) -> String {
        text.replace('x', "_")
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_redacted_paid_for_and_not_shown_live() {
    let summary = || Step::from(Answer::new().text(SUMMARY).tokens(70, 7));
    let mut long = long(CompactionStrategy::Summary, summary);
    long.cast = long.cast.hooks(&ScriptedHooks::new([]).with_redactor(|| Box::new(NoX)));
    let lived = long.live().await;
    for one in &lived.compacted {
        assert_eq!(one.fallback, None);
        let text = one.cut.summary.as_ref().unwrap();
        assert!(text.contains("_enon") && !text.contains("xenon"), "{text}");
        assert_eq!(one.usage.unwrap().output, Some(7));
    }
    let runs: Vec<_> = lived.compacted.iter().map(|one| one.started).collect();
    let shown = lived.live.iter().any(|kind| match kind {
        LiveKind::Delta { started, .. } => runs.contains(started),
        LiveKind::Progress { .. } => false,
    });
    assert!(!shown && !lived.live.is_empty());
    let log = lived.world.log();
    assert!(log.iter().any(|one| one.fact.kind() == "CompactionStarted"));
}

#[tokio::test(start_paused = true)]
async fn without_a_usable_summary_a_plain_list_takes_its_place() {
    let limit = u128::from(crate::world::limits().first_byte_ms);
    let failing = || fail(FailureKind::Overloaded, Retry::Soon);
    type Case = (fn() -> Step, &'static str, u128);
    let cases: [Case; 4] = [
        (failing, "asking the model fails", 0),
        (|| say("It was fine."), "", 0),
        (|| cut_after("## Goal"), "Truncated", 0),
        (stall, "has not begun", limit),
    ];
    for (summary, word, each) in cases {
        let lived = long(CompactionStrategy::Summary, summary).live().await;
        for one in &lived.compacted {
            let why = one.fallback.as_ref().unwrap();
            assert!(why.contains(word) && !why.is_empty(), "{why}");
            assert!(one.cut.summary.is_some(), "a list");
        }
        assert_eq!(lived.took, each * lived.compacted.len() as u128, "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_survives_failures_refusals_and_its_own_length() {
    let asked = AtomicU32::new(0);
    let summary = move || {
        let facts = "\n- one more fact".repeat(500);
        match asked.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => fail(FailureKind::Overloaded, Retry::AfterMs(399)),
            1 => fail(FailureKind::ContextOverflow, Retry::Never),
            2 => Step::from(Answer::new().text(format!("{SUMMARY}{facts}")).tokens(70, 3_000)),
            _ => Step::from(Answer::new().text(SUMMARY).tokens(30, 7)),
        }
    };
    let mut long = long(CompactionStrategy::Summary, summary);
    long.attempts = 4;
    let provider = long.provider.clone();
    let lived = long.live().await;
    for one in &lived.compacted {
        assert_eq!((one.fallback.as_deref(), one.unmeasured), (None, Some(0)));
        assert_eq!(one.cut.summary.as_deref(), Some(SUMMARY));
        let usage = one.usage.unwrap();
        assert_eq!((usage.input, usage.output), (Some(100), Some(3_007)));
    }
    let prompts = provider.prompts();
    let asked: Vec<usize> = prompts
        .iter()
        .filter(|prompt| asks_for_summary(prompt))
        .map(|prompt| words(prompt).len())
        .collect();
    let count = lived.compacted.len();
    assert_eq!(asked.len(), 4 * count);
    for four in asked.chunks(4) {
        let [first, again, shorter, limited] = four else { panic!("{four:?}") };
        assert!(first == again && shorter < again && limited > shorter, "{four:?}");
    }
    let waited = 399 * count as u128..=400 * count as u128;
    assert!(waited.contains(&lived.took), "{} ms", lived.took);
    let spent = lived.world.picked(|fact| match fact {
        Fact::TurnSettled(settled) => Some(settled.spent),
        _ => None,
    });
    let output = spent[0].usage.output.unwrap();
    assert!(output >= 3_007 * count as u64, "{output}");
}

/// Hooks whose redaction is missing while a conversation is compacted.
struct Away {
    hooks: ScriptedHooks,
    away: AtomicBool,
}

#[async_trait]
impl Hooks for Away {
    fn hooks(&self) -> Vec<HookSpec> {
        self.hooks.hooks()
    }

    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let away = call.at.point() == HookPoint::BeforeCompaction;
        self.away.store(away, Ordering::SeqCst);
        self.hooks.ask(call, context).await
    }

    fn redaction(&self) -> Option<String> {
        let away = self.away.load(Ordering::SeqCst);
        self.hooks.redaction().filter(|_| !away)
    }

    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        self.hooks.redactor()
    }
}

#[tokio::test(start_paused = true)]
async fn no_summary_is_asked_for_where_what_rewrites_it_is_missing() {
    let mut long = long(CompactionStrategy::Summary, || say(SUMMARY));
    let around = HookPoint::ALL.iter().enumerate();
    let around = around.filter(|(_, point)| point.properties().topic == HookTopic::Compaction);
    let hooks = around.map(|(place, point)| ScriptedHook::new(format!("h{place}"), *point));
    let hooks = ScriptedHooks::new(hooks);
    long.cast.hooks = Arc::new(Away {
        hooks: hooks.with_redactor(|| Box::new(NoX)),
        away: AtomicBool::new(false),
    });
    long.redaction = Some("scripted".into());
    let provider = long.provider.clone();
    let lived = long.live().await;
    for one in &lived.compacted {
        let why = one.fallback.as_ref().unwrap();
        assert!(why.contains("rewritten by scripted"), "{why}");
        assert!(one.cut.summary.is_some(), "a list");
    }
    assert!(!provider.prompts().iter().any(asks_for_summary));
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_not_waited_for_when_the_turn_is_to_stop() {
    let long = long(CompactionStrategy::Summary, stall);
    let provider = long.provider.clone();
    let window = long.window;
    let world = World::of(FaultyStore::new(), long.cast);
    let world = world.tuned(move |settings| settings.window = window);
    let conversation = world.open("s").await;
    let input = conversation.send(NewInput::new(me(), REQUEST)).await.unwrap();
    let asked = || provider.prompts().iter().any(asks_for_summary);
    crate::world::until(asked).await;
    let at = tokio::time::Instant::now();
    soon(world.engine.shutdown("the end")).await;
    assert!(at.elapsed() < ms(10));
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
}

/// A model that says much, and summarizes where it is asked to.
fn talkative() -> ScriptedProvider {
    ScriptedProvider::responding(|request| match asks_for_summary(&request.prompt) {
        true => say(SUMMARY),
        false => say("much ".repeat(1_500)),
    })
}

#[tokio::test(start_paused = true)]
async fn a_smaller_model_has_its_history_summarized_by_the_one_that_read_it() {
    let provider = talkative();
    let cast = Cast { provider: Arc::new(provider.clone()), ..Cast::new([], []) };
    let world = World::of(FaultyStore::new(), cast).tuned(|settings| {
        settings.model = "large".to_owned();
        settings.window = ContextWindow { tokens: 100_000, strategy: CompactionStrategy::Summary };
    });
    let conversation = world.open("s").await;
    for _ in 0..2 {
        let input = conversation.send(NewInput::new(me(), REQUEST)).await.unwrap();
        soon(conversation.outcome(input)).await.unwrap();
    }
    let mut settings = (*conversation.state().await.unwrap().settings).clone();
    settings.model = "small".to_owned();
    settings.window.tokens = 3_000;
    conversation.configure(settings, me(), Widening::Allowed).await.unwrap();
    let input = conversation.send(NewInput::new(me(), REQUEST)).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let prompts = provider.prompts();
    let models: Vec<&str> = prompts.iter().map(|one| one.settings.model.as_str()).collect();
    assert_eq!(models, ["large", "large", "large", "small"]);
    assert!(words(&prompts[2]).matches("much ").count() >= 1_500, "it is shown what it read");
    let named = world.picked(|fact| match fact {
        Fact::CompactionStarted(fact) => Some(fact.model.clone()),
        _ => None,
    });
    assert_eq!(named, [Some("large".to_owned())]);
    let compacted = world.picked(|fact| match fact {
        Fact::Compacted(fact) => Some((fact.cut.summary.clone(), fact.fallback.clone())),
        _ => None,
    });
    assert_eq!(compacted, [(Some(SUMMARY.into()), None)]);
}

#[tokio::test(start_paused = true)]
async fn a_user_has_the_conversation_compacted_with_a_focus() {
    let provider = talkative();
    let cast = Cast { provider: Arc::new(provider.clone()), ..Cast::new([], []) };
    let world = World::of(FaultyStore::new(), cast);
    let conversation = world.open("s").await;
    let nothing = conversation.compact(None, me()).await.unwrap_err();
    assert!(nothing.to_string().contains("nothing to compact"), "{nothing}");
    let input = conversation.send(NewInput::new(me(), REQUEST)).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let focus = "x".repeat(5_000);
    let request = conversation.compact(Some(focus), me()).await.unwrap();
    let report = soon(conversation.outcome(AwaitedTurn::Compaction(request))).await.unwrap();
    assert_eq!((report.outcome, &*report.answer), (TurnOutcome::Completed, ""));
    let asked = provider.prompts().pop().unwrap();
    assert!(asks_for_summary(&asked));
    assert!(words(&asked).matches("much ").count() >= 1_500, "it is shown all of it");
    assert!(words(&asked).ends_with(&format!("in every detail:\n{}", "x".repeat(4_096))));
    assert!(conversation.state().await.unwrap().visible.bytes < 1_000);
}
