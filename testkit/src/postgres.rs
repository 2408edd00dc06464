//! A PostgreSQL server for tests: in a folder of its own, on a loopback port, gone when the process
//! that started it is, however that ends. Needs the server's programs (Debian: `postgresql`).
//!
//! Uses the standard library only: `cargo xtask`, which is built without the kit, takes this file in.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::port::{Port, data_folder};

/// The variable that names a server for tests, as a URL without options.
pub const URL: &str = "WINDLASS_TEST_POSTGRES";

/// What to do where the server's programs are missing.
pub const MISSING: &str = "there is no PostgreSQL server on this machine: install its programs \
     (Debian: apt-get install postgresql), or name a server with WINDLASS_TEST_POSTGRES";

/// Keeps the server for as long as its standard input is open. It runs as the user who owns the
/// folder, for the server refuses to run as root.
const KEEPER: &str = r#"
trap '' INT TERM HUP
bin=$1 folder=$2 port=$3
cd "$folder" || exit 1
say() { echo "$1" 2>/dev/null; }
up() {
    "$bin/postgres" -D data -k "$folder" -h 127.0.0.1 -p "$port" \
        -c max_connections=400 -c shared_buffers=128MB -c max_wal_size=256MB \
        -c logging_collector=off >>log 2>&1 </dev/null &
    server=$!
    until "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; do
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.05
    done
}
set_read_only() {
    echo "default_transaction_read_only = $1" >>data/postgresql.conf
    kill -HUP "$server"
}
down() {
    kill "-$1" "$server" 2>/dev/null
    wait "$server" 2>/dev/null
}
"$bin/initdb" -D data -U windlass -A trust -E UTF8 --locale=C -N >log 2>&1 || { say failed; exit 1; }
up || { say failed; exit 1; }
say ready
while read -r order; do
    case $order in
        stop) down INT; say stopped ;;
        crash) down QUIT; say stopped ;;
        start) if up; then say ready; else say failed; fi ;;
        refuse) set_read_only on; say refuses ;;
        take) set_read_only off; say takes ;;
    esac
done
down INT
cd / && rm -rf "$folder"
"#;

/// A server.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    port: Port,
    keeper: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl PostgresServer {
    /// The folder of the server's programs, the newest of those that are installed.
    #[must_use]
    pub fn programs() -> Option<PathBuf> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let numbered = versions.flatten().filter_map(|version| {
            let number: u32 = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        });
        let mut found: Vec<(u32, PathBuf)> = numbered.collect();
        found.sort();
        let path = env::var_os("PATH").unwrap_or_default();
        let debian = found.into_iter().rev().map(|(_, folder)| folder);
        let mut folders = debian.chain(env::split_paths(&path));
        folders.find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
    }

    /// Makes a database cluster in a new temporary folder and starts a server on it.
    ///
    /// # Errors
    /// When the programs are missing, or do not do it; its log is in the words.
    pub fn start() -> io::Result<Self> {
        Self::start_in(&data_folder())
    }

    /// Starts a server as [`start`](Self::start) does, with its data below `parent`.
    ///
    /// # Errors
    /// When the programs are missing or fail; the error has the server's log.
    pub fn start_in(parent: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let programs = Self::programs().ok_or_else(|| io::Error::other(MISSING))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-postgres-{}-{number}", std::process::id());
        let folder = parent.join(name);
        fs::create_dir(&folder)?;
        let port = Port::take()?;
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(&programs);
        command.arg(&folder).arg(port.number().to_string());
        command.env_remove("PGOPTIONS").env("LC_ALL", "C");
        as_owner(&mut command, &folder)?;
        let mut keeper = command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = keeper.stdin.take();
        let answers = keeper.stdout.take();
        let answers = answers.ok_or_else(|| io::Error::other("no pipe"))?;
        let mut server = Self { folder, port, keeper, orders, answers: BufReader::new(answers) };
        server.expect("ready")?;
        Ok(server)
    }

    /// Its address, without options.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://windlass@127.0.0.1:{}/postgres", self.port.number())
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The folder of its data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Stops it in good order; connections break.
    ///
    /// # Errors
    /// When it does not.
    pub fn stop(&mut self) -> io::Result<()> {
        self.order("stop", "stopped")
    }

    /// Ends it without a checkpoint, as a crash does.
    ///
    /// # Errors
    /// When it does not end.
    pub fn crash(&mut self) -> io::Result<()> {
        self.order("crash", "stopped")
    }

    /// Starts it again, on the same port.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.order("start", "ready")
    }

    /// Has it refuse writes on all connections, or take them again: a moment later, once they have heard.
    ///
    /// # Errors
    /// When it does not.
    pub fn refuse_writes(&mut self, refuse: bool) -> io::Result<()> {
        match refuse {
            true => self.order("refuse", "refuses"),
            false => self.order("take", "takes"),
        }
    }

    fn order(&mut self, order: &str, answer: &str) -> io::Result<()> {
        let orders = self.orders.as_mut();
        let orders = orders.ok_or_else(|| io::Error::other("no pipe"))?;
        writeln!(orders, "{order}")?;
        orders.flush()?;
        self.expect(answer)
    }

    fn expect(&mut self, answer: &str) -> io::Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim() == answer {
            return Ok(());
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let words = format!("a PostgreSQL server for tests is not {answer}: {log}");
        Err(io::Error::other(words))
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // The keeper stops the server and removes the folder when its standard input ends.
        drop(self.orders.take());
        let _ = self.keeper.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Root hands the folder to a user who may run a server, and runs it as that one.
fn as_owner(command: &mut Command, folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;

    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    if fs::metadata(folder)?.uid() != 0 {
        return Ok(());
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let find = |name: &str| {
        let mut fields = users.lines().map(|line| line.split(':'));
        let mut user = fields.find_map(|mut user| (user.next() == Some(name)).then_some(user))?;
        let uid: u32 = user.nth(1)?.parse().ok()?;
        let gid: u32 = user.next()?.parse().ok()?;
        Some((uid, gid))
    };
    let (uid, gid) = find("postgres")
        .or_else(|| find("nobody"))
        .ok_or_else(|| io::Error::other("a PostgreSQL server does not run as root: no user"))?;
    chown(folder, Some(uid), Some(gid))?;
    command.uid(uid).gid(gid);
    Ok(())
}
