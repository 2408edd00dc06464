//! The sandbox of this system: the strongest tier that works.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use windlass_ports::{
    ConfinedLaunch, NetworkAccess, ProcessLaunch, Sandbox, SandboxError, SandboxErrorKind,
    SandboxProfile, SandboxStrength,
};

use crate::config::SandboxConfig;
use crate::temporary::TemporaryFolder;

/// Advice where no tier works.
const REMEDY: &str = "use a Linux kernel of version 6.2 or later with Landlock, install bubblewrap, or \
                      run commands unconfined with --sandbox off";

/// Confines processes with the mechanisms of the operating system.
///
/// The first use finds out which of them work, by running the helper with each.
#[derive(Debug)]
pub struct SystemSandbox {
    config: SandboxConfig,
    tier: OnceLock<Result<platform::Tier, String>>,
    temporary: OnceLock<Result<TemporaryFolder, String>>,
}

impl SystemSandbox {
    /// Creates a sandbox. Nothing is started yet.
    #[must_use]
    pub fn new(config: SandboxConfig) -> Self {
        Self { config, tier: OnceLock::new(), temporary: OnceLock::new() }
    }

    fn temporary(&self) -> Result<&Path, SandboxError> {
        let folder = self.temporary.get_or_init(|| {
            TemporaryFolder::create(&self.config.temporary).map_err(|error| error.to_string())
        });
        folder.as_ref().map(TemporaryFolder::path).map_err(|error| {
            let parent = self.config.temporary.display();
            let words = format!("cannot create a folder for temporary files in {parent}: {error}");
            SandboxError::new(SandboxErrorKind::Io, words)
        })
    }

    fn tier(&self) -> Result<&platform::Tier, SandboxError> {
        let temporary = self.temporary()?;
        let tier = self.tier.get_or_init(|| platform::find(&self.config, temporary));
        tier.as_ref().map_err(|error| {
            let words = format!("this system cannot confine commands ({error}): {REMEDY}");
            SandboxError::new(SandboxErrorKind::Unavailable, words)
        })
    }
}

impl Sandbox for SystemSandbox {
    fn confine(
        &self,
        launch: ProcessLaunch,
        profile: &SandboxProfile,
    ) -> Result<ConfinedLaunch, SandboxError> {
        let tier = self.tier()?;
        let mut profile = profile.clone();
        let mut launch = launch;
        if profile.temporary {
            let folder = self.temporary()?;
            profile.writable.push(folder.to_owned());
            launch.environment.retain(|(name, _)| name != "TMPDIR");
            launch.environment.push(("TMPDIR".into(), folder.into()));
        }
        let profile = resolved(&profile);
        check(&launch, &profile)?;
        let strength = platform::strength(tier, &profile)?;
        let launch = platform::launch(&self.config, tier, launch, profile)?;
        Ok(ConfinedLaunch { launch, strength })
    }

    fn strength(&self, profile: &SandboxProfile) -> Result<SandboxStrength, SandboxError> {
        platform::strength(self.tier()?, profile)
    }
}

/// Returns the profile with links of its paths resolved. A protected or hidden link stays protected
/// beside its target. A root in a writable root is left out: it grants nothing more, and an earlier command
/// may have put a link in its place.
fn resolved(profile: &SandboxProfile) -> SandboxProfile {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let both = |paths: &[PathBuf]| {
        let mut all: Vec<PathBuf> =
            paths.iter().flat_map(|path| [real(path), lexical(path)]).collect();
        all.sort();
        all.dedup();
        all
    };
    let covered = |path: &PathBuf| {
        let mut others = profile.writable.iter().filter(|other| *other != path);
        others.any(|other| path.starts_with(other) || path.starts_with(real(other)))
    };
    let roots = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().filter(|path| !covered(path)).map(real).collect()
    };
    SandboxProfile {
        readable: roots(&profile.readable),
        writable: roots(&profile.writable),
        protected: both(&profile.protected),
        hidden: both(&profile.hidden),
        ..profile.clone()
    }
}

