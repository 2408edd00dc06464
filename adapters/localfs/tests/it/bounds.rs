//! Whatever there is to show, an observation keeps within the bytes that it may show.

use serde_json::{Value, json};
use windlass_localfs::LocalFsConfig;

use crate::common::World;

/// A workspace with too much of everything: long lines, many files, long names, no text.
fn crowded(output_bytes: usize) -> World {
    let world = World::with(LocalFsConfig { output_bytes, ..LocalFsConfig::default() });
    world.put("latin", b"gr\xfcn \xff\xfe\n".repeat(20_000));
    world.put("line", [0xfc; 100_000]);
    world.put("lines", "one line of many\n".repeat(10_000));
    for n in 0..300 {
        world.put(&format!("dir/{n}{}", "ä".repeat(100)), "one line\n");
    }
    world
}

#[tokio::test]
async fn no_tool_shows_more_than_it_may() {
    let long = "a/".repeat(1_900);
    let calls: Vec<(&str, Value)> = vec![
        ("read_file", json!({"path": "latin"})),
        ("read_file", json!({"path": "line"})),
        ("read_file", json!({"path": "lines", "offset": 2})),
        ("read_file", json!({"path": long})),
        ("list_dir", json!({"depth": 3})),
        ("grep", json!({"pattern": "line"})),
        ("grep", json!({"pattern": format!("({}", "x".repeat(9_000))})),
        ("write_file", json!({"path": format!("{long}b"), "content": ""})),
        ("shell", json!({"command": "cat latin; kill -9 $$"})),
        ("shell", json!({"command": "cat line lines"})),
        ("shell", json!({"command": "cat latin; exec sleep 100", "timeout_ms": 300})),
    ];
    for most in [1_024, 5_000, 64 * 1024] {
        let world = crowded(most);
        for (tool, arguments) in &calls {
            let seen = world.call(tool, arguments.clone()).await;
            let shown = seen.output.len();
            assert!(shown <= most, "{tool} {arguments}: {shown} of {most}");
            assert!(seen.omitted_bytes <= seen.output_bytes, "{tool}: {seen:?}");
        }
    }
}

#[tokio::test]
async fn the_smallest_pages_join_to_the_whole_file() {
    let world = crowded(0);
    let (mut joined, mut offset) = (String::new(), 1);
    for page in 1.. {
        let arguments = json!({"path": "lines", "offset": offset});
        let seen = world.done("read_file", arguments).await;
        let (text, note) = seen.rsplit_once("[lines ").unwrap();
        joined.push_str(text);
        match note.split_once("go on with offset ") {
            Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
        assert!(page < 1_000, "page {page} of a file that fits on fewer");
    }
    assert_eq!(joined, "one line of many\n".repeat(10_000));
}
