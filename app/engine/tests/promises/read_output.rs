//! A model reads outputs of earlier calls: those that were stored, and those in the log alone.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass_engine::Start;
use windlass_engine::core::{
    EffectClass, Fact, Observation, ObservationStatus, READ_OUTPUT_TOOL, Seq, ToolSpec,
    read_output_tool,
};
use windlass_engine::ports::{BlobStore as _, ToolCall, ToolContext, ToolError, ToolExecutor};
use windlass_testkit::Gate;
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::http::Asked;
use windlass_testkit::provider::{ScriptedProvider, Step, call, calls, say};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{Cast, World, hello, id, me, ms, soon};

const LINES: usize = 9_000;

fn text() -> String {
    (0..LINES).map(|line| format!("line {line} öß\n")).collect()
}

/// A tool `long` beside others, with an output of which it shows head and tail alone.
struct LongTool(ScriptedTools);

#[async_trait]
impl ToolExecutor for LongTool {
    fn tools(&self) -> Vec<ToolSpec> {
        self.0.tools()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        if call.name != "long" {
            return self.0.run(call, context).await;
        }
        let text = text();
        let mut writer = context.outputs.begin().await.unwrap();
        writer.write(text.as_bytes()).await.unwrap();
        Ok(Observation {
            output_bytes: text.len() as u64,
            omitted_bytes: text.len() as u64 - 200,
            stored_output: Some(writer.finish().await.unwrap()),
            ..Observation::new(ObservationStatus::Done, "line 0\n[... omitted ...]\nline 8999")
        })
    }
}

fn played_by(provider: ScriptedProvider, blobs: &HeldBlobs) -> World {
    let long = ScriptedTool::new("long", EffectClass::ReadOnly);
    let short = ScriptedTool::new("short", EffectClass::ReadOnly).says("one\ntwo\nthree");
    let empty = ScriptedTool::new("empty", EffectClass::ReadOnly);
    let tools = Arc::new(LongTool(ScriptedTools::new([long, short, empty])));
    let cast = Cast { provider: Arc::new(provider), tools, ..Cast::new([], []) };
    World::of(FaultyStore::new(), cast.blobs(blobs))
}

fn world(script: impl IntoIterator<Item = Step>, blobs: &HeldBlobs) -> World {
    offering(played_by(ScriptedProvider::new(script), blobs))
}

fn offering(world: World) -> World {
    world.tuned(|settings| settings.tools.push(read_output_tool()))
}

/// The results in the order of their calls.
fn observations(world: &World) -> Vec<Observation> {
    let mut seen = world.picked(|fact| match fact {
        Fact::CallObserved(fact) => Some((fact.call, (*fact.observation).clone())),
        _ => None,
    });
    seen.sort_by_key(|(call, _)| *call);
    seen.into_iter().map(|(_, observation)| observation).collect()
}

fn read(arguments: Value) -> Step {
    call(READ_OUTPUT_TOOL, arguments)
}

