//! Note on the processes that a command left running. Its reader is the model.

use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Most command lines that are named.
const NAMED: usize = 3;
/// Longest named command line, in characters.
const LONGEST: usize = 60;

/// Names the processes of this namespace but its first one on standard error, before they end with it.
pub(super) fn name_others() {
    let own = fs::read_link("/proc/self").is_ok_and(|own| own == Path::new("1"));
    let Ok(processes) = fs::read_dir("/proc") else {
        return;
    };
    if !own {
        // This is the /proc of another namespace.
        return;
    }
    let others = processes.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| name.parse::<u32>().ok()).is_some_and(|id| id > 1)
    });
    name(others.filter_map(|entry| command_line(&entry.path())).collect());
}

/// Names processes by their command lines.
pub(super) fn name(lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    let count = lines.len();
    let named: Vec<String> = lines.into_iter().take(NAMED).collect();
    let more = match count.saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let processes = if count == 1 { "process" } else { "processes" };
    let named = named.join(", ");
    // Nobody may read it.
    let _ = writeln!(
        std::io::stderr(),
        "[killed {count} {processes} that the command left running: {named}{more}]"
    );
}

/// Returns the command line of a process, cut to a few words; `None` if it has ended.
pub(super) fn command_line(folder: &Path) -> Option<String> {
    let line = fs::read(folder.join("cmdline")).ok().filter(|line| !line.is_empty())?;
    let line = String::from_utf8_lossy(&line);
    let line = line.trim_end_matches('\0').replace(char::is_control, " ");
    let mut short: String = line.chars().take(LONGEST).collect();
    if short.len() < line.len() {
        short.push_str(" ...");
    }
    Some(format!("`{short}`"))
}
