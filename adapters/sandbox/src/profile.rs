//! The built-in profiles.

use std::path::{Path, PathBuf};

use windlass_ports::{NetworkAccess, ProcessLimits, SandboxProfile};

/// Names of the built-in profiles.
pub const PROFILES: [&str; 3] = ["read-only", "workspace", "full"];

/// Entries of a workspace that other programs run or obey, and reviewers rarely see.
const PROTECTED: [&str; 14] = [
    ".agents",
    ".claude",
    ".codex",
    ".devcontainer",
    ".fleet",
    ".git",
    ".githooks",
    ".hg",
    ".husky",
    ".idea",
    ".jj",
    ".svn",
    ".vscode",
    ".zed",
];

/// Credentials and private data, relative to the home folder.
const CREDENTIALS: [&str; 37] = [
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".mysql_history",
    ".netrc",
    ".npmrc",
    ".oci",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
];

/// State and configuration of this program, relative to the home folder.
const OWN: [&str; 3] =
    [".config/windlass/providers.toml", ".config/windlass/server.toml", ".local/state/windlass"];

/// Secrets of the machine.
const SYSTEM: [&str; 5] =
    ["/etc/gshadow", "/etc/shadow", "/run/secrets", "/var/lib/containerd", "/var/lib/docker"];

/// Places that a profile is made for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileScope {
    /// Folder that the tools work in.
    pub workspace: PathBuf,
    /// Home folder of the user.
    pub home: Option<PathBuf>,
    /// Further paths that no profile reads or writes, for example the store of the logs.
    pub hidden: Vec<PathBuf>,
}

impl ProfileScope {
    /// Returns a built-in profile; `None` for an unknown name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<SandboxProfile> {
        let base = SandboxProfile {
            name: name.to_owned(),
            readable: vec![PathBuf::from("/")],
            writable: Vec::new(),
            protected: self.protected(&PROTECTED.map(PathBuf::from)),
            hidden: self.secrets(),
            temporary: true,
            network: NetworkAccess::Off,
            limits: ProcessLimits::default(),
        };
        match name {
            "read-only" => Some(base),
            "workspace" => Some(SandboxProfile { writable: vec![self.workspace.clone()], ..base }),
            "full" => Some(SandboxProfile {
                writable: vec![PathBuf::from("/")],
                protected: Vec::new(),
                hidden: self.own(),
                network: NetworkAccess::All,
                ..base
            }),
            _ => None,
        }
    }

    /// Returns protected entries of the workspace.
    #[must_use]
    pub fn protected(&self, entries: &[PathBuf]) -> Vec<PathBuf> {
        entries.iter().map(|entry| self.workspace.join(entry)).collect()
    }

    /// Returns the paths that a profile hides unless it names its own.
    #[must_use]
    pub fn secrets(&self) -> Vec<PathBuf> {
        let home = self.home.iter();
        let home = home.flat_map(|home| CREDENTIALS.iter().map(|entry| home.join(entry)));
        let system = SYSTEM.iter().map(PathBuf::from);
        self.without_workspace(home.chain(system).chain(self.own()))
    }

    /// Returns the paths that every profile hides.
    fn own(&self) -> Vec<PathBuf> {
        let home = self.home.iter();
        let own = home.flat_map(|home| OWN.map(|entry| home.join(entry)));
        self.without_workspace(own.chain(self.hidden.iter().cloned()))
    }

    /// Leaves out paths that contain the workspace, which a person has chosen to work in.
    fn without_workspace(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
        let contains = |path: &Path| self.workspace.starts_with(path);
        let mut paths: Vec<PathBuf> = paths.filter(|path| !contains(path)).collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(workspace: &str) -> ProfileScope {
        ProfileScope {
            workspace: workspace.into(),
            home: Some("/home/ada".into()),
            hidden: vec!["/srv/store".into()],
        }
    }

    #[test]
    fn the_lists_are_sorted() {
        assert!(PROTECTED.is_sorted());
        assert!(CREDENTIALS.is_sorted());
        assert!(SYSTEM.is_sorted());
    }

    #[test]
    fn each_profile_says_what_it_writes() {
        let writable = |name| scope("/home/ada/w").profile(name).map(|profile| profile.writable);
        assert_eq!(writable("read-only"), Some(vec![]));
        assert_eq!(writable("workspace"), Some(vec!["/home/ada/w".into()]));
        assert_eq!(writable("full"), Some(vec!["/".into()]));
        assert_eq!(writable("other"), None);
    }

    #[test]
    fn the_store_is_hidden_in_all_of_them_and_credentials_in_two() {
        for name in PROFILES {
            let hidden = scope("/home/ada/w").profile(name).unwrap().hidden;
            assert!(hidden.contains(&"/srv/store".into()), "{name}");
            assert_eq!(hidden.contains(&"/home/ada/.ssh".into()), name != "full");
        }
    }

    #[test]
    fn a_workspace_is_never_hidden() {
        let hidden = scope("/home/ada/.config/gh/x").profile("workspace").unwrap().hidden;
        assert!(!hidden.contains(&"/home/ada/.config/gh".into()));
    }
}
