//! Instructions for the helper, as its arguments.
//!
//! They are words in place of a format, since paths may be any bytes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use windlass_ports::ProcessLimits;

/// Instructions for the helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HelperPlan {
    pub(crate) stage: HelperStage,
    /// Process whose end ends the confined ones, as the helper sees it.
    pub(crate) watched: i32,
    pub(crate) namespaces: Namespaces,
    /// Path of bubblewrap, if it makes the namespaces.
    pub(crate) bubblewrap: Option<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) network: HelperNetwork,
    pub(crate) limits: ProcessLimits,
    /// Program to start with its arguments; none means to report the mechanisms.
    pub(crate) command: Vec<OsString>,
}

/// Part of the helper's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelperStage {
    /// Starts the confined process and ends it with the process it watches.
    Supervise,
    /// As `Supervise`, for the supervisor of processes without a namespace: outside of its group, so
    /// that it lives to kill what is left when the group is killed.
    Guard,
    /// Confines itself and runs the program.
    Confine,
    /// Connects the confined processes to the hosts of their profile.
    Proxy,
}

/// Namespaces of the confined processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespaces {
    /// Those of this process.
    None,
    /// New ones, owned by a new user namespace.
    User,
    /// New ones, owned by the user namespace of this process, which is the administrator's.
    Root,
    /// New ones, which bubblewrap has made.
    Bubblewrap,
}

/// Network that the helper leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HelperNetwork {
    /// A loopback of the command's own where there are namespaces, else nothing.
    Off,
    /// As `Off`, with a proxy to some hosts.
    Proxy(ProxyPlan),
    All,
}

/// Hosts of a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProxyPlan {
    /// Allowed names and addresses.
    pub(crate) hosts: Vec<String>,
    /// Names with an address that is not looked up.
    pub(crate) names: Vec<(String, IpAddr)>,
    /// Number of the descriptor by which the listener is handed over.
    pub(crate) channel: RawFd,
}

const NAMESPACES: [(&str, Namespaces); 4] = [
    ("none", Namespaces::None),
    ("user", Namespaces::User),
    ("root", Namespaces::Root),
    ("bubblewrap", Namespaces::Bubblewrap),
];

const STAGES: [(&str, HelperStage); 4] = [
    ("supervise", HelperStage::Supervise),
    ("guard", HelperStage::Guard),
    ("confine", HelperStage::Confine),
    ("proxy", HelperStage::Proxy),
];

impl Namespaces {
    /// Returns true if the processes have a network namespace unless they get the network.
    pub(crate) fn have_loopback(self) -> bool {
        match self {
            Self::None => false,
            Self::User | Self::Root | Self::Bubblewrap => true,
        }
    }
}