/// The call that a shortened output names.
fn named(observation: &Observation) -> Value {
    let (_, rest) = observation.output.rsplit_once("read_output ").unwrap();
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    values.next().unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_shortened_output_names_the_call_that_reads_the_rest() {
    let blobs = HeldBlobs::new(1 << 30);
    let found = Arc::new(windlass_engine::ports::sync::Mutex::new(Vec::new()));
    let seen = found.clone();
    // It copies the call from the words of the result, as a model does.
    let provider = ScriptedProvider::responding(move |request| {
        let results = Asked::of_prompt(&request.prompt).results;
        seen.lock().clone_from(&results);
        let Some((_, first)) = results.first() else {
            return call("long", json!({}));
        };
        let mut on = named(&Observation::new(ObservationStatus::Done, first.clone()));
        match results.len() {
            1 => on["pattern"] = json!("line 4500 "),
            2 => on["offset"] = json!(70_003),
            3 => on["offset"] = json!(text().len() - 20),
            _ => return say("seen"),
        }
        read(on)
    });
    let world = offering(played_by(provider, &blobs));
    assert_eq!(world.turn().await.0.answer, "seen");
    let results: Vec<String> = found.lock().iter().map(|(_, text)| text.clone()).collect();
    let all = text();
    assert!(!results[0].contains("sha256"), "a digest that no tool takes");
    let offset = all.find("line 4500 ").unwrap();
    let line = all[offset..].lines().next().unwrap();
    let whole = all.len();
    assert_eq!(results[1], format!("{offset}: {line}\n[1 match in all {whole} bytes]"));
    let (_, remark) = results[2].rsplit_once("\n[bytes ").unwrap();
    let numbers = remark.split(|c: char| !c.is_ascii_digit()).filter(|one| !one.is_empty());
    let numbers: Vec<usize> = numbers.map(|one| one.parse().unwrap()).collect();
    let [from, last, length, next] = numbers[..] else { panic!("{remark}") };
    // The offset is within a character.
    assert_eq!((from, length, next), (70_004, whole, last + 1), "{remark}");
    assert!(results[2].starts_with(&all[from..next]), "it is a part of the whole");
    assert!(next - from > 16_000, "{remark}");
    assert!(results[3].ends_with(&format!("of {whole}, the end]")), "{}", results[3]);
    assert!(all.ends_with(results[3].rsplit_once('[').unwrap().0));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_in_the_log_alone_is_read_by_the_id_of_its_call() {
    let script = [
        calls([("short", json!({})), ("empty", json!({}))]),
        calls([
            (READ_OUTPUT_TOOL, json!({ "call": "call_0" })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "offset": 4, "limit": 4 })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "pattern": "^t", "offset": 4 })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "pattern": "x*", "offset": 8 })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "pattern": "four" })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_1" })),
        ]),
        say("read"),
    ];
    let blobs = HeldBlobs::new(0);
    let world = world(script, &blobs);
    assert_eq!(world.turn().await.0.answer, "read");
    let seen = observations(&world);
    let read: Vec<&str> = seen[2..].iter().map(|one| one.output.as_str()).collect();
    assert_eq!(
        read,
        [
            "one\ntwo\nthree\n[bytes 0 to 12 of 13, the end]",
            "two\n[bytes 4 to 7 of 13; go on with offset 8]",
            "4: two\n8: three\n[2 matches from byte 4 to the end at 13]",
            "8: three\n[1 match from byte 8 to the end at 13]",
            "[no match in all 13 bytes]",
            "[the output is empty]",
        ]
    );
    assert!(seen.iter().all(|one| one.status == ObservationStatus::Done), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_a_failure_that_says_why() {
    let script = [
        call("short", json!({})),
        calls([
            (READ_OUTPUT_TOOL, json!({ "call": "nothing" })),
            (READ_OUTPUT_TOOL, json!({ "call": "@1" })),
            (READ_OUTPUT_TOOL, json!({ "call": "@99999" })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "offset": 13 })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "pattern": "(" })),
            (READ_OUTPUT_TOOL, json!({ "call": "call_0", "offset": -1 })),
        ]),
        say("nothing"),
    ];
    let world = world(script, &HeldBlobs::new(0));
    assert_eq!(world.turn().await.0.answer, "nothing");
    let seen = observations(&world);
    for (one, why) in seen[1..].iter().zip([
        "there is no call \"nothing\" with an output in this session. The latest ones are: call_0 \
         (short, 13 bytes).",
        "there is no call \"@1\"",
        "there is no call \"@99999\"",
        "the output has 13 bytes: give an offset below that",
        "the pattern is no regular expression",
        "do not fit the tool's schema",
    ]) {
        assert_eq!(one.status, ObservationStatus::Failed, "{one:?}");
        assert!(one.output.contains(why), "{}", one.output);
    }
}

