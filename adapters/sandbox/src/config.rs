//! Configuration of the sandbox.

use std::net::IpAddr;
use std::path::PathBuf;

/// Configuration of a [`SystemSandbox`](crate::SystemSandbox).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Tier to use.
    pub tier: SandboxTier,
    /// Program that acts as the helper, by calling [`helper`](crate::helper) first. The default is this
    /// program itself.
    pub helper: PathBuf,
    /// Folder for temporary files of confined processes.
    pub temporary: PathBuf,
    /// Names of hosts with their addresses, for profiles that allow some hosts. The system resolves all
    /// others.
    pub names: Vec<(String, IpAddr)>,
}

/// Choice of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxTier {
    /// The strongest one that works: Landlock with namespaces, bubblewrap, Landlock alone.
    #[default]
    Strongest,
    /// Landlock and seccomp, with namespaces.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
    /// Bubblewrap with seccomp, and Landlock where there is one.
    Bubblewrap,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            tier: SandboxTier::default(),
            helper: PathBuf::from("/proc/self/exe"),
            temporary: std::env::temp_dir(),
            names: Vec::new(),
        }
    }
}
