//! A folder with a workspace, a secret and an outside, and programs that run in it.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_ports::{
    ConfinedLaunch, NetworkAccess, ProcessLaunch, ProcessLimits, Sandbox, SandboxProfile,
};

use super::{SandboxFixture, Violation};

/// Variable in which a program of the suite declares what it does, for the model.
pub(super) const DECLARED: &str = "WINDLASS_PROBE";

/// A fresh folder with a sandbox. Dropping it removes the folder.
pub(super) struct Place {
    pub(super) base: PathBuf,
    pub(super) sandbox: std::sync::Arc<dyn Sandbox>,
}

/// Result of a program.
#[derive(Debug)]
pub(super) struct Ran {
    /// Exit code; 128 and the number of a signal that ended it.
    pub(super) code: i32,
    pub(super) out: String,
}

impl Place {
    pub(super) fn new(fixture: &dyn SandboxFixture) -> Result<Self, Violation> {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-sandbox-suite-{}-{number}", std::process::id());
        let parent = std::env::temp_dir().canonicalize().map_err(failed("find a folder"))?;
        let place = Self { base: parent.join(name), sandbox: fixture.open() };
        for folder in ["w/.git/hooks", "w/src", "w/.store", "out", "secret"] {
            fs::create_dir_all(place.base.join(folder)).map_err(failed("make a folder"))?;
        }
        for file in
            ["w/.git/config", "w/src/a", "w/b", "w/.store/log", "out/a", "secret/key", "token"]
        {
            fs::write(place.base.join(file), "before").map_err(failed("write a file"))?;
        }
        for (link, target) in [("w/to_out", "out"), ("w/to_secret", "secret")] {
            let made = std::os::unix::fs::symlink(place.base.join(target), place.base.join(link));
            made.map_err(failed("make a link"))?;
        }
        Ok(place)
    }

    /// The profile of most cases: reads everything but secrets, writes the workspace.
    pub(super) fn profile(&self) -> SandboxProfile {
        let at = |entries: &[&str]| entries.iter().map(|entry| self.base.join(entry)).collect();
        SandboxProfile {
            name: String::from("suite"),
            readable: vec![PathBuf::from("/")],
            writable: at(&["w"]),
            protected: at(&["w/.git", "w/.none"]),
            hidden: at(&["secret", "token", "w/.store", "none"]),
            temporary: false,
            network: NetworkAccess::Off,
            limits: ProcessLimits::default(),
        }
    }

    /// Reads a file of the place from outside; a missing one is empty.
    pub(super) fn content(&self, file: &str) -> String {
        fs::read_to_string(self.base.join(file)).unwrap_or_default()
    }

    pub(super) fn exists(&self, file: &str) -> bool {
        self.base.join(file).symlink_metadata().is_ok()
    }

    /// Launch of a shell line in the workspace. It declares an act and the path that it acts on.
    pub(super) fn launch(&self, shell: &str, act: &str, path: &str, line: &str) -> ProcessLaunch {
        let declared = format!("{act} {}", self.base.join(path).display());
        let path = std::env::var_os("PATH").unwrap_or_default();
        ProcessLaunch {
            program: PathBuf::from(shell),
            arguments: vec!["-c".into(), line.into()],
            folder: self.base.join("w"),
            environment: vec![(DECLARED.into(), declared.into()), ("PATH".into(), path)],
        }
    }

    pub(super) fn confine(
        &self,
        launch: ProcessLaunch,
        profile: &SandboxProfile,
    ) -> Result<ConfinedLaunch, Violation> {
        let confined = self.sandbox.confine(launch, profile);
        confined.map_err(|error| Violation::new(format!("the sandbox refused a launch: {error}")))
    }

    /// Runs a shell line that declares an act.
    pub(super) fn run(
        &self,
        profile: &SandboxProfile,
        act: &str,
        path: &str,
        line: &str,
    ) -> Result<Ran, Violation> {
        self.run_launch(self.launch("/bin/sh", act, path, line), profile)
    }

    pub(super) fn run_launch(
        &self,
        launch: ProcessLaunch,
        profile: &SandboxProfile,
    ) -> Result<Ran, Violation> {
        let mut child = start(self.confine(launch, profile)?.launch)?;
        let mut out = Vec::new();
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_end(&mut out).map_err(failed("read the output"))?;
        }
        let status = child.wait().map_err(failed("wait for a program"))?;
        let code = status.code().or(status.signal().map(|signal| signal + 128)).unwrap_or(-1);
        Ok(Ran { code, out: String::from_utf8_lossy(&out).into_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// Starts a launch as the leader of a group, with its output in a pipe.
pub(super) fn start(launch: ProcessLaunch) -> Result<Child, Violation> {
    Command::new(&launch.program)
        .args(&launch.arguments)
        .current_dir(&launch.folder)
        .env_clear()
        .envs(launch.environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed("start a program"))
}

/// Says in a violation what the suite itself could not do.
pub(super) fn failed<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> Violation {
    move |error| Violation::new(format!("the suite cannot {what}: {error}"))
}

/// Returns true if a file's size changes within a while.
pub(super) fn grows(file: &Path) -> bool {
    let size = || fs::metadata(file).map_or(0, |meta| meta.len());
    let before = size();
    std::thread::sleep(std::time::Duration::from_millis(400));
    size() != before
}
