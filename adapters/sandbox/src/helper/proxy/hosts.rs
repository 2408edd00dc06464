//! Hosts that a profile allows, and the addresses that their names may lead to.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use windlass_kit_hosts::{allows, is_public};

use crate::plan::ProxyPlan;

/// Reason for which a host is not reached, in words for its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No entry of the profile allows the host.
    NotListed,
    /// The name leads to an address that is not public, and that no entry lists.
    Inside(IpAddr),
    /// The name has no address.
    Unknown(String),
}

impl ProxyPlan {
    /// Returns the addresses that a connection to a host may use. The name is not resolved again.
    pub(super) fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Refusal> {
        if let Ok(address) = host.parse::<IpAddr>() {
            let listed = self.lists(address);
            return listed.then(|| vec![SocketAddr::new(address, port)]).ok_or(Refusal::NotListed);
        }
        if !self.hosts.iter().any(|entry| allows(entry, host)) {
            return Err(Refusal::NotListed);
        }
        let all = self.resolve(host, port)?;
        let allowed = |at: &&SocketAddr| is_public(at.ip()) || self.lists(at.ip());
        let usable: Vec<SocketAddr> = all.iter().filter(allowed).copied().collect();
        match all.first() {
            Some(first) if usable.is_empty() => Err(Refusal::Inside(first.ip())),
            Some(_) => Ok(usable),
            None => Err(Refusal::Unknown(String::from("it has no address"))),
        }
    }

    fn lists(&self, address: IpAddr) -> bool {
        self.hosts.iter().any(|entry| entry.parse() == Ok(address))
    }

    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Refusal> {
        let fixed = self.names.iter().filter(|(name, _)| name == host);
        let fixed: Vec<SocketAddr> = fixed.map(|(_, to)| SocketAddr::new(*to, port)).collect();
        if !fixed.is_empty() {
            return Ok(fixed);
        }
        let found = (host, port).to_socket_addrs();
        found.map(Iterator::collect).map_err(|error| Refusal::Unknown(error.to_string()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str(
                "is not among the hosts that its profile allows; add it to `hosts` in sandbox.toml if \
                 commands may reach it",
            ),
            Self::Inside(address) => write!(
                f,
                "leads to {address}, which is not a public address; add {address} to `hosts` in \
                 sandbox.toml if commands may reach it"
            ),
            Self::Unknown(error) => write!(f, "cannot be resolved: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(hosts: &[&str], names: &[(&str, &str)]) -> ProxyPlan {
        ProxyPlan {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            names: names.iter().map(|(a, b)| ((*a).to_owned(), b.parse().unwrap())).collect(),
            channel: 0,
        }
    }

    #[test]
    fn names_lead_only_to_addresses_that_are_public_or_listed() {
        let names = [
            ("a.example", "1.1.1.1"),
            ("b.example", "127.0.0.1"),
            ("c.example", "10.0.0.1"),
            ("c.example", "1.1.1.2"),
        ];
        let plan = plan(&["*.example", "10.0.0.9"], &names);
        let to = |host: &str| plan.addresses(host, 80).map(|all| all[0].to_string());
        assert_eq!(to("a.example"), Ok(String::from("1.1.1.1:80")));
        assert_eq!(to("c.example"), Ok(String::from("1.1.1.2:80")));
        assert_eq!(to("b.example"), Err(Refusal::Inside("127.0.0.1".parse().unwrap())));
        assert_eq!(to("10.0.0.9"), Ok(String::from("10.0.0.9:80")));
        for other in ["other.test", "1.1.1.1", "127.0.0.1", "::1", "2130706433", "0x7f.1"] {
            assert_eq!(to(other), Err(Refusal::NotListed), "{other}");
        }
    }
}
