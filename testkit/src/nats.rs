//! NATS servers with JetStream for tests: one, or a cluster, in a folder of their own, on loopback
//! ports, gone when the process that started them is, however that ends.
//!
//! Uses the standard library only: `cargo xtask`, which is built without the kit, takes this file in.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::port::{Port, data_folder};

/// The variable that names a server for tests, as `nats://HOST:PORT`.
pub const URL: &str = "WINDLASS_TEST_NATS";

/// The variable that says how many servers keep each stream in tests; 1 where it is not set.
pub const REPLICAS: &str = "WINDLASS_TEST_NATS_REPLICAS";

/// The oldest server that will do.
pub const OLDEST: (u64, u64) = (2, 15);

/// What to do where the program is missing.
pub const MISSING: &str = "there is no nats-server 2.15 or later on this machine: `cargo xtask \
     servers` fetches one, or name a running server with WINDLASS_TEST_NATS";

/// The user of the system account, and its password.
pub const SYSTEM: (&str, &str) = ("system", "system");

/// How long servers may take until JetStream answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// Keeps the servers for as long as its standard input is open.
const KEEPER: &str = r#"
trap '' INT TERM HUP
program=$1 folder=$2 nodes=$3
cd "$folder" || exit 1
up() {
    "$program" -c "$folder/$1.conf" >>"log" 2>&1 </dev/null &
    eval "pid_$1=$!"
}
end() {
    eval "pid=\$pid_$1"
    kill -CONT "$pid" 2>/dev/null
    kill "-$2" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}
all() { node=0; while [ "$node" -lt "$nodes" ]; do "$1" "$node" "$2"; node=$((node + 1)); done; }
all up
echo done
while read -r order node; do
    case $order in
        start) up "$node" ;;
        kill) end "$node" KILL ;;
        stop) end "$node" TERM ;;
        pause) eval "kill -STOP \$pid_$node" ;;
        wake) eval "kill -CONT \$pid_$node" ;;
    esac
    echo done
done
all end KILL
cd / && rm -rf "$folder"
"#;

/// A server, or a cluster of them.
#[derive(Debug)]
pub struct NatsServer {
    folder: PathBuf,
    ports: Vec<u16>,
    _held: Vec<Port>,
    keeper: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl NatsServer {
    /// The program, if there is one that is new enough: on the path, as Debian installs it, or as
    /// `cargo xtask servers` fetched it beside what cargo built.
    #[must_use]
    pub fn program() -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut known: Vec<PathBuf> = env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin")])
            .map(|folder| folder.join("nats-server"))
            .collect();
        let here = env::current_exe().ok();
        for folder in here.iter().flat_map(|here| here.ancestors()) {
            let tools = fs::read_dir(folder.join("tools")).into_iter().flatten();
            let named = tools.flatten().map(|entry| entry.path());
            let named = named.filter(|path| {
                let name = path.file_name().map(|name| name.to_string_lossy());
                name.is_some_and(|name| name.starts_with("nats-server-"))
            });
            known.extend(named.map(|folder| folder.join("nats-server")));
        }
        known.into_iter().find(|program| {
            program.is_file() && version(program).is_some_and(|version| version >= OLDEST)
        })
    }

    /// Starts one server that syncs before it answers.
    ///
    /// # Errors
    /// When the program is missing, or does not start; its log is in the words.
    pub fn start() -> io::Result<Self> {
        Self::start_with(1, "sync_interval: always", "")
    }

    /// Starts `nodes` servers as one cluster. `jetstream` is added to the configuration of JetStream
    /// and `more` to that of each server.
    ///
    /// # Errors
    /// When the program is missing, or does not start; its log is in the words.
    pub fn start_with(nodes: usize, jetstream: &str, more: &str) -> io::Result<Self> {
        Self::start_in(&data_folder(), nodes, jetstream, more)
    }

    /// Starts servers as [`start_with`](Self::start_with) does, with their data below `parent`.
    ///
    /// # Errors
    /// When the program is missing or does not start; the error has the server's log.
    pub fn start_in(parent: &Path, nodes: usize, jetstream: &str, more: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let program = Self::program().ok_or_else(|| io::Error::other(MISSING))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-nats-{}-{number}", std::process::id());
        let folder = parent.join(name);
        fs::create_dir(&folder)?;
        let held: Vec<Port> = (0..2 * nodes).map(|_| Port::take()).collect::<io::Result<_>>()?;
        let mut ports: Vec<u16> = held.iter().map(Port::number).collect();
        let routes = ports.split_off(nodes);
        for (node, port) in ports.iter().enumerate() {
            let config = config(&folder, node, *port, &routes, jetstream, more);
            fs::write(folder.join(format!("{node}.conf")), config)?;
        }
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&program)
            .arg(&folder)
            .arg(nodes.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = keeper.stdin.take();
        let answers = keeper.stdout.take();
        let answers = answers.ok_or_else(|| io::Error::other("no pipe"))?;
        let mut server =
            Self { folder, ports, _held: held, keeper, orders, answers: BufReader::new(answers) };
        server.expect_done()?;
        server.wait()?;
        Ok(server)
    }

