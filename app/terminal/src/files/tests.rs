//! Walks over real folders, and paths by queries.

use std::sync::mpsc;

use super::fuzzy::{Entry, Query};
use super::*;

fn best(query: &str, paths: &[&str]) -> Vec<String> {
    let entries: Vec<Entry> = paths.iter().map(|path| Entry::new((*path).into())).collect();
    Query::new(query).best(&entries, 3)
}

#[test]
fn names_count_more_than_folders_and_starts_more_than_middles() {
    let paths = ["docs/main.md", "main/other.rs", "src/domain.rs", "src/main.rs"];
    assert_eq!(best("main", &paths), ["src/main.rs", "docs/main.md", "main/other.rs"]);
    assert_eq!(best("SRC/MA", &paths), ["src/main.rs", "src/domain.rs"]);
    assert_eq!(best("smr", &paths), ["src/main.rs", "src/domain.rs"]);
    assert_eq!(best("xyz", &paths), [""; 0]);
    assert_eq!(best("./ot", &paths), ["main/other.rs"]);
}

#[test]
fn letters_together_and_at_word_starts_count_more() {
    let paths = ["a/xfxbx.rs", "a/foo_bar.rs", "a/fb.rs"];
    assert_eq!(best("fb", &paths), ["a/fb.rs", "a/foo_bar.rs", "a/xfxbx.rs"]);
}

#[test]
fn no_query_lists_the_folder_itself() {
    assert_eq!(best("", &["a.rs", "src/", "src/b.rs"]), ["a.rs", "src/"]);
}

/// Walks a folder with these files, and returns what a query finds.
fn walked(files: &[(&str, &str)], query: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (sender, receiver) = mpsc::channel();
    let mut source = Files::new(folder.path(), move || sender.send(()).unwrap());
    source.find(query, 50);
    receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(source.changed());
    assert!(!source.changed());
    source.find(query, 50)
}

#[test]
fn a_walk_leaves_out_ignored_and_hidden_files() {
    let files = [
        (".gitignore", "*.log\n/out/\n"),
        (".git/config", ""),
        (".hidden/x.rs", ""),
        (".windlass/x.toml", ""),
        ("out/x.rs", ""),
        ("src/x.rs", ""),
        ("src/x.log", ""),
        ("x y.rs", ""),
    ];
    let found = walked(&files, "x");
    assert_eq!(found, ["x y.rs", "src/x.rs", ".windlass/x.toml"]);
    assert_eq!(walked(&files, ""), [".windlass/", "src/", "x y.rs"]);
}

#[test]
fn a_pasted_path_of_an_image_is_recognised_as_terminals_write_it() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("a b.PNG");
    std::fs::write(&image, "").unwrap();
    std::fs::write(folder.path().join("a.txt"), "").unwrap();
    let source = Files::new(folder.path(), || {});
    let path = image.to_str().unwrap();
    let url = format!("file://{}", path.replace(' ', "%20"));
    for text in [path, &url, &format!("'{path}' "), &path.replace(' ', "\\ "), "a b.PNG"] {
        assert_eq!(source.image(text).as_ref(), Some(&image), "{text}");
    }
    for text in ["a.txt", "b.png", "see a b.PNG", "a b.PNG\nmore", ""] {
        assert_eq!(source.image(text), None, "{text}");
    }
}

#[test]
fn fifty_thousand_paths_are_searched_in_full() {
    let paths: Vec<Entry> =
        (0..50_000).map(|at| Entry::new(format!("crates/part_{at}/src/file_{at}.rs"))).collect();
    let found = Query::new("file_49999").best(&paths, 5);
    assert_eq!(found, ["crates/part_49999/src/file_49999.rs"]);
}
