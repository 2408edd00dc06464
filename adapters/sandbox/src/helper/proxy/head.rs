//! Heads of requests to the proxy (RFC 9112): `CONNECT` and requests in absolute form.
//!
//! Nothing here reads or writes a socket. What is unusual is refused, not repaired: two parties that read
//! it differently would be a way around the names.

/// Request to connect to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Name or address of the host, in lower case, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Head for the host; none for `CONNECT`.
    pub(super) head: Option<Vec<u8>>,
}

/// Headers for the proxy itself, and the one that the target replaces.
const DROPPED: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "upgrade"];

/// Reads a head, which ends with an empty line; `None` if it is not understood.
pub(super) fn read(head: &[u8]) -> Option<Target> {
    let text = std::str::from_utf8(head).ok()?.strip_suffix("\r\n\r\n")?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let known = matches!(version, "HTTP/1.1" | "HTTP/1.0") && words.next().is_none();
    if !known || !is_token(method) || target.chars().any(|c| c.is_ascii_control()) {
        return None;
    }
    let headers = lines.map(header).collect::<Option<Vec<_>>>()?;
    if method == "CONNECT" {
        let (host, port) = authority(target)?;
        return Some(Target { host, port: port?, head: None });
    }
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"))?;
    let rest = target.get(scheme.len()..)?;
    let (site, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = authority(site)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut forwarded = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {site}\r\n");
    for (name, value) in headers.iter().filter(|(name, _)| !is_dropped(name)) {
        forwarded.push_str(&format!("{name}:{value}\r\n"));
    }
    // One request for each connection: a next one might be meant for another host.
    forwarded.push_str("Connection: close\r\n\r\n");
    Some(Target { host, port: port.unwrap_or(80), head: Some(forwarded.into_bytes()) })
}

fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let plain = !value.chars().any(|c| c.is_ascii_control() && c != '\t');
    (is_token(name) && plain).then_some((name, value))
}

fn is_dropped(name: &str) -> bool {
    DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
}

fn is_token(word: &str) -> bool {
    let marks = "!#$%&'*+-.^_`|~";
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}

/// Reads a host and a port. There is no place for names of users.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        None => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
        Some(_) => return None,
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    (!host.is_empty() && host.len() <= 253 && host.chars().all(known)).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<(String, u16)> {
        read(text.as_bytes()).map(|target| (target.host, target.port))
    }

    #[test]
    fn connect_names_a_host_and_a_port() {
        let is = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(at("CONNECT A.example:443 HTTP/1.1\r\n\r\n"), is("a.example", 443));
        assert_eq!(at("CONNECT a.example.:443 HTTP/1.1\r\nHost: b\r\n\r\n"), is("a.example", 443));
        assert_eq!(at("CONNECT [::1]:443 HTTP/1.1\r\n\r\n"), is("::1", 443));
        for wrong in [
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a@b:443 HTTP/1.1\r\n\r\n",
            "CONNECT a:+443 HTTP/1.1\r\n\r\n",
            "CONNECT a:99999 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "CONNECT a:1:2 HTTP/1.1\r\n\r\n",
            "CONNECT [a]:443 HTTP/1.1\r\n\r\n",
            "CONNECT  a:443 HTTP/1.1\r\n\r\n",
            "CONNECT a:443 HTTP/2\r\n\r\n",
            "CONNECT a:443 HTTP/1.1 x\r\n\r\n",
            "CONNECT a%2eb:443 HTTP/1.1\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\n",
            "CONNECT a:443 HTTP/1.1\r\nA: b\n c: d\r\n\r\n",
            "CONNECT a:443 HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        ] {
            assert_eq!(at(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_target_replaces_what_the_headers_say() {
        let head = "GET http://a.example:81/x?y HTTP/1.1\r\nHost: b.example\r\nProxy-Connection: keep-alive\
                    \r\nAccept: */*\r\n\r\n";
        let target = read(head.as_bytes()).unwrap();
        assert_eq!((target.host.as_str(), target.port), ("a.example", 81));
        let head = String::from_utf8(target.head.unwrap()).unwrap();
        assert_eq!(
            head,
            "GET /x?y HTTP/1.1\r\nHost: a.example:81\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        let bare = read(b"GET http://a.example?q HTTP/1.1\r\n\r\n").unwrap();
        assert!(bare.head.unwrap().starts_with(b"GET /?q HTTP/1.1\r\nHost: a.example\r\n"));
        for wrong in [
            "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET http://a@b.example/ HTTP/1.1\r\n\r\n",
            "GET ftp://a.example/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(at(wrong), None, "{wrong:?}");
        }
    }
}
