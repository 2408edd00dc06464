//! What a program calls: gates, hooks and persons have their say, and answers come back in order.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{
    Checkpoint, EffectClass, Fact, HookPoint, InterruptSource, Observation, ObservationStatus,
    Permissions, PromptItem, StopTiming, ToolSpec, TurnId, TurnOutcome,
};
use windlass_engine::ports::{ToolCall, ToolContext, ToolError, ToolExecutor};
use windlass_testkit::Gate;
use windlass_testkit::approver::{ScriptedApprover, allow, allow_with, deny};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::hooks::{ScriptedHook, ScriptedHooks, edit};
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTool};

use super::{acting, class, returned, run, stage, value};
use crate::world::{Cast, hello, me, soon, until};

fn look() -> ScriptedTool {
    seeing(EffectClass::ReadOnly)
}

/// One that people are asked about.
fn effectful_look() -> ScriptedTool {
    seeing(EffectClass::Effectful)
}

fn seeing(effect: EffectClass) -> ScriptedTool {
    ScriptedTool::new("look", effect).runs(|call, _| {
        let words = format!("{{\"saw\":{}}}", call.arguments);
        Ok(Observation::new(ObservationStatus::Done, words))
    })
}

#[tokio::test(start_paused = true)]
async fn one_sample_makes_many_calls_and_its_result_ends_the_turn() {
    let source = "call look {\"n\":1}\nlet a = $LAST\ncall look {\"n\":2}\nloop 3\n\
                  call look {\"n\":\"$round\"}\nend\nprint \"almost\"\nreturn {\"first\":\"$a\",\"last\":\"$LAST\"}";
    let stage = stage([run(source)], [look()]);
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let result = r#"{"first":{"saw":{"n":1}},"last":{"saw":{"n":2}}}"#;
    assert_eq!(stage.ends(), [returned(result)]);
    assert_eq!(report.answer, result);
    let runs = ["1", "2", "0", "1", "2"].map(|n| format!("look {{\"n\":{n}}}"));
    assert_eq!(stage.runs(), runs);
    assert_eq!((report.spent.samples, report.spent.calls), (1, 6));
    assert!(stage.told()[0].contains("It printed:\n<data>\nalmost\n</data>"));
    // The model is offered the one tool for programs, and nothing of the session's.
    let prompts = stage.provider.prompts();
    let tools = prompts[0].settings.tools.iter().map(|tool| &*tool.name);
    assert_eq!(tools.collect::<Vec<_>>(), ["run_program"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_goes_back_to_the_model_which_goes_on() {
    let stage = stage([run("call look {}"), say("I saw it")], [look()]);
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.answer, "I saw it");
    assert_eq!(stage.ends(), [value(r#"{"saw":{}}"#)]);
    let told = &stage.told()[0];
    assert!(told.starts_with("The program ended with this value:\n<data>"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_step_run_beside_each_other_and_answer_in_their_order() {
    let (gate, also) = (Gate::new(), Gate::new());
    let slow = look().before(&gate);
    let fast = ScriptedTool::new("fast", EffectClass::ReadOnly).says("fast").before(&also);
    let stage = stage([run("both look {} fast {}\nreturn $LAST")], [slow, fast]);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| stage.tools.running() == 2).await;
    also.open();
    until(|| stage.tools.running() == 1).await;
    gate.open();
    soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(stage.ends(), [returned(r#"[{"saw":{}},"fast"]"#)]);
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_about_a_call_inside_a_program() {
    for (answer, runs, end) in [(allow(), 1, "1"), (deny("too dear"), 0, "\"no\"")] {
        let pay = CounterTool::new("pay", EffectClass::Effectful);
        let approver = ScriptedApprover::answering(move |_| answer.clone());
        let source = "try pay {} else \"no\"\nreturn $LAST";
        let stage = acting([run(source)], [pay.tool()], |cast| cast.approver(approver));
        let stage = stage.tuned(|settings| settings.permissions = Permissions::Ask);
        let (report, _) = stage.world.turn().await;
        assert_eq!(report.outcome, TurnOutcome::Completed);
        assert_eq!(pay.total(), runs);
        assert_eq!(stage.ends(), [returned(end)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_that_a_program_does_not_expect_fails_it_and_the_model_is_told_the_truth() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let approver = ScriptedApprover::answering(move |_| {
        match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => allow(),
            _ => deny("enough"),
        }
    });
    let script = [run("call pay {\"n\":1}\ncall pay {\"n\":2}"), say("so be it")];
    let stage = acting(script, [pay.tool()], |cast| cast.approver(approver));
    let stage = stage.tuned(|settings| settings.permissions = Permissions::Ask);
    stage.world.turn().await;
    assert_eq!(pay.total(), 1);
    assert_eq!(class(&stage.ends()[0]), "tool_error");
    let told = &stage.told()[0];
    assert!(told.contains("- pay {\"n\":1}: done"), "{told}");
    assert!(!told.contains("- pay {\"n\":2}"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_a_call_inside_a_program_stands_and_the_run_goes_on_also_in_another_process() {
    let source =
        "call look {\"n\":1}\nlet a = $LAST\ncall look {\"n\":2}\nreturn [\"$a\",\"$LAST\"]";
    let ends = [returned(r#"[{"saw":{"n":9}},{"saw":{"n":9}}]"#)];
    for by_a_person in [false, true] {
        let cast = |cast: Cast| match by_a_person {
            true => cast.approver(ScriptedApprover::answering(|_| allow_with("{\"n\":9}"))),
            false => {
                let hook = ScriptedHook::new("fix", HookPoint::BeforeTool)
                    .only(["look"])
                    .says(edit("{\"n\":9}"));
                cast.hooks(&ScriptedHooks::new([hook]))
            }
        };
        let look = || match by_a_person {
            true => effectful_look(),
            false => look(),
        };
        let tune = move |settings: &mut windlass_engine::core::Settings| {
            if by_a_person {
                settings.permissions = Permissions::Ask;
            }
        };
        let whole = acting([run(source)], [look()], cast).tuned(tune);
        whole.world.turn().await;
        assert_eq!(whole.runs(), ["look {\"n\":9}"; 2]);
        assert_eq!(whole.ends(), ends);
        // What the program asked for stays on record as it was.
        let asked: Vec<_> = whole.made().into_iter().map(|(_, asked, _)| asked).collect();
        assert_eq!(asked, ["{\"n\":1}", "{\"n\":2}"]);

        // Its process ends once the first call is over: the second one is made in another.
        let log = whole.world.log();
        let first = log.iter().position(|one| matches!(one.fact, Fact::CallObserved(_)));
        let next = acting([], [look()], cast).tuned(tune);
        let next = next.after(&log[..=first.unwrap()]).await;
        let conversation = next.world.open("s").await;
        let turn = log.iter().find(|one| matches!(one.fact, Fact::TurnOpened(_)));
        let turn = TurnId(turn.unwrap().seq.0);
        soon(conversation.outcome(turn)).await.unwrap();
        assert_eq!(next.runs(), ["look {\"n\":9}"], "the first one is not run again");
        assert_eq!(next.ends(), ends);
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_the_programs_to_mend() {
    let look = look().taking(r#"{"type":"object","required":["n"]}"#);
    let stage = stage([run("try look {} else \"mended\"\nreturn $LAST")], [look]);
    stage.world.turn().await;
    assert_eq!(stage.ends(), [returned("\"mended\"")]);
    assert_eq!(stage.made()[0].2, ObservationStatus::Failed);
    assert_eq!(stage.runs(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn of_a_failed_program_only_calls_that_began_are_said_to_have_changed_something() {
    let count = CounterTool::new("pay", EffectClass::Effectful);
    let pay = count.tool().taking(r#"{"type":"object","required":["n"]}"#);
    let script = [run("call pay {\"n\":1}\ncall pay {}"), say("so be it")];
    let stage = acting(script, [pay], |cast| cast);
    stage.world.turn().await;
    assert_eq!(count.total(), 1);
    let told = &stage.told()[0];
    assert!(told.contains("- pay {\"n\":1}: done"), "{told}");
    assert!(!told.contains("- pay {}"), "{told}");

    // Nothing began, so there is nothing that is not to be repeated.
    let count = CounterTool::new("pay", EffectClass::Effectful);
    let pay = count.tool().taking(r#"{"type":"object","required":["n"]}"#);
    let stage = acting([run("call pay {}"), say("so be it")], [pay], |cast| cast);
    stage.world.turn().await;
    let told = &stage.told()[0];
    assert!(told.contains("required"), "{told}");
    assert!(!told.contains("change something"), "{told}");
}

/// A tool that says what it would do.
struct Planner;

#[async_trait]
impl ToolExecutor for Planner {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ScriptedTool::new("pay", EffectClass::Effectful).spec().clone()]
    }

    async fn run(&self, call: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        panic!("{call:?} is only to be planned")
    }

    async fn plan(&self, _: ToolCall, _: ToolContext) -> Result<Observation, ToolError> {
        Ok(Observation::new(ObservationStatus::Done, "\"it would pay\""))
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_dry_run_nothing_is_said_to_have_changed() {
    let stage =
        acting([run("call pay {}\nfail 1")], [], |cast| Cast { tools: Arc::new(Planner), ..cast });
    let conversation = stage.world.open("s").await;
    let mut planned = hello();
    planned.dry_run = true;
    let input = conversation.send(planned).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(stage.made()[0].2, ObservationStatus::Done);
    let told = &stage.told()[0];
    assert!(!told.contains("change something"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_goes_on_after_what_it_plans_and_says_so() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let source = "call look {}\nlet seen = $LAST\ncall pay {\"n\":1}\nvalue [\"$seen\",\"$LAST\"]";
    let stage = stage([run(source), say("so be it")], [pay.tool(), look()]);
    let conversation = stage.world.open("s").await;
    let planned = hello().with(|it| it.dry_run = true);
    let input = conversation.send(planned).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!((report.answer.as_str(), pay.total()), ("so be it", 0));
    let words = r#"Not run: this is a dry run. It would run pay with {\"n\":1}."#;
    assert_eq!(stage.ends(), [value(&format!(r#"[{{"saw":{{}}}},"{words}"]"#))]);
    let told = &stage.told()[0];
    let list = "These calls were planned, and changed nothing:\n<data>\npay {\"n\":1}\n</data>";
    assert!(told.contains(list), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_refuses_the_whole_program_before_any_effect() {
    let script = [run("call look {}\ncall nothing {}"), say("so be it")];
    let stage = stage(script, [look()]);
    stage.world.turn().await;
    assert_eq!(class(&stage.ends()[0]), "unknown_tool");
    assert_eq!(stage.runs(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_called_without_a_program_is_not_run() {
    let stage = stage([call("look", json!({})), say("so be it")], [look()]);
    stage.world.turn().await;
    let (_, seen) = stage.world.observation();
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert!(seen.output.contains("run_program"), "{}", seen.output);
    assert_eq!(stage.runs(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_a_call_of_a_program_runs_ends_both() {
    let slow = ScriptedTool::new("slow", EffectClass::ReadOnly).stalls();
    let stage = stage([run("call slow {}\ncall slow {}")], [slow]);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| stage.tools.running() == 1).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
    assert_eq!(stage.runs().len(), 1);
    let statuses: Vec<_> = stage.observations().into_iter().map(|(_, seen)| seen.status).collect();
    assert_eq!(statuses, [ObservationStatus::Aborted; 2]);
    assert_eq!(stage.ends(), []);
}

/// The model is told, in the next turn, what became of the calls of a program that was stopped.
#[tokio::test(start_paused = true)]
async fn after_an_interrupt_the_model_is_told_which_calls_of_its_program_are_done() {
    let (mail, gate) = (CounterTool::new("mail", EffectClass::Effectful), Gate::new());
    let slow = ScriptedTool::new("slow", EffectClass::Effectful).stalls();
    let look = look().before(&gate);
    let source = "call mail {\"n\":1}\ncall look {}\ncall mail {\"n\":2}\n\
                  both slow {\"n\":\"</data>\"} mail {\"n\":3}\ncall mail {\"n\":4}";
    let tools = [mail.tool().exclusive(), look, slow.exclusive()];
    let stage = stage([run(source), say("The rest then.")], tools);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    gate.open();
    until(|| mail.total() == 2 && stage.tools.running() == 1).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let prompts = stage.provider.prompts();
    let told = prompts[1].items.iter().find_map(|item| match item {
        PromptItem::CallReport { calls } => Some(calls.text()),
        PromptItem::ProgramReport { observation, .. } => {
            Some(windlass_core::program_report_text(observation))
        }
        _ => None,
    });
    let told = told.expect("it is told");
    let (_, lines) = told.split_once("<data>\n").unwrap();
    assert_eq!(
        lines,
        "- mail {\"n\":1}: done\n- mail {\"n\":2}: done\n\
         - slow {\"n\":\"<\\/data>\"}: nobody knows whether it took effect\n\
         - mail {\"n\":3}: never began\n</data>\n</context>"
    );
    // A person who goes on in another process has the model told the same.
    let folded = stage.world.log().iter().skip(1).fold(
        Checkpoint::open(&stage.world.log()[0]).unwrap(),
        |mut folded, recorded| {
            folded.apply(recorded).unwrap();
            let kept = serde_json::to_string(&folded).unwrap();
            assert_eq!(serde_json::from_str::<Checkpoint>(&kept).unwrap(), folded);
            folded
        },
    );
    let again = folded.history.items().iter().filter_map(|item| match item {
        PromptItem::CallReport { calls } => Some(calls.text()),
        PromptItem::ProgramReport { observation, .. } => {
            Some(windlass_core::program_report_text(observation))
        }
        _ => None,
    });
    assert_eq!(again.collect::<Vec<_>>(), [told]);
}

/// A tool whose output is kept whole, and shown in part.
struct Long {
    blobs: HeldBlobs,
    damages: bool,
}

#[async_trait]
impl ToolExecutor for Long {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ScriptedTool::new("long", EffectClass::ReadOnly).spec().clone()]
    }

    async fn run(&self, _: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let mut writer = context.outputs.begin().await.unwrap();
        writer.write(b"[1,2,3]").await.unwrap();
        let kept = writer.finish().await.unwrap();
        if self.damages {
            assert!(self.blobs.damage(&context.session, &kept.sha256));
        }
        Ok(Observation {
            output_bytes: 7,
            omitted_bytes: 5,
            stored_output: Some(kept),
            ..Observation::new(ObservationStatus::Done, "[..]")
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_is_told_the_whole_output_that_is_kept_and_one_that_is_gone_ends_it() {
    let source = "call long {}\nreturn $LAST";
    for (bytes, damages) in [(1 << 20, false), (1 << 20, true), (3, false)] {
        let blobs = HeldBlobs::new(bytes);
        let long = Long { blobs: blobs.clone(), damages };
        let stage = acting([run(source), say("so be it")], [], |cast| Cast {
            tools: Arc::new(long),
            ..cast.blobs(&blobs)
        });
        stage.world.turn().await;
        match (damages, bytes) {
            (true, _) => assert_eq!(class(&stage.ends()[0]), "answer_unreadable"),
            // Not all of it was kept: it is told what the model would be.
            (false, 3) => assert_eq!(stage.ends(), [returned("\"[..]\"")]),
            (false, _) => assert_eq!(stage.ends(), [returned("[1,2,3]")]),
        }
    }
}

/// A tool that runs a process, which exits with this code.
struct Process(i32);

#[async_trait]
impl ToolExecutor for Process {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ScriptedTool::new("process", EffectClass::ReadOnly).spec().clone()]
    }

    async fn run(&self, _: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        assert!(context.program.is_some());
        let status = if self.0 == 0 { ObservationStatus::Done } else { ObservationStatus::Failed };
        Ok(Observation { exit_code: Some(self.0), ..Observation::new(status, "out") })
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_goes_on_with_the_output_of_any_exit_code() {
    let source = "call process {}\nreturn $LAST";
    for (code, value) in [(0, "\"out\""), (3, "\"[exit code 3]\\nout\"")] {
        let stage = acting([run(source), say("so be it")], [], |cast| Cast {
            tools: Arc::new(Process(code)),
            ..cast
        });
        stage.world.turn().await;
        assert_eq!(stage.ends(), [returned(value)]);
    }
}
