//! The tools of the model: two with an effect that is counted, and one that only waits.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

/// Writes down that it begins, waits, and takes effect: a line in the file of its session. One that reads
/// no arguments, since its server died before it could send them, does nothing.
const COUNT: &str = r#"
read -r said
ms=${said##*'"wait_ms":'}; ms=${ms%%[!0-9]*}
[ -n "$ms" ] || exit 1
echo "$$" > "running/$$"
sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
echo "$WINDLASS_IDEMPOTENCY_KEY" >> "counted/$WINDLASS_SESSION"
rm -f "running/$$"
echo counted
"#;

/// The same without an effect.
const LOOK: &str = r#"
read -r said
ms=${said##*'"wait_ms":'}; ms=${ms%%[!0-9]*}
[ -n "$ms" ] || exit 1
sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
echo "nothing to see after $ms ms"
"#;

/// Folders that the tools write to, below their workspace.
pub(crate) const FOLDERS: [&str; 2] = ["counted", "running"];

/// Definitions of the tools.
pub(crate) fn definitions() -> String {
    let tool = |name: &str, script: &str, effect: &str, concurrency: &str| {
        let integer = json!({"type": "integer"});
        json!({
            "name": name,
            "description": "Counts.",
            "parameters": {"type": "object", "properties": {"n": integer, "wait_ms": integer},
                "required": ["n", "wait_ms"], "additionalProperties": false},
            "command": ["sh", "-c", script, name],
            "effect": effect,
            "concurrency": concurrency,
        })
    };
    json!({"tools": [
        tool("count", COUNT, "effectful", "exclusive"),
        tool("count_beside", COUNT, "effectful", "parallel"),
        tool("look", LOOK, "read_only", "parallel"),
    ]})
    .to_string()
}

/// Reads how often each key of a session took effect.
pub(crate) fn counted(work: &Path, session: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(work.join("counted").join(session)).unwrap_or_default();
    let mut counted = BTreeMap::new();
    for key in text.lines() {
        *counted.entry(key.to_owned()).or_default() += 1;
    }
    counted
}

/// Removes what the tools wrote of a session.
pub(crate) fn forget(work: &Path, session: &str) {
    // It may have had no effect.
    let _ = std::fs::remove_file(work.join("counted").join(session));
}

/// Process ids of tools that run, as far as their files say.
pub(crate) fn running(work: &Path) -> Vec<i32> {
    let entries = std::fs::read_dir(work.join("running"));
    let names = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Removes the file of a process that ended without doing so.
pub(crate) fn ended(work: &Path, pid: i32) {
    let _ = std::fs::remove_file(work.join("running").join(pid.to_string()));
}