impl HelperPlan {
    /// Returns the arguments that stand for the plan.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![crate::HELPER.into()];
        let mut pair = |name: &str, value: &OsStr| words.extend([name.into(), value.to_owned()]);
        let stage = STAGES.iter().find(|row| row.1 == self.stage);
        pair("stage", stage.map_or("", |row| row.0).as_ref());
        pair("watched", self.watched.to_string().as_ref());
        let namespaces = NAMESPACES.iter().find(|row| row.1 == self.namespaces);
        pair("namespaces", namespaces.map_or("none", |row| row.0).as_ref());
        if let Some(path) = &self.bubblewrap {
            pair("bubblewrap", path.as_os_str());
        }
        for (name, paths) in [
            ("read", &self.readable),
            ("write", &self.writable),
            ("protect", &self.protected),
            ("hide", &self.hidden),
        ] {
            paths.iter().for_each(|path| pair(name, path.as_os_str()));
        }
        match &self.network {
            HelperNetwork::Off => {}
            HelperNetwork::Proxy(proxy) => {
                pair("channel", proxy.channel.to_string().as_ref());
                proxy.hosts.iter().for_each(|host| pair("host", host.as_ref()));
                for (name, address) in &proxy.names {
                    pair("name", format!("{name}={address}").as_ref());
                }
            }
            HelperNetwork::All => pair("network", "all".as_ref()),
        }
        pair("processes", self.limits.processes.to_string().as_ref());
        pair("memory", self.limits.memory_bytes.to_string().as_ref());
        pair("file", self.limits.file_bytes.to_string().as_ref());
        words.push("--".into());
        words.extend(self.command.iter().cloned());
        words
    }

    /// Returns the folders between a writable root and an entry in it that is protected or hidden, outer
    /// ones first. A mount on the entry moves along with its folder, so these are mounted too: then
    /// nobody can move them and put others in their place.
    pub(crate) fn held(&self) -> BTreeSet<PathBuf> {
        let roots = || self.writable.iter().filter(|root| *root != Path::new("/"));
        let entries = self.protected.iter().chain(&self.hidden).filter(|entry| entry.exists());
        let within = entries.flat_map(|entry| {
            let roots = roots().filter(move |root| entry.starts_with(root));
            roots.flat_map(move |root| {
                let above = entry.ancestors().skip(1);
                above.take_while(move |folder| *folder != root && folder.starts_with(root))
            })
        });
        within.map(Path::to_owned).collect()
    }

    /// Reads the arguments after the first; `None` if they are no plan.
    pub(crate) fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut plan = Self {
            stage: HelperStage::Supervise,
            watched: 0,
            namespaces: Namespaces::None,
            bubblewrap: None,
            readable: Vec::new(),
            writable: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: HelperNetwork::Off,
            limits: ProcessLimits::default(),
            command: Vec::new(),
        };
        loop {
            let name = words.next()?;
            if name == "--" {
                break;
            }
            let value = words.next()?;
            plan.set(name.to_str()?, value)?;
        }
        plan.command = words.collect();
        Some(plan)
    }

    fn set(&mut self, name: &str, value: OsString) -> Option<()> {
        let number = |value: &OsStr| value.to_str()?.parse::<u64>().ok();
        match name {
            "stage" => self.stage = STAGES.iter().find(|row| value == row.0)?.1,
            "watched" => self.watched = i32::try_from(number(&value)?).ok()?,
            "namespaces" => {
                self.namespaces = NAMESPACES.iter().find(|row| value == row.0)?.1;
            }
            "bubblewrap" => self.bubblewrap = Some(value.into()),
            "read" => self.readable.push(value.into()),
            "write" => self.writable.push(value.into()),
            "protect" => self.protected.push(value.into()),
            "hide" => self.hidden.push(value.into()),
            "channel" => self.proxy()?.channel = i32::try_from(number(&value)?).ok()?,
            "host" => self.proxy()?.hosts.push(value.into_string().ok()?),
            "name" => {
                let (name, address) = value.to_str()?.split_once('=')?;
                self.proxy()?.names.push((name.to_owned(), address.parse().ok()?));
            }
            "network" if value == "all" => self.network = HelperNetwork::All,
            "processes" => self.limits.processes = number(&value)?,
            "memory" => self.limits.memory_bytes = number(&value)?,
            "file" => self.limits.file_bytes = number(&value)?,
            _ => return None,
        }
        Some(())
    }

    /// Returns the proxy, which the first word about it adds; `None` with the whole network.
    fn proxy(&mut self) -> Option<&mut ProxyPlan> {
        if self.network == HelperNetwork::Off {
            self.network = HelperNetwork::Proxy(ProxyPlan::default());
        }
        match &mut self.network {
            HelperNetwork::Proxy(proxy) => Some(proxy),
            HelperNetwork::Off | HelperNetwork::All => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn a_plan_survives_its_arguments() {
        let odd = PathBuf::from(OsString::from_vec(b"/a\xff b".to_vec()));
        let proxy = ProxyPlan {
            hosts: vec![String::from("*.a.example"), String::from("::1")],
            names: vec![(String::from("b.example"), "::1".parse().unwrap())],
            channel: 4,
        };
        for network in [HelperNetwork::Off, HelperNetwork::Proxy(proxy), HelperNetwork::All] {
            for (_, namespaces) in NAMESPACES {
                let plan = HelperPlan {
                    stage: HelperStage::Confine,
                    watched: 77,
                    namespaces,
                    bubblewrap: Some("/usr/bin/bwrap".into()),
                    readable: vec!["/".into()],
                    writable: vec![odd.clone(), "--".into()],
                    protected: vec!["/w/.git".into()],
                    hidden: vec!["/home/a/.ssh".into()],
                    network: network.clone(),
                    limits: ProcessLimits { processes: 1, memory_bytes: 2, file_bytes: 3 },
                    command: vec!["/bin/sh".into(), "--".into(), "read".into()],
                };
                let read = HelperPlan::read(plan.arguments().into_iter().skip(1));
                assert_eq!(read, Some(plan));
            }
        }
    }

    #[test]
    fn unknown_words_are_no_plan() {
        for words in [&["--read"][..], &["read", "/"], &["other", "x", "--"], &["file", "x", "--"]]
        {
            let words = words.iter().map(OsString::from);
            assert_eq!(HelperPlan::read(words), None);
        }
    }
}
