//! `apply_patch`: exact places, several files, all or nothing, and what a kill leaves.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use windlass_localfs::LocalFsConfig;
use windlass_ports::{FileChange, ToolCall, ToolExecutor};

use crate::common::World;

fn patch(body: &str) -> serde_json::Value {
    json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")})
}

fn call(body: &str) -> ToolCall {
    ToolCall { name: String::from("apply_patch"), arguments: patch(body).to_string() }
}

const THREE: &str = "*** Add File: new/a.txt\n+one\n+two\n*** Update File: src/b.rs\n\
                     *** Move to: lib/b.rs\n@@ fn b() {\n-    1\n+    2\n*** Update File: c\n-old\n+new\n\
                     *** Delete File: d";

fn three() -> World {
    let world = World::new();
    world.put("src/b.rs", "fn a() {\n    1\n}\nfn b() {\n    1\n}\n");
    fs::set_permissions(world.path("src/b.rs"), fs::Permissions::from_mode(0o750)).unwrap();
    world.put("c", "old\n");
    world.put("d", "gone\n");
    world
}

#[tokio::test]
async fn files_are_added_changed_moved_and_deleted() {
    let world = three();
    let said = world.done("apply_patch", patch(THREE)).await;
    assert_eq!(said, "applied the patch:\nA new/a.txt\nD src/b.rs\nA lib/b.rs\nM c\nD d\n");
    assert_eq!(world.files(), ["c", "lib/b.rs", "new/a.txt"]);
    assert_eq!(world.text("new/a.txt"), "one\ntwo\n");
    assert_eq!(world.text("lib/b.rs"), "fn a() {\n    1\n}\nfn b() {\n    2\n}\n");
    assert_eq!(fs::metadata(world.path("lib/b.rs")).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(world.text("c"), "new\n");
}

/// One change that does not fit, and nothing of the patch is done.
#[tokio::test]
async fn a_patch_is_done_whole_or_not_at_all() {
    let world = three();
    world.put("locked", "x\n");
    fs::set_permissions(world.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    world.put("two", "x\ny\nx\n");
    fs::create_dir(world.path("folder")).unwrap();
    let before = world.files();
    for (body, expected) in [
        ("*** Update File: c\n-other\n+new", "`c` does not have the lines of the change at line"),
        ("*** Update File: two\n-x\n+z", "several times, at the lines 1, 3: give more lines"),
        ("*** Update File: two\n@@ q\n-y\n+z", "`two` has no line `q`"),
        ("*** Update File: two\n-y\n+z\n*** End of File", "does not end with the lines"),
        ("*** Update File: gone\n-x\n+y", "there is no file `gone`"),
        ("*** Delete File: gone", "there is no file `gone`"),
        ("*** Add File: two\n+x", "`two` exists already"),
        ("*** Update File: two\n*** Move to: locked", "`locked` exists already"),
        ("*** Update File: locked\n-x\n+y", "`locked` is read-only"),
        ("*** Delete File: locked", "`locked` is read-only"),
        ("*** Add File: folder\n+x", "it is a folder"),
        ("*** Add File: ../outside/x\n+x", "is outside the workspace"),
        ("*** Add File: .windlass/x\n+x", "the engine's own state"),
        ("*** Add File: two/x\n+x", "not a folder"),
        ("text", "the patch does not read: line 14: expected `*** End Patch`, the next file"),
    ] {
        let said = world.failed("apply_patch", patch(&format!("{THREE}\n{body}"))).await;
        assert!(said.contains(expected), "{body}: {said}");
        assert_eq!(world.files(), before, "{body}");
        assert_eq!(world.text("c"), "old\n");
    }
}

#[tokio::test]
async fn a_miss_shows_the_closest_lines() {
    let world = World::new();
    world.put("f", "fn one() {}\nfn two(n: u32) {}\n");
    let said =
        world.failed("apply_patch", patch("*** Update File: f\n-fn two(n: u64) {}\n+x")).await;
    assert_eq!(
        said,
        "`f` does not have the lines of the change at line 3 of the patch; nothing was changed. The \
         closest text begins at line 2 and reads:\n2: fn two(n: u32) {}\nCopy the text exactly if it is \
         what you mean."
    );
}

/// Several sections about one file follow each other, also by other names of it.
#[tokio::test]
async fn sections_of_one_file_follow_each_other() {
    let world = World::new();
    world.put("dir/f", "a\nb\n");
    symlink("dir/f", world.path("link")).unwrap();
    let body = "*** Update File: dir/f\n-a\n+A\n*** Update File: ./dir//f\n-b\n+B\n\
                *** Update File: link\n A\n+c";
    world.done("apply_patch", patch(body)).await;
    assert_eq!(world.text("dir/f"), "A\nc\nB\n");
    assert!(world.path("link").is_symlink());
    let body = "*** Delete File: dir/f\n*** Add File: dir/f\n+new";
    world.done("apply_patch", patch(body)).await;
    assert_eq!(world.text("dir/f"), "new\n");
}

/// A process that is killed between two renames leaves the first files changed. The same patch once
/// more changes the others. Changes that are there for another reason are no such rest.
#[tokio::test]
async fn the_same_patch_completes_what_a_kill_left() {
    for done in 0..=5 {
        let (world, whole) = (three(), three());
        whole.done("apply_patch", patch(THREE)).await;
        let steps: [&dyn Fn(); 5] = [
            &|| world.put("new/a.txt", "one\ntwo\n"),
            &|| world.put("lib/b.rs", whole.text("lib/b.rs")),
            &|| world.put("c", "new\n"),
            &|| fs::remove_file(world.path("src/b.rs")).unwrap(),
            &|| fs::remove_file(world.path("d")).unwrap(),
        ];
        steps.iter().take(done).for_each(|step| step());
        if done == 5 {
            let said = world.failed("apply_patch", patch(THREE)).await;
            assert!(said.contains("as this patch makes it already"), "{said}");
        } else {
            let said = world.done("apply_patch", patch(THREE)).await;
            assert_eq!(said.matches("(already so)").count(), done, "{done}: {said}");
        }
        assert_eq!(world.files(), whole.files(), "{done}");
        assert!(world.files().iter().all(|file| world.text(file) == whole.text(file)));
    }
    let world = three();
    world.put("c", "new\n");
    let said = world.failed("apply_patch", patch(THREE)).await;
    assert!(said.contains("`c` does not have the lines"), "{said}");
}

#[tokio::test]
async fn a_patch_tells_its_paths_its_plan_and_its_change() {
    let world = three();
    symlink("src", world.path("link")).unwrap();
    let paths = |body: &str| {
        let told = world.tools.paths(&call(body));
        assert!(told.iter().all(|told| told.argument == "path"));
        told.into_iter().map(|told| told.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(THREE), ["new/a.txt", "src/b.rs", "lib/b.rs", "c", "d"]);
    assert_eq!(
        paths("*** Delete File: link/b.rs\n*** Delete File: ../outside/secret"),
        ["src/b.rs"]
    );
    assert!(paths("nonsense").is_empty());
    let planned = world.tools.plan(call(THREE), crate::common::context()).await.unwrap();
    assert!(planned.output.contains("It would apply the patch:\nA new/a.txt\n"), "{planned:?}");
    let change = world.tools.preview(&call(THREE)).await;
    let before = "*** src/b.rs (deleted)\nfn a() {\n    1\n}\nfn b() {\n    1\n}\n*** c, line 1\nold\n\
                  *** d (deleted)\ngone\n";
    let after = "*** new/a.txt (new)\none\ntwo\n*** lib/b.rs (new)\nfn a() {\n    1\n}\nfn b() {\n    2\n\
                 }\n*** c, line 1\nnew\n";
    assert_eq!(change, Some(FileChange { before: Some(before.into()), after: after.into() }));
    let one = world.tools.preview(&call("*** Update File: c\n-old\n+new")).await;
    assert_eq!(one, Some(FileChange { before: Some("old\n".into()), after: "new\n".into() }));
    assert_eq!(world.tools.preview(&call("*** Update File: c\n-x\n+new")).await, None);
    assert_eq!(world.files(), ["c", "d", "link", "src/b.rs"]);
}

#[tokio::test]
async fn files_of_a_patch_are_bounded() {
    let world = World::with(LocalFsConfig { file_bytes: 10, ..LocalFsConfig::default() });
    let said = world.failed("apply_patch", patch("*** Add File: a\n+12345678901")).await;
    assert!(said.contains("would become larger than 10 bytes"), "{said}");
    world.put("b", "12345678901");
    let said = world.failed("apply_patch", patch("*** Update File: b\n+x")).await;
    assert!(said.contains("is larger than 10 bytes"), "{said}");
    let many = "*** Delete File: b\n".repeat(300);
    let said = world.failed("apply_patch", patch(many.trim_end())).await;
    assert!(said.contains("at most 256 files"), "{said}");
}

/// Any change of files, written as a patch and applied, gives the files as they were to become.
#[test]
fn a_patch_of_any_change_makes_that_change() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let line = prop_oneof!["[ab]{0,2}", "x", "    \\*\\*\\* End Patch", "@@ [ab]", "[+-] ?"];
    let file = prop::option::weighted(0.8, prop::collection::vec(line, 0..12));
    let files = prop::collection::vec((file.clone(), file), 1..4);
    // Each case syncs its files; the widest sweep of the tests has as many as it says.
    let wide = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let wide = wide.filter(|cases| *cases > 1_000);
    let config = ProptestConfig { cases: wide.unwrap_or(24), ..ProptestConfig::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner
        .run(&files, |files| {
            let world = World::new();
            let mut body = String::new();
            for (n, (before, after)) in files.iter().enumerate() {
                let path = format!("dir{}/f{n}", n % 2);
                if let Some(before) = before {
                    world.put(&path, text(before));
                }
                body.push_str(&section(&path, before.as_deref(), after.as_deref()));
            }
            if body.is_empty() {
                return Ok(());
            }
            let seen =
                runtime.block_on(world.call("apply_patch", patch(body.trim_end_matches('\n'))));
            prop_assert!(seen.output.starts_with("applied"), "{}\n{body}", seen.output);
            for (n, (before, after)) in files.iter().enumerate() {
                let made = fs::read_to_string(world.path(&format!("dir{}/f{n}", n % 2))).ok();
                let kept = after.is_none() && before.is_none();
                prop_assert_eq!(
                    made,
                    after.as_ref().filter(|_| !kept).map(|it| text(it)),
                    "{}",
                    body
                );
            }
            Ok(())
        })
        .unwrap();
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The section of a patch that makes one file of another.
fn section(path: &str, before: Option<&[String]>, after: Option<&[String]>) -> String {
    match (before, after) {
        (None, None) => String::new(),
        (Some(_), None) => format!("*** Delete File: {path}\n"),
        // A new file has a line at least.
        (None, Some([])) => {
            format!("*** Add File: {path}\n+\n*** Update File: {path}\n-\n")
        }
        (None, Some(after)) => format!("*** Add File: {path}\n{}", marked('+', after)),
        (Some(before), Some(after)) if before == after => String::new(),
        (Some(before), Some(after)) => {
            format!("*** Update File: {path}\n{}", chunks(before, after))
        }
    }
}

fn marked(mark: char, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{mark}{line}\n")).collect()
}

/// Chunks with so many lines around each change that its place is the only one.
fn chunks(before: &[String], after: &[String]) -> String {
    let (mut changes, mut old, mut new) = (Vec::new(), 0, 0);
    for op in capture_diff_slices(Algorithm::Myers, before, after) {
        if matches!(op, DiffOp::Equal { .. }) {
            let (old_end, new_end) = (op.old_range().start, op.new_range().start);
            changes.push((old..old_end, new..new_end));
            (old, new) = (op.old_range().end, op.new_range().end);
        }
    }
    changes.push((old..before.len(), new..after.len()));
    changes.retain(|(old, new)| !old.is_empty() || !new.is_empty());
    for around in 0..before.len() {
        if let Some(text) = chunks_with(before, after, &changes, around) {
            return text;
        }
    }
    format!("@@\n{}{}*** End of File\n", marked('-', before), marked('+', after))
}

fn chunks_with(
    before: &[String],
    after: &[String],
    changes: &[(Range<usize>, Range<usize>)],
    around: usize,
) -> Option<String> {
    let (mut text, mut done) = (String::new(), 0);
    for (at, (old, new)) in changes.iter().enumerate() {
        let next = changes.get(at + 1).map_or(before.len(), |(next, _)| next.start);
        let from = old.start.saturating_sub(around).max(done);
        let to = (old.end + around).min(next);
        let lines = &before[from..to];
        let places = before[done..].windows(lines.len().max(1)).filter(|window| *window == lines);
        // Lines without their blanks at the end are compared too, where none are exact.
        if lines.is_empty() || places.count() != 1 {
            return None;
        }
        text.push_str("@@\n");
        text.push_str(&marked(' ', &before[from..old.start]));
        text.push_str(&marked('-', &before[old.clone()]));
        text.push_str(&marked('+', &after[new.clone()]));
        text.push_str(&marked(' ', &before[old.end..to]));
        done = to;
    }
    Some(text)
}
