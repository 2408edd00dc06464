//! Histories in files of a folder of their own.

use std::fs;

use super::*;

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/history.jsonl");
        Self { _folder: folder, path }
    }

    fn open(&self) -> History {
        let (history, error) = History::open(&self.path);
        assert!(error.is_none(), "{error:?}");
        history
    }

    fn texts(&self) -> Vec<String> {
        self.open().entries.into_iter().map(|entry| entry.text).collect()
    }
}

fn push(history: &mut History, text: &str) {
    history.push(text.into()).unwrap();
}

#[test]
fn entries_are_there_in_the_next_session() {
    let place = Place::new();
    let mut history = place.open();
    for text in ["one", "two\nlines", "two\nlines", " \n", "{\"a\": \"ü\u{1F600}\"}"] {
        push(&mut history, text);
    }
    assert_eq!(place.texts(), ["one", "two\nlines", "{\"a\": \"ü\u{1F600}\"}"]);
    let mode = fs::metadata(&place.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn two_terminals_share_a_file() {
    let place = Place::new();
    let append = |name: &'static str| {
        let mut history = place.open();
        move || (0..100).for_each(|at| push(&mut history, &format!("{name} {at}")))
    };
    let (one, other) = (append("one"), append("other"));
    std::thread::scope(|scope| {
        scope.spawn(one);
        scope.spawn(other);
    });
    let texts = place.texts();
    assert_eq!(texts.len(), 200);
    for name in ["one", "other"] {
        let own: Vec<&String> =
            texts.iter().filter(|text| text.starts_with(&format!("{name} "))).collect();
        let all: Vec<String> = (0..100).map(|at| format!("{name} {at}")).collect();
        assert!(own.into_iter().eq(&all), "{name}");
    }
}

#[test]
fn damaged_lines_are_skipped_and_left_out() {
    let place = Place::new();
    push(&mut place.open(), "one");
    let mut damaged = fs::read(&place.path).unwrap();
    damaged.extend(b"{\"text\": 7}\n\xff\xfe\n{\"text\":\"to");
    fs::write(&place.path, &damaged).unwrap();
    assert_eq!(place.texts(), ["one"]);
    let mut history = place.open();
    push(&mut history, "two");
    assert_eq!(place.texts(), ["one", "two"]);
    (0..ENTRIES).for_each(|at| push(&mut history, &format!("{at}")));
    let text = fs::read_to_string(&place.path).unwrap();
    assert!(!text.contains("{\"text\": 7}") && !text.contains("\"to\n"));
}

#[test]
fn the_file_keeps_its_size() {
    let place = Place::new();
    let mut history = place.open();
    let long = "x".repeat(15_000);
    for at in 0..80 {
        push(&mut history, &format!("{at} {long}"));
        assert!(fs::metadata(&place.path).unwrap().len() <= BYTES as u64);
    }
    let texts = place.texts();
    assert!(texts.len() > 60, "{}", texts.len());
    assert!(texts.last().unwrap().starts_with("79 "));
}

#[test]
fn the_file_keeps_its_number_of_entries() {
    let place = Place::new();
    let mut history = place.open();
    for at in 0..ENTRIES + 10 {
        push(&mut history, &format!("{at}"));
    }
    assert_eq!(history.len(), ENTRIES);
    let texts = place.texts();
    assert!((ENTRIES * 9 / 10..=ENTRIES).contains(&texts.len()), "{}", texts.len());
    assert_eq!(texts.last().unwrap(), "1009");
}

#[test]
fn a_large_entry_stays_in_memory() {
    let place = Place::new();
    let mut history = place.open();
    push(&mut history, &"x".repeat(ENTRY + 1));
    push(&mut history, "small");
    assert_eq!(history.len(), 2);
    assert_eq!(place.texts(), ["small"]);
}

#[test]
fn a_failure_to_write_is_reported_once_and_loses_nothing() {
    let place = Place::new();
    fs::write(place.path.parent().unwrap(), "no folder").unwrap();
    let mut history = History { path: Some(place.path.clone()), ..History::memory() };
    let error = history.push("one".into()).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the history "), "{error}");
    push(&mut history, "two");
    assert_eq!(history.len(), 2);
    assert_eq!(history.entry(1).unwrap().text, "two");
}

#[test]
fn a_lock_that_stays_is_not_waited_for() {
    let place = Place::new();
    push(&mut place.open(), "one");
    let lock = File::open(place.path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let mut history = place.open();
    let error = history.push("two".into()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!((history.len(), place.texts().len()), (2, 1));
}

#[test]
fn a_history_that_cannot_be_read_says_so() {
    let place = Place::new();
    fs::create_dir_all(&place.path).unwrap();
    let (history, error) = History::open(&place.path);
    assert!(history.is_empty());
    assert!(error.unwrap().to_string().starts_with("cannot read the history "));
}

#[test]
fn search_goes_backwards_and_minds_case_only_for_capitals() {
    let mut history = History::memory();
    ["Fix it", "run", "fix more"].into_iter().for_each(|text| push(&mut history, text));
    assert_eq!(history.find("fix", 3), Some(2));
    assert_eq!(history.find("fix", 2), Some(0));
    assert_eq!(history.find("fix", 0), None);
    assert_eq!(history.find("Fix", 3), Some(0));
}
