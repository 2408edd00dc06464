//! Configuration file of a server.
//!
//! It comes from the command line or the user's configuration folder, never from a workspace. It
//! contains no secret: a token is identified by its SHA-256.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde::Deserialize;
use windlass_engine::core::Scope;
use windlass_server::{Grant, Quota, Right, Rights, ServerLimits, TokenHash};

use super::isolation::Isolation;
use super::tenant_entry::TenantEntry;
use crate::args::{ProgramSharingArgs, RecoverMode, duration};
use crate::exit::Failure;
use crate::wiring::store::check_live;

/// Most bytes of the file.
const MOST: u64 = 4 * 1024 * 1024;

/// Contents of the server's configuration file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServerFile {
    /// Address to listen at.
    pub(super) listen: Option<SocketAddr>,
    /// Names of the server, `host` or `host:port`.
    pub(super) hosts: Vec<String>,
    /// Further origins from which browsers may call the server.
    pub(super) origins: Vec<String>,
    /// Same as the flag `--live`.
    pub(super) live: Option<String>,
    /// Same as the flag `--most-sessions`.
    pub(super) most_sessions: Option<u32>,
    /// Same as the flag `--recover`.
    pub(super) recover: Option<RecoverMode>,
    /// Same as the flag `--programs-at-once`.
    programs_at_once: Option<usize>,
    /// Same as the flag `--program-idle`.
    program_idle: Option<String>,
    /// Barrier between the tools of tenants.
    pub(super) isolation: Isolation,
    /// Limits of the server.
    pub(super) bounds: ServerLimits,
    /// Tenants of the server.
    #[serde(rename = "tenant")]
    pub(super) tenants: Vec<TenantEntry>,
    /// Tokens of the server.
    #[serde(rename = "token")]
    pub(super) tokens: Vec<TokenEntry>,
}

/// Configuration of a token.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenEntry {
    /// SHA-256 of the token, in hexadecimal digits.
    sha256: String,
    /// Tenant of the token.
    tenant: String,
    /// Principal of the token.
    principal: String,
    /// Claims about the principal, for the log.
    #[serde(default)]
    claims: BTreeMap<String, String>,
    /// Rights of the token.
    rights: Vec<Right>,
    /// Note for readers of the file.
    #[serde(default)]
    note: String,
}

impl ServerFile {
    /// Reads and validates a file.
    pub(super) fn load(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let wrong = |what: String| Failure::usage(format!("the configuration {shown}: {what}"));
        let about =
            fs::metadata(path).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        if !about.is_file() || about.len() > MOST {
            return Err(wrong(format!("it is not a file of at most {MOST} bytes")));
        }
        let text = fs::read_to_string(path)
            .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        Self::parse(&text, path.parent().unwrap_or(Path::new(""))).map_err(wrong)
    }

