//! `grep` and `glob` over real files, `.gitignore`, and how fast both stop.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_core::ObservationStatus;
use windlass_localfs::{LocalFs, LocalFsConfig};
use windlass_ports::CancelSource;

use crate::common::{RecordedProgress, World, context_with};

#[tokio::test]
async fn grep_finds_lines_in_order_of_their_files() {
    let world = World::new();
    world.put("src/b.rs", "fn beta() {}\r\n// Beta\n");
    world.put("src/a.rs", "no\nfn alpha() {}\n");
    world.put("src/c.txt", "fn gamma() {}\n");
    world.put(".git/x.rs", "fn git() {}");
    world.put(".windlass/x.rs", "fn engine() {}");
    world.put("bin.rs", b"fn binary() {}\0");
    symlink(world.dir.path().join("outside"), world.path("out")).unwrap();
    let found = world.done("grep", json!({"pattern": "fn \\w+"})).await;
    let all = "src/a.rs:2: fn alpha() {}\nsrc/b.rs:1: fn beta() {}\nsrc/c.txt:1: fn gamma() {}\n";
    assert_eq!(found, all);
    let rust = world.done("grep", json!({"pattern": "^fn", "glob": "*.rs"})).await;
    assert_eq!(rust.lines().count(), 2);
    let arguments = json!({"pattern": "BETA", "path": "src/b.rs", "ignore_case": true});
    assert_eq!(world.done("grep", arguments).await.lines().count(), 2);
    let none = world.done("grep", json!({"pattern": "SECRET"})).await;
    assert_eq!(none, "[no line in 3 text files matches]");
    let bad = world.failed("grep", json!({"pattern": "(a"})).await;
    assert!(bad.contains("the pattern does not read"), "{bad}");
    let gone = world.failed("grep", json!({"pattern": "a", "path": "gone"})).await;
    assert!(gone.contains("there is no such file"), "{gone}");
}

#[tokio::test]
async fn grep_is_bounded() {
    let world = World::with(LocalFsConfig { matches: 5, ..LocalFsConfig::default() });
    world.put("many", "hit\n".repeat(100_000));
    let found = world.done("grep", json!({"pattern": "hit"})).await;
    assert_eq!(found.matches("many:").count(), 5);
    assert!(found.contains("[stopped after 5 matches; there are more"), "{found}");
    let huge = world.failed("grep", json!({"pattern": "((a{500}){500}){500}"})).await;
    assert!(huge.contains("does not read"), "{huge}");
}

#[tokio::test]
async fn a_pattern_that_is_slow_elsewhere_is_not_slow_here() {
    let world = World::new();
    world.put("a", "a".repeat(200_000));
    let found = world.done("grep", json!({"pattern": "(a*)*(a*)*b$"})).await;
    assert_eq!(found, "[no line in 1 text files matches]");
}

#[tokio::test]
async fn grep_shows_context_or_only_the_files() {
    let world = World::new();
    world.put("a", "1\n2\nhit\n4\n5\n6\nhit\n8\n");
    world.put("sub/b", "hit\nhit\n");
    let arguments = json!({"pattern": "hit", "context": 1, "path": "a"});
    let found = world.done("grep", arguments).await;
    assert_eq!(found, "a-2- 2\na:3: hit\na-4- 4\n--\na-6- 6\na:7: hit\na-8- 8\n");
    let files = world.done("grep", json!({"pattern": "hit", "files_only": true})).await;
    assert_eq!(files, "a\nsub/b\n");
    let below = world.done("grep", json!({"pattern": "hit", "path": "./sub/"})).await;
    assert_eq!(below, "sub/b:1: hit\nsub/b:2: hit\n");
}

