//! Installation of packages: from Debian onto the machine, others into a folder below the target
//! folder, each step with a time limit.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use xtask::say::say;
use xtask::step::{program, root, step};
use xtask::tools::target;

/// Time limit of apt, in seconds.
const APT_S: u32 = 600;

/// Time between the signals TERM and KILL, in seconds.
const GRACE_S: u32 = 10;

/// Command that is ended after this many seconds.
pub(super) fn bounded(seconds: u32, name: impl AsRef<OsStr>) -> Command {
    let mut command = program("timeout");
    command.arg(format!("--kill-after={GRACE_S}"));
    command.arg(seconds.to_string()).arg(name);
    command
}

/// Returns the first of the programs that is on the path.
pub(super) fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places =
        names.iter().flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)));
    places.find(|place| place.is_file())
}

/// Installs a package of Debian, which needs root.
///
/// # Errors
/// When the user is not root, or apt fails.
pub(super) fn debian(package: &str) -> anyhow::Result<()> {
    let owner = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    ensure!(
        owner && Path::new("/usr/bin/apt-get").exists(),
        "{package} is not on this machine: install it (Debian: apt-get install {package})"
    );
    say(format_args!(
        "{package} is not on this machine, and tests need it: installing Debian's package (once; it \
         stays installed)"
    ));
    let apt = |words: &[&str]| {
        let mut apt = bounded(APT_S, "apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        step(&format!("install {package}"), &mut apt)
    };
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "-qq", "--no-install-recommends", package])
}

/// Folder of packages below the target folder, with the files in the tree that pin them.
#[derive(Debug)]
pub(super) struct Kept {
    /// Folder of the packages.
    pub(super) folder: PathBuf,
    /// Contents of the files in the tree, by name.
    says: Vec<(&'static str, String)>,
}

impl Kept {
    /// Reads the files below `xtask/tools/NAME`.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub(super) fn new(name: &str, files: &[&'static str]) -> anyhow::Result<Self> {
        let from = root().join("xtask/tools").join(name);
        let read = |file: &&'static str| {
            let path = from.join(file);
            let text = fs::read_to_string(&path);
            Ok((*file, text.with_context(|| format!("reading {}", path.display()))?))
        };
        let says = files.iter().map(read).collect::<anyhow::Result<_>>()?;
        let folder = target()?.join("tools").join(name);
        Ok(Self { folder, says })
    }

    /// Returns true when the installed packages match the files in the tree.
    pub(super) fn fits(&self) -> bool {
        self.marker().is_file()
            && self.says.iter().all(|(file, text)| {
                fs::read_to_string(self.folder.join(file)).is_ok_and(|there| there == *text)
            })
    }

    /// Empties the folder and copies the pinning files into it.
    ///
    /// # Errors
    /// When the folder cannot be changed.
    pub(super) fn empty(&self) -> anyhow::Result<()> {
        let folder = self.folder.display();
        match fs::remove_dir_all(&self.folder) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => bail!("emptying {folder}: {error}"),
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("making {folder}"))?;
        for (file, text) in &self.says {
            let path = self.folder.join(file);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }

    /// Runs a step of the installation.
    ///
    /// # Errors
    /// When it fails or takes too long.
    pub(super) fn install(&self, name: &str, command: &mut Command) -> anyhow::Result<()> {
        step(name, command).with_context(|| format!("in {}", self.folder.display()))
    }

    /// Marks the installation as complete.
    ///
    /// # Errors
    /// When the marker cannot be written.
    pub(super) fn done(&self) -> anyhow::Result<()> {
        let marker = self.marker();
        fs::write(&marker, "").with_context(|| format!("writing {}", marker.display()))
    }

    fn marker(&self) -> PathBuf {
        self.folder.join("installed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_ended() {
        let error = step("sleep", bounded(1, "sleep").arg("60")).unwrap_err();
        assert!(error.to_string().contains("exit code 124"), "{error}");
    }

    #[test]
    fn packages_fit_only_when_they_are_whole_and_what_the_tree_says() {
        let folder = tempfile::tempdir().unwrap();
        let kept = |text: &str| Kept {
            folder: folder.path().join("kept"),
            says: vec![("lock", text.to_owned())],
        };
        let first = kept("one");
        assert!(!first.fits(), "there is nothing");
        first.empty().unwrap();
        assert!(!first.fits(), "the installation was cut off");
        first.done().unwrap();
        assert!(first.fits());
        assert!(!kept("two").fits(), "the tree says others now");
        kept("two").empty().unwrap();
        assert!(!first.fits() && !kept("two").fits());
    }
}
