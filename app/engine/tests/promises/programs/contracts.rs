//! Contracts: what a program returns is what was asked for, or the model is told why not.

use windlass_engine::core::Fact;
use windlass_engine::core::{
    EffectClass, FailureKind, OutputSchema, ProgramEnd, SampleKind, Settings, TurnOutcome,
};
use windlass_testkit::provider::say;
use windlass_testkit::tools::{CounterTool, ScriptedTool};

use super::{Stage, class, returned, run, stage};
use crate::world::limits;

fn asks(retries: u32) -> impl Fn(&mut Settings) {
    move |settings| {
        settings.options.output_schema = Some(OutputSchema {
            name: "count".into(),
            schema: r#"{"type":"object","required":["n"]}"#.into(),
            strict: false,
            max_re_asks: retries,
        });
    }
}

fn kinds(stage: &Stage) -> Vec<SampleKind> {
    stage.world.picked(|fact| match fact {
        Fact::SampleStarted(fact) => Some(fact.kind),
        _ => None,
    })
}

fn few(mut stage: Stage, samples: u32) -> Stage {
    stage.world = stage.world.limited(limits().with(|it| it.samples = samples));
    stage
}

#[tokio::test(start_paused = true)]
async fn a_return_that_does_not_fit_is_told_and_tried_again_within_its_budget() {
    let stage = stage([run("keep a = 1\nreturn 1"), run("return {\"n\":1}")], []);
    let stage = stage.tuned(asks(2));
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(report.answer, "{\"n\":1}");
    assert_eq!(kinds(&stage), [SampleKind::Normal, SampleKind::ReAsk]);
    let outcomes = stage.outcomes();
    assert!(outcomes[0].1.as_ref().unwrap().contains("object"));
    assert_eq!(outcomes[0].0.retained, [], "a program that failed leaves nothing");
    assert_eq!(outcomes[1].1, None);
    let told = &stage.told()[0];
    assert!(told.contains("cannot be used") && told.contains("The schema: "), "{told}");
}

#[tokio::test(start_paused = true)]
async fn once_the_budget_of_retries_is_used_up_the_turn_is_misshapen() {
    let stage = stage((0..3).map(|_| run("return 1")), []).tuned(asks(2));
    let (report, _) = stage.world.turn().await;
    assert!(matches!(report.outcome, TurnOutcome::InvalidOutput { .. }), "{report:?}");
    assert_eq!(report.spent.samples, 3);
}

#[tokio::test(start_paused = true)]
async fn the_last_sample_for_work_cannot_call_tools_and_its_value_is_the_result() {
    let look = || ScriptedTool::new("look", EffectClass::ReadOnly).says("[1]");
    let script = [run("call look {}"), run("value {\"n\":2}")];
    let stage = few(stage(script, [look()]), 2);
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.answer, "{\"n\":2}");
    assert_eq!(kinds(&stage), [SampleKind::Normal, SampleKind::MustReturn]);
    assert_eq!(stage.ends()[1], returned("{\"n\":2}"));
    let prompts = stage.provider.prompts();
    let last = format!("{:?}", prompts[1].items);
    assert!(last.contains("last program of this turn"), "{last}");

    // It may name none either: nothing of it runs.
    let stage = few(super::stage([run("call look {}"), run("call look {}")], [look()]), 2);
    let (report, _) = stage.world.turn().await;
    assert_ne!(report.outcome, TurnOutcome::Completed);
    assert_eq!(class(&stage.ends()[1]), "unknown_tool");
    assert_eq!(stage.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_bare_value_of_the_last_sample_is_held_to_the_contract() {
    let script = [run("value 1"), run("value 2"), run("return {\"n\":1}")];
    let stage = few(stage(script, []).tuned(asks(1)), 3);
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", stage.ends());
    let kinds = kinds(&stage);
    assert_eq!(kinds, [SampleKind::Normal, SampleKind::MustReturn, SampleKind::ReAsk]);
    assert!(stage.outcomes()[1].1.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_program_that_gives_up_fails_the_turn() {
    let stage = stage([run("fail \"no way\"")], []);
    let (report, _) = stage.world.turn().await;
    let TurnOutcome::Failed { failure, message } = report.outcome else { panic!("{report:?}") };
    assert_eq!(failure, FailureKind::Program);
    assert!(message.contains("no way"), "{message}");
    assert!(matches!(stage.ends()[0], ProgramEnd::Fail { .. }));
}

#[tokio::test(start_paused = true)]
async fn after_an_effect_a_failed_program_is_not_repeated_blindly() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let script = [run("call pay {\"to\":\"a\"}\nlet b = $data.none"), say("so be it")];
    let stage = stage(script, [pay.tool()]);
    stage.world.turn().await;
    assert_eq!(class(&stage.ends()[0]), "runtime_error");
    let told = &stage.told()[0];
    for there in [
        "The program failed:",
        "do not repeat them",
        "- pay {\"to\":\"a\"}: done",
        "Nothing that it defined was kept.",
    ] {
        assert!(told.contains(there), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_last_program_without_a_result_is_corrected_within_a_budget_of_its_own() {
    let corrected = |settings: &mut Settings| {
        if let Some(program) = &mut settings.options.program {
            program.corrections = 1;
        }
    };
    let script = || ["value 1", "value 2", "value null", "value 3"].map(run);
    let stage = few(stage(script(), []), 4).tuned(corrected);
    let (report, _) = stage.world.turn().await;
    assert_eq!((report.outcome, &*report.answer), (TurnOutcome::Completed, "3"));
    let (normal, last) = (SampleKind::Normal, SampleKind::MustReturn);
    assert_eq!(kinds(&stage), [normal, normal, last, SampleKind::ReAsk]);
    let told = &stage.told()[2];
    assert!(told.contains("without a value") && told.contains("write it again"), "{told}");

    // None is left: the turn has no answer.
    let script = script().into_iter().take(3).chain([run("value null")]);
    let stage = few(super::stage(script, []), 4).tuned(corrected);
    let (report, _) = stage.world.turn().await;
    assert!(matches!(report.outcome, TurnOutcome::InvalidOutput { .. }), "{report:?}");
}