    /// The address of the first server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(0)
    }

    /// The address of one of the servers.
    #[must_use]
    pub fn url_of(&self, node: usize) -> String {
        let port = self.ports.get(node).copied().unwrap_or_default();
        format!("nats://127.0.0.1:{port}")
    }

    /// The ports on 127.0.0.1, one a server.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The folder in which a server keeps its streams.
    #[must_use]
    pub fn data(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node-{node}"))
    }

    /// Ends a server as `kill -9` does.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn kill(&mut self, node: usize) -> io::Result<()> {
        self.order("kill", node)
    }

    /// Ends a server in good order.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn stop(&mut self, node: usize) -> io::Result<()> {
        self.order("stop", node)
    }

    /// Stops a server where it stands, until it is woken.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn pause(&mut self, node: usize) -> io::Result<()> {
        self.order("pause", node)
    }

    /// Wakes a server that was paused.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn wake(&mut self, node: usize) -> io::Result<()> {
        self.order("wake", node)
    }

    /// Starts a server again that was ended, on the same port, and waits until JetStream answers.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_again(&mut self, node: usize) -> io::Result<()> {
        self.order("start", node)?;
        self.wait()
    }

    fn order(&mut self, order: &str, node: usize) -> io::Result<()> {
        let orders = self.orders.as_mut();
        let orders = orders.ok_or_else(|| io::Error::other("no pipe"))?;
        writeln!(orders, "{order} {node}")?;
        orders.flush()?;
        self.expect_done()
    }

    fn expect_done(&mut self) -> io::Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match line.trim() {
            "done" => Ok(()),
            _ => Err(self.failed("are not kept")),
        }
    }

    /// Waits until JetStream answers on each server.
    fn wait(&self) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        for port in &self.ports {
            while !answers(*port).unwrap_or(false) {
                if Instant::now() > until {
                    return Err(self.failed("do not answer"));
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    fn failed(&self, what: &str) -> io::Error {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        io::Error::other(format!("NATS servers for tests {what}: {log}"))
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        // The keeper ends the servers and removes the folder when its standard input ends.
        drop(self.orders.take());
        let _ = self.keeper.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn config(
    folder: &Path,
    node: usize,
    port: u16,
    routes: &[u16],
    jetstream: &str,
    more: &str,
) -> String {
    let store = folder.join(format!("node-{node}"));
    let (user, password) = SYSTEM;
    let mut config = format!(
        "server_name: node-{node}\nlisten: \"127.0.0.1:{port}\"\n\
         jetstream {{\n store_dir: {store:?}\n {jetstream}\n}}\n\
         accounts {{\n APP {{ jetstream: enabled, users: [ {{ user: app, password: app }} ] }}\n \
         SYS {{ users: [ {{ user: {user}, password: {password} }} ] }}\n}}\n\
         system_account: SYS\nno_auth_user: app\n{more}\n"
    );
    if let (Some(own), true) = (routes.get(node), routes.len() > 1) {
        let all = routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\""));
        let all: Vec<String> = all.collect();
        config.push_str(&format!(
            "cluster {{\n name: windlass\n listen: \"127.0.0.1:{own}\"\n routes: [ {} ]\n}}\n",
            all.join(", ")
        ));
    }
    config
}

/// Returns true if JetStream answers on a port.
fn answers(port: u16) -> io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(
        b"CONNECT {\"verbose\":false}\r\nSUB windlass.ready 1\r\n\
          PUB $JS.API.INFO windlass.ready 0\r\n\r\n",
    )?;
    let mut told = Vec::new();
    let mut some = [0; 4_096];
    while told.len() < 64 * 1024 {
        let count = stream.read(&mut some)?;
        told.extend_from_slice(some.get(..count).unwrap_or_default());
        let text = String::from_utf8_lossy(&told);
        if let Some((_, answer)) = text.split_once("MSG windlass.ready 1 ")
            && answer.contains("io.nats.jetstream.api.v1.account_info_response")
            && answer.ends_with("\r\n")
        {
            return Ok(!answer.contains("\"error\""));
        }
        if count == 0 {
            break;
        }
    }
    Ok(false)
}

/// The version that a program tells.
fn version(program: &Path) -> Option<(u64, u64)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, version) = told.rsplit_once('v')?;
    let mut numbers = version.trim().split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