/// Threads search the files, and the first matches are shown as one alone would find them.
#[tokio::test]
async fn the_same_matches_are_shown_each_time() {
    let world = World::with(LocalFsConfig { matches: 7, ..LocalFsConfig::default() });
    for n in 0..300 {
        world.put(&format!("{}/f{n:03}", n % 7), format!("{}hit {n}\n", "x\n".repeat(n)));
    }
    let expected: String =
        (0..49).step_by(7).map(|n| format!("0/f{n:03}:{}: hit {n}\n", n + 1)).collect();
    for _ in 0..20 {
        let found = world.done("grep", json!({"pattern": "hit"})).await;
        let (lines, note) = found.split_at(expected.len());
        assert_eq!(lines, expected);
        assert!(note.starts_with("[stopped after 7 matches"), "{note}");
    }
}

#[tokio::test]
async fn glob_finds_files_by_name() {
    let world = World::with(LocalFsConfig { entries: 3, ..LocalFsConfig::default() });
    for path in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/c.txt", ".git/d.rs", ".windlass/e.rs"] {
        world.put(path, "");
    }
    symlink("a.rs", world.path("link.rs")).unwrap();
    symlink(world.dir.path().join("outside"), world.path("out")).unwrap();
    let glob = |arguments: Value| world.done("glob", arguments);
    assert_eq!(glob(json!({"pattern": "src/**/*.rs"})).await, "src/b.rs\nsrc/deep/c.rs\n");
    assert_eq!(
        glob(json!({"pattern": "*.rs"})).await,
        "a.rs\nlink.rs\nsrc/b.rs\n[1 more files match; narrow the pattern or the path]"
    );
    assert_eq!(glob(json!({"pattern": "*", "path": "src/deep"})).await, "src/deep/c.rs\n");
    assert_eq!(glob(json!({"pattern": "secret"})).await, "[no file matches]");
    let bad = world.failed("glob", json!({"pattern": "a{b"})).await;
    assert!(bad.contains("does not read"), "{bad}");
    let file = world.failed("glob", json!({"pattern": "*", "path": "a.rs"})).await;
    assert!(file.contains("is not a folder"), "{file}");
}

/// Paths that git ignores, as git decides it.
#[tokio::test]
async fn what_gitignore_names_is_left_out() {
    let world = World::new();
    world.put(".gitignore", "*.log\n/build/\n!keep.log\n# a comment\n[\n");
    world.put("src/.gitignore", "generated\n!*.log\n");
    world.put(".git/info/exclude", "private\n");
    for path in [
        "a.log",
        "keep.log",
        "build/x",
        "private",
        "src/build/x",
        "src/b.log",
        "src/generated/x",
        "src/deep/generated",
    ] {
        world.put(path, "hit\n");
    }
    let left = "keep.log\nsrc/b.log\nsrc/build/x\n";
    let note = "[5 entries in .gitignore are left out; include_ignored shows them]";
    let files = world.done("grep", json!({"pattern": "hit", "files_only": true})).await;
    assert_eq!(files, format!("{left}{note}"));
    let files = world.done("glob", json!({"pattern": "[a-z]*"})).await;
    assert_eq!(files, format!("{left}{note}"));
    let all = world.done("glob", json!({"pattern": "[a-z]*", "include_ignored": true})).await;
    assert_eq!(all.lines().count(), 8, "{all}");
    assert!(all.contains("private\n") && !all.contains("left out"), "{all}");
    let listed = world.done("list_dir", json!({})).await;
    assert_eq!(
        listed,
        ".git/\n.gitignore (38 bytes)\nkeep.log (4 bytes)\nsrc/\n\
         [3 entries in .gitignore are left out; include_ignored shows them]"
    );
    let listed = world.done("list_dir", json!({"include_ignored": true, "depth": 2})).await;
    assert!(listed.contains("build/x (4 bytes)"), "{listed}");
    // A folder that a call names is searched, also if it is ignored.
    let named = world.done("grep", json!({"pattern": "hit", "path": "build"})).await;
    assert_eq!(named, "build/x:1: hit\n");
    // Rules of the folders above apply in it.
    let below = world.done("glob", json!({"pattern": "*", "path": "src/deep"})).await;
    assert!(below.starts_with("[no file matches]\n[1 entries"), "{below}");
}

