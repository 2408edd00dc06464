//! Maintenance commands that are swept: their places before them, and what holds after them.

use std::fs;
use std::path::Path;

use crate::maintenance::Place;

/// Text of the session that is erased, and of nothing else.
const SECRET: &str = "the-secret-of-the-erased-session";

/// A command, its place before it, and what holds after it.
pub(crate) struct Chore {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(&Place),
    pub(crate) words: &'static [&'static str],
    pub(crate) wrong: fn(&Place) -> Vec<String>,
}

pub(crate) const FILE: &str = "file:st";
const SLED: &str = "sled:sl";
const SQLITE: &str = "sqlite:sq";
/// Facts of the demo's first turn.
const FORKED_AT: &str = "10";
const SEGMENT: &str = "st/lanes/0000/00000001.seg";

/// A store with sessions `a`, `s` and `c`, of which `c` is in a second segment and `s` in both, and
/// with notes of their logs.
fn sessions(place: &Place) {
    let prompt = format!("run: echo {SECRET} $(seq 1 20000)");
    let run = |prompt: &str, session: &str| {
        place.ok(&["run", prompt, "--session", session, "--store", FILE, "--permissions", "auto"])
    };
    run("hello", "a");
    run(&prompt, "s");
    // A segment whose first bytes are damaged is sealed by its next writer.
    flip(&place.path(SEGMENT));
    run("hello", "c");
    let end = fs::metadata(place.path("st/lanes/0000/00000002.seg")).unwrap().len();
    fs::write(place.path("c.end"), end.to_string()).unwrap();
    flip(&place.path(SEGMENT));
    place.ok(&["resume", "s", "hello again", "--store", FILE, "--permissions", "auto"]);
    note_logs(place, FILE, &["a", "s", "c"]);
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[3] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn in_sled(place: &Place) {
    sessions(place);
    place.ok(&["copy", "--from", FILE, "--to", SLED]);
}

fn exported(place: &Place) {
    sessions(place);
    let export = place.ok(&["export", "s", "--with-outputs", "--store", FILE]);
    fs::write(place.path("s.export"), export).unwrap();
}

/// A store with session `a`, and with session `b`, which is long enough for a checkpoint and has none, as
/// after a copy.
fn without_checkpoint(place: &Place, store: &str) {
    let run = |prompt: &str, session: &str| {
        let store = ["--store", "file:from", "--permissions", "auto"];
        place.ok(&[&["run", prompt, "--session", session][..], &store].concat())
    };
    run("hello", "a");
    run(r#"repeat 22: list_dir {"path":"home"}"#, "b");
    place.ok(&["copy", "--from", "file:from", "--to", store]);
    note_logs(place, store, &["a", "b"]);
}

fn note_logs(place: &Place, store: &str, sessions: &[&str]) {
    for session in sessions {
        let log = place.ok(&["log", session, "--store", store]);
        fs::write(place.path(&format!("{session}.log")), log).unwrap();
    }
}

/// Holds the compaction of session `c` to a log that goes on and has settled.
fn compacted(place: &Place, store: &str) -> Vec<String> {
    let noted = fs::read_to_string(place.path("c.log")).unwrap();
    let log = place.run(&["log", "c", "--store", store]);
    let mut wrong = place.differing(store, &["a", "s"]);
    let last = log.out.lines().last().unwrap_or_default();
    let settled = last.contains(r#""kind":"TurnSettled""#);
    if !log.out.starts_with(&noted) || !log.out.contains(r#""kind":"Compacted""#) || !settled {
        wrong.push(format!("it is not compacted: {log:?}"));
    }
    wrong
}

/// Holds session `b` to its log and to a checkpoint that agrees with it.
fn has_checkpoint(place: &Place, store: &str) -> Vec<String> {
    let mut wrong = place.differing(store, &["a", "b"]);
    let verified = place.run(&["verify", "b", "--store", store]);
    if verified.code != Some(0) || !verified.out.contains("a checkpoint at") {
        wrong.push(format!("there is no checkpoint: {verified:?}"));
    }
    wrong
}

/// Holds a fork of session `a` to the facts that it begins with.
fn forked(place: &Place, store: &str) -> Vec<String> {
    let fork = place.run(&["log", "f", "--store", store]);
    let mut wrong = place.differing(store, &["a", "s", "c"]);
    if fork.code != Some(0) || fork.out.lines().count().to_string() != FORKED_AT {
        wrong.push(format!("the fork is not whole: {fork:?}"));
    }
    wrong
}

/// Holds the erasure of session `s` to files without its text, in a folder.
fn erased(place: &Place, store: &str, folder: &str) -> Vec<String> {
    let mut wrong = place.differing(store, &["a", "c"]);
    wrong.extend(place.containing(folder, SECRET));
    let log = place.run(&["log", "s", "--store", store]);
    if log.code != Some(2) {
        wrong.push(format!("it is still there: {log:?}"));
    }
    wrong
}

/// All that session `c` has was overwritten, and no witness knows it.
fn overwritten(place: &Place) {
    sessions(place);
    let path = place.path("st/lanes/0000/00000002.seg");
    let mut bytes = fs::read(&path).unwrap();
    let end = fs::read_to_string(place.path("c.end")).unwrap();
    bytes[64..end.parse().unwrap()].fill(b'#');
    fs::write(&path, bytes).unwrap();
    fs::remove_dir_all(place.path("st/witness")).unwrap();
}

fn in_sqlite(place: &Place) {
    sessions(place);
    place.ok(&["copy", "--from", FILE, "--to", SQLITE]);
}

pub(crate) const CHORES: [Chore; 23] = [
    Chore {
        name: "erase",
        prepare: sessions,
        words: &["erase", "s", "--yes", "--store", FILE],
        wrong: |place| erased(place, FILE, "st"),
    },
    Chore {
        name: "erase-sqlite",
        prepare: in_sqlite,
        words: &["erase", "s", "--yes", "--store", SQLITE],
        wrong: |place| erased(place, SQLITE, "sq"),
    },
    Chore {
        name: "vacuum",
        prepare: sessions,
        words: &["vacuum", "--store", FILE],
        wrong: |place| {
            let mut wrong = place.differing(FILE, &["a", "s", "c"]);
            if place.path(SEGMENT).exists() {
                wrong.push("the merged segment is still there".to_owned());
            }
            wrong
        },
    },
    Chore {
        name: "vacuum-erase",
        prepare: sessions,
        words: &["vacuum", "--erase-after", "0s", "--store", FILE],
        wrong: |place| place.containing("st", SECRET),
    },
    Chore {
        name: "truncate",
        prepare: sessions,
        words: &["repair", "s", "--truncate-at", "5", "--store", FILE],
        wrong: |place| {
            let whole = fs::read_to_string(place.path("s.log")).unwrap();
            let kept = place.run(&["log", "s", "--store", FILE]);
            let saved = fs::read_to_string(place.path("s-after-5.jsonl")).unwrap_or_default();
            let mut wrong = place.differing(FILE, &["a", "c"]);
            if kept.out.lines().count() != 5 || kept.out.clone() + &saved != whole {
                wrong.push(format!("kept {} and saved {}", kept.out.len(), saved.len()));
            }
            wrong
        },
    },
    Chore {
        name: "discard",
        prepare: overwritten,
        words: &["repair", "--lost", "0000/00000002@64", "--save", "lost", "--store", FILE],
        wrong: |place| {
            let saved = fs::read_to_string(place.path("lost.damaged")).unwrap_or_default();
            let mut wrong = place.differing(FILE, &["a"]);
            if !saved.contains("IyMj") {
                wrong.push(format!("nothing was saved: {saved:?}"));
            }
            wrong
        },
    },
    Chore {
        name: "copy-to-file",
        prepare: sessions,
        words: &["copy", "--from", FILE, "--to", "file:there"],
        wrong: |place| place.differing("file:there", &["a", "s", "c"]),
    },
    Chore {
        name: "copy-to-sled",
        prepare: sessions,
        words: &["copy", "--from", FILE, "--to", "sled:there"],
        wrong: |place| place.differing("sled:there", &["a", "s", "c"]),
    },
    Chore {
        name: "copy-from-sled",
        prepare: in_sled,
        words: &["copy", "--from", SLED, "--to", "file:there"],
        wrong: |place| place.differing("file:there", &["a", "s", "c"]),
    },
    Chore {
        name: "copy-to-sqlite",
        prepare: sessions,
        words: &["copy", "--from", FILE, "--to", "sqlite:there"],
        wrong: |place| place.differing("sqlite:there", &["a", "s", "c"]),
    },
    Chore {
        name: "copy-from-sqlite",
        prepare: in_sqlite,
        words: &["copy", "--from", SQLITE, "--to", "file:there"],
        wrong: |place| place.differing("file:there", &["a", "s", "c"]),
    },
    Chore {
        name: "import-to-file",
        prepare: exported,
        words: &["import", "s.export", "--store", "file:there"],
        wrong: |place| place.differing("file:there", &["s"]),
    },
    Chore {
        name: "import-to-sled",
        prepare: exported,
        words: &["import", "s.export", "--store", "sled:there"],
        wrong: |place| place.differing("sled:there", &["s"]),
    },
    Chore {
        name: "import-to-sqlite",
        prepare: exported,
        words: &["import", "s.export", "--store", "sqlite:there"],
        wrong: |place| place.differing("sqlite:there", &["s"]),
    },
    Chore {
        name: "fork",
        prepare: sessions,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", FILE],
        wrong: |place| forked(place, FILE),
    },
    Chore {
        name: "fork-sled",
        prepare: in_sled,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", SLED],
        wrong: |place| forked(place, SLED),
    },
    Chore {
        name: "fork-sqlite",
        prepare: in_sqlite,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", SQLITE],
        wrong: |place| forked(place, SQLITE),
    },
    Chore {
        name: "compact",
        prepare: sessions,
        words: &["compact", "c", "--store", FILE, "--permissions", "auto"],
        wrong: |place| compacted(place, FILE),
    },
    Chore {
        name: "compact-sled",
        prepare: in_sled,
        words: &["compact", "c", "--store", SLED, "--permissions", "auto"],
        wrong: |place| compacted(place, SLED),
    },
    Chore {
        name: "compact-sqlite",
        prepare: in_sqlite,
        words: &["compact", "c", "--store", SQLITE, "--permissions", "auto"],
        wrong: |place| compacted(place, SQLITE),
    },
    // A session that is opened without a checkpoint writes one when it is released.
    Chore {
        name: "checkpoint",
        prepare: |place| without_checkpoint(place, FILE),
        words: &["resume", "b", "--store", FILE, "--permissions", "auto"],
        wrong: |place| has_checkpoint(place, FILE),
    },
    Chore {
        name: "checkpoint-sled",
        prepare: |place| without_checkpoint(place, SLED),
        words: &["resume", "b", "--store", SLED, "--permissions", "auto"],
        wrong: |place| has_checkpoint(place, SLED),
    },
    Chore {
        name: "checkpoint-sqlite",
        prepare: |place| without_checkpoint(place, SQLITE),
        words: &["resume", "b", "--store", SQLITE, "--permissions", "auto"],
        wrong: |place| has_checkpoint(place, SQLITE),
    },
];

/// Store that a command changes.
pub(crate) fn changed(words: &[&str]) -> String {
    let after = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    after("--to").or_else(|| after("--store")).unwrap()
}
