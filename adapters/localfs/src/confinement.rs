//! Sandbox of the tools' processes.

use std::process::Command;
use std::sync::Arc;

use windlass_core::Confinement;
use windlass_ports::{
    NoSandbox, ProcessLaunch, Sandbox, SandboxError, SandboxErrorKind, SandboxProfile,
};

/// Sandbox with the profile of the processes that tools start.
#[derive(Debug, Clone)]
pub struct ToolSandbox {
    /// Sandbox that confines them.
    pub sandbox: Arc<dyn Sandbox>,
    /// Their rights.
    pub profile: Arc<SandboxProfile>,
}

impl Default for ToolSandbox {
    /// Returns a sandbox that confines nothing.
    fn default() -> Self {
        Self { sandbox: Arc::new(NoSandbox), profile: Arc::new(NoSandbox::profile()) }
    }
}

impl ToolSandbox {
    /// Returns the command of a confined launch, with the record of its confinement.
    pub(crate) async fn confine(
        &self,
        launch: ProcessLaunch,
    ) -> Result<(Command, Arc<Confinement>), SandboxError> {
        let Self { sandbox, profile } = self.clone();
        let name = profile.name.clone();
        // The first use may start a process.
        let confined = tokio::task::spawn_blocking(move || sandbox.confine(launch, &profile)).await;
        let confined = confined.map_err(|error| {
            let words = format!("the sandbox broke off: {error}; report this as a defect");
            SandboxError::new(SandboxErrorKind::Io, words)
        })??;
        let (launch, strength) = (confined.launch, confined.strength);
        let mut command = Command::new(launch.program);
        command.args(launch.arguments).current_dir(launch.folder);
        command.env_clear().envs(launch.environment);
        let record =
            Confinement { profile: name, tier: strength.tier, mechanisms: strength.mechanisms };
        Ok((command, Arc::new(record)))
    }
}