/// A workspace below the top of a repository has the repository's rules.
#[tokio::test]
async fn rules_above_the_workspace_apply() {
    let world = World::new();
    let above = |name: &str, text: &str| fs::write(world.dir.path().join(name), text).unwrap();
    world.put("a.tmp", "");
    world.put("out/b", "");
    world.put("c", "");
    above(".gitignore", "*.tmp\n/ws/out\n");
    let glob = || world.done("glob", json!({"pattern": "*"}));
    assert_eq!(glob().await, "a.tmp\nc\nout/b\n");
    fs::create_dir(world.dir.path().join(".git")).unwrap();
    assert!(glob().await.starts_with("c\n[2 entries"));
    // A repository that ignores the workspace says nothing about what is in it.
    above(".gitignore", "*\n");
    assert_eq!(glob().await, "a.tmp\nc\nout/b\n");
}

/// Files of rules are read like all others: through no link, and without waiting.
#[tokio::test]
async fn rules_are_regular_files() {
    let world = World::new();
    world.put("a", "");
    world
        .done(
            "shell",
            json!({"command": "mkdir -p .git/info sub; mkfifo .gitignore .git/info/exclude"}),
        )
        .await;
    fs::write(world.dir.path().join("outside/rules"), "a\n").unwrap();
    symlink("../../outside/rules", world.path("sub/.gitignore")).unwrap();
    world.put("sub/a", "");
    assert_eq!(world.done("glob", json!({"pattern": "a"})).await, "a\nsub/a\n");
}

#[tokio::test]
async fn a_long_line_and_other_encodings() {
    let world = World::new();
    world.put("long", [b"needle ".to_vec(), vec![b'x'; 3 << 20], b"\n".to_vec()].concat());
    world.put("late", [b"needle\n".to_vec(), vec![b'x'; 300_000], vec![0]].concat());
    let utf16: Vec<u8> = "\u{feff}a needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    world.put("utf16", utf16);
    let found = world.done("grep", json!({"pattern": "needle"})).await;
    assert_eq!(found, "utf16:1: a needle\n[1 files or folders could not be read]");
}

/// A tree with so many files, of which each thread makes a part.
fn tree(world: &World, files: usize) {
    let make = |part: usize| {
        for folder in (part..files / 1_000).step_by(2) {
            let folder = world.path(&format!("d{folder:03}"));
            fs::create_dir(&folder).unwrap();
            let first = folder.join("0");
            fs::write(&first, "text\n").unwrap();
            for n in 1..1_000 {
                fs::hard_link(&first, folder.join(n.to_string())).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| make(0));
        make(1);
    });
}

/// Both tools end within 50 ms of their signal in a tree of 100,000 files, wherever they are in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_search_ends_at_once() {
    let world = World::in_memory();
    tree(&world, 100_000);
    let tools: Arc<LocalFs> = world.tools.clone();
    let mut best = Duration::MAX;
    let mut stopped = 0;
    // A busy machine may take long once. It does not each time.
    for wait in [0, 1, 5, 20, 60] {
        for (tool, arguments) in
            [("grep", json!({"pattern": "nothing"})), ("glob", json!({"pattern": "nothing"}))]
        {
            let cancel = CancelSource::new();
            let context = context_with(&cancel, 60_000, Arc::new(RecordedProgress::default()));
            let tools = tools.clone();
            let call = tokio::spawn(async move {
                crate::common::run(&*tools, tool, arguments, context).await.unwrap()
            });
            tokio::time::sleep(Duration::from_millis(wait)).await;
            let start = Instant::now();
            cancel.cancel();
            let seen = call.await.unwrap();
            if seen.status == ObservationStatus::Aborted {
                stopped += 1;
                best = best.min(start.elapsed());
            }
        }
    }
    assert!(stopped >= 6, "{stopped}");
    assert!(best < Duration::from_millis(50), "{best:?}");
}
