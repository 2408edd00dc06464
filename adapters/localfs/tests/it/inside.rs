//! Nothing outside the workspace, nothing of the engine's own, nothing that is no regular file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::World;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use windlass_core::ObservationStatus;
use windlass_ports::{ToolCall, ToolExecutor as _};

/// Every way to name a path to a tool.
fn calls(path: &str) -> [(&'static str, Value); 6] {
    [
        ("read_file", json!({"path": path})),
        ("list_dir", json!({"path": path})),
        ("grep", json!({"pattern": "SECRET|engine", "path": path})),
        ("glob", json!({"pattern": "*", "path": path})),
        ("write_file", json!({"path": path, "content": "broken in"})),
        ("edit_file", json!({"path": path, "old": "SECRET", "new": "broken in"})),
    ]
}

async fn refused(world: &World, path: &str, expected: &str) {
    for (tool, arguments) in calls(path) {
        let said = world.failed(tool, arguments).await;
        assert!(said.contains(expected), "{tool} {path}: {said}");
    }
    assert_eq!(fs::read_to_string(world.dir.path().join("outside/secret")).unwrap(), "SECRET");
    assert_eq!(fs::read_dir(world.dir.path().join("outside")).unwrap().count(), 1);
}

#[tokio::test]
async fn paths_that_lead_out_are_refused() {
    let world = World::new();
    world.put("sub/x", "");
    let absolute = world.dir.path().join("outside/secret");
    let cases = [
        "../outside/secret",
        "sub/../../outside/secret",
        "sub/..",
        absolute.to_str().unwrap(),
        "/proc/self/environ",
        "/etc/passwd",
    ];
    for path in cases {
        refused(&world, path, "is outside the workspace").await;
    }
}

#[tokio::test]
async fn links_that_lead_out_are_refused() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    symlink(outside.join("secret"), world.path("absolute")).unwrap();
    symlink("../outside/secret", world.path("relative")).unwrap();
    symlink(&outside, world.path("folder")).unwrap();
    symlink("..", world.path("up")).unwrap();
    symlink("/proc/self", world.path("proc")).unwrap();
    symlink("folder", world.path("chain")).unwrap();
    symlink("/proc/self/root", world.path("magic")).unwrap();
    let cases = [
        "absolute",
        "relative",
        "folder/secret",
        "folder/new",
        "up/outside/secret",
        "proc/environ",
        "chain/secret",
        "magic/etc/passwd",
    ];
    for path in cases {
        refused(&world, path, "leads out of the workspace through a symbolic link").await;
    }
    symlink("loop", world.path("loop")).unwrap();
    refused(&world, "loop", "too many links").await;
}

#[tokio::test]
async fn links_inside_are_followed_and_kept() {
    let world = World::new();
    world.put("packages/lib/a.txt", "hello");
    fs::create_dir(world.path("modules")).unwrap();
    symlink("../packages/lib", world.path("modules/lib")).unwrap();
    symlink(world.path("packages"), world.path("absolute")).unwrap();
    symlink("lib/../lib/a.txt", world.path("packages/alias")).unwrap();
    for path in ["modules/lib/a.txt", "absolute/lib/a.txt", "absolute/alias", "packages/alias"] {
        assert_eq!(world.done("read_file", json!({"path": path})).await, "hello", "{path}");
    }
    let through = json!({"path": "packages/alias", "content": "new"});
    world.done("write_file", through).await;
    assert_eq!(world.text("packages/lib/a.txt"), "new");
    assert!(world.path("packages/alias").is_symlink());
}

#[tokio::test]
async fn an_absolute_path_inside_is_taken() {
    let world = World::new();
    world.put("a/b.txt", "hello");
    let path = world.path("a/b.txt");
    let text = world.done("read_file", json!({"path": path})).await;
    assert_eq!(text, "hello");
    let listed = world.done("list_dir", json!({"path": world.path("")})).await;
    assert_eq!(listed, "a/\n");
}

#[tokio::test]
async fn the_engines_own_folder_is_neither_read_nor_written() {
    let world = World::new();
    world.put(".windlass/log", "engine SECRET");
    world.put("nested/.windlass/log", "engine SECRET");
    symlink(".windlass", world.path("alias")).unwrap();
    symlink(world.path(".windlass/log"), world.path("log")).unwrap();
    let cases = [
        ".windlass/log",
        ".windlass",
        "./.windlass/log",
        ".Windlass/log",
        "nested/.windlass/log",
        "alias/log",
        "alias",
        "log",
        ".windlass/new/file",
    ];
    for path in cases {
        refused(&world, path, "the engine's own state").await;
    }
    assert_eq!(world.text(".windlass/log"), "engine SECRET");
    assert!(!world.path(".windlass/new").exists());
}

#[tokio::test]
async fn what_is_no_regular_file_does_not_block() {
    let world = World::new();
    let made = world.done("shell", json!({"command": "mkfifo pipe && echo made"})).await;
    assert_eq!(made, "made\n");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("sock")).unwrap();
    for (tool, arguments) in calls("pipe") {
        let said = world.failed(tool, arguments).await;
        assert!(said.contains("FIFO") || said.contains("not a folder"), "{tool}: {said}");
    }
    let said = world.failed("read_file", json!({"path": "sock"})).await;
    assert!(said.contains("it is a socket"), "{said}");
    let listed = world.done("list_dir", json!({})).await;
    assert_eq!(listed, "pipe (FIFO)\nsock (socket)\n");
    let found = world.done("grep", json!({"pattern": "x"})).await;
    assert_eq!(found, "[no line in 0 text files matches]");
}

