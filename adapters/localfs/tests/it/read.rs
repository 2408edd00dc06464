//! `read_file` and `list_dir` over real files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use crate::common::{World, context, session};
use serde_json::json;
use windlass_core::{CallId, ObservationStatus};
use windlass_localfs::LocalFsConfig;
use windlass_ports::{OutputStore, ToolContext};
use windlass_testkit::blobs::HeldBlobs;

fn numbered(lines: u32) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn a_small_file_is_read_byte_for_byte() {
    let world = World::new();
    for content in ["one\n", "no line end", "\n\n", "crlf\r\nä€😀\r\n"] {
        world.put("a.txt", content);
        let seen = world.call("read_file", json!({"path": "a.txt"})).await;
        assert_eq!(seen.status, ObservationStatus::Done);
        assert_eq!(seen.output, content);
        assert_eq!((seen.output_bytes, seen.omitted_bytes), (content.len() as u64, 0));
    }
    world.put("empty", "");
    assert_eq!(world.done("read_file", json!({"path": "empty"})).await, "[the file is empty]");
}

#[tokio::test]
async fn pages_join_to_the_whole_file() {
    let world = World::with(LocalFsConfig { output_bytes: 4_096, ..LocalFsConfig::default() });
    let whole = numbered(3_000);
    world.put("big.txt", &whole);
    let (mut joined, mut offset, mut pages) = (String::new(), 1, 0);
    loop {
        let page = world.done("read_file", json!({"path": "big.txt", "offset": offset})).await;
        assert!(page.len() <= 4_096, "{}", page.len());
        pages += 1;
        let (text, note) = page.rsplit_once("[lines ").unwrap();
        joined.push_str(text);
        match note.split_once("go on with offset ") {
            Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(joined, whole);
    assert!(pages > 5, "{pages}");
    let page = world.done("read_file", json!({"path": "big.txt", "offset": 2, "limit": 2})).await;
    assert_eq!(page, "line 2\nline 3\n[lines 2 to 3 of 3000; go on with offset 4]");
    let past = world.failed("read_file", json!({"path": "big.txt", "offset": 3_001})).await;
    assert!(past.contains("has only 3000 lines"), "{past}");
}

#[tokio::test]
async fn an_endless_line_is_cut_and_measured() {
    let world = World::new();
    let long = "€".repeat(1_000_000);
    world.put("long", format!("{long}\nnext\n"));
    let seen = world.call("read_file", json!({"path": "long"})).await;
    assert!(seen.output.len() <= 64 * 1024, "{}", seen.output.len());
    assert!(seen.output.contains("more bytes of this line omitted]\nnext\n"));
    assert!(!seen.output.contains('\u{fffd}'));
    assert_eq!(seen.output_bytes, 3_000_006);
    let shown = seen.output.matches('€').count() as u64 * 3;
    assert_eq!(seen.omitted_bytes, 3_000_000 - shown);
}

#[tokio::test]
async fn what_is_no_text_is_said() {
    let world = World::new();
    world.put("bin", b"\x7fELF\0\0");
    let refused = world.failed("read_file", json!({"path": "bin"})).await;
    assert!(refused.contains("is not text (6 bytes"), "{refused}");
    world.put("latin", b"gr\xfcn\n");
    let seen = world.done("read_file", json!({"path": "latin"})).await;
    assert!(seen.starts_with("gr\u{fffd}n\n[1 bytes were not UTF-8"), "{seen}");
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let world = World::new();
    world.put("dir/file", "x");
    let cases = [
        (json!({"path": "nothing"}), "list_dir shows what there is"),
        (json!({"path": "dir"}), "it is a folder"),
        (json!({"path": "."}), "it is a folder"),
        (json!({"path": "dir/file/below"}), "not a folder"),
        (json!({"path": "dir/file", "offset": 0}), "count from 1"),
        (json!({"path": "dir/file", "pages": 3}), "unknown field `pages`"),
        (json!({}), "missing field `path`"),
        (json!({"path": "a\0b"}), "zero bytes"),
    ];
    for (arguments, expected) in cases {
        let said = world.failed("read_file", arguments).await;
        assert!(said.contains(expected), "{said}");
    }
}

#[tokio::test]
async fn a_listing_is_sorted_and_says_what_things_are() {
    let world = World::new();
    world.put("b.txt", "12345");
    world.put("a/deep/er.txt", "1");
    world.put(".windlass/log", "engine");
    world.put(".git/HEAD", "ref");
    symlink("b.txt", world.path("link")).unwrap();
    std::fs::write(world.path("").join(OsStr::from_bytes(b"bad\xff\nname")), "").unwrap();
    let flat = world.done("list_dir", json!({})).await;
    let expected = ".git/\na/\nb.txt (5 bytes)\nbad\\xff\\nname (0 bytes)\nlink -> b.txt\n";
    assert_eq!(flat, expected);
    let deep = world.done("list_dir", json!({"depth": 3})).await;
    assert!(deep.contains("a/\na/deep/\na/deep/er.txt (1 bytes)\nb.txt"), "{deep}");
    assert!(!deep.contains("HEAD") && !deep.contains("windlass"), "{deep}");
    let below = world.done("list_dir", json!({"path": "a/deep"})).await;
    assert_eq!(below, "er.txt (1 bytes)\n");
    let file = world.failed("list_dir", json!({"path": "b.txt"})).await;
    assert!(file.contains("is not a folder"), "{file}");
}

#[tokio::test]
async fn a_crowded_folder_is_listed_in_part_and_says_so() {
    let world = World::with(LocalFsConfig { entries: 10, ..LocalFsConfig::default() });
    for n in (0..300).rev() {
        world.put(&format!("f{n:03}"), "");
    }
    let listed = world.done("list_dir", json!({})).await;
    assert!(listed.starts_with("f000 (0 bytes)\nf001 "), "{listed}");
    assert!(listed.contains("f009 (0 bytes)\n[... 290 more entries]\n[not all"), "{listed}");
}

/// A program computes with what it reads, so nothing but the content is passed on.
#[tokio::test]
async fn a_program_reads_the_bare_content() {
    let world = World::new();
    let blobs = HeldBlobs::new(1 << 30);
    let context = || ToolContext {
        program: Some(CallId(5)),
        outputs: OutputStore::new(Arc::new(blobs.clone()), session()),
        ..context()
    };
    let lines: String = (1..=5_000).map(|n| format!("{n}\n")).collect();
    for content in ["", "a\nb", &lines] {
        world.put("f", content);
        let seen = world.call_in("read_file", json!({"path": "f"}), context()).await;
        assert_eq!((seen.status, &*seen.output), (ObservationStatus::Done, content));
    }
    let page = json!({"path": "f", "offset": 2, "limit": 2});
    let seen = world.call_in("read_file", page, context()).await;
    assert_eq!(seen.output, "2\n3\n");
    let long = "long line ".repeat(100_000);
    world.put("f", &long);
    let seen = world.call_in("read_file", json!({"path": "f"}), context()).await;
    let stored = seen.stored_output.as_ref().unwrap();
    assert_eq!((stored.bytes, seen.output_bytes), (1_000_000, 1_000_000));
    assert_eq!(blobs.bytes(&session(), &stored.sha256).unwrap(), long.as_bytes());
    assert!(seen.output.ends_with("bytes omitted ...]\n") && seen.output.len() <= 64 * 1024);
    let disabled = ToolContext { outputs: OutputStore::disabled(session()), ..context() };
    let seen = world.call_in("read_file", json!({"path": "f"}), disabled).await;
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert!(seen.output.contains("read it in pages"), "{}", seen.output);
}

/// A page that has less than the program asked for says so, and how to go on.
#[tokio::test]
async fn a_program_is_told_of_a_page_that_is_cut() {
    let world = World::new();
    let context = || ToolContext { program: Some(CallId(5)), ..context() };
    world.put("f", "one line of many\n".repeat(10_000));
    let page = json!({"path": "f", "offset": 2, "limit": 9_000});
    let seen = world.call_in("read_file", page, context()).await;
    assert!(seen.output.contains("\n[lines 2 to ") && seen.output.contains("go on with offset "));
}
