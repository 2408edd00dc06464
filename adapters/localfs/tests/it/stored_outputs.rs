//! Outputs that are too long to be shown are kept whole, and a store that cannot keep them costs
//! the rest of the output and nothing else.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_core::{Observation, ObservationStatus, StoredOutput};
use windlass_localfs::{CommandTools, LocalFsConfig};
use windlass_ports::{CancelSource, OutputStore, ToolContext};
use windlass_testkit::Gate;
use windlass_testkit::blobs::HeldBlobs;

use crate::common::{RecordedProgress, World, context_with, passes, run, session};

const MANY: u64 = 1 << 30;
/// 3 MB, no two lines alike.
const FLOOD: &str = "seq 1000000 1374999";
const BYTES: u64 = 3_000_000;
/// Says so in a file once it has given out all of it, and does not end.
const ENDLESS: &str = "seq 1000000 1374999; touch said; sleep 100";

async fn said_all(world: &World) {
    let start = Instant::now();
    while !world.path("said").exists() {
        assert!(start.elapsed() < Duration::from_secs(60));
        tokio::task::yield_now().await;
    }
}

fn keeping(blobs: &HeldBlobs, cancel: &CancelSource, timeout_ms: u64) -> ToolContext {
    ToolContext {
        outputs: OutputStore::new(Arc::new(blobs.clone()), session()),
        ..context_with(cancel, timeout_ms, Arc::new(RecordedProgress::default()))
    }
}

async fn shell(world: &World, blobs: &HeldBlobs, command: &str) -> Observation {
    let context = keeping(blobs, &CancelSource::new(), 60_000);
    world.call_in("shell", json!({"command": command}), context).await
}

fn flood() -> Vec<u8> {
    let lines = (1_000_000..1_375_000).map(|n| format!("{n}\n"));
    lines.collect::<String>().into_bytes()
}

fn kept(blobs: &HeldBlobs, seen: &Observation) -> Vec<u8> {
    let StoredOutput { sha256, bytes } = seen.stored_output.as_ref().unwrap();
    let held = blobs.bytes(&session(), sha256).unwrap();
    assert_eq!(held.len() as u64, *bytes);
    held
}

#[tokio::test]
async fn a_long_output_is_kept_whole_and_shown_head_and_tail() {
    let (world, blobs) = (World::new(), HeldBlobs::new(MANY));
    let seen = shell(&world, &blobs, FLOOD).await;
    assert_eq!(seen.status, ObservationStatus::Done);
    assert_eq!(seen.output_bytes, BYTES);
    assert_eq!(kept(&blobs, &seen), flood());
    // The system's own word on what the digest is.
    let digest = format!("{FLOOD} | sha256sum");
    let digest = world.done("shell", json!({"command": digest})).await;
    let digest = digest.split(' ').next().unwrap();
    assert_eq!(seen.stored_output.as_ref().unwrap().sha256, digest);
    assert!(!seen.output.contains(digest), "no tool takes a digest");

    let line = format!("\n[... {} bytes omitted ...]\n", seen.omitted_bytes);
    let (head, tail) = seen.output.split_once(&line).unwrap();
    assert!(head.starts_with("1000000\n1000001\n"));
    assert!(tail.ends_with("1374998\n1374999\n"));
    // The line break before the remark stands for the one that ends the head's last line.
    let shown = (head.len() + tail.len()) as u64;
    assert!(seen.omitted_bytes.abs_diff(BYTES - shown) <= 1, "{seen:?}");
    assert!(seen.output.len() <= LocalFsConfig::default().output_bytes);
}

#[tokio::test]
async fn what_is_shown_whole_is_not_kept() {
    let (world, blobs) = (World::new(), HeldBlobs::new(MANY));
    for command in ["true", "echo hi", "seq 1000 6999"] {
        let seen = shell(&world, &blobs, command).await;
        assert_eq!((seen.stored_output, seen.omitted_bytes), (None, 0));
    }
    assert_eq!(blobs.count(), 0);
}

#[tokio::test]
async fn what_is_too_long_only_as_text_is_kept_as_it_was() {
    let (world, blobs) = (World::new(), HeldBlobs::new(MANY));
    world.put("latin", b"\xfc \xff ".repeat(10_000));
    let seen = shell(&world, &blobs, "cat latin").await;
    assert!(seen.omitted_bytes > 0, "{seen:?}");
    assert_eq!(kept(&blobs, &seen), b"\xfc \xff ".repeat(10_000));
}

#[tokio::test]
async fn of_an_output_beyond_the_stores_limit_the_beginning_is_kept() {
    let (world, blobs) = (World::new(), HeldBlobs::new(100_000));
    let seen = shell(&world, &blobs, FLOOD).await;
    assert_eq!(kept(&blobs, &seen), flood()[..100_000]);
    assert_eq!(seen.output_bytes, BYTES);
    let words = "; only the first 100000 bytes of the output are stored ...]";
    assert!(seen.output.contains(words), "{}", seen.output);
}

