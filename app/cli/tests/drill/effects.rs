//! The counter tools: each call writes down that it begins, waits at its gate, and writes down that it
//! took effect. What they wrote is looked at from the outside.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

/// How long what is left at the end may take to end.
const LEFT: Duration = Duration::from_secs(10);

/// Opening a FIFO to read waits until somebody has it open to write: that is the gate.
/// One that is told nothing, since its node died before it could, does nothing.
const SCRIPT: &str = r#"
read -r said
n=${said##*'"n":'}; n=${n%%[!0-9]*}
gate=${said##*'"gate":'}; gate=${gate%%[!0-9]*}
[ -n "$gate" ] || exit 1
line="$0 $WINDLASS_SESSION $WINDLASS_IDEMPOTENCY_KEY $n $gate $$"
echo "$line" >> begun
: < "gate-$gate"
sleep 0.05
echo "$line" >> counter && echo counted
"#;

/// The folder that the tools work in.
pub(crate) struct Effects {
    folder: PathBuf,
    gates: usize,
    /// Gates that are open stay so for as long as somebody may write to them.
    opened: Mutex<Vec<File>>,
}

impl Drop for Effects {
    fn drop(&mut self) {
        // What outlived its node would wait for ever where the drill broke off.
        for gate in 1..=self.gates {
            self.open(gate);
        }
        let until = Instant::now() + LEFT;
        while self.begun().iter().any(Run::lives) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A run of a call, as the tool saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The node whose tool it was.
    pub(crate) node: String,
    pub(crate) session: String,
    /// The idempotency key of the call.
    pub(crate) key: String,
    /// Which of its session's calls it is, as the model counts.
    pub(crate) n: usize,
    pub(crate) gate: usize,
    pid: String,
}

impl Run {
    /// Whether its process is still there.
    pub(crate) fn lives(&self) -> bool {
        // A process that ended and is not waited for has no command line.
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid));
        line.is_ok_and(|line| !line.is_empty())
    }
}

impl Effects {
    /// Makes this many gates, all shut; the one numbered 0 is always open.
    pub(crate) fn new(folder: &Path, gates: usize) -> Self {
        File::create(folder.join("gate-0")).unwrap();
        for gate in 1..=gates {
            let path = folder.join(format!("gate-{gate}"));
            let made = Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }
        Self { folder: folder.to_owned(), gates, opened: Mutex::default() }
    }

    /// The tools of one node.
    pub(crate) fn tools(node: &str) -> String {
        let tool = |name: &str, concurrency: &str| {
            let integer = json!({"type": "integer"});
            json!({
                "name": name,
                "description": "Counts.",
                "parameters": {"type": "object",
                    "properties": {"session": {"type": "string"}, "n": integer, "gate": integer},
                    "required": ["session", "n", "gate"], "additionalProperties": false},
                "command": ["sh", "-c", SCRIPT, node],
                "effect": "effectful",
                "concurrency": concurrency,
            })
        };
        json!({"tools": [tool("count", "exclusive"), tool("count_beside", "parallel")]}).to_string()
    }

    /// Lets go all who wait at a gate, and all who come to it from now on.
    pub(crate) fn open(&self, gate: usize) {
        let path = self.folder.join(format!("gate-{gate}"));
        // Opened to read as well, it waits for nobody.
        let gate = OpenOptions::new().read(true).write(true).open(path);
        self.opened.lock().unwrap().push(gate.unwrap());
    }

    /// Every run that began, in order.
    pub(crate) fn begun(&self) -> Vec<Run> {
        self.lines("begun")
    }

    /// Every run that took effect, in order.
    pub(crate) fn counted(&self) -> Vec<Run> {
        self.lines("counter")
    }

    fn lines(&self, file: &str) -> Vec<Run> {
        let text = std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        // The last one may still be on its way.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [node, session, key, n, gate, pid] = words[..] else {
                panic!("no line of a counter: {line:?}");
            };
            Run {
                node: node.to_owned(),
                session: session.to_owned(),
                key: key.to_owned(),
                n: n.parse().unwrap(),
                gate: gate.parse().unwrap(),
                pid: pid.to_owned(),
            }
        });
        lines.collect()
    }
}
