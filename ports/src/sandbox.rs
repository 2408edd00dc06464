//! The sandbox port: confines the processes that tools start.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use windlass_core::Retry;

use crate::error::{ErrorKind, PortError};

/// Confines processes.
///
/// Laws, for the process of a confined launch and all that it starts:
/// - *confined*: they read nothing outside of the readable roots and nothing hidden, write nothing outside
///   of the writable roots and nothing protected, and connect only as the network access allows;
/// - *separate*: they signal, inspect and trace no process outside;
/// - *bounded*: the limits of the profile hold;
/// - *mortal*: none of them outlives the process of the launch, or the process that started it, however
///   either ends;
/// - *closed*: what cannot be enforced is an error, and nothing starts;
/// - *stated*: the strength names every mechanism in force, and no other.
pub trait Sandbox: fmt::Debug + Send + Sync + 'static {
    /// Returns the launch that runs a program confined, with a record of its confinement. May start a
    /// process to learn what the system enforces; blocks for that time.
    ///
    /// # Errors
    /// `Unavailable` when this system cannot enforce the profile; `Invalid` for a profile or a launch
    /// that contradicts itself; `Io`.
    fn confine(
        &self,
        launch: ProcessLaunch,
        profile: &SandboxProfile,
    ) -> Result<ConfinedLaunch, SandboxError>;

    /// Returns the mechanisms that confine the launches of a profile.
    ///
    /// # Errors
    /// As [`confine`](Self::confine).
    fn strength(&self, profile: &SandboxProfile) -> Result<SandboxStrength, SandboxError>;
}

/// Program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLaunch {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments after the program's name.
    pub arguments: Vec<OsString>,
    /// Folder that it starts in.
    pub folder: PathBuf,
    /// All variables of its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// Launch that confines its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinedLaunch {
    /// Launch to use in place of the requested one.
    pub launch: ProcessLaunch,
    /// Mechanisms in force.
    pub strength: SandboxStrength,
}

/// Mechanisms that confine a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxStrength {
    /// Name of the tier, for example `landlock`.
    pub tier: String,
    /// Mechanisms in short, for example `landlock abi 7 + seccomp`.
    pub mechanisms: String,
}

/// Rights of confined processes. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProfile {
    /// Name of the profile.
    pub name: String,
    /// Folders and files that may be read, with all beneath them.
    pub readable: Vec<PathBuf>,
    /// Folders and files that may be read and written, with all beneath them.
    pub writable: Vec<PathBuf>,
    /// Paths beneath writable roots that may only be read. Those that do not exist are ignored.
    pub protected: Vec<PathBuf>,
    /// Paths whose contents may not be read or written, whatever root contains them. Those that do not
    /// exist are ignored.
    pub hidden: Vec<PathBuf>,
    /// True if the processes get a writable folder of their own for temporary files, in `TMPDIR`.
    pub temporary: bool,
    /// Network that they reach.
    pub network: NetworkAccess,
    /// Limits of their resources.
    pub limits: ProcessLimits,
}

/// Network that confined processes reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkAccess {
    /// None. The processes of one launch may have a loopback of their own.
    Off,
    /// These hosts, through a proxy that filters by host name. `*.example.org` is a domain with all
    /// names beneath it.
    Hosts(Vec<String>),
    /// All of it.
    All,
}

/// Limits of confined processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Most processes and threads at a time.
    pub processes: u64,
    /// Most bytes of data memory of each process.
    pub memory_bytes: u64,
    /// Most bytes of a written file.
    pub file_bytes: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self { processes: 1_024, memory_bytes: 8 << 30, file_bytes: 4 << 30 }
    }
}

/// Sandbox that confines nothing, because a person chose so. Its record states that.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSandbox;

impl NoSandbox {
    /// Returns the profile of processes that nothing confines: it grants everything.
    #[must_use]
    pub fn profile() -> SandboxProfile {
        SandboxProfile {
            name: String::from("off"),
            readable: vec![PathBuf::from("/")],
            writable: vec![PathBuf::from("/")],
            protected: Vec::new(),
            hidden: Vec::new(),
            temporary: false,
            network: NetworkAccess::All,
            limits: ProcessLimits {
                processes: u64::MAX,
                memory_bytes: u64::MAX,
                file_bytes: u64::MAX,
            },
        }
    }
}

impl Sandbox for NoSandbox {
    fn confine(
        &self,
        launch: ProcessLaunch,
        profile: &SandboxProfile,
    ) -> Result<ConfinedLaunch, SandboxError> {
        Ok(ConfinedLaunch { launch, strength: self.strength(profile)? })
    }

    fn strength(&self, _: &SandboxProfile) -> Result<SandboxStrength, SandboxError> {
        Ok(SandboxStrength { tier: String::from("off"), mechanisms: String::from("none") })
    }
}

/// Failure to confine a process. Nothing has started.
pub type SandboxError = PortError<SandboxErrorKind>;

/// Classes of sandbox errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxErrorKind {
    /// This system cannot enforce the profile.
    Unavailable,
    /// The profile or the launch contradicts itself.
    Invalid,
    /// The operating system failed.
    Io,
}

impl ErrorKind for SandboxErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Unavailable | Self::Invalid | Self::Io => Retry::Never,
        }
    }
}

impl fmt::Display for SandboxStrength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.tier, self.mechanisms)
    }
}