#[tokio::test(start_paused = true)]
async fn an_erased_output_is_a_failure_that_names_its_loss() {
    let blobs = HeldBlobs::new(1 << 30);
    let world = world([call("long", json!({})), say("much")], &blobs);
    assert_eq!(world.turn().await.0.answer, "much");
    let seen = observations(&world);
    assert!(seen[0].stored_output.is_some());
    blobs.erase(&id("s")).await.unwrap();
    let world =
        offering(world.played_by(ScriptedProvider::new([read(named(&seen[0])), say("lost")])));
    world.turn().await;
    let seen = observations(&world);
    assert_eq!(seen[1].status, ObservationStatus::Failed);
    assert!(seen[1].output.contains("is not stored here any more"), "{}", seen[1].output);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_were_not_kept_are_said_to_be_lost() {
    let blobs = HeldBlobs::new(1_000);
    let script =
        [call("long", json!({})), read(json!({ "call": "call_0", "offset": 990 })), say("")];
    let world = world(script, &blobs);
    world.turn().await;
    let seen = observations(&world);
    let lost = text().len() - 1_000;
    let remark = format!("of 1000, the end; {lost} further bytes of the output were not kept]");
    assert!(seen[1].output.ends_with(&remark), "{}", seen[1].output);
    let first = format!("[The first 1000 of {} bytes of the output can be read", text().len());
    assert!(seen[0].output.contains(&first), "{}", seen[0].output);
}

#[tokio::test(start_paused = true)]
async fn the_words_of_an_output_name_no_tool_that_is_not_offered() {
    let blobs = HeldBlobs::new(1 << 30);
    let world = played_by(ScriptedProvider::new([call("long", json!({})), say("much")]), &blobs);
    world.turn().await;
    assert!(!observations(&world)[0].output.contains(READ_OUTPUT_TOOL));
}

#[tokio::test(start_paused = true)]
async fn an_executor_with_a_tool_of_that_name_runs_it() {
    let own = ScriptedTool::new(READ_OUTPUT_TOOL, EffectClass::ReadOnly).says("mine");
    let script = [read(json!({ "call": "x" })), say("ok")];
    let world = World::new(script, [own]);
    world.turn().await;
    assert_eq!(world.observation().1.output, "mine");
}

#[tokio::test(start_paused = true)]
async fn an_output_is_read_before_the_log_has_it() {
    let gate = Gate::new();
    let short = ScriptedTool::new("short", EffectClass::ReadOnly).says("one");
    let tools = Arc::new(ScriptedTools::new([short]));
    let (waits, ran) = (gate.clone(), tools.clone());
    // No append from the first result on.
    let store = FaultyStore::responding(move |operation, _| match operation {
        Operation::Append if !ran.runs().is_empty() => vec![Fault::Wait(waits.clone())],
        _ => Vec::new(),
    });
    let script = [call("short", json!({})), read(json!({ "call": "call_0" })), say("read")];
    let provider = ScriptedProvider::new(script);
    let world = offering(World::over(store, Arc::new(provider.clone()), tools));
    let session = world.open("s").await;
    let input = session.send(hello()).await.unwrap();
    soon(provider.wait_asked(2)).await;
    soon(provider.ended(1)).await;
    // Time passes only once nothing else can happen.
    tokio::time::sleep(ms(1_000)).await;
    gate.open();
    assert_eq!(soon(session.outcome(input)).await.unwrap().answer, "read");
    let seen = observations(&world);
    assert_eq!(seen[1].output, "one\n[bytes 0 to 2 of 3, the end]");
}

#[tokio::test(start_paused = true)]
async fn a_fork_reads_what_its_source_was_shown() {
    let blobs = HeldBlobs::new(1 << 30);
    // The result names call 6, which is call 6 of the fork too.
    let search = json!({ "call": "@6", "pattern": "line 4500 " });
    let script = [call("long", json!({})), say("much"), read(search), say("found")];
    let world = world(script, &blobs);
    world.turn().await;
    assert_eq!(named(&observations(&world)[0]), json!({ "call": "@6" }));
    let at = Seq(world.store.log(&id("s")).len() as u64);
    world.engine.fork(&id("s"), at, &id("f"), &me()).await.unwrap();
    // Each session has its own outputs.
    blobs.erase(&id("s")).await.unwrap();
    let forked = world.engine.open(&id("f"), &me(), Start::Existing).await.unwrap();
    let input = forked.send(hello()).await.unwrap();
    assert_eq!(soon(forked.outcome(input)).await.unwrap().answer, "found");
    let log = world.store.log(&id("f"));
    let seen = log.iter().rev().find_map(|one| match &one.fact {
        Fact::CallObserved(fact) => Some(fact.observation.output.clone()),
        _ => None,
    });
    assert!(seen.as_ref().unwrap().contains(": line 4500 öß\n[1 match"), "{seen:?}");
}
