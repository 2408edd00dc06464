//! Allowed hosts: what a command reaches through its proxy, and that it reaches nothing else.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use libtest_mimic::Failed;
use windlass_ports::{
    NetworkAccess, ProcessLaunch, Sandbox as _, SandboxErrorKind, SandboxProfile,
};
use windlass_sandbox::{ProfileScope, SandboxConfig, SandboxTier, SystemSandbox};

/// A server that answers each request with one word.
struct Server {
    port: u16,
    came: Arc<AtomicUsize>,
    head: Arc<Mutex<String>>,
}

impl Server {
    fn start() -> Result<Self, Failed> {
        // All addresses of loopback lead to it.
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let server = Self {
            port: listener.local_addr()?.port(),
            came: Arc::default(),
            head: Arc::default(),
        };
        let (came, seen) = (Arc::clone(&server.came), Arc::clone(&server.head));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                came.fetch_add(1, Ordering::SeqCst);
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.extend(byte);
                }
                *seen.lock().expect("the head") = String::from_utf8_lossy(&head).into_owned();
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nreached");
            }
        });
        Ok(server)
    }
}

struct Place {
    sandbox: SystemSandbox,
    profile: SandboxProfile,
    folder: tempfile::TempDir,
}

impl Place {
    fn new(tier: SandboxTier) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str, address: &str| -> (String, IpAddr) {
            (name.to_owned(), address.parse().expect("an address"))
        };
        let names = vec![
            at("listed.test", "127.0.0.1"),
            at("deep.wild.test", "127.0.0.1"),
            at("other.test", "127.0.0.1"),
            at("rebound.test", "127.0.0.2"),
            at("metadata.test", "169.254.169.254"),
        ];
        let workspace = folder.path().canonicalize()?;
        let scope = ProfileScope { workspace, ..ProfileScope::default() };
        let hosts = ["listed.test", "*.wild.test", "rebound.test", "metadata.test", "127.0.0.1"];
        let hosts = NetworkAccess::Hosts(hosts.map(String::from).to_vec());
        let profile = scope.profile("workspace").expect("a built-in profile");
        let config = SandboxConfig { tier, names, ..SandboxConfig::default() };
        Ok(Self {
            sandbox: SystemSandbox::new(config),
            profile: SandboxProfile { network: hosts, ..profile },
            folder,
        })
    }

    /// Runs a line of bash, in which `$proxy` is the port of the proxy.
    fn run(&self, line: &str) -> Result<String, Failed> {
        let launch = ProcessLaunch {
            program: PathBuf::from("/bin/bash"),
            arguments: vec!["-c".into(), format!("proxy=${{HTTPS_PROXY##*:}}; {line}").into()],
            folder: self.folder.path().canonicalize()?,
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        };
        let launch = self.sandbox.confine(launch, &self.profile)?.launch;
        let ended = Command::new(launch.program)
            .args(launch.arguments)
            .current_dir(launch.folder)
            .env_clear()
            .envs(launch.environment)
            .output()?;
        Ok(String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
    }

    /// Sends text to the proxy, and returns its answer.
    fn ask(&self, text: &str) -> Result<String, Failed> {
        let text = text.replace("\r\n", "\\r\\n");
        self.run(&format!(
            "exec 3<>/dev/tcp/127.0.0.1/$proxy; printf '{text}' >&3; timeout 20 cat <&3"
        ))
    }
}

/// Holds a tier to what a profile with hosts promises.
pub(crate) fn check(tier: SandboxTier) -> Result<(), Failed> {
    if !Path::new("/bin/bash").exists() {
        eprintln!("skips {tier:?}: there is no bash");
        return Ok(());
    }
    let place = Place::new(tier)?;
    if tier == SandboxTier::Landlock {
        let refused = place.sandbox.strength(&place.profile).expect_err("no namespaces");
        assert_eq!(refused.kind, SandboxErrorKind::Unavailable);
        assert!(refused.to_string().contains("install bubblewrap"), "{refused}");
        return Ok(());
    }
    let strength = place.sandbox.strength(&place.profile)?;
    assert!(
        strength.mechanisms.ends_with(" + own loopback + proxy to allowed hosts"),
        "{strength}"
    );
    let server = Server::start()?;
    reaches(&place, &server)?;
    refuses(&place, &server)
}

fn reaches(place: &Place, server: &Server) -> Result<(), Failed> {
    let port = server.port;
    for host in ["listed.test", "LISTED.test.", "deep.wild.test", "127.0.0.1"] {
        let tunnel = format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\n\r\n");
        let said = place.ask(&tunnel)?;
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("reached"), "{host}: {said}");
        let said = place
            .ask(&format!("GET http://{host}:{port}/y HTTP/1.1\r\nHost: other.test\r\n\r\n"))?;
        assert!(said.starts_with("HTTP/1.1 200 OK") && said.ends_with("reached"), "{host}: {said}");
        let head = server.head.lock().expect("the head").clone();
        assert_eq!(
            head,
            format!("GET /y HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")
        );
    }
    Ok(())
}

fn refuses(place: &Place, server: &Server) -> Result<(), Failed> {
    let port = server.port;
    let before = server.came.load(Ordering::SeqCst);
    for (host, reason) in [
        ("other.test", "refuses other.test: it is not among the hosts"),
        ("wild.test.evil", "refuses wild.test.evil: it is not among the hosts"),
        ("127.0.0.2", "refuses 127.0.0.2: it is not among the hosts"),
        ("[::1]", "refuses ::1: it is not among the hosts"),
        ("2130706433", "refuses 2130706433: it is not among the hosts"),
        ("rebound.test", "leads to 127.0.0.2, which is not a public address; add 127.0.0.2 to"),
        ("metadata.test", "leads to 169.254.169.254, which is not a public address"),
    ] {
        for request in [
            format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n"),
            format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: listed.test\r\n\r\n"),
        ] {
            let said = place.ask(&request)?;
            assert!(said.starts_with("HTTP/1.1 403 ") && said.contains(reason), "{host}: {said}");
        }
    }
    for wrong in
        ["GET / HTTP/1.1\r\nHost: listed.test\r\n\r\n", "CONNECT listed.test@x:1 HTTP/1.1\r\n\r\n"]
    {
        let said = place.ask(wrong)?;
        assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    }
    let large = "exec 3<>/dev/tcp/127.0.0.1/$proxy; head -c 40000 /dev/zero | tr '\\0' a >&3; timeout 20 cat <&3";
    let said = place.run(large)?;
    assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
    // Without the proxy there is nothing but the command's own loopback.
    for address in ["127.0.0.1", "127.0.0.2"] {
        let said = place.run(&format!("exec 3<>/dev/tcp/{address}/{port} && echo connected"))?;
        assert!(!said.contains("connected"), "{address}: {said}");
    }
    let open = place.run("ls /proc/self/fd | wc -l")?;
    assert_eq!(open.trim(), "4", "nothing but the streams is inherited");
    assert_eq!(server.came.load(Ordering::SeqCst), before, "a refused request reached the server");
    Ok(())
}
