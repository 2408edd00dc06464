//! Hosts that a profile allows, and the addresses that their names may lead to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

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
        let allowed = |at: &&SocketAddr| !is_inside(at.ip()) || self.lists(at.ip());
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

/// Returns true if an entry allows a name, which is in lower case. `*.` stands for a domain with all names
/// beneath it.
fn allows(entry: &str, name: &str) -> bool {
    let entry = entry.to_ascii_lowercase();
    match entry.strip_prefix("*.") {
        None => entry == name,
        Some(domain) => {
            let above = name.strip_suffix(domain);
            above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        }
    }
}

/// Returns true for addresses that are not public: of this machine, of its networks, and those that a
/// cloud's metadata has. An address within an IPv6 address counts as itself.
fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_inside_v4(address),
        IpAddr::V6(address) => {
            let embedded = address.to_ipv4_mapped().or_else(|| embedded(address));
            embedded.map_or_else(|| is_inside_v6(address), is_inside_v4)
        }
    }
}

/// Blocks of the registry of special-purpose addresses (RFC 6890).
fn is_inside_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || matches!((a, b, c), (0, _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _))
        || a >= 240
}

/// All but global unicast, which is `2000::/3`, and in that Teredo, which holds an address in disguise.
fn is_inside_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    first & 0xe000 != 0x2000 || (first == 0x2001 && second == 0)
}

/// Returns the IPv4 address in one of the prefixes of NAT64 (RFC 6052) and 6to4 (RFC 3056).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high, low].map(u16::to_be_bytes);
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
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
    fn entries_allow_names_whole_or_by_domain() {
        for (entry, name, expected) in [
            ("a.example", "a.example", true),
            ("A.Example", "a.example", true),
            ("a.example", "b.a.example", false),
            ("a.example", "xa.example", false),
            ("*.a.example", "b.a.example", true),
            ("*.a.example", "c.b.a.example", true),
            ("*.a.example", "a.example", true),
            ("*.a.example", "xa.example", false),
            ("*.a.example", "a.example.evil", false),
        ] {
            assert_eq!(allows(entry, name), expected, "{entry} {name}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_its_networks_are_inside() {
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(is_inside(inside.parse().unwrap()), "{inside}");
        }
        for public in
            ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1"]
        {
            assert!(!is_inside(public.parse().unwrap()), "{public}");
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