/// Returns a path whose folder is resolved, but not its last part.
fn lexical(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Rejects a launch that its profile makes impossible.
fn check(launch: &ProcessLaunch, profile: &SandboxProfile) -> Result<(), SandboxError> {
    let invalid = |words: String| Err(SandboxError::new(SandboxErrorKind::Invalid, words));
    let roots = profile.readable.iter().chain(&profile.writable);
    if let Some(path) =
        roots.clone().chain(&profile.protected).chain(&profile.hidden).find(|p| p.is_relative())
    {
        return invalid(format!(
            "the path {} of a sandbox profile is not absolute",
            path.display()
        ));
    }
    for hidden in &profile.hidden {
        if let Some(root) = roots.clone().find(|root| root.starts_with(hidden)) {
            let (root, hidden) = (root.display(), hidden.display());
            return invalid(format!(
                "the sandbox profile grants {root} and hides {hidden}, which contains it"
            ));
        }
        if launch.program.starts_with(hidden) {
            let (program, hidden) = (launch.program.display(), hidden.display());
            return invalid(format!(
                "the program {program} is in {hidden}, which the sandbox hides: move it elsewhere"
            ));
        }
    }
    match &profile.network {
        NetworkAccess::Off | NetworkAccess::All => {}
        NetworkAccess::Hosts(hosts) => {
            if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
                return invalid(format!(
                    "the sandbox profile allows the host {host:?}, which is none: write a name as \
                     example.org, a domain as *.example.org or an address, without a port"
                ));
            }
        }
    }
    Ok(())
}

/// Returns true for names, domains and addresses of hosts.
fn is_host(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let named = !name.is_empty() && !name.ends_with('.') && name.chars().all(known);
    named || host.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(target_os = "linux")]
mod platform {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use windlass_ports::{
        NetworkAccess, ProcessLaunch, ProcessLimits, SandboxError, SandboxErrorKind,
        SandboxProfile, SandboxStrength,
    };

    use crate::config::{SandboxConfig, SandboxTier};
    use crate::plan::{HelperNetwork, HelperPlan, HelperStage, Namespaces, ProxyPlan};

    /// A tier that works here.
    #[derive(Debug)]
    pub(super) struct Tier {
        namespaces: Namespaces,
        landlock: u32,
    }

    /// Returns the strongest tier of the configuration that works.
    pub(super) fn find(config: &SandboxConfig, temporary: &Path) -> Result<Tier, String> {
        let own = match rustix::process::geteuid().is_root() {
            true => &[Namespaces::Root, Namespaces::User][..],
            false => &[Namespaces::User],
        };
        let tiers: Vec<Namespaces> = match config.tier {
            SandboxTier::Strongest => [own, &[Namespaces::Bubblewrap, Namespaces::None]].concat(),
            SandboxTier::Namespaces => own.to_vec(),
            SandboxTier::Landlock => vec![Namespaces::None],
            SandboxTier::Bubblewrap => vec![Namespaces::Bubblewrap],
        };
        let mut failures: Vec<String> = Vec::new();
        for namespaces in tiers {
            match probe(config, namespaces, temporary) {
                Ok(landlock) => return Ok(Tier { namespaces, landlock }),
                Err(error) if failures.contains(&error) => {}
                Err(error) => failures.push(error),
            }
        }
        Err(failures.join("; "))
    }

