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
    for session in ["a", "s", "c"] {
        let log = place.ok(&["log", session, "--store", FILE]);
        fs::write(place.path(&format!("{session}.log")), log).unwrap();
    }
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[3] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn in_sled(place: &Place) {
    sessions(place);
    place.ok(&["copy", "--from", FILE, "--to", "sled:sl"]);
}

fn exported(place: &Place) {
    sessions(place);
    let export = place.ok(&["export", "s", "--with-outputs", "--store", FILE]);
    fs::write(place.path("s.export"), export).unwrap();
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

pub(crate) const CHORES: [Chore; 12] = [
    Chore {
        name: "erase",
        prepare: sessions,
        words: &["erase", "s", "--yes", "--store", FILE],
        wrong: |place| {
            let mut wrong = place.differing(FILE, &["a", "c"]);
            wrong.extend(place.containing("st", SECRET));
            let log = place.run(&["log", "s", "--store", FILE]);
            if log.code != Some(2) {
                wrong.push(format!("it is still there: {log:?}"));
            }
            wrong
        },
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
        words: &["copy", "--from", "sled:sl", "--to", "file:there"],
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
        name: "fork",
        prepare: sessions,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", FILE],
        wrong: |place| {
            let fork = place.run(&["log", "f", "--store", FILE]);
            let mut wrong = place.differing(FILE, &["a", "s", "c"]);
            if fork.code != Some(0) || fork.out.lines().count().to_string() != FORKED_AT {
                wrong.push(format!("the fork is not whole: {fork:?}"));
            }
            wrong
        },
    },
    Chore {
        name: "fork-sled",
        prepare: in_sled,
        words: &["fork", "a", "--at", FORKED_AT, "--as", "f", "--store", "sled:sl"],
        wrong: |place| {
            let fork = place.run(&["log", "f", "--store", "sled:sl"]);
            match fork.code == Some(0) && fork.out.lines().count().to_string() == FORKED_AT {
                true => Vec::new(),
                false => vec![format!("the fork is not whole: {fork:?}")],
            }
        },
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
