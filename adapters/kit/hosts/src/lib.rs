#![doc = include_str!("../README.md")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if an entry allows a name, which is in lower case. `*.` stands for a domain with all names
/// beneath it.
#[must_use]
pub fn allows(entry: &str, name: &str) -> bool {
    let entry = entry.to_ascii_lowercase();
    match entry.strip_prefix("*.") {
        None => entry == name,
        Some(domain) => {
            let above = name.strip_suffix(domain);
            above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        }
    }
}

/// Returns false for addresses of this machine, of its networks, and those that a cloud's metadata
/// has. An address within an IPv6 address counts as itself.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    !is_inside(address)
}

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
