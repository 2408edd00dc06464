//! Snapshots of cycles: those of a session and of a turn, in pages, of calls and of programs.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::{
    EffectClass, OutputSchema, ProgramMode, Seq, SessionId, TurnSnapshot, TurnSnapshots,
};
use windlass_memory::MemoryStore;
use windlass_server::windlass_engine;
use windlass_testkit::Gate;
use windlass_testkit::programs::SCRIPTED;
use windlass_testkit::provider::{ScriptedProvider, Step, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::OTHER;
use crate::counting::Counting;
use crate::world::{Running, World, problem};

fn look() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::ReadOnly).says("[1]")
}

fn run(source: &str) -> Step {
    call("run_program", json!({ "source": source }))
}

/// A world whose sessions write programs.
fn programs(script: impl IntoIterator<Item = Step>, tool: ScriptedTool) -> World {
    let mut world = World::new(script, [tool]);
    world.options.program = Some(ProgramMode {
        runtime: SCRIPTED.into(),
        transport: Default::default(),
        limits: Default::default(),
        data: None,
        corrections: 0,
    });
    world
}

/// What `windlass show --turns --json` prints of a session: a line a cycle, the last of which may be open.
async fn shown(world: &World, id: &str) -> (Vec<TurnSnapshot>, Option<TurnSnapshot>) {
    let id = SessionId::new(id).unwrap();
    let log = world.store.read(&id, Seq::ZERO, usize::MAX).await.unwrap();
    let mut fold = TurnSnapshots::default();
    let made = log.iter().filter_map(|fact| fold.apply(fact).unwrap());
    (made.collect(), fold.unfinished())
}

fn json_of(snapshot: &TurnSnapshot) -> Value {
    serde_json::to_value(snapshot).unwrap()
}

async fn page(server: &Running, id: &str, query: &str) -> Value {
    let path = format!("/sessions/{id}/turns?snapshots=true&{query}");
    server.get(&path).send().await.is(200)
}

/// All pages of a path, from the first on.
async fn pages(server: &Running, path: &str, limit: usize) -> Vec<Value> {
    let (mut pages, mut after) = (Vec::new(), Value::from(0));
    while !after.is_null() {
        let path = format!("{path}limit={limit}&after={after}");
        let page = server.get(&path).send().await.is(200);
        after = page["next"].clone();
        pages.push(page);
    }
    pages
}

fn snapshots(page: &Value) -> &[Value] {
    page["snapshots"].as_array().unwrap()
}