    /// Runs the helper without a program, and returns the Landlock ABI in force.
    fn probe(
        config: &SandboxConfig,
        namespaces: Namespaces,
        temporary: &Path,
    ) -> Result<u32, String> {
        let plan = HelperPlan {
            stage: HelperStage::Supervise,
            watched: watched(),
            namespaces,
            bubblewrap: bubblewrap(namespaces, &[])?,
            readable: vec!["/".into()],
            writable: vec![temporary.to_owned()],
            protected: vec![temporary.to_owned()],
            hidden: Vec::new(),
            network: HelperNetwork::Off,
            limits: ProcessLimits::default(),
            command: Vec::new(),
        };
        let output = Command::new(&config.helper)
            .args(plan.arguments())
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("the helper {}: {error}", config.helper.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let abi = said.trim().strip_prefix("landlock ").and_then(|abi| abi.parse().ok());
        abi.filter(|_| output.status.success()).ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            said.trim().trim_start_matches("windlass sandbox: ").to_owned()
        })
    }

    pub(super) fn strength(
        tier: &Tier,
        profile: &SandboxProfile,
    ) -> Result<SandboxStrength, SandboxError> {
        let network = match &profile.network {
            NetworkAccess::Off if tier.namespaces.have_loopback() => " + own loopback",
            NetworkAccess::Hosts(_) if tier.namespaces.have_loopback() => {
                " + own loopback + proxy to allowed hosts"
            }
            NetworkAccess::Hosts(_) => {
                let words = "allowed hosts need a namespace for the network, which this system does not \
                             give: allow user namespaces, install bubblewrap, or use a profile with the \
                             network on or off";
                return Err(SandboxError::new(SandboxErrorKind::Unavailable, words));
            }
            NetworkAccess::Off | NetworkAccess::All => "",
        };
        let landlock = match tier.landlock {
            0 => String::new(),
            abi => format!("landlock abi {abi} + "),
        };
        let (name, mechanisms) = match tier.namespaces {
            Namespaces::None => ("landlock", format!("{landlock}seccomp")),
            Namespaces::User | Namespaces::Root => {
                ("landlock", format!("{landlock}seccomp + namespaces"))
            }
            Namespaces::Bubblewrap => ("bubblewrap", format!("bubblewrap + {landlock}seccomp")),
        };
        Ok(SandboxStrength { tier: name.to_owned(), mechanisms: mechanisms + network })
    }

    pub(super) fn launch(
        config: &SandboxConfig,
        tier: &Tier,
        launch: ProcessLaunch,
        profile: SandboxProfile,
    ) -> Result<ProcessLaunch, SandboxError> {
        let mut command = vec![launch.program.into_os_string()];
        command.extend(launch.arguments);
        let plan = HelperPlan {
            stage: HelperStage::Supervise,
            watched: watched(),
            namespaces: tier.namespaces,
            bubblewrap: bubblewrap(tier.namespaces, &profile.writable)
                .map_err(|words| SandboxError::new(SandboxErrorKind::Unavailable, words))?,
            readable: profile.readable,
            writable: profile.writable,
            protected: profile.protected,
            hidden: profile.hidden,
            network: match profile.network {
                NetworkAccess::Off => HelperNetwork::Off,
                NetworkAccess::Hosts(hosts) => HelperNetwork::Proxy(ProxyPlan {
                    hosts,
                    names: config.names.clone(),
                    channel: 0,
                }),
                NetworkAccess::All => HelperNetwork::All,
            },
            limits: profile.limits,
            command,
        };
        Ok(ProcessLaunch {
            program: config.helper.clone(),
            arguments: plan.arguments(),
            folder: launch.folder,
            environment: launch.environment,
        })
    }

    /// Returns the path of bubblewrap, if it makes the namespaces. The environment of the command may
    /// have another search path, or none.
    fn bubblewrap(namespaces: Namespaces, writable: &[PathBuf]) -> Result<Option<PathBuf>, String> {
        if namespaces != Namespaces::Bubblewrap {
            return Ok(None);
        }
        let found = crate::bubblewrap::find(writable).ok_or("bubblewrap is not installed")?;
        Ok(Some(found))
    }

    fn watched() -> i32 {
        rustix::process::getpid().as_raw_nonzero().get()
    }
}

#[cfg(target_os = "macos")]
mod platform {
    use std::path::Path;

    use windlass_ports::{ProcessLaunch, SandboxError, SandboxProfile, SandboxStrength};

    use crate::config::SandboxConfig;

    const PROGRAM: &str = "/usr/bin/sandbox-exec";

    #[derive(Debug)]
    pub(super) struct Tier;

    pub(super) fn find(_: &SandboxConfig, _: &Path) -> Result<Tier, String> {
        match Path::new(PROGRAM).exists() {
            true => Ok(Tier),
            false => Err(format!("there is no {PROGRAM}")),
        }
    }

    pub(super) fn strength(_: &Tier, _: &SandboxProfile) -> Result<SandboxStrength, SandboxError> {
        Ok(SandboxStrength { tier: "seatbelt".to_owned(), mechanisms: "sandbox-exec".to_owned() })
    }

    pub(super) fn launch(
        _: &SandboxConfig,
        _: &Tier,
        launch: ProcessLaunch,
        profile: SandboxProfile,
    ) -> Result<ProcessLaunch, SandboxError> {
        let mut arguments =
            vec!["-p".into(), crate::seatbelt::text(&profile)?.into(), launch.program.into()];
        arguments.extend(launch.arguments);
        Ok(ProcessLaunch { program: PROGRAM.into(), arguments, ..launch })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod platform {
    use std::path::Path;

    use windlass_ports::{ProcessLaunch, SandboxError, SandboxProfile, SandboxStrength};

    use crate::config::SandboxConfig;

    #[derive(Debug)]
    pub(super) enum Tier {}

    pub(super) fn find(_: &SandboxConfig, _: &Path) -> Result<Tier, String> {
        Err("this operating system has no tier".to_owned())
    }

    pub(super) fn strength(
        tier: &Tier,
        _: &SandboxProfile,
    ) -> Result<SandboxStrength, SandboxError> {
        match *tier {}
    }

    pub(super) fn launch(
        _: &SandboxConfig,
        tier: &Tier,
        _: ProcessLaunch,
        _: SandboxProfile,
    ) -> Result<ProcessLaunch, SandboxError> {
        match *tier {}
    }
}
