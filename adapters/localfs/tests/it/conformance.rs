//! Holds both executors to the promises of the tool port.

mod command;
mod localfs;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_ports::ToolCall;

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { name: name.into(), arguments: arguments.to_string() }
}

/// Every name below a folder, and every line of every file.
fn world(folder: &Path) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", "(find .; grep -r ^ .) | sort"]);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