    fn parse(text: &str, beside: &Path) -> Result<Self, String> {
        let mut file: Self = toml::from_str(text).map_err(|error| {
            // The line itself is not shown, since it may contain a token.
            let line = error.span().map_or_else(String::new, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!("line {}: ", before.matches('\n').count() + 1)
            });
            format!("{line}{}", error.message())
        })?;
        for tenant in &mut file.tenants {
            tenant.resolve(beside);
        }
        file.check()?;
        Ok(file)
    }

    fn check(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for tenant in &self.tenants {
            let name = &tenant.name;
            is_name(name)?;
            if !names.insert(name) {
                return Err(format!("two tenants are named {name:?}: names must be unique"));
            }
            let fits = tenant.shape().and_then(|_| tenant.offers());
            fits.map_err(|why| format!("the tenant {name}: {why}"))?;
        }
        for host in &self.hosts {
            let fit =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']');
            if host.is_empty() || !host.chars().all(fit) {
                return Err(format!("{host:?} is not a host: write host or host:port"));
            }
        }
        for origin in &self.origins {
            let rest = origin.strip_prefix("https://").or(origin.strip_prefix("http://"));
            if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['/', ' ', '*', '@'])) {
                return Err(format!(
                    "{origin:?} is not an origin: write https://host or https://host:port, \
                     without a path"
                ));
            }
        }
        if let Some(url) = &self.live {
            check_live(url).map_err(|failure| failure.message)?;
        }
        if self.most_sessions == Some(0) {
            return Err("most_sessions is at least 1".to_owned());
        }
        self.sharing()?;
        if let Some(bound) = self.bounds.zero_limit() {
            return Err(format!("the bound {bound} is 0: raise it, or leave it out"));
        }
        self.grants().map(|_| ())
    }

    /// Returns how programs share the process.
    pub(super) fn sharing(&self) -> Result<ProgramSharingArgs, String> {
        if self.programs_at_once.is_some_and(|most| !(1..=1_000).contains(&most)) {
            return Err("programs_at_once is a number from 1 to 1000".to_owned());
        }
        let idle = self.program_idle.as_deref().map(duration).transpose();
        Ok(ProgramSharingArgs {
            programs_at_once: self.programs_at_once,
            program_idle: idle.map_err(|why| format!("program_idle: {why}"))?,
        })
    }

    /// Returns the grants by token.
    pub(super) fn grants(&self) -> Result<Vec<(TokenHash, Grant)>, String> {
        let mut hashes = BTreeSet::new();
        let grants = self.tokens.iter().enumerate().map(|(at, token)| {
            let (hash, grant) = token.grant().map_err(|why| format!("token {}: {why}", at + 1))?;
            if !hashes.insert(hash) {
                return Err(format!("token {}: its sha256 is there twice", at + 1));
            }
            Ok((hash, grant))
        });
        grants.collect()
    }

    /// Returns the limits of each tenant.
    pub(super) fn quotas(&self) -> BTreeMap<String, Quota> {
        let quotas = self.tenants.iter();
        quotas.map(|tenant| (tenant.name.clone(), tenant.quota)).collect()
    }

    /// Returns the part that changes only with a restart: all but the tokens and the limits.
    pub(super) fn fixed(&self) -> Self {
        let mut fixed = Self { tokens: Vec::new(), ..self.clone() };
        for tenant in &mut fixed.tenants {
            tenant.quota = Quota::default();
        }
        fixed
    }
}

impl TokenEntry {
    fn grant(&self) -> Result<(TokenHash, Grant), String> {
        let hash = TokenHash::parse(&self.sha256).ok_or(
            "sha256 is not 64 hexadecimal digits: windlass serve --new-token makes a token and \
             prints them",
        )?;
        is_name(&self.tenant)?;
        if self.principal.trim().is_empty() {
            return Err("it has no principal: name the one that it acts for".to_owned());
        }
        if self.rights.is_empty() {
            return Err(
                r#"it has no rights: name some of "read", "run", "approve", "erase""#.to_owned()
            );
        }
        let scope = Scope::Principal {
            tenant: self.tenant.clone(),
            principal: self.principal.clone(),
            claims: self.claims.clone(),
        };
        let grant =
            Grant { tenant: self.tenant.clone(), scope, rights: Rights::from_list(&self.rights) };
        Ok((hash, grant))
    }
}

