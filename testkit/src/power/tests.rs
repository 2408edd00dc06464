//! Tests over traces of a few lines.

use std::path::{Path, PathBuf};

use super::{Image, Recording};

const SEEDS: u64 = 200;

fn hex(text: &str) -> String {
    let digits = text.bytes().map(|byte| format!("\\x{byte:02x}"));
    format!("\"{}\"", digits.collect::<String>())
}

/// A recording of lines, in which a text in backquotes stands for its hexadecimal form.
fn recording(lines: &[&str]) -> Recording {
    let line = |line: &&str| {
        let parts = line.split('`').enumerate();
        let parts = parts.map(|(at, part)| match at % 2 {
            0 => part.to_owned(),
            _ => hex(part),
        });
        format!("{}\n", parts.collect::<String>())
    };
    let trace: String = lines.iter().map(line).collect();
    Recording::read(&trace, Path::new("/r"), Path::new("/j")).unwrap()
}

/// What is in a file in any image of the whole recording; an empty text where it is missing.
fn ends(recording: &Recording, name: &str) -> Vec<String> {
    let mut found: Vec<_> = (0..SEEDS)
        .flat_map(|seed| recording.images(seed, 20))
        .map(Result::unwrap)
        .filter(|image| image.step == recording.steps.len())
        .map(|image| content(&image, name))
        .collect();
    found.sort();
    found.dedup();
    found
}

fn content(image: &Image, name: &str) -> String {
    let bytes = image.files.get(&PathBuf::from(name)).cloned();
    String::from_utf8(bytes.flatten().unwrap_or_default()).unwrap()
}

const MADE: [&str; 4] = [
    "1 openat(AT_FDCWD, `/r`, O_RDONLY|O_CLOEXEC) = 3",
    "1 openat(AT_FDCWD, `/r/a`, O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 4",
    "1 fsync(3) = 0",
    "1 openat(AT_FDCWD, `/j`, O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC, 0600) = 5",
];

fn after_made(lines: &[&str]) -> Recording {
    recording(&[&MADE[..], lines].concat())
}

#[test]
fn what_is_synced_is_there_and_what_is_not_may_be() {
    let written = "1 pwrite64(4, `one`, 3, 0) = 3";
    let sync = "1 fdatasync(4) = 0";
    assert_eq!(ends(&after_made(&[written]), "a"), ["", "one"]);
    assert_eq!(ends(&after_made(&[written, sync]), "a"), ["one"]);
    let over = "1 pwrite64(4, `two`, 3, 0) = 3";
    assert_eq!(ends(&after_made(&[written, sync, over]), "a"), ["one", "two"]);
    let ranged = "1 sync_file_range(4, 0, 3, SYNC_FILE_RANGE_WRITE) = 0";
    assert_eq!(ends(&after_made(&[written, ranged]), "a"), ["", "one"]);
    let unsynced = after_made(&[written, sync]).without_syncs();
    assert_eq!(ends(&unsynced, "a"), ["", "one"]);
}

#[test]
fn a_sync_covers_only_what_ended_before_it_began() {
    let lines = [
        "1 fdatasync(4 <unfinished ...>",
        "2 pwrite64(4, `one`, 3, 0) = 3",
        "1 <... fdatasync resumed>) = 0",
    ];
    assert_eq!(ends(&after_made(&lines), "a"), ["", "one"]);
    let lines = [
        "2 pwrite64(4, `one`, 3, 0 <unfinished ...>",
        "1 fdatasync(4) = 0",
        "2 <... pwrite64 resumed>) = 3",
    ];
    assert_eq!(ends(&after_made(&lines), "a"), ["", "one"]);
}

#[test]
fn writes_are_torn_at_sectors_and_come_in_any_order() {
    let text = format!("{}{}", "a".repeat(512), "b".repeat(512));
    let write = format!("1 write(4, `{text}`, 1024) = 1024");
    let found = ends(&after_made(&[&write]), "a");
    let torn = ["".to_owned(), text[..512].to_owned(), text.clone()];
    assert!(torn.iter().all(|image| found.contains(image)));
    let second_only = format!("{}{}", "\0".repeat(512), "b".repeat(512));
    assert!(found.contains(&second_only) && found.len() == 4);
    let lines = ["1 write(4, `one`, 3) = 3", "1 write(4, `two`, 3) = 3"];
    let found = ends(&after_made(&lines), "a");
    assert_eq!(found, ["", "\0\0\0two", "one", "onetwo"]);
}

#[test]
fn a_name_is_there_once_its_folder_is_synced() {
    let lines = [
        "1 openat(AT_FDCWD, `/r/b`, O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 6",
        "1 write(6, `new`, 3) = 3",
        "1 fsync(6) = 0",
        "1 rename(`/r/b`, `/r/a`) = 0",
    ];
    let old = ["1 pwrite64(4, `old`, 3, 0) = 3", "1 fdatasync(4) = 0"];
    let unsynced = [&old[..], &lines[..]].concat();
    assert_eq!(ends(&after_made(&unsynced), "a"), ["new", "old"]);
    let synced = [&unsynced[..], &["1 fsync(3) = 0"]].concat();
    assert_eq!(ends(&after_made(&synced), "a"), ["new"]);
    assert_eq!(ends(&after_made(&synced), "b"), [""]);
}

#[test]
fn the_journal_counts_from_when_it_is_written() {
    let recording = after_made(&[
        "1 write(5, `first\n`, 6 <unfinished ...>",
        "2 write(5, `second\n`, 7) = 7",
        "1 <... write resumed>) = 6",
        "1 close(5) = 0",
        "1 write(5, `no`, 2) = 2",
    ]);
    let images = recording.images(1, 500).map(Result::unwrap);
    let mut said: Vec<_> = images.map(|image| image.acknowledged).collect();
    said.dedup();
    let expected: [&[u8]; 3] = [b"", b"first\n", b"first\nsecond\n"];
    assert_eq!(said, expected);
}

#[test]
fn what_the_kit_does_not_know_is_refused() {
    for line in [
        "1 writev(4, [{iov_base=\"\\x61\", iov_len=1}], 1) = 1",
        "1 syncfs(4) = 0",
        "1 openat(AT_FDCWD, `/r/never`, O_RDONLY) = 9",
        "1 rename(`/r/a`, `/elsewhere`) = 0",
    ] {
        let recording = after_made(&[line]);
        let refused = recording.images(1, 100).any(|image| image.is_err());
        assert!(refused, "{line}");
    }
    assert!(
        Recording::read("1 write(4, \"\\x61\"..., 9) = 9", Path::new("/r"), Path::new("/j"))
            .is_err()
    );
}
