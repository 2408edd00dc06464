//! The user's own profiles: `sandbox.toml` in the configuration folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_engine::ports::{NetworkAccess, SandboxProfile};
use windlass_sandbox::{PROFILES, ProfileScope, SandboxTier};

use crate::exit::Failure;

/// Contents of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxFile {
    /// Profile of commands that name none.
    pub(super) profile: Option<String>,
    tier: Option<TierName>,
    #[serde(default)]
    profiles: BTreeMap<String, ProfileEntry>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TierName {
    Namespaces,
    Landlock,
    Bubblewrap,
}

/// A profile: a built-in one with changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileEntry {
    #[serde(default = "usual")]
    base: String,
    readable: Option<Vec<PathBuf>>,
    #[serde(default)]
    writable: Vec<PathBuf>,
    protected: Option<Vec<PathBuf>>,
    hidden: Option<Vec<PathBuf>>,
    network: Option<NetworkName>,
    hosts: Option<Vec<String>>,
    processes: Option<u64>,
    memory_mib: Option<u64>,
    file_mib: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NetworkName {
    Off,
    All,
}

fn usual() -> String {
    String::from("workspace")
}

impl SandboxFile {
    /// Reads the file. A missing one is empty.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::usage(format!("cannot read the sandbox file {}: {error}", path.display()))
        };
        match std::fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map_err(|error| wrong(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(wrong(&error)),
        }
    }

    /// Returns the configured tier.
    pub(super) fn tier(&self) -> SandboxTier {
        match self.tier {
            None => SandboxTier::Strongest,
            Some(TierName::Namespaces) => SandboxTier::Namespaces,
            Some(TierName::Landlock) => SandboxTier::Landlock,
            Some(TierName::Bubblewrap) => SandboxTier::Bubblewrap,
        }
    }

    /// Returns the profile of a name. The user's own precede the built-in ones.
    pub(super) fn find(&self, name: &str, scope: &ProfileScope) -> Result<SandboxProfile, Failure> {
        match self.profiles.get(name) {
            Some(entry) => entry.profile(name, scope),
            None => scope.profile(name).ok_or_else(|| self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let own = self.profiles.keys().map(String::as_str);
        let known: Vec<&str> = PROFILES.into_iter().chain(own).chain(["off"]).collect();
        Failure::usage(format!(
            "there is no sandbox profile {name:?}; there are: {}; sandbox.toml in your configuration \
             folder defines others",
            known.join(", ")
        ))
    }
}

impl ProfileEntry {
    fn profile(&self, name: &str, scope: &ProfileScope) -> Result<SandboxProfile, Failure> {
        let wrong =
            |words: String| Failure::usage(format!("the sandbox profile {name:?}: {words}"));
        let mut profile = scope.profile(&self.base).ok_or_else(|| {
            wrong(format!("there is no built-in profile {:?} to base it on", self.base))
        })?;
        name.clone_into(&mut profile.name);
        let rooted =
            |paths: &[PathBuf]| paths.iter().map(|path| at_home(path, scope)).collect::<Vec<_>>();
        if let Some(readable) = &self.readable {
            profile.readable = rooted(readable);
        }
        profile.writable.extend(rooted(&self.writable));
        if let Some(protected) = &self.protected {
            profile.protected = scope.protected(&rooted(protected));
        }
        if let Some(hidden) = &self.hidden {
            profile.hidden.extend(rooted(hidden));
        }
        profile.network = match (self.network, &self.hosts) {
            (None, None) => profile.network,
            (None | Some(NetworkName::Off), Some(hosts)) => NetworkAccess::Hosts(hosts.clone()),
            (Some(NetworkName::Off), None) => NetworkAccess::Off,
            (Some(NetworkName::All), None) => NetworkAccess::All,
            (Some(NetworkName::All), Some(_)) => {
                return Err(wrong(String::from("it allows all of the network and names hosts")));
            }
        };
        let limits = &mut profile.limits;
        limits.processes = self.processes.unwrap_or(limits.processes);
        let bytes = |mib: u64| mib.saturating_mul(1024 * 1024);
        limits.memory_bytes = self.memory_mib.map_or(limits.memory_bytes, bytes);
        limits.file_bytes = self.file_mib.map_or(limits.file_bytes, bytes);
        Ok(profile)
    }
}

/// Returns a path with a leading `~` replaced by the home folder.
fn at_home(path: &Path, scope: &ProfileScope) -> PathBuf {
    match (path.strip_prefix("~"), &scope.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_) | Err(_), _) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> ProfileScope {
        let home = Some("/home/ada".into());
        ProfileScope { workspace: "/home/ada/w".into(), home, hidden: Vec::new() }
    }

    fn find(text: &str, name: &str) -> Result<SandboxProfile, String> {
        let file: SandboxFile = toml::from_str(text).map_err(|error| error.to_string())?;
        file.find(name, &scope()).map_err(|failure| failure.message)
    }

    #[test]
    fn a_profile_changes_what_it_names() {
        let text = "[profiles.build]\nwritable = [\"~/.cache\", \"/srv/x\"]\nnetwork = \"all\"\n\
                    hidden = [\"/srv/key\"]\nfile_mib = 2\n";
        let profile = find(text, "build").unwrap();
        let base = scope().profile("workspace").unwrap();
        assert_eq!(profile.name, "build");
        assert_eq!(
            profile.writable,
            ["/home/ada/w", "/home/ada/.cache", "/srv/x"].map(PathBuf::from)
        );
        assert_eq!(profile.network, NetworkAccess::All);
        assert_eq!(profile.limits.file_bytes, 2 << 20);
        assert_eq!(profile.protected, base.protected);
        assert!(profile.hidden.contains(&"/srv/key".into()));
        assert!(profile.hidden.contains(&"/home/ada/.ssh".into()));
    }

    #[test]
    fn protected_entries_are_replaced_and_belong_to_the_workspace() {
        let profile = find("[profiles.p]\nprotected = [\".git/hooks\"]\n", "p").unwrap();
        assert_eq!(profile.protected, [PathBuf::from("/home/ada/w/.git/hooks")]);
    }

    #[test]
    fn what_is_unknown_or_contradicts_is_refused() {
        assert!(
            find("", "other").unwrap_err().contains("there are: read-only, workspace, full, off")
        );
        assert!(
            find("[profiles.p]\nbase = \"x\"\n", "p").unwrap_err().contains("no built-in profile")
        );
        let both = "[profiles.p]\nnetwork = \"all\"\nhosts = [\"a.example\"]\n";
        assert!(find(both, "p").unwrap_err().contains("names hosts"));
        assert!(find("[profiles.p]\nwriteable = []\n", "p").is_err());
    }
}
