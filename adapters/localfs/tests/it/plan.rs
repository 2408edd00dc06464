//! Dry runs: what each tool says it would do, and that it does none of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use windlass_core::{Observation, ObservationStatus};
use windlass_localfs::LocalFsConfig;
use windlass_ports::{FileChange, ToolCall, ToolExecutor};

use crate::bench::Bench;
use crate::common::{World, context};

const BEGIN: &str = "Not run: this is a dry run. It would ";

async fn plan(tools: &dyn ToolExecutor, name: &str, arguments: &Value) -> Observation {
    let call = ToolCall { name: name.to_owned(), arguments: arguments.to_string() };
    tools.plan(call, context()).await.unwrap()
}

/// A plan, without the words that all plans begin with.
async fn would(tools: &dyn ToolExecutor, name: &str, arguments: Value) -> String {
    let seen = plan(tools, name, &arguments).await;
    assert_eq!(seen.status, ObservationStatus::NotStarted, "{seen:?}");
    seen.output.strip_prefix(BEGIN).unwrap().to_owned()
}

async fn write(world: &World, path: &str, content: &str) -> String {
    let arguments = json!({"path": path, "content": content});
    would(&*world.tools, "write_file", arguments).await
}

#[tokio::test]
async fn a_write_says_whether_it_creates_or_replaces_and_how_much() {
    let world = World::new();
    world.put("old", "12345");
    world.put("sub/old", "");
    symlink("sub", world.path("link")).unwrap();
    symlink("new/folder", world.path("ahead")).unwrap();
    symlink("new/../old", world.path("back")).unwrap();
    let before = world.files();
    assert_eq!(write(&world, "old", "ä").await, "replace `old`: 5 bytes by 2 bytes.");
    for (path, expected) in [
        ("a", "create `a` with 1 bytes."),
        ("link/a", "create `link/a` with 1 bytes."),
        ("x/a", "create `x/a` with 1 bytes, and its folder."),
        ("link/x/y/z/a", "create `link/x/y/z/a` with 1 bytes, and 3 folders on its path."),
        ("ahead/x/a", "create `ahead/x/a` with 1 bytes, and 3 folders on its path."),
        ("back", "replace `back`: 5 bytes by 1 bytes."),
    ] {
        assert_eq!(write(&world, path, "1").await, expected);
    }
    assert_eq!(world.files(), before);
    assert!(!world.path("x").exists() && !world.path("new").exists());
    assert_eq!(world.text("old"), "12345");
    // What is planned is what a run does.
    let done = world.done("write_file", json!({"path": "ahead/x/a", "content": "1"}));
    assert_eq!(done.await, "created `ahead/x/a` (1 bytes)");
    assert!(world.path("new/folder/x/a").exists());
}

#[tokio::test]
async fn an_edit_says_where_its_text_is() {
    let world = World::new();
    world.put("f", "one\ntwo\nthree two\n");
    let edit =
        |old: &str, all: bool| json!({"path": "f", "old": old, "new": "4", "replace_all": all});
    let tools = &*world.tools;
    assert_eq!(
        would(tools, "edit_file", edit("three", false)).await,
        "edit `f`: 1 place, at line 3; 18 bytes become 14 bytes."
    );
    assert_eq!(
        would(tools, "edit_file", edit("two", true)).await,
        "edit `f`: 2 places, the first at line 2; 18 bytes become 14 bytes."
    );
    for (arguments, why) in [
        (edit("two", false), "`old` occurs 2 times"),
        (edit("none", false), "`old` does not occur"),
        (edit("", false), "`old` is empty"),
        (edit("4", false), "are the same"),
        (json!({"path": "g", "old": "a", "new": "b"}), "no such file"),
    ] {
        let seen = plan(tools, "edit_file", &arguments).await;
        assert_eq!(seen.status, ObservationStatus::Failed, "{seen:?}");
        assert!(seen.output.contains(why), "{}", seen.output);
    }
    assert_eq!(world.text("f"), "one\ntwo\nthree two\n");
    assert_eq!(world.files(), ["f"]);
}

