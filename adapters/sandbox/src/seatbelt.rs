//! The sandbox of macOS: the text of a profile for `/usr/bin/sandbox-exec`.
//!
//! The text is tested as text. It has not been run on a Mac.

use std::fmt::Write as _;
use std::path::Path;

use windlass_ports::{NetworkAccess, SandboxError, SandboxErrorKind, SandboxProfile};

/// Rights that every program needs, whatever it does.
const BASE: &str = "(version 1)\n(deny default)\n(allow process-exec process-fork)\n\
    (allow signal process-info* (target same-sandbox))\n(allow sysctl-read)\n\
    (allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n\
    (allow file-read-metadata)\n\
    (allow file-read* file-write* file-ioctl (literal \"/dev/null\") (literal \"/dev/zero\") \
    (literal \"/dev/tty\") (literal \"/dev/random\") (literal \"/dev/urandom\") (regex #\"^/dev/fd/\"))\n";

/// Returns the text of a profile. Later rules have precedence.
///
/// # Errors
/// `Unavailable` for allowed hosts; `Invalid` for a path that is not UTF-8.
pub fn text(profile: &SandboxProfile) -> Result<String, SandboxError> {
    let mut text = String::from(BASE);
    for (rule, paths) in [
        ("(allow file-read*", &profile.readable),
        ("(allow file-read* file-write*", &profile.writable),
        ("(deny file-write*", &profile.protected),
        ("(deny file-read* file-write*", &profile.hidden),
    ] {
        for path in paths {
            // Writing to a text does not fail.
            let _ = writeln!(text, "{rule} (subpath {}))", quoted(path)?);
        }
    }
    match profile.network {
        NetworkAccess::Off => {}
        NetworkAccess::All => text.push_str("(allow network* system-socket)\n"),
        NetworkAccess::Hosts(_) => {
            return Err(SandboxError::new(
                SandboxErrorKind::Unavailable,
                "allowed hosts are not available on macOS: use a profile with the network on or off",
            ));
        }
    }
    Ok(text)
}

fn quoted(path: &Path) -> Result<String, SandboxError> {
    let text = path.to_str().ok_or_else(|| {
        let words = format!("the path {} is not UTF-8, which a profile needs", path.display());
        SandboxError::new(SandboxErrorKind::Invalid, words)
    })?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use windlass_ports::ProcessLimits;

    use super::*;

    fn profile() -> SandboxProfile {
        SandboxProfile {
            name: String::from("workspace"),
            readable: vec!["/".into()],
            writable: vec!["/w".into()],
            protected: vec!["/w/.git".into()],
            hidden: vec!["/Users/a \"b\\c/.ssh".into()],
            temporary: true,
            network: NetworkAccess::Off,
            limits: ProcessLimits::default(),
        }
    }

    #[test]
    fn rights_are_granted_before_exceptions_deny_them() {
        let text = text(&profile()).unwrap();
        let rules: Vec<&str> = text.lines().skip(BASE.lines().count()).collect();
        assert_eq!(
            rules,
            [
                r#"(allow file-read* (subpath "/"))"#,
                r#"(allow file-read* file-write* (subpath "/w"))"#,
                r#"(deny file-write* (subpath "/w/.git"))"#,
                r#"(deny file-read* file-write* (subpath "/Users/a \"b\\c/.ssh"))"#,
            ]
        );
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
    }

    #[test]
    fn the_network_is_on_only_where_the_profile_says_so() {
        assert!(!text(&profile()).unwrap().contains("network"));
        let all = SandboxProfile { network: NetworkAccess::All, ..profile() };
        assert!(text(&all).unwrap().ends_with("(allow network* system-socket)\n"));
        let hosts = SandboxProfile { network: NetworkAccess::Hosts(vec![]), ..profile() };
        assert_eq!(text(&hosts).unwrap_err().kind, SandboxErrorKind::Unavailable);
    }
}
