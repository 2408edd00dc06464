//! Again: a program whose process has ended goes on where its calls stand, and repeats none of them.

use std::sync::Arc;

use windlass_engine::core::{
    CallId, Checkpoint, EffectClass, Fact, ObservationStatus, PromptItem, RecordedFact, TurnOutcome,
};
use windlass_engine::ports::ProgramRuntime;
use windlass_testkit::Gate;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::programs::ScriptedRuntime;
use windlass_testkit::provider::{ScriptedProvider, say};
use windlass_testkit::tools::{CounterTool, ScriptedTool, ScriptedTools};

use super::runtimes::preparing;
use super::{Stage, class, mode, returned, run, stage, value};
use crate::world::{Cast, World, hello, id, soon, until};

const PAYS: &str = "call pay {\"n\":1}\nlet a = $LAST\nboth look {} pay {\"n\":2}\nlet b = $LAST\n\
                    call pay {\"n\":3}\nreturn [\"$a\",\"$b\",\"$LAST\"]";

fn look() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::ReadOnly).says("seen")
}

/// A stage over a store that holds these facts of session `s`.
async fn after(facts: &[RecordedFact], pay: &CounterTool) -> Stage {
    let provider = ScriptedProvider::responding(|request| match request.prompt.items.len() {
        1 => run(PAYS),
        _ => say("so be it"),
    });
    let tools = ScriptedTools::new([pay.tool(), look()]);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(tools.clone()),
        ..Cast::new([], [])
    };
    let stage = Stage { world: World::of(FaultyStore::new(), cast).tuned(mode), provider, tools };
    stage.after(facts).await
}

