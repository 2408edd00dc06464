//! Text: a program that stands in the text of an answer.

use std::sync::Arc;

use windlass_engine::core::{
    EffectClass, Fact, HookPoint, Item, OutputSchema, ProgramTransport, PromptItem, Seq,
    StopReason, TurnId, TurnOutcome,
};
use windlass_engine::ports::{HookSubject, LogStore as _};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::hooks::{ScriptedHook, ScriptedHooks};
use windlass_testkit::provider::say;
use windlass_testkit::tools::ScriptedTool;

use super::{Stage, acting, class, returned, stage, value};
use crate::world::{Cast, World, id, soon};

fn text(stage: Stage) -> Stage {
    stage.tuned(|settings| {
        let program = settings.options.program.as_mut().unwrap();
        program.transport = ProgramTransport::Text;
    })
}

fn look() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::ReadOnly).says("[1]")
}

/// The report on a program in the text of an answer.
fn told(item: &PromptItem) -> &str {
    match item {
        PromptItem::ProgramReport { observation, .. } => &observation.output,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_in_prose_is_run_and_what_it_came_to_is_reported() {
    let script = [
        say("I look first:\n```scripted\ncall look {}\n```\nThen I see."),
        say("```scripted\nreturn $data\n```"),
        say("It is [1]."),
    ];
    let stage = text(stage(script, [look()]));
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.answer, "It is [1].");
    assert_eq!(stage.ends()[0], value("[1]"));
    assert_eq!(class(&stage.ends()[1]), "unbound_var");
    let spoken: Vec<bool> = stage.world.picked(|fact| match fact {
        Fact::ItemAdded(added) => match &added.item {
            Item::Call(call) => Some(call.inline),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(spoken, [true, true]);
    let prompts = stage.provider.prompts();
    assert!(prompts[0].settings.tools.is_empty());
    // The text stays as the model wrote it, and no call is shown.
    let items: Vec<_> = prompts[1].items.iter().cloned().collect();
    assert!(matches!(&items[1], PromptItem::Text { text, .. } if text.contains("Then I see.")));
    assert!(told(&items[2]).contains("<data>\n[1]\n</data>"), "{:?}", items[2]);
    assert_eq!(items.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn hooks_hear_of_a_program_in_prose_and_of_its_calls_also_in_the_next_process() {
    let hooks = ScriptedHooks::new([ScriptedHook::new("after", HookPoint::AfterTool)]);
    let script = [say("I look:\n```scripted\ncall look {}\nvalue $LAST\n```"), say("It is [1].")];
    let stage = text(acting(script, [look()], |cast| cast.hooks(&hooks)));
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.answer, "It is [1].");
    let heard = |hooks: &ScriptedHooks| -> Vec<(String, bool)> {
        let asked = hooks.asked().into_iter();
        let about = asked.map(|asked| match asked.call.subject {
            HookSubject::Call { tool, observation, .. } => (tool, observation.is_some()),
            other => panic!("{other:?}"),
        });
        about.collect()
    };
    let all = [("look".to_owned(), true), ("run_program".to_owned(), true)];
    assert_eq!(heard(&hooks), all);
    // A process that ends while a hook is being asked: the next one asks again.
    let log = stage.world.log();
    let asked = log.iter().rposition(|one| matches!(one.fact, Fact::HooksAsked(_))).unwrap();
    let store = FaultyStore::new();
    let claim = store.claim(&id("s")).await.unwrap();
    let facts: Vec<_> = log[..=asked].iter().cloned().map(Arc::new).collect();
    let (session, none) = (id("s"), Seq::ZERO);
    store.append(&session, claim.epoch, none, &facts).await.unwrap();
    store.release(&session, claim.epoch).await.unwrap();
    let hooks = ScriptedHooks::new([ScriptedHook::new("after", HookPoint::AfterTool)]);
    let cast = Cast::new([say("It is [1].")], [look()]).hooks(&hooks);
    let next = World::of(store, cast);
    let conversation = next.open("s").await;
    let opened = log.iter().find(|one| matches!(one.fact, Fact::TurnOpened(_))).unwrap();
    let waited = conversation.outcome(TurnId(opened.seq.0));
    assert_eq!(soon(waited).await.unwrap().answer, "It is [1].");
    assert_eq!(heard(&hooks), all[1..]);
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_told_apart_is_not_run_and_the_model_is_told() {
    let script = [
        say("```scripted\nreturn 1\n```\n```scripted\nreturn 2\n```"),
        say("```scripted\nreturn 2\n```"),
    ];
    let stage = text(stage(script, []));
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(stage.ends(), [returned("2")]);
    let prompts = stage.provider.prompts();
    let last = prompts[1].items.iter().last().unwrap();
    assert!(told(last).contains("two programs"), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_program_is_held_to_the_contract() {
    let script = [say("nothing"), say("```scripted\nreturn {\"n\":1}\n```")];
    let stage = stage(script, []).tuned(|settings| {
        let program = settings.options.program.as_mut().unwrap();
        program.transport = ProgramTransport::Text;
        settings.options.output_schema = Some(OutputSchema {
            name: "count".into(),
            schema: r#"{"type":"object","required":["n"]}"#.into(),
            strict: false,
            max_re_asks: 1,
        });
    });
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.answer, "{\"n\":1}");
    let faults = stage.world.picked(|fact| match fact {
        Fact::SampleEnded(ended) => Some((ended.stop == StopReason::Stop, ended.fault.is_some())),
        _ => None,
    });
    assert_eq!(faults, [(true, true), (true, false)]);
}

#[tokio::test(start_paused = true)]
async fn where_programs_are_calls_one_in_the_text_is_no_answer() {
    let script = [
        say("So:\n```scripted\nreturn 1\n```"),
        say("```scripted\nreturn 1\n```\n```scripted\nreturn 2\n```"),
        say("Done. It has ```a block``` of text."),
    ];
    let stage = stage(script, []);
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!((report.spent.samples, &*report.answer), (3, "Done. It has ```a block``` of text."));
    assert_eq!(stage.ends(), []);
    for prompt in &stage.provider.prompts()[1..] {
        let last = prompt.items.iter().last().unwrap();
        assert!(told(last).contains("call run_program with it"), "{last:?}");
    }
}
