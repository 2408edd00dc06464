//! `write_file` and `edit_file`: atomic, exact, and nothing left behind.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::common::{RecordedProgress, World, context, context_with};
use serde_json::json;
use windlass_core::ObservationStatus;
use windlass_localfs::LocalFsConfig;
use windlass_ports::{CancelSource, ToolContext};

#[tokio::test]
async fn a_file_is_created_with_its_folders_and_replaced() {
    let world = World::new();
    let said = world.done("write_file", json!({"path": "a/b/c.txt", "content": "one\n"})).await;
    assert_eq!(said, "created `a/b/c.txt` (4 bytes)");
    assert_eq!(world.text("a/b/c.txt"), "one\n");
    let said = world.done("write_file", json!({"path": "a/b/c.txt", "content": ""})).await;
    assert_eq!(said, "replaced `a/b/c.txt` (0 bytes)");
    assert_eq!(world.text("a/b/c.txt"), "");
    assert_eq!(world.files(), ["a/b/c.txt"]);
    let said = world.failed("write_file", json!({"path": "a/b", "content": ""})).await;
    assert!(said.contains("it is a folder"), "{said}");
    let said = world.failed("write_file", json!({"path": "a/b/c.txt/d", "content": ""})).await;
    assert!(said.contains("not a folder"), "{said}");
    let name = "n".repeat(300);
    let said = world.failed("write_file", json!({"path": name, "content": ""})).await;
    assert!(said.contains("the name is too long"), "{said}");
}

