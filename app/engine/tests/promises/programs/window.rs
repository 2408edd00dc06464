//! Window: a session of programs that is longer than its window. What programs keep, what the model is
//! told of its last sample, and a program under way do not go with what leaves the conversation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use windlass_engine::core::{
    CompactionStrategy, ContextWindow, EffectClass, Fact, ProgramTransport, Prompt, PromptItem,
    SUMMARY_INSTRUCTIONS, SampleKind, TurnOutcome,
};
use windlass_testkit::Gate;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, Step, say};
use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};

use super::{Stage, mode, returned, run};
use crate::world::{Cast, World, hello, id, limits, soon, until};

const SUMMARY: &str =
    "## Goal\nto look\n## Done\nlooked a lot\n## Open\nto look on\n## Facts\nmany";
/// Samples that a turn may have.
const SAMPLES: u32 = 24;
const LAST: &str = "This is the last program of this turn.";

/// How a program is handed over.
fn handed(transport: ProgramTransport, source: &str) -> Step {
    match transport {
        ProgramTransport::Call => run(source),
        ProgramTransport::Text => say(format!("```scripted\n{source}\n```")),
    }
}

fn asks_for_summary(prompt: &Prompt) -> bool {
    prompt.settings.instructions == SUMMARY_INSTRUCTIONS
}

/// Programs that look and keep what they were, at a window that holds a few of their results.
fn long(
    strategy: CompactionStrategy,
    transport: ProgramTransport,
    words: usize,
    pad: usize,
    gate: &Gate,
) -> Stage {
    let count = Arc::new(AtomicU32::new(0));
    let provider = ScriptedProvider::responding(move |request| {
        if asks_for_summary(&request.prompt) {
            return say(SUMMARY);
        }
        let source = match count.fetch_add(1, Ordering::SeqCst) {
            0 => "keep first = \"xenon\"\nkeep last = 0\nvalue 0".to_owned(),
            n if n + 1 < SAMPLES => {
                let calls = if n == SAMPLES / 2 { "call pay {}\ncall wait {}\n" } else { "" };
                let pad = if n + 2 == SAMPLES { "x".repeat(pad) } else { String::new() };
                format!(
                    "{calls}call look {{\"n\":{n}}}\nkeep last = {n}\n\
                     value [\"$kept.first\",\"$LAST\",\"{pad}\"]"
                )
            }
            _ => "return [\"$kept.first\",\"$kept.last\"]".to_owned(),
        };
        handed(transport, &source)
    });
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let tools = ScriptedTools::new([
        ScriptedTool::new("look", EffectClass::ReadOnly).says("much ".repeat(words)),
        ScriptedTool::new("wait", EffectClass::ReadOnly).before(gate),
        pay.tool(),
    ]);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(tools.clone()),
        ..Cast::new([], [])
    };
    let window = ContextWindow { tokens: 6_000, strategy };
    let world =
        World::of(FaultyStore::new(), cast).limited(limits().with(|it| it.samples = SAMPLES));
    let world = world.tuned(move |settings| {
        mode(settings);
        settings.options.program.as_mut().unwrap().transport = transport;
        settings.window = window;
        settings.max_output_tokens = Some(500);
    });
    Stage { world, provider, tools }
}

