//! The process groups of hooks: bounded, fed, and gone in the end.

use std::time::Duration;

use windlass_core::{HookReply, HookVerdict};
use windlass_ports::CancelSource;

use crate::common::{World, dies, passes, prompt, written};

/// A leader, a child that is deaf to SIGTERM and a grandchild, all of which wait.
const FAMILY: &str = "(trap '' TERM; sh -c 'echo $$ >> pids; while :; do sleep 60; done') & \
                      echo $$ >> pids; sleep 60 & echo $! >> pids; \
                      while [ $(wc -l < pids) -lt 3 ]; do :; done; echo yes > grown; wait";

fn assert_dead(world: &World) {
    let pids = world.text("pids");
    assert!(pids.lines().count() >= 3, "{pids}");
    pids.lines().for_each(dies);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_kills_the_whole_family() {
    let world = World::one("UserPromptSubmit", FAMILY);
    let mut context = world.context();
    context.timeout_ms = 3_000;
    let limit = Duration::from_millis(context.timeout_ms);
    let (asked, ()) =
        tokio::join!(world.ask_in(prompt("p"), context), passes(written(&world, "grown"), limit));
    let error = asked.unwrap_err();
    assert!(error.context.ends_with("took longer than 3000 ms and was killed"), "{error}");
    assert!(error.context.contains("UserPromptSubmit[0].hooks[0]"), "{error}");
    assert_dead(&world);
}

#[tokio::test]
async fn a_cancelled_hook_is_killed_with_its_family() {
    let world = World::one("UserPromptSubmit", FAMILY);
    let cancel = CancelSource::new();
    let mut context = world.context();
    context.cancel = cancel.signal();
    let (asked, ()) = tokio::join!(world.ask_in(prompt("p"), context.clone()), async {
        written(&world, "grown").await;
        cancel.cancel();
    });
    assert!(asked.unwrap_err().context.ends_with("was asked to stop"));
    assert_dead(&world);
    std::fs::remove_file(world.dir.path().join("grown")).unwrap();
    let late = world.ask_in(prompt("p"), context).await.unwrap_err();
    assert!(late.context.ends_with("was asked to stop"));
    assert!(!world.dir.path().join("grown").exists());
}

#[tokio::test]
async fn a_hook_that_nobody_waits_for_any_more_is_killed_with_its_family() {
    let world = World::one("UserPromptSubmit", FAMILY);
    tokio::select! {
        _ = world.ask(prompt("p")) => panic!("it ended"),
        () = written(&world, "grown") => {}
    }
    assert_dead(&world);
}

#[tokio::test]
async fn what_is_left_in_the_background_neither_hangs_nor_lives() {
    // Whoever waited for it would be out of time.
    let world = World::one("UserPromptSubmit", "sleep 600 & echo $! > pid; echo said");
    let reply = world.ask(prompt("p")).await.unwrap();
    assert_eq!(reply.context.as_deref(), Some("said"));
    dies(&world.text("pid"));
}

/// More than a pipe holds, and nobody reads it.
#[tokio::test]
async fn a_hook_need_not_read_what_it_is_told() {
    let long = "x".repeat(4 * 1024 * 1024);
    for command in ["true", "exec 0<&-; echo", "head -c 10 > head"] {
        let world = World::one("UserPromptSubmit", command);
        let reply = world.ask(prompt(&long)).await.unwrap();
        assert_eq!(reply, HookReply::pass(), "{command}");
    }
    let world = World::one("UserPromptSubmit", "cat > asked");
    world.ask(prompt(&long)).await.unwrap();
    assert_eq!(world.asked()["prompt"], long);
}

#[tokio::test]
async fn too_many_words_are_a_failure_that_names_the_hook() {
    let world = World::one("UserPromptSubmit", "head -c 5000 /dev/zero | tr '\\0' a");
    let error = world.ask(prompt("p")).await.unwrap_err();
    assert!(
        error.context.ends_with("it wrote 5000 bytes, more than the 4096 that it may"),
        "{error}"
    );
    assert!(error.context.starts_with("the hook UserPromptSubmit[0]"), "{error}");
    let world = World::one("UserPromptSubmit", "head -c 4096 /dev/zero | tr '\\0' a");
    let reply = world.ask(prompt("p")).await.unwrap();
    assert_eq!(reply.context.map(|text| text.len()), Some(4_096));
    let world = World::one("UserPromptSubmit", "head -c 5000 /dev/zero >&2; echo ok");
    let reply = world.ask(prompt("p")).await.unwrap();
    assert_eq!(reply.context.as_deref(), Some("ok"));
}

/// A denial must not be lost because it came with too many words.
#[tokio::test]
async fn a_denial_stands_however_much_is_said() {
    let command =
        "head -c 9000 /dev/zero | tr '\\0' a; head -c 9000 /dev/zero | tr '\\0' b >&2; exit 2";
    let reply = World::one("UserPromptSubmit", command).ask(prompt("p")).await.unwrap();
    assert_eq!(reply.verdict, HookVerdict::Deny);
    assert_eq!(reply.reason, "b".repeat(4_096) + " [cut]");
}

#[tokio::test]
async fn a_flood_is_stopped_before_the_time_limit() {
    for command in ["yes", "yes >&2"] {
        let world = World::one("UserPromptSubmit", command);
        let error = world.ask(prompt("p")).await.unwrap_err();
        assert!(error.context.contains("far more than the 4096 bytes"), "{error}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_said() {
    let world = World::one("UserPromptSubmit", "true");
    let mut context = world.context();
    context.workspace = Some("/nowhere/at/all".into());
    let error = world.ask_in(prompt("p"), context).await.unwrap_err();
    assert!(error.context.contains("could not be started"), "{error}");
    assert!(error.source.is_some());
    let world = World::one("UserPromptSubmit", "./nothing.sh");
    let error = world.ask(prompt("p")).await.unwrap_err();
    assert!(error.context.contains("it exited with code 127"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_answer_each_for_itself() {
    let world = std::sync::Arc::new(World::one(
        "UserPromptSubmit",
        r#"sed 's/.*"prompt":"\([^"]*\)".*/\1/'"#,
    ));
    let asking = (0..32).map(|n| {
        let world = world.clone();
        tokio::spawn(async move {
            let reply = world.ask(prompt(&format!("p{n}"))).await.unwrap();
            assert_eq!(reply.context.as_deref(), Some(format!("p{n}").as_str()));
        })
    });
    for one in asking.collect::<Vec<_>>() {
        one.await.unwrap();
    }
}