#[tokio::test]
async fn a_file_keeps_its_mode() {
    let world = World::new();
    world.put("run.sh", "old");
    fs::set_permissions(world.path("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    world.done("write_file", json!({"path": "run.sh", "content": "new"})).await;
    assert_eq!(fs::metadata(world.path("run.sh")).unwrap().mode() & 0o7777, 0o750);
    world.done("edit_file", json!({"path": "run.sh", "old": "new", "new": "newer"})).await;
    assert_eq!(fs::metadata(world.path("run.sh")).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(world.text("run.sh"), "newer");
}

#[tokio::test]
async fn a_file_marked_read_only_stays() {
    let world = World::new();
    world.put("fixed", "old");
    fs::set_permissions(world.path("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
    let said = world.failed("write_file", json!({"path": "fixed", "content": "new"})).await;
    assert!(said.contains("is read-only; nothing was changed"), "{said}");
    let said = world.failed("edit_file", json!({"path": "fixed", "old": "old", "new": "x"})).await;
    assert!(said.contains("is read-only; nothing was changed"), "{said}");
    assert_eq!(world.text("fixed"), "old");
    assert_eq!(world.files(), ["fixed"]);
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused() {
    let world = World::with(LocalFsConfig { file_bytes: 10, ..LocalFsConfig::default() });
    let said = world.failed("write_file", json!({"path": "a", "content": "x".repeat(11)})).await;
    assert!(said.contains("11 bytes, the limit is 10"), "{said}");
    world.put("b", "x".repeat(11));
    let said = world.failed("edit_file", json!({"path": "b", "old": "x", "new": "y"})).await;
    assert!(said.contains("is larger than 10 bytes"), "{said}");
    world.put("c", "xx");
    let arguments = json!({"path": "c", "old": "x", "new": "123456", "replace_all": true});
    let said = world.failed("edit_file", arguments).await;
    assert!(said.contains("would become larger"), "{said}");
    assert_eq!(world.files(), ["b", "c"]);
}

/// Readers see the old content or the new, whole, never a part and never none.
#[tokio::test(flavor = "multi_thread")]
async fn readers_see_a_write_whole() {
    let world = World::new();
    let content = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap()).to_string();
    let size = 200_000;
    world.put("f", content(0).repeat(size));
    let over = Arc::new(AtomicBool::new(false));
    let reads = [AtomicU64::new(0), AtomicU64::new(0)].map(Arc::new);
    let readers: Vec<_> = reads
        .iter()
        .map(|reads| {
            let (over, path, reads) = (over.clone(), world.path("f"), reads.clone());
            std::thread::spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    let bytes = fs::read(&path).unwrap();
                    assert_eq!(bytes.len(), size);
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                    reads.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    // Each reads beside it, however late it begins; one that has failed reads no more.
    let unread = |reads: &Arc<AtomicU64>| reads.load(Ordering::SeqCst) == 0;
    let mut n = 0;
    while n < 60 || (reads.iter().any(unread) && !readers.iter().any(JoinHandle::is_finished)) {
        let arguments = json!({"path": "f", "content": content(n).repeat(size)});
        world.done("write_file", arguments).await;
        n += 1;
    }
    over.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.join().unwrap();
    }
    assert_eq!(world.files(), ["f"]);
}

#[tokio::test]
async fn a_second_run_clears_away_what_a_killed_first_one_left() {
    let world = World::new();
    let arguments = json!({"path": "f", "content": "done"});
    // What a run that is killed before its rename leaves lies beside the place, under a name
    // that follows from the call's key.
    let name = leftover(&world).await;
    world.put(&name, "half");
    world.done("write_file", arguments).await;
    assert_eq!(world.text("f"), "done");
    assert_eq!(world.files(), ["f"]);
}

/// The name of the file beside the place while a write is under way.
async fn leftover(world: &World) -> String {
    let (found, over) = (Arc::new(std::sync::Mutex::new(None)), Arc::new(AtomicBool::new(false)));
    let watcher = {
        let (found, over, folder) = (found.clone(), over.clone(), world.path(""));
        std::thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                for entry in fs::read_dir(&folder).unwrap() {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    if name.starts_with(".windlass-") {
                        *found.lock().unwrap() = Some(name);
                        return;
                    }
                }
            }
        })
    };
    while found.lock().unwrap().is_none() {
        let content = "x".repeat(8_000_000);
        world.done("write_file", json!({"path": "f", "content": content})).await;
    }
    over.store(true, Ordering::SeqCst);
    watcher.join().unwrap();
    let name = found.lock().unwrap().take();
    name.unwrap()
}

#[tokio::test]
async fn a_cancelled_write_changes_nothing() {
    let world = World::new();
    world.put("f", "old");
    let cancel = CancelSource::new();
    cancel.cancel();
    for (tool, arguments) in [
        ("write_file", json!({"path": "f", "content": "new"})),
        ("edit_file", json!({"path": "f", "old": "old", "new": "new"})),
        ("read_file", json!({"path": "f"})),
        ("grep", json!({"pattern": "old"})),
        ("shell", json!({"command": "echo new > f"})),
    ] {
        let context = context_with(&cancel, 60_000, Arc::new(RecordedProgress::default()));
        let seen = world.call_in(tool, arguments, context).await;
        assert_eq!(seen.status, ObservationStatus::Aborted, "{tool}: {}", seen.output);
    }
    assert_eq!(world.text("f"), "old");
    assert_eq!(world.files(), ["f"]);
}

#[tokio::test]
async fn a_call_without_time_says_so() {
    let world = World::new();
    world.put("f", "old");
    let context = context_with(&CancelSource::new(), 0, Arc::new(RecordedProgress::default()));
    let seen = world.call_in("write_file", json!({"path": "f", "content": "new"}), context).await;
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert!(seen.output.contains("time limit of 0 ms"), "{}", seen.output);
    assert_eq!(world.text("f"), "old");
}

#[tokio::test]
async fn an_edit_is_exact() {
    let world = World::new();
    world.put("f", "one\ntwo\none\n");
    let said = world.failed("edit_file", json!({"path": "f", "old": "one", "new": "1"})).await;
    assert!(said.contains("occurs 2 times in `f`, at the lines 1, 3: give more"), "{said}");
    let said = world.done("edit_file", json!({"path": "f", "old": "two\n", "new": "2\n"})).await;
    assert_eq!(said, "edited `f`: 1 place, at line 2\n1: one\n2: 2\n3: one\n");
    let all = json!({"path": "f", "old": "one", "new": "", "replace_all": true});
    let said = world.done("edit_file", all).await;
    assert_eq!(said, "edited `f`: 2 places, the first at line 1\n1: \n2: 2\n3: \n");
    assert_eq!(world.text("f"), "\n2\n\n");
    for (arguments, expected) in [
        (json!({"path": "f", "old": "three", "new": ""}), "copy the text exactly"),
        (
            json!({"path": "f", "old": "  2  ", "new": ""}),
            "The text at line 2 differs in white space alone; it reads:\n2: 2\n",
        ),
        (json!({"path": "f", "old": "2", "new": "2"}), "are the same"),
        (json!({"path": "f", "old": "", "new": "2"}), "`old` is empty"),
        (json!({"path": "gone", "old": "1", "new": "2"}), "no such file"),
    ] {
        let said = world.failed("edit_file", arguments).await;
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(world.text("f"), "\n2\n\n");
}

#[tokio::test]
async fn an_edit_leaves_bytes_alone_that_it_does_not_name() {
    let world = World::new();
    world.put("f", b"\xff\r\nkey = 1\r\n\0\xfe");
    let said = world.failed("edit_file", json!({"path": "f", "old": "= 1\n", "new": "x"})).await;
    assert!(said.contains("lines end in \\r\\n"), "{said}");
    world.done("edit_file", json!({"path": "f", "old": "= 1\r\n", "new": "= 2\r\n"})).await;
    assert_eq!(fs::read(world.path("f")).unwrap(), b"\xff\r\nkey = 2\r\n\0\xfe");
}

/// A text that does not occur is answered with the nearest text as it stands, and never replaced.
#[tokio::test]
async fn a_miss_shows_the_closest_text() {
    let world = World::new();
    let text = "fn one() {}\n\nfn two(n: u32) -> u32 {\n    n + 2 // Two.\n}\n";
    world.put("f", text);
    let old = "fn two(n: u64) -> u64 {\n    n + 2 // Two\n}";
    let arguments = json!({"path": "f", "old": old, "new": "x", "replace_all": true});
    let said = world.failed("edit_file", arguments).await;
    assert_eq!(
        said,
        "`old` does not occur in `f`; nothing was changed. The closest text begins at line 3 and \
         reads:\n3: fn two(n: u32) -> u32 {\n4:     n + 2 // Two.\n5: }\nCopy the text exactly if it is \
         what you mean."
    );
    assert_eq!(world.text("f"), text);
    let far = world.failed("edit_file", json!({"path": "f", "old": "zzz", "new": "x"})).await;
    assert!(far.contains("copy the text exactly"), "{far}");
    // What is shown is bounded, however large the text is.
    world.put("g", "a line of many, all of them alike\n".repeat(50_000));
    let old = "a line of many, all of them alikes\n".repeat(5_000);
    let said = world.failed("edit_file", json!({"path": "g", "old": old, "new": "x"})).await;
    assert!(said.len() < 9_000 && said.contains("more lines]"), "{said}");
}

#[tokio::test]
async fn the_third_equal_failure_says_stop() {
    let world = World::new();
    world.put("f", "text\n");
    let failed = async |failed_before: u32| {
        let context = ToolContext { failed_before, ..context() };
        let arguments = json!({"path": "f", "old": "none", "new": "x"});
        world.call_in("edit_file", arguments, context).await.output
    };
    assert!(failed(1).await.starts_with("`old` does not occur"));
    let said = failed(2).await;
    assert!(said.starts_with("Stop: this call failed 3 times in a row"), "{said}");
    assert!(said.contains("`old` does not occur"), "{said}");
    let context = ToolContext { failed_before: 2, ..context() };
    let arguments = json!({"path": "f", "old": "text", "new": "x"});
    let seen = world.call_in("edit_file", arguments, context).await;
    assert!(seen.output.starts_with("edited `f`"), "{}", seen.output);
}