#[tokio::test]
async fn a_session_tells_the_cycles_of_all_its_turns_in_pages_that_stand_alone() {
    let script = [
        call("look", json!({})),
        call("look", json!({})),
        say("seen"),
        call("nothing", json!({})),
        say("again"),
    ];
    let world = World::new(script, [look()]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let (one, two) = (server.turn(&id, "first").await, server.turn(&id, "second").await);
    let (lines, open) = shown(&world, &id).await;
    assert_eq!((lines.len(), open), (5, None));
    let whole = page(&server, &id, "").await;
    let all: Vec<_> = lines.iter().map(json_of).collect();
    assert_eq!(whole, json!({"snapshots": all, "open": null, "next": null}));
    let of: Vec<_> = all.iter().map(|cycle| (&cycle["turn"], cycle["number"].as_u64())).collect();
    let (one, two) = (&one["turn"], &two["turn"]);
    let numbered = [(one, Some(1)), (one, Some(2)), (one, Some(3)), (two, Some(1)), (two, Some(2))];
    assert_eq!(of, numbered);
    // In pages each begins with the whole conversation, and each other cycle is told in the same words.
    for limit in [1, 2, 3] {
        let mut told = Vec::new();
        for page in pages(&server, &format!("/sessions/{id}/turns?snapshots=true&"), limit).await {
            assert!(snapshots(&page).len() <= limit);
            for (at, cycle) in snapshots(&page).iter().enumerate() {
                let line = lines[told.len()].clone();
                let line = if at == 0 { line.with_all_messages() } else { line };
                assert_eq!(*cycle, json_of(&line), "limit {limit}, cycle {}", told.len());
                let messages = &cycle["messages"];
                let added = messages["added"].as_array().unwrap().len();
                assert!(at > 0 || (messages["same"] == 0 && messages["count"] == added));
                told.push(cycle.clone());
            }
        }
        assert_eq!(told.len(), lines.len());
    }
    // So is a later turn by itself.
    let later = format!("/sessions/{id}/turns/{two}/snapshots?");
    let later = server.get(&later).send().await.is(200);
    let wanted = [json_of(&lines[3].clone().with_all_messages()), all[4].clone()];
    assert_eq!(later["snapshots"], json!(wanted));
    // How turns stand is told as before, also by the name of what is not wanted.
    let states = format!("/sessions/{id}/turns");
    let states = server.get(&states).send().await.is(200);
    assert_eq!(states["turns"].as_array().unwrap().len(), 2);
    let same = server.get(&format!("/sessions/{id}/turns?snapshots=false"));
    assert_eq!(same.send().await.is(200), states);
    for (bad, status, code) in [
        ("after=1000", 400, "bad_cursor"),
        ("limit=0", 400, "bad_request"),
        ("snapshot=true", 400, "bad_request"),
    ] {
        let answer = server.get(&format!("/sessions/{id}/turns?snapshots=true&{bad}"));
        assert_eq!(answer.send().await.problem(), problem(status, code), "{bad}");
    }
    let foreign = server.get(&format!("/sessions/{id}/turns?snapshots=true"));
    let foreign = foreign.with(OTHER).send().await;
    assert_eq!(foreign.problem(), problem(404, "no_session"));
}

#[tokio::test]
async fn programs_are_told_with_all_that_came_of_them() {
    let looks = "print \"looking\"\nboth look {} look {\"deep\":1}\nkeep seen = $LAST\nvalue $LAST";
    let script = [
        run(looks),
        run("keep lost = 1\ncall nothing {}"),
        run("call look {}\nfail \"too hard to say\"\nprint 1"),
        say("never asked for"),
    ];
    let world = programs(script, look());
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let turn = server.turn(&id, "look").await;
    assert_eq!(turn["outcome"]["outcome"], "failed", "{turn}");
    let whole = page(&server, &id, "").await;
    let (lines, _) = shown(&world, &id).await;
    assert_eq!(snapshots(&whole), lines.iter().map(json_of).collect::<Vec<_>>());
    let [one, two, three] = snapshots(&whole) else {
        panic!("three cycles: {whole}");
    };
    assert_eq!((&one["program"], &one["raw_response"]), (&json!(looks), &json!(looks)));
    assert_eq!(one["result"], json!({"end": "value", "value": "[[1],[1]]"}));
    assert_eq!(one["prints"], json!(["looking"]));
    assert_eq!(one["memory"], json!({"entries": {"seen": "[[1],[1]]"}}));
    assert_eq!((&one["kind"], &one["success"]), (&json!("normal"), &json!(true)));
    let calls = one["tool_calls"].as_array().unwrap();
    let told: Vec<_> = calls
        .iter()
        .map(|call| (&call["program"], call["arguments"].as_str(), call["status"].as_str()))
        .collect();
    let by = &one["program_call"];
    assert!(by.is_u64());
    let made = [(by, Some("{}"), Some("done")), (by, Some(r#"{"deep":1}"#), Some("done"))];
    assert_eq!(told, made);
    // One that does not fit is not run, and leaves nothing.
    assert_eq!((&two["success"], &two["tool_calls"]), (&json!(false), &json!([])));
    assert_eq!(two["failure"]["class"], "unknown_tool", "{two}");
    assert_eq!(two["memory"], one["memory"]);
    // One that gives up is told with its calls.
    assert_eq!(three["result"], json!({"end": "fail", "value": "\"too hard to say\""}));
    assert_eq!(three["failure"]["class"], "fail");
    assert_eq!(three["tool_calls"][0]["output"], "[1]");
    assert_eq!(three["memory"], one["memory"]);
}

#[tokio::test]
async fn the_last_sample_for_work_and_a_retry_are_told_as_such() {
    let script = [run("call look {}"), run("return 1"), run("return {\"n\":1}")];
    let mut world = programs(script, look());
    world.options.output_schema = Some(OutputSchema {
        name: "count".into(),
        schema: r#"{"type":"object","required":["n"]}"#.into(),
        strict: false,
        max_re_asks: 1,
    });
    let server = world.serve().await;
    // One of three is set aside for the retry.
    let id = server.open(&json!({"limits": {"samples": 3}})).await;
    let turn = server.turn(&id, "count").await;
    assert_eq!(turn["answer"], r#"{"n":1}"#, "{turn}");
    let whole = page(&server, &id, "").await;
    let told: Vec<_> = snapshots(&whole)
        .iter()
        .map(|cycle| (&cycle["kind"], &cycle["success"], &cycle["failure"]["class"]))
        .collect();
    let (yes, no) = (&json!(true), &json!(false));
    let wanted = [
        (&json!("normal"), yes, &Value::Null),
        (&json!("must_return"), no, &json!("rejected")),
        (&json!("re_ask"), yes, &Value::Null),
    ];
    assert_eq!(told, wanted, "{whole}");
    assert_eq!(snapshots(&whole)[2]["result"]["end"], "return");
}

#[tokio::test]
async fn a_cycle_that_is_open_is_told_apart_until_it_is_over() {
    let gate = Gate::new();
    let script = [run("call look {}\nvalue 1"), run("return 2")];
    let world = programs(script, look().before(&gate));
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let sent = server.post(&format!("/sessions/{id}/turns"), &json!({"text": "go"}));
    let turn = sent.send().await.is(202)["turn"].as_u64().unwrap();
    gate.reached().await;
    let of_turn = format!("/sessions/{id}/turns/{turn}/snapshots");
    let (_, open) = shown(&world, &id).await;
    let open = json_of(&open.unwrap());
    let during = page(&server, &id, "").await;
    assert_eq!(during, json!({"snapshots": [], "open": open, "next": null}));
    assert_eq!(server.get(&of_turn).send().await.is(200), during);
    assert_eq!(open["failure"]["class"], "unfinished");
    assert_eq!(open["tool_calls"][0]["status"], Value::Null, "{open}");
    gate.open();
    server.ended(&id, turn).await;
    let after = page(&server, &id, "").await;
    assert_eq!(after["open"], Value::Null);
    assert_eq!(server.get(&of_turn).send().await.is(200)["snapshots"], after["snapshots"]);
    let [first, second] = snapshots(&after) else {
        panic!("two cycles: {after}");
    };
    assert_eq!((&first["number"], &first["success"]), (&open["number"], &json!(true)));
    assert_eq!(first["tool_calls"][0]["status"], "done");
    assert_eq!(second["result"], json!({"end": "return", "value": "2"}));
}

#[tokio::test]
async fn a_page_ends_where_its_texts_are_long() {
    let said = (0..5).map(|_| say("heard"));
    let world = World::new(said, []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    for _ in 0..5 {
        server.turn(&id, &"x".repeat(1_500_000)).await;
    }
    let path = format!("/sessions/{id}/turns?snapshots=true&");
    let pages = pages(&server, &path, 1_000).await;
    let cycles: Vec<_> = pages.iter().map(|page| snapshots(page).len()).collect();
    // Three texts are over the bound; so is a fourth with those before it, which begins a page.
    assert_eq!(cycles, [3, 1, 1, 0]);
}

/// Each page reads what it tells, and not all that was before it.
#[tokio::test]
async fn pages_of_a_long_log_read_it_a_few_times_and_not_once_each() {
    const CYCLES: usize = 150;
    let mut world = World::new([], [look()]);
    world.provider = ScriptedProvider::responding(|request| {
        let results = request.prompt.items.len() / 2;
        match results % 50 {
            49 => say("seen"),
            _ => call("look", json!({})),
        }
    });
    let counting = Counting::new(Arc::new(MemoryStore::new()));
    world.store = counting.clone();
    let server = world.serve().await;
    let id = server.open(&json!({"limits": {"samples": 100}})).await;
    let mut turns = Vec::new();
    let mut cycles = 0;
    while cycles < CYCLES {
        let turn = server.turn(&id, "look on").await;
        cycles += usize::try_from(turn["spent"]["samples"].as_u64().unwrap()).unwrap();
        turns.push(turn["turn"].clone());
    }
    let view = server.get(&format!("/sessions/{id}")).send().await.is(200);
    let facts = usize::try_from(view["last"].as_u64().unwrap()).unwrap();
    assert!(facts > 5 * cycles, "{facts} facts of {cycles} cycles");

    let all = format!("/sessions/{id}/turns?snapshots=true&");
    counting.since();
    let walked = pages(&server, &all, 1).await;
    assert_eq!(walked.iter().flat_map(snapshots).count(), cycles);
    let read = counting.since();
    assert!(read <= 6 * facts, "{read} facts were read of a log of {facts}");
    // The turns one after the other.
    let mut told = 0;
    for turn in &turns {
        let path = format!("/sessions/{id}/turns/{turn}/snapshots?");
        let walked = pages(&server, &path, 3).await;
        told += walked.iter().flat_map(snapshots).count();
    }
    assert_eq!(told, cycles);
    let read = counting.since();
    assert!(read <= 6 * facts, "{read} facts were read of a log of {facts}");
    // Who asks again and again whether there is more does not have the log read again.
    let last = format!("{all}after={facts}");
    server.get(&last).send().await.is(200);
    counting.since();
    for _ in 0..10 {
        server.get(&last).send().await.is(200);
    }
    let read = counting.since();
    assert!(read <= 50, "{read} facts were read for nothing new");
}