#[tokio::test]
async fn a_workspace_in_proc_gives_no_magic_link_away() {
    use windlass_localfs::{LocalFs, LocalFsConfig};
    let tools = LocalFs::open(std::path::Path::new("/proc/self"), LocalFsConfig::default());
    let tools = tools.unwrap();
    for path in ["root/etc/passwd", "cwd/Cargo.toml", "fd/0", "exe"] {
        let context = crate::common::context();
        let seen =
            crate::common::run(&tools, "read_file", json!({"path": path}), context).await.unwrap();
        assert_eq!(seen.status, ObservationStatus::Failed, "{path}: {}", seen.output);
    }
}

/// A folder is swapped for a link to the outside all the time while it is read and written.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_for_a_link_leads_nowhere() {
    let world = World::new();
    world.put("real/secret", "inside");
    symlink(world.dir.path().join("outside"), world.path("link")).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let (swaps, swapper) = swap(over.clone(), world.path("real"), world.path("link"));
    let (mut reads, mut n) = (0, 0);
    // Also beyond that, where the machine had other things to do than to swap.
    while n < 2_000 || reads == 0 || swaps.load(Ordering::SeqCst) <= 10 {
        n += 1;
        let seen = world.call("read_file", json!({"path": "real/secret"})).await;
        assert!(!seen.output.contains("SECRET"), "{}", seen.output);
        reads += u32::from(seen.status == ObservationStatus::Done);
        if n % 20 == 0 {
            let arguments = json!({"path": format!("real/new{n}"), "content": "x"});
            world.call("write_file", arguments).await;
        }
    }
    over.store(true, Ordering::SeqCst);
    swapper.join().unwrap();
    assert_eq!(fs::read_dir(world.dir.path().join("outside")).unwrap().count(), 1);
}

/// A file is swapped for a FIFO all the time while it is read: no read waits for a writer.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_swapped_for_a_fifo_does_not_block() {
    let world = World::new();
    world.put("file", "inside");
    world.done("shell", json!({"command": "mkfifo fifo"})).await;
    let over = Arc::new(AtomicBool::new(false));
    let (swaps, swapper) = swap(over.clone(), world.path("file"), world.path("fifo"));
    let (mut reads, mut n) = (0, 0);
    while n < 20_000 || reads == 0 || swaps.load(Ordering::SeqCst) <= 10 {
        n += 1;
        let read = world.call("read_file", json!({"path": "file"}));
        let Ok(seen) = tokio::time::timeout(Duration::from_secs(60), read).await else {
            over.store(true, Ordering::SeqCst);
            swapper.join().unwrap();
            // Opened both ways, either lets a reader that waits go on.
            for name in ["file", "fifo"] {
                let _ = fs::OpenOptions::new().read(true).write(true).open(world.path(name));
            }
            panic!("a read waits for a FIFO");
        };
        reads += u32::from(seen.status == ObservationStatus::Done);
    }
    over.store(true, Ordering::SeqCst);
    swapper.join().unwrap();
}

/// Swaps two names until it is over, and counts how often.
fn swap(over: Arc<AtomicBool>, one: PathBuf, other: PathBuf) -> (Arc<AtomicU64>, JoinHandle<()>) {
    let swaps = Arc::new(AtomicU64::new(0));
    let count = swaps.clone();
    let swapper = std::thread::spawn(move || {
        while !over.load(Ordering::SeqCst) {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (swaps, swapper)
}

#[test]
fn a_path_is_told_as_where_it_leads() {
    let world = World::new();
    world.put("secret/x", "");
    world.put("docs/sub/y", "");
    symlink("secret", world.path("link")).unwrap();
    symlink("../secret/x", world.path("docs/file")).unwrap();
    symlink(world.path("docs/sub"), world.path("absolute")).unwrap();
    symlink("gone/there", world.path("dangling")).unwrap();
    symlink("../outside", world.path("folder")).unwrap();
    for (path, leads_to) in [
        ("secret/x", Some("secret/x")),
        ("./secret//x", Some("secret/x")),
        (".", Some(".")),
        ("link", Some("secret")),
        ("link/x", Some("secret/x")),
        ("link/new/file", Some("secret/new/file")),
        ("docs/file", Some("secret/x")),
        ("absolute/y", Some("docs/sub/y")),
        ("dangling", Some("gone/there")),
        ("folder/secret", None),
        ("../outside/secret", None),
    ] {
        for (tool, arguments) in calls(path) {
            let call = ToolCall { name: tool.to_owned(), arguments: arguments.to_string() };
            let told = world.tools.paths(&call);
            let told = told.first().map(|told| (told.argument.as_str(), told.path.as_str()));
            assert_eq!(told, leads_to.map(|path| ("path", path)), "{tool} {path}");
        }
    }
    assert!(!world.path("secret/new").exists());
}
