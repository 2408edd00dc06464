//! A sandbox that judges what programs of the suite declare, in place of confining them.

use std::path::{Path, PathBuf};

use windlass_ports::{
    ConfinedLaunch, NetworkAccess, NoSandbox, ProcessLaunch, Sandbox, SandboxError,
    SandboxErrorKind, SandboxProfile, SandboxStrength,
};

use super::place::DECLARED;

/// Judges declared acts by the profile. A refused program is replaced by one that fails. It confines
/// nothing: a program that declares nothing runs as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelSandbox {
    /// Fault of this sandbox.
    pub fault: Option<SandboxFault>,
}

/// One fault of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxFault {
    /// Programs lose their variables.
    LosesEnvironment,
    /// Writable roots are not written.
    WritesNothing,
    /// Everything is written.
    WritesAll,
    /// Protected paths are written.
    WritesProtected,
    /// Hidden paths are read.
    ReadsHidden,
    /// Everything but hidden paths is read.
    ReadsAll,
    /// There is no folder for temporary files.
    NoTemporary,
    /// The network is on.
    NetworkOn,
    /// Processes outside are signalled.
    Signals,
    /// Files grow without limit.
    NoFileLimit,
    /// Processes outlive the program.
    LeavesProcesses,
    /// A contradictory profile is accepted.
    AcceptsContradictions,
    /// The strength of a launch is not the declared one.
    OtherStrength,
}

impl ModelSandbox {
    fn has(self, fault: SandboxFault) -> bool {
        self.fault == Some(fault)
    }

    fn allows(self, act: &str, path: &Path, profile: &SandboxProfile) -> bool {
        let within = |roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root));
        let hidden = within(&profile.hidden);
        let writable = within(&profile.writable) && !self.has(SandboxFault::WritesNothing);
        match act {
            "write" => {
                let protected =
                    within(&profile.protected) && !self.has(SandboxFault::WritesProtected);
                self.has(SandboxFault::WritesAll) || (writable && !protected && !hidden)
            }
            "read" if hidden => self.has(SandboxFault::ReadsHidden),
            "read" => {
                let readable = within(&profile.readable) || within(&profile.writable);
                readable || self.has(SandboxFault::ReadsAll)
            }
            "connect" => profile.network == NetworkAccess::All || self.has(SandboxFault::NetworkOn),
            "signal" => self.has(SandboxFault::Signals),
            "grow" => self.has(SandboxFault::NoFileLimit),
            _ => true,
        }
    }
}

impl Sandbox for ModelSandbox {
    fn confine(
        &self,
        mut launch: ProcessLaunch,
        profile: &SandboxProfile,
    ) -> Result<ConfinedLaunch, SandboxError> {
        let roots = || profile.readable.iter().chain(&profile.writable);
        let hides = |hidden: &PathBuf| roots().any(|root| root.starts_with(hidden));
        let contradicts =
            roots().any(|root| root.is_relative()) || profile.hidden.iter().any(hides);
        if contradicts && !self.has(SandboxFault::AcceptsContradictions) {
            return Err(SandboxError::new(
                SandboxErrorKind::Invalid,
                "the profile contradicts itself",
            ));
        }
        let declared = launch.environment.iter().find(|(name, _)| name == DECLARED);
        let declared = declared.map(|(_, value)| value.to_string_lossy().into_owned());
        let (act, path) = declared.as_deref().and_then(|it| it.split_once(' ')).unwrap_or(("", ""));
        let line = match act {
            // It does not start what would have to end.
            "leave" if !self.has(SandboxFault::LeavesProcesses) => Some("exit 0"),
            _ if self.allows(act, Path::new(path), profile) => None,
            _ => Some("exit 1"),
        };
        if let Some(line) = line {
            launch.arguments = vec!["-c".into(), line.into()];
        }
        if profile.temporary && !self.has(SandboxFault::NoTemporary) {
            launch.environment.push(("TMPDIR".into(), launch.folder.join("src").into()));
        }
        if self.has(SandboxFault::LosesEnvironment) {
            launch.environment.retain(|(name, _)| name != "VALUE");
        }
        let mut strength = self.strength(profile)?;
        if self.has(SandboxFault::OtherStrength) {
            strength = NoSandbox.strength(profile)?;
        }
        Ok(ConfinedLaunch { launch, strength })
    }

    fn strength(&self, _: &SandboxProfile) -> Result<SandboxStrength, SandboxError> {
        Ok(SandboxStrength {
            tier: String::from("model"),
            mechanisms: String::from("declarations"),
        })
    }
}