fn is_name(name: &str) -> Result<(), String> {
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match !name.is_empty() && name.len() <= 64 && name.chars().all(fit) {
        true => Ok(()),
        false => {
            Err(format!("{name:?} is not a tenant's name: use up to 64 letters, digits, - _ and ."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ServerFile, String> {
        ServerFile::parse(text, Path::new("/etc/windlass"))
    }

    fn hash() -> String {
        TokenHash::of("token").to_string()
    }

    #[test]
    fn a_file_says_who_may_do_what_with_whose_sessions() {
        let hash = hash();
        let file = parsed(&format!(
            r#"
                listen = "10.0.0.1:443"
                hosts = ["windlass.example.org"]
                origins = ["https://chat.example.org"]
                live = "nats://live.example.org/windlass?creds=live.creds"
                most_sessions = 500
                programs_at_once = 7
                program_idle = "30s"

                [bounds]
                connections = 100

                [[tenant]]
                name = "acme"
                workspace = "acme"
                provider = "demo"
                permissions = "ask"
                program = "ptclisp"
                program_transport = "text"
                deny = ["shell"]
                deadline = "5m"
                tools = "tools.json"

                [tenant.quota]
                turns = 3

                [[token]]
                sha256 = "{hash}"
                tenant = "acme"
                principal = "ann"
                claims = {{ team = "a" }}
                rights = ["read", "approve"]
                note = "ann's laptop"
            "#
        ))
        .unwrap();
        assert_eq!(file.bounds.connections, 100);
        assert_eq!(file.most_sessions, Some(500));
        let sharing = file.sharing().unwrap();
        assert_eq!(sharing.programs_at_once, Some(7));
        assert_eq!(sharing.program_idle.unwrap().as_secs(), 30);
        assert!(file.live.as_deref().unwrap().contains("live.example.org"));
        assert_eq!(file.bounds.headers, ServerLimits::default().headers);
        let tenant = &file.tenants[0];
        assert_eq!(tenant.workspace, Path::new("/etc/windlass/acme"));
        let shape = tenant.shape().unwrap();
        assert_eq!(shape.tools.unwrap(), Path::new("/etc/windlass/tools.json"));
        assert_eq!(shape.program.as_deref(), Some("ptclisp"));
        assert_eq!(shape.deadline.unwrap().as_secs(), 300);
        assert_eq!(file.quotas()["acme"].turns, 3);
        let (_, grant) = &file.grants().unwrap()[0];
        assert!(grant.rights.has(Right::Approve) && !grant.rights.has(Right::Run));
        let mut other = file.clone();
        other.tenants[0].quota.turns = 4;
        other.tokens.clear();
        assert_eq!(other.fixed(), file.fixed());
        other.hosts.clear();
        assert_ne!(other.fixed(), file.fixed());
    }

    #[test]
    fn the_file_of_the_guide_is_one() {
        let guide = include_str!("../../../../../docs/server.md");
        let (_, file) = guide.split_once("```toml\n").unwrap();
        let (file, _) = file.split_once("```").unwrap();
        let read = parsed(file).unwrap();
        assert_eq!((read.tenants.len(), read.tokens.len()), (1, 1));
    }

    #[test]
    fn what_is_off_is_told_with_where_and_what_to_do() {
        let tenant = "[[tenant]]\nname = \"a\"\nworkspace = \".\"\n";
        let token = |more: &str| {
            let hash = hash();
            format!("[[token]]\nsha256 = \"{hash}\"\ntenant = \"a\"\nprincipal = \"p\"\n{more}")
        };
        let twice = token("rights = [\"read\"]\n").repeat(2);
        for (text, why) in [
            ("port = 1\n".to_owned(), "line 1: unknown field `port`"),
            ("x = s3cret\n".to_owned(), "line 1"),
            ("[bounds]\nheader_ms = 0\n".to_owned(), "header_ms is 0"),
            ("[bounds]\nheaders_ms = 1\n".to_owned(), "line 2: unknown field"),
            ("hosts = [\"a/b\"]".to_owned(), "is not a host"),
            ("origins = [\"*\"]".to_owned(), "is not an origin"),
            ("most_sessions = 0\n".to_owned(), "at least 1"),
            ("programs_at_once = 0\n".to_owned(), "from 1 to 1000"),
            ("program_idle = \"soon\"\n".to_owned(), "program_idle: not a duration"),
            ("live = \"http://s3cret@h\"\n".to_owned(), "servers of live events"),
            (tenant.repeat(2), "two tenants"),
            (tenant.replace("\"a\"", "\"../a\""), "is not a tenant's name"),
            (format!("{tenant}permissions = \"all\"\n"), "a: permissions: \"all\""),
            (
                format!("{tenant}program = \"perl\"\n"),
                "a: program: \"perl\" is not a runtime; there are: ptclisp, javascript",
            ),
            (format!("{tenant}quota = {{ turn = 1 }}\n"), "unknown field `turn`"),
            (token("rights = []\n"), "token 1: it has no rights"),
            (token("rights = [\"write\"]\n"), "write"),
            (token("token = \"s3cret\"\n"), "unknown field `token`"),
            (twice, "token 2: its sha256 is there twice"),
            (token("rights = [\"read\"]\n").replace("sha256 = \"", "sha256 = \"x"), "--new-token"),
        ] {
            let words = parsed(&text).unwrap_err();
            assert!(words.contains(why), "{text}: {words}");
            assert!(!words.contains("s3cret"), "{words}");
        }
    }
}
