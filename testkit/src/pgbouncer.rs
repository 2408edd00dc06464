//! A PgBouncer for tests: before a PostgreSQL server, in transaction mode, so that what one connection
//! asks goes by another session of the server each time; gone when the process that started it is,
//! however that ends. Needs its program (Debian: `pgbouncer`).
//!
//! Uses the standard library only: `cargo xtask`, which is built without the kit, takes this file in.

use std::env;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::port::Port;

/// The variable that names a pooler for tests, in transaction mode before the server that
/// `WINDLASS_TEST_POSTGRES` names, as a URL without options.
pub const URL: &str = "WINDLASS_TEST_PGBOUNCER";

/// What to do where the program is missing.
pub const MISSING: &str = "there is no PgBouncer on this machine: install it (Debian: apt-get install \
     pgbouncer), or name one in transaction mode with WINDLASS_TEST_PGBOUNCER";

/// How long it may take until it answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// Keeps the pooler for as long as its standard input is open. It runs as nobody, for it refuses to
/// run as root.
const KEEPER: &str = r#"
trap '' INT TERM HUP
program=$1 folder=$2
cd "$folder" || exit 1
[ "$(id -u)" = 0 ] && as="-u nobody"
"$program" $as "$folder/pgbouncer.ini" >>log 2>&1 </dev/null &
pooler=$!
while read -r _; do :; done
kill -INT "$pooler" 2>/dev/null
wait "$pooler" 2>/dev/null
cd / && rm -rf "$folder"
"#;

/// A pooler.
#[derive(Debug)]
pub struct PgBouncer {
    folder: PathBuf,
    port: Port,
    user: String,
    database: String,
    keeper: Child,
    orders: Option<ChildStdin>,
}

/// Where a server is, as its URL says it.
struct Server<'a> {
    user: &'a str,
    password: Option<&'a str>,
    host: &'a str,
    port: &'a str,
    database: &'a str,
}

impl PgBouncer {
    /// The program: on the path, or where Debian installs it.
    #[must_use]
    pub fn program() -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut known = env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin")])
            .map(|folder| folder.join("pgbouncer"));
        known.find(|program| program.is_file())
    }

    /// Starts one before the server of this URL, which has no options. Whoever connects to it is the
    /// user of that URL, without a password.
    ///
    /// # Errors
    /// When the program is missing, does not start, or the URL is not as simple as that; its log is in
    /// the words.
    pub fn start(server: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let program = Self::program().ok_or_else(|| io::Error::other(MISSING))?;
        let server = Server::of(server).ok_or_else(|| {
            io::Error::other("write the server as postgres://USER[:PASSWORD]@HOST:PORT/DATABASE")
        })?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-pgbouncer-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        let port = Port::take()?;
        let configuration = server.configuration(port.number());
        fs::write(folder.join("pgbouncer.ini"), configuration)?;
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&program)
            .arg(&folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = keeper.stdin.take();
        let pooler = Self {
            folder,
            port,
            user: server.user.to_owned(),
            database: server.database.to_owned(),
            keeper,
            orders,
        };
        let until = Instant::now() + PATIENCE;
        while !answers(pooler.port.number()).unwrap_or(false) {
            let log = fs::read_to_string(pooler.folder.join("log")).unwrap_or_default();
            if Instant::now() > until || log.contains("FATAL") {
                let words = format!("a PgBouncer for tests does not answer: {log}");
                return Err(io::Error::other(words));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(pooler)
    }

    /// Its address, without options.
    #[must_use]
    pub fn url(&self) -> String {
        let Self { user, port, database, .. } = self;
        format!("postgres://{user}@127.0.0.1:{}/{database}", port.number())
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // The keeper ends the pooler and removes the folder when its standard input ends.
        drop(self.orders.take());
        let _ = self.keeper.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl<'a> Server<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (_, rest) = url.split_once("://")?;
        let (who, at) = rest.split_once('@')?;
        let (address, database) = at.split_once('/')?;
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "5432"));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (who, None),
        };
        let plain = |text: &str| !text.contains(['%', '\'', '?', ' ']);
        let server = Self { user, password, host, port, database };
        plain(rest).then_some(server)
    }

    /// Each transaction goes by the connection that had none for the longest, so that two that follow
    /// each other share nothing; and a server that was away is tried again each second.
    fn configuration(&self, port: u16) -> String {
        let Self { user, password, host, port: server, .. } = self;
        let password = password.map_or(String::new(), |password| format!(" password='{password}'"));
        format!(
            "[databases]\n* = host='{host}' port={server} user='{user}'{password} min_pool_size=3\n\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\nserver_round_robin = 1\n\
             server_login_retry = 1\nmax_client_conn = 1000\ndefault_pool_size = 30\n"
        )
    }
}

/// Returns true if it asks back when it is asked for TLS, which is the first that a client does.
fn answers(port: u16) -> io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    // The request of eight bytes that the protocol has for it.
    stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    Ok(matches!(&answer, b"N" | b"S"))
}