/// Each call stands before its result, and each result after its call.
fn holds_together(prompt: &Prompt) {
    let (mut open, mut known) = (BTreeSet::new(), BTreeSet::new());
    for item in prompt.items.iter() {
        match item {
            PromptItem::Call { id, .. } => {
                assert!(known.insert(id.clone()), "{id:?} twice: {prompt:?}");
                open.insert(id.clone());
            }
            PromptItem::Result { id, .. } => assert!(open.remove(id), "{id:?}: {prompt:?}"),
            _ => assert!(open.is_empty(), "between a call and its result: {prompt:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?} has no result: {prompt:?}");
}

fn shows(prompt: &Prompt, words: &str) -> bool {
    let mut items = prompt.items.iter();
    items.any(|item| matches!(item, PromptItem::Context { text } if text.contains(words)))
}

/// What happened of these, in order: compactions, that the model was told of its last sample, and
/// that it was asked for it.
fn order(world: &World) -> String {
    let order = world.picked(|fact| match fact {
        Fact::Compacted(_) => Some('c'),
        Fact::ContextInjected(fact) => match &fact.from {
            windlass_engine::core::ContextSource::LastSample { .. } => Some('t'),
            _ => None,
        },
        Fact::SampleStarted(fact) if fact.kind == SampleKind::MustReturn => Some('l'),
        Fact::ProgramRun(_) => Some('p'),
        _ => None,
    });
    order.into_iter().collect()
}

/// Lives through a turn whose process is another one from the middle of a program on.
async fn live(
    strategy: CompactionStrategy,
    transport: ProgramTransport,
    words: usize,
    pad: usize,
) -> String {
    let at = format!("{strategy:?} {transport:?} {words} {pad}");
    let gate = Gate::new();
    let stage = long(strategy, transport, words, pad, &gate);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    until(|| {
        let log = stage.world.store.log(&id("s"));
        let waits = |fact: &Fact| matches!(fact, Fact::CallStarted(_));
        log.last().is_some_and(|last| waits(&last.fact))
    })
    .await;
    assert!(order(&stage.world).contains('c'), "{at}: nothing was compacted yet");
    let next = stage.world.next_process();
    gate.open();
    let conversation = next.open("s").await;
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{at}");
    let last = SAMPLES - 2;
    let result = format!("[\"xenon\",{last}]");
    assert_eq!(report.answer, result, "{at}");
    let stage = Stage { world: next, ..stage };
    assert_eq!(stage.ends().last(), Some(&returned(&result)), "{at}");
    // The program that was under way made its payment once.
    let pays = stage.made().into_iter().filter(|(name, ..)| name == "pay");
    assert_eq!(pays.count(), 1, "{at}");
    let paid = stage.runs().into_iter().filter(|run| run.starts_with("pay"));
    assert_eq!(paid.count(), 1, "{at}");
    let prefix = conversation.prefix().await.unwrap();
    assert_eq!(prefix.broken, 0, "{at}: {prefix:?}");
    let prompts = stage.provider.prompts();
    let work: Vec<&Prompt> = prompts.iter().filter(|one| !asks_for_summary(one)).collect();
    for prompt in &work {
        holds_together(prompt);
        let asked =
            |item: &PromptItem| matches!(item, PromptItem::User { text } if **text == *"hello");
        assert!(prompt.items.iter().any(asked), "{at}: the request is gone");
    }
    let (last, before) = work.split_last().unwrap();
    assert!(shows(last, LAST), "{at}: {last:?}");
    assert!(!before.iter().any(|prompt| shows(prompt, LAST)), "{at}");
    order(&stage.world)
}

#[tokio::test(start_paused = true)]
async fn what_programs_keep_and_one_under_way_outlive_a_compaction() {
    for strategy in
        [CompactionStrategy::Clear, CompactionStrategy::Slide, CompactionStrategy::Summary]
    {
        for transport in [ProgramTransport::Call, ProgramTransport::Text] {
            let order = live(strategy, transport, 400, 0).await;
            let count = order.matches('c').count();
            assert!(count >= 2, "{strategy:?} {transport:?}: {order}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_word_on_the_last_sample_outlives_a_compaction_wherever_that_comes() {
    // What the last program but one comes to is made larger until the window is full before the model
    // would be told.
    let ends = async |pad: usize| {
        let order = live(CompactionStrategy::Slide, ProgramTransport::Call, 430, pad).await;
        let end = order.rsplit_once('p').map_or("", |(before, _)| before);
        end.rsplit_once('p').map_or("", |(_, end)| end).to_owned()
    };
    let (mut fits, mut full) = (0, 4_000);
    assert_eq!((&*ends(fits).await, &*ends(full).await), ("tl", "ctl"));
    let mut last = String::new();
    while fits + 1 < full {
        let pad = (fits + full) / 2;
        let end = ends(pad).await;
        if end == "ctl" {
            full = pad;
        } else {
            (fits, last) = (pad, end);
        }
    }
    // It was told and then made room for, before the model was asked: and it was there.
    assert_eq!(last, "tcl", "at {fits}");
}
