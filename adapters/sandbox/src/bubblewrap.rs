//! The second tier: bubblewrap makes the namespaces and mounts, where this program may not do so itself.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::plan::{HelperNetwork, HelperPlan};

/// Returns the command that runs the next stage of a plan within bubblewrap, without its arguments.
pub(crate) fn command(plan: &HelperPlan) -> Result<Command, String> {
    let program = plan.bubblewrap.as_ref().ok_or("the plan names no bubblewrap")?;
    let helper = std::env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
    let mut command = Command::new(program);
    command.args(arguments(plan)).arg("--").arg(helper);
    Ok(command)
}

/// Finds bubblewrap on the search path, in a folder that no confined process writes.
pub(crate) fn find(writable: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("bwrap"))
        .filter_map(|program| program.canonicalize().ok())
        .find(|program| {
            let runs = program.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
            runs && !writable.iter().any(|root| root != Path::new("/") && program.starts_with(root))
        })
}

fn arguments(plan: &HelperPlan) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add =
        |words_of: &[&std::ffi::OsStr]| words.extend(words_of.iter().map(|w| (*w).to_owned()));
    let whole = plan.writable.iter().any(|root| root == Path::new("/"));
    let root = if whole { "--bind" } else { "--ro-bind" };
    add(&[root.as_ref(), "/".as_ref(), "/".as_ref()]);
    add(&["--dev".as_ref(), "/dev".as_ref(), "--proc".as_ref(), "/proc".as_ref()]);
    add(&["--tmpfs".as_ref(), "/dev/shm".as_ref()]);
    for path in plan.writable.iter().filter(|root| *root != Path::new("/")) {
        add(&["--bind-try".as_ref(), path.as_os_str(), path.as_os_str()]);
    }
    for path in plan.held() {
        add(&["--bind-try".as_ref(), path.as_os_str(), path.as_os_str()]);
    }
    for path in plan.protected.iter().filter(|path| path.exists()) {
        add(&["--ro-bind-try".as_ref(), path.as_os_str(), path.as_os_str()]);
    }
    for path in plan.hidden.iter().filter(|path| path.exists()) {
        match path.is_dir() {
            true => add(&[
                "--tmpfs".as_ref(),
                path.as_os_str(),
                "--remount-ro".as_ref(),
                path.as_os_str(),
            ]),
            false => add(&["--ro-bind".as_ref(), "/dev/null".as_ref(), path.as_os_str()]),
        }
    }
    for flag in ["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--die-with-parent"] {
        add(&[flag.as_ref()]);
    }
    if plan.network != HelperNetwork::All {
        add(&["--unshare-net".as_ref()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use windlass_ports::ProcessLimits;

    use super::*;
    use crate::plan::{HelperStage, Namespaces};

    #[test]
    fn later_mounts_take_rights_away() {
        let plan = HelperPlan {
            stage: HelperStage::Confine,
            watched: 1,
            namespaces: Namespaces::Bubblewrap,
            bubblewrap: None,
            readable: vec!["/".into()],
            writable: vec!["/usr".into()],
            protected: vec!["/usr/bin".into(), "/usr/none".into()],
            hidden: vec!["/etc".into(), "/etc/passwd".into()],
            network: HelperNetwork::Off,
            limits: ProcessLimits::default(),
            command: Vec::new(),
        };
        let words = arguments(&plan);
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let expected = "--ro-bind / / --dev /dev --proc /proc --tmpfs /dev/shm --bind-try /usr /usr \
                        --ro-bind-try /usr/bin /usr/bin --tmpfs /etc --remount-ro /etc --ro-bind \
                        /dev/null /etc/passwd --unshare-user-try --unshare-pid --unshare-ipc \
                        --die-with-parent --unshare-net";
        assert_eq!(words.join(" "), expected);
    }
}