#[tokio::test]
async fn a_failed_or_cancelled_commands_output_is_kept_too() {
    let (world, blobs) = (World::new(), HeldBlobs::new(MANY));
    let seen = shell(&world, &blobs, &format!("{FLOOD}; exit 3")).await;
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert_eq!(seen.exit_code, Some(3));
    assert_eq!(kept(&blobs, &seen), flood());

    let cancel = CancelSource::new();
    let context = keeping(&blobs, &cancel, 60_000);
    let call = world.call_in("shell", json!({"command": ENDLESS}), context);
    let stop = async {
        said_all(&world).await;
        cancel.cancel();
    };
    let (seen, ()) = tokio::join!(call, stop);
    assert_eq!(seen.status, ObservationStatus::Aborted);
    assert_eq!(kept(&blobs, &seen), flood());
}

#[tokio::test]
async fn a_store_without_room_fails_no_call() {
    let world = World::new();
    for most in [0, 100_000, 2_999_999] {
        let blobs = HeldBlobs::new(MANY).full_after(most);
        let seen = shell(&world, &blobs, FLOOD).await;
        assert_eq!(seen.status, ObservationStatus::Done);
        assert_eq!((seen.stored_output, seen.output_bytes), (None, BYTES));
        let words = " bytes omitted, and lost: there is no room to keep them ...]";
        assert!(seen.output.contains(words), "{}", seen.output);
        assert!(seen.output.ends_with("1374999\n"));
        assert_eq!(blobs.count(), 0);
    }
}

#[tokio::test]
async fn where_nothing_is_kept_it_says_what_is_left_out() {
    let world = World::new();
    let seen = world.call("shell", json!({"command": FLOOD})).await;
    assert_eq!((seen.status, seen.stored_output), (ObservationStatus::Done, None));
    assert!(seen.output.contains(" bytes omitted ...]"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_finish_holds_a_call_up_to_its_limit() {
    let world = World::new();
    let gate = Gate::new();
    let blobs = HeldBlobs::new(MANY).finishing_at(gate.clone());
    let context = keeping(&blobs, &CancelSource::new(), 4_000);
    let (seen, ()) = tokio::join!(
        world.call_in("shell", json!({"command": FLOOD}), context),
        passes(gate.reached(), Duration::from_secs(4))
    );
    assert_eq!((seen.status, seen.stored_output), (ObservationStatus::Done, None));
    let words = " bytes omitted, and lost: they could not be kept in time ...]";
    assert!(seen.output.contains(words), "{}", seen.output);
    assert!(seen.output.ends_with("1374999\n"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_no_more_holds_a_call_up_to_its_limit() {
    let world = World::new();
    let blobs = HeldBlobs::new(MANY).sticks_after(100_000);
    let context = keeping(&blobs, &CancelSource::new(), 1_000);
    let (seen, ()) = tokio::join!(
        world.call_in("shell", json!({"command": FLOOD}), context),
        passes(blobs.stuck(), Duration::from_secs(1))
    );
    assert_eq!((seen.status, seen.stored_output), (ObservationStatus::Failed, None));
    assert!(seen.output.contains("they could not be kept in time"));
}

#[tokio::test(start_paused = true)]
async fn to_be_cancelled_while_the_output_is_kept_ends_the_call_at_once() {
    let world = World::new();
    let gate = Gate::new();
    let blobs = HeldBlobs::new(MANY).finishing_at(gate.clone());
    let cancel = CancelSource::new();
    let context = keeping(&blobs, &cancel, 3_600_000);
    let call = world.call_in("shell", json!({"command": FLOOD}), context);
    // At the same moment by a clock that does not go on by itself.
    let stop = async {
        passes(gate.reached(), Duration::ZERO).await;
        tokio::time::pause();
        cancel.cancel();
        Instant::now()
    };
    let (seen, cancelled) = tokio::join!(call, stop);
    assert_eq!(cancelled.elapsed(), Duration::ZERO);
    assert_eq!((seen.status, seen.stored_output), (ObservationStatus::Done, None));
    assert!(seen.output.contains("they could not be kept in time"));
}

#[tokio::test]
async fn a_dropped_call_keeps_nothing() {
    let (world, blobs) = (World::new(), HeldBlobs::new(MANY));
    let context = keeping(&blobs, &CancelSource::new(), 60_000);
    let call = world.call_in("shell", json!({"command": ENDLESS}), context);
    tokio::select! {
        _ = call => panic!("it does not end"),
        () = said_all(&world) => {}
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(blobs.count(), 0);
}

#[tokio::test]
async fn a_users_command_keeps_its_stdout() {
    let (world, blobs) = (World::new(), HeldBlobs::new(MANY));
    let tools = world.dir.path().join("tools.json");
    let script = format!("{FLOOD}; {FLOOD} >&2; exit 1");
    let entry = json!({"tools": [{
        "name": "t", "description": "A tool.", "parameters": {"type": "object"},
        "command": ["sh", "-c", script],
    }]});
    std::fs::write(&tools, entry.to_string()).unwrap();
    let tools = CommandTools::load(&tools, &world.path("")).unwrap();
    let context = keeping(&blobs, &CancelSource::new(), 60_000);
    let seen = run(&tools, "t", json!({}), context).await.unwrap();
    assert_eq!(kept(&blobs, &seen), flood());
    assert_eq!(blobs.count(), 1);
    assert_eq!(seen.output_bytes, 2 * BYTES);
    assert_eq!(seen.output.matches("bytes omitted").count(), 2);
}