/// The calls of programs that have begun.
fn begun(facts: &[RecordedFact]) -> Vec<CallId> {
    let made: Vec<CallId> = facts
        .iter()
        .filter(|one| matches!(one.fact, Fact::ProgramCalled(_)))
        .map(|one| CallId(one.seq.0))
        .collect();
    let begun = facts.iter().filter_map(|one| match &one.fact {
        Fact::CallStarted(fact) if made.contains(&fact.call) => Some(fact.call),
        _ => None,
    });
    begun.collect()
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_any_fact_repeats_no_call_and_loses_none() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let whole = stage([run(PAYS)], [pay.tool(), look()]);
    whole.world.turn().await;
    assert_eq!(whole.ends(), [returned(r#"[1,["seen",2],3]"#)]);
    let log = whole.world.log();
    let opened = log.iter().position(|one| matches!(one.fact, Fact::TurnOpened(_)));
    for upto in opened.unwrap() + 1..log.len() {
        let facts = &log[..upto];
        let before = begun(facts);
        let pay = CounterTool::new("pay", EffectClass::Effectful);
        let stage = after(facts, &pay).await;
        let conversation = stage.world.open("s").await;
        let turn = facts[opened.unwrap()].seq.0;
        let waited = conversation.outcome(windlass_engine::core::TurnId(turn));
        let report = soon(waited).await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "after fact {upto}");
        for ran in stage.tools.runs() {
            let again = ran.call.name == "pay" && before.contains(&ran.id);
            assert!(!again, "after fact {upto} a payment was repeated: {ran:?}");
        }
        assert!(pay.repeated().is_empty());
        // An effectful call that had begun is not known to have ended: the program is told.
        let unknown =
            stage.made().iter().any(|(_, _, status)| *status == ObservationStatus::Unknown);
        let ends = stage.ends();
        match unknown {
            true => {
                assert_eq!(class(&ends[0]), "tool_error", "after fact {upto}");
                let told = &stage.told()[0];
                assert!(told.contains("nobody knows whether it took effect"), "{told}");
            }
            false => {
                assert!(report.answer.starts_with("[1,"), "after fact {upto}: {ends:?}");
                let made = stage.made().into_iter().map(|(name, arguments, _)| name + &arguments);
                let all = ["pay{\"n\":1}", "look{}", "pay{\"n\":2}", "pay{\"n\":3}"];
                assert_eq!(made.collect::<Vec<_>>(), all, "after fact {upto}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_log_folds_to_is_kept_and_read_again_wherever_a_program_stands() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let stage = stage([run(PAYS)], [pay.tool(), look()]);
    stage.world.turn().await;
    let log = stage.world.log();
    let mut folded = Checkpoint::open(&log[0]).unwrap();
    for recorded in &log[1..] {
        folded.apply(recorded).unwrap();
        let kept = serde_json::to_string(&folded).unwrap();
        let read: Checkpoint = serde_json::from_str(&kept)
            .unwrap_or_else(|why| panic!("after fact {}: {why}", recorded.seq));
        assert_eq!(read, folded, "after fact {}", recorded.seq);
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_dropped_between_two_calls_is_taken_up_by_the_next() {
    let (pay, gate) = (CounterTool::new("pay", EffectClass::Effectful), Gate::new());
    let stage = stage([run(PAYS)], [pay.tool(), look().before(&gate)]);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| pay.total() == 2 && stage.tools.running() == 1).await;
    until(|| {
        let seen = stage.world.store.log(&id("s"));
        let seen = seen.iter().filter(|one| matches!(one.fact, Fact::CallObserved(_)));
        seen.count() == 2
    })
    .await;
    let next = stage.world.next_process();
    gate.open();
    let conversation = next.open("s").await;
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, r#"[1,["seen",2],3]"#);
    assert_eq!((pay.total(), pay.repeated()), (3, vec![]));
    assert_eq!(report.spent.samples, 1);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_runs_again_has_the_time_and_the_random_numbers_of_its_first_run() {
    let (pay, gate) = (CounterTool::new("pay", EffectClass::Effectful), Gate::new());
    let source = "call pay {\"n\":1,\"at\":\"$NOW\",\"luck\":\"$RANDOM\"}\ncall look {\"luck\":\"$RANDOM\"}\n\
                  call pay {\"n\":2,\"at\":\"$NOW\",\"luck\":\"$RANDOM\"}\nreturn $NOW";
    let stage = stage([run(source)], [pay.tool(), look().before(&gate)]);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| pay.total() == 1 && stage.tools.running() == 1).await;
    let next = stage.world.next_process();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    gate.open();
    let conversation = next.open("s").await;
    let report = soon(conversation.outcome(input)).await.unwrap();
    let log = next.log();
    let answered = log.iter().find(|one| matches!(one.fact, Fact::SampleEnded(_))).unwrap().ts;
    assert_eq!(report.answer, answered.to_string());
    assert_eq!((pay.total(), pay.repeated()), (2, vec![]));
    let made = log.iter().filter_map(|one| match &one.fact {
        Fact::ProgramCalled(fact) => Some(fact.item.arguments.clone()),
        _ => None,
    });
    let made: Vec<serde_json::Value> =
        made.map(|arguments| serde_json::from_str(&arguments).unwrap()).collect();
    let [first, second, third] = &made[..] else { panic!("{made:?}") };
    assert_eq!((&first["at"], &third["at"]), (&answered.0.into(), &answered.0.into()));
    assert_ne!(first["luck"], second["luck"]);
    assert_ne!(second["luck"], third["luck"]);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_makes_other_calls_is_a_fault_and_the_model_is_told_what_stands() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let whole = stage([run(PAYS)], [pay.tool(), look()]);
    whole.world.turn().await;
    let log = whole.world.log();
    let last = log.iter().rposition(|one| matches!(one.fact, Fact::ProgramRun(_))).unwrap();
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let mut stage = after(&log[..last], &pay).await;
    // To the runtime of another release the same program is another one.
    stage.world = stage.world.running(preparing(|source, world| {
        ScriptedRuntime.prepare(&source.replace("{\"n\":1}", "{\"n\":7}"), world)
    }));
    let conversation = stage.world.open("s").await;
    let turn = log.iter().find(|one| matches!(one.fact, Fact::TurnOpened(_))).unwrap();
    let waited = conversation.outcome(windlass_engine::core::TurnId(turn.seq.0));
    let report = soon(waited).await.unwrap();
    assert_eq!(report.answer, "so be it");
    assert_eq!(class(&stage.ends()[0]), "replay_diverged");
    assert_eq!(stage.runs(), [""; 0]);
    let told = &stage.told()[0];
    for there in ["- pay {\"n\":1}: done", "- pay {\"n\":2}: done", "- pay {\"n\":3}: done"] {
        assert!(told.contains(there), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_program_whose_processes_end_too_often_the_model_is_told_which_calls_are_done() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let whole = stage([run(PAYS)], [pay.tool(), look()]);
    whole.world.turn().await;
    let log = whole.world.log();
    let opened = log.iter().find(|one| matches!(one.fact, Fact::TurnOpened(_)));
    let turn = windlass_engine::core::TurnId(opened.unwrap().seq.0);
    let last = log.iter().rposition(|one| matches!(one.fact, Fact::ProgramRun(_))).unwrap();
    // Before it said what it came to, and after that, before its model was told.
    for (upto, restarts) in [(last, 0), (last + 1, 100)] {
        let pay = CounterTool::new("pay", EffectClass::Effectful);
        let mut facts = log[..upto].to_vec();
        for recorded in &mut facts {
            match &mut recorded.fact {
                Fact::TurnOpened(fact) => fact.limits.restarts = restarts,
                Fact::ProgramRun(fact) => {
                    Arc::make_mut(&mut fact.outcome).end = value("1");
                }
                _ => {}
            }
        }
        let stage = after(&facts, &pay).await;
        let conversation = stage.world.open("s").await;
        let report = soon(conversation.outcome(turn)).await.unwrap();
        assert_eq!(report.answer, "so be it");
        assert_eq!(stage.runs(), [""; 0]);
        let prompts = stage.provider.prompts();
        let told = prompts[0].items.iter().find_map(|item| match item {
            PromptItem::CallReport { calls } => Some(calls.text()),
            PromptItem::ProgramReport { observation, .. } => {
                Some(windlass_core::program_report_text(observation))
            }
            _ => None,
        });
        let told = told.unwrap_or_else(|| panic!("after {upto} facts nothing is told"));
        for n in 1..=3 {
            let line = format!("- pay {{\"n\":{n}}}: done\n");
            assert!(told.contains(&line), "{told}");
        }
        assert!(!told.contains("- look"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn memory_lasts_over_turns_and_processes_and_a_program_that_fails_leaves_none() {
    let script = || {
        [
            run("keep a = 1\nvalue $kept.a"),
            say("kept"),
            run("keep a = 2\nfail \"no\""),
            run("keep a = 3\nspin"),
            say("kept still"),
            run("return $kept.a"),
        ]
    };
    let tuned = |settings: &mut windlass_engine::core::Settings| {
        mode(settings);
        settings.options.program.as_mut().unwrap().limits.steps = 1_000;
    };
    let stage = stage(script(), []).tuned(tuned);
    let conversation = stage.world.open("s").await;
    for outcome in ["Completed", "Failed", "Completed"] {
        let input = conversation.send(hello()).await.unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        assert!(format!("{:?}", report.outcome).starts_with(outcome), "{report:?}");
    }
    drop(conversation);
    let next = stage.world.next_process();
    let conversation = next.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "1");
    assert_eq!(stage.ends()[0], value("1"));
}
