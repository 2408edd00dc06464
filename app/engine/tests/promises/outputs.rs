//! Outputs that are too long for a log are kept whole beside it, and what keeps them fails no call.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{EffectClass, Observation, ObservationStatus, StoredOutput, ToolSpec};
use windlass_engine::ports::{ToolCall, ToolContext, ToolError, ToolExecutor};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{Cast, World, id};

/// A tool that has what it says kept.
struct StoringTool;

#[async_trait]
impl ToolExecutor for StoringTool {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![
            ToolSpec::new("keep", EffectClass::Effectful)
                .with(|it| it.description = "Keeps.".into()),
        ]
    }

    async fn run(&self, _call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let mut writer = context.outputs.begin().await.unwrap();
        writer.write(b"abc").await.unwrap();
        Ok(Observation {
            stored_output: Some(writer.finish().await.unwrap()),
            ..Observation::new(ObservationStatus::Done, "a...")
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_handed_a_keeper_for_its_session_and_the_log_names_what_it_kept() {
    let blobs = HeldBlobs::new(100);
    let cast = Cast {
        provider: Arc::new(ScriptedProvider::new([call("keep", json!({})), say("ok")])),
        tools: Arc::new(StoringTool),
        ..Cast::new([], []).blobs(&blobs)
    };
    let world = World::of(FaultyStore::new(), cast);
    assert_eq!(world.turn().await.0.answer, "ok");
    let kept = StoredOutput {
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into(),
        bytes: 3,
    };
    assert_eq!(blobs.bytes(&id("s"), &kept.sha256).unwrap(), b"abc");
    assert_eq!(world.observation().1.stored_output, Some(kept));
}

async fn flood(blobs: &HeldBlobs) -> Observation {
    let output = format!("head{}tail", "\u{1}".repeat(5_000_000));
    let tool = ScriptedTool::new("flood", EffectClass::Effectful).says(output);
    let script = [call("flood", json!({})), say("much")];
    let cast = Cast::new(script, [tool]).blobs(blobs);
    let world = World::of(FaultyStore::new(), cast);
    assert_eq!(world.turn().await.0.answer, "much");
    let (_, seen) = world.observation();
    assert!(seen.output.starts_with("head") && seen.output.ends_with("tail"));
    assert!(seen.omitted_bytes > 0);
    seen
}

#[tokio::test(start_paused = true)]
async fn what_no_fact_can_hold_is_kept_whole() {
    let blobs = HeldBlobs::new(1 << 30);
    let seen = flood(&blobs).await;
    let kept = seen.stored_output.unwrap();
    let held = blobs.bytes(&id("s"), &kept.sha256).unwrap();
    assert_eq!(held.len() as u64, kept.bytes);
    assert_eq!(held.len() as u64, seen.output_bytes);
    assert!(held.starts_with(b"head\x01") && held.ends_with(b"\x01tail"));
}

#[tokio::test(start_paused = true)]
async fn a_store_of_outputs_that_is_full_or_stuck_fails_no_call() {
    let full = HeldBlobs::new(1 << 30).full_after(1_000);
    let stuck = HeldBlobs::new(1 << 30).sticks_after(1_000);
    for blobs in [full, stuck] {
        let seen = flood(&blobs).await;
        assert_eq!((seen.status, seen.stored_output), (ObservationStatus::Done, None));
    }
}