/// A plan and a run refuse the same, in the same words.
#[tokio::test]
async fn what_a_run_refuses_its_plan_refuses() {
    let world = World::with(LocalFsConfig { file_bytes: 100, ..LocalFsConfig::default() });
    world.put("folder/f", "x");
    world.put("locked", "x");
    fs::set_permissions(world.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    symlink("../outside", world.path("out")).unwrap();
    symlink("new/../../outside/new", world.path("around")).unwrap();
    symlink("loop", world.path("loop")).unwrap();
    fs::create_dir(world.path(".windlass")).unwrap();
    let before = world.files();
    let deep = "d/".repeat(200) + "f";
    let write = |path: &str| json!({"path": path, "content": "y"});
    let edit = |path: &str| json!({"path": path, "old": "x", "new": "y"});
    let mut cases = vec![
        ("write_file", json!({"path": "f", "content": "y".repeat(101)})),
        ("write_file", json!({"path": "f"})),
        ("shell", json!({"command": "true", "timeout_ms": 0})),
        ("shell", json!({"command": "a\0b"})),
        ("shell", json!({"command": "x".repeat(100_001)})),
    ];
    for path in [
        "../outside/a",
        "/etc/a",
        "out/secret",
        "out/new/a",
        "around",
        "loop",
        "loop/a",
        ".windlass/a",
        "new/.windlass/a",
        "folder",
        "folder/f/a",
        "locked",
        ".",
        deep.as_str(),
    ] {
        cases.push(("write_file", write(path)));
        cases.push(("edit_file", edit(path)));
    }
    for (name, arguments) in cases {
        let planned = plan(&*world.tools, name, &arguments).await;
        assert_eq!(planned.status, ObservationStatus::Failed, "{planned:?}");
        assert_eq!(world.files(), before, "{name} {arguments}");
        assert!(!world.path("new").exists(), "{name} {arguments}");
        let ran = world.failed(name, arguments.clone()).await;
        assert_eq!(planned.output, ran, "{name} {arguments}");
        let _ = fs::remove_dir_all(world.path("new"));
        let _ = fs::remove_dir_all(world.path("d"));
    }
}

#[tokio::test]
async fn the_shell_says_its_exact_command_line() {
    let world = World::new();
    let line = "printf '%s' \"$HOME\" > made; cat <<E\nä\nE";
    let arguments = json!({"command": line, "timeout_ms": 250});
    assert_eq!(
        would(&*world.tools, "shell", arguments).await,
        format!(
            "run this command line with sh in the workspace folder, for at most 250 ms:\n{line}"
        )
    );
    let arguments = json!({"command": format!("touch made; # {}", "x".repeat(99_000))});
    let seen = plan(&*world.tools, "shell", &arguments).await;
    assert!(seen.output.len() < 64 * 1024 && seen.output_bytes > 99_000);
    assert!(world.files().is_empty());
}

#[tokio::test]
async fn what_only_reads_says_so() {
    let world = World::new();
    world.put("f", "text");
    let seen = would(&*world.tools, "read_file", json!({"path": "f"})).await;
    assert_eq!(seen, "only read, with these arguments:\n{\"path\":\"f\"}");
}

#[tokio::test]
async fn a_command_says_its_exact_command_line_and_its_stdin() {
    let bench = Bench::new();
    bench.script("my tool.sh", "#!/bin/sh\ntouch ran\n");
    let more = json!({
        "command": ["./my tool.sh", "--to", "it's", ""],
        "timeout_ms": 1_500,
        "reconcile": ["sh", "-c", "touch asked"],
    });
    let tools = bench.tool("", more);
    let program = bench.dir.path().canonicalize().unwrap();
    let program = program.join("config/./my tool.sh");
    assert_eq!(
        would(&tools, "t", json!({"n": 1})).await,
        format!(
            "run this command line in the workspace folder, for at most 1500 ms:\n\
             '{}' --to 'it'\\''s' ''\nwith these arguments on its stdin:\n{{\"n\":1}}",
            program.display()
        )
    );
    assert_eq!(fs::read_dir(bench.workspace()).unwrap().count(), 0);
    fs::remove_file(program).unwrap();
    let seen = plan(&tools, "t", &json!({})).await;
    assert_eq!(seen.status, ObservationStatus::Failed);
    let why = "is no file that may be executed";
    assert!(seen.output.contains(why), "{}", seen.output);
}

#[tokio::test]
async fn a_change_is_foreseen() {
    let world = World::new();
    world.put("a", "one\ntwo\n");
    world.put("binary", [0xff, 0xfe]);
    for (tool, arguments, expected) in [
        ("write_file", json!({"path": "a", "content": "x"}), Some((Some("one\ntwo\n"), "x"))),
        ("write_file", json!({"path": "new/b", "content": "x"}), Some((None, "x"))),
        (
            "edit_file",
            json!({"path": "a", "old": "two", "new": "2"}),
            Some((Some("one\ntwo\n"), "one\n2\n")),
        ),
        ("edit_file", json!({"path": "a", "old": "three", "new": "3"}), None),
        ("write_file", json!({"path": "binary", "content": "x"}), None),
        ("write_file", json!({"path": "../b", "content": "x"}), None),
        ("read_file", json!({"path": "a"}), None),
        ("shell", json!({"command": "rm a"}), None),
    ] {
        let call = ToolCall { name: tool.to_owned(), arguments: arguments.to_string() };
        let found = world.tools.preview(&call).await;
        let expected = expected.map(|(before, after)| FileChange {
            before: before.map(str::to_owned),
            after: after.to_owned(),
        });
        assert_eq!(found, expected, "{tool} {arguments}");
    }
    assert!(!world.path("new").exists());
}
