//! Tests of locks: runs whose starter is gone, whose lock is held by others, and that end in order.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use windlass_core::{CallId, SessionId};
use windlass_ports::CancelSignal;

use crate::lock::RunLock;
use crate::mark::RunMark;
use crate::{
    GracePeriods, OutputPipe, OutputSink, ProcessEnd, ProcessInput, ProcessJob, ProcessResult,
    RecordedProcess, RunError, RunLocks, SinkFlow, StderrMode, run,
};

#[derive(Default)]
struct Output(Vec<u8>);

impl OutputSink for Output {
    async fn ready(&self, _: OutputPipe) {}

    fn accept(&mut self, _: OutputPipe, bytes: &[u8]) -> SinkFlow {
        self.0.extend_from_slice(bytes);
        SinkFlow::Continue
    }
}

struct Place {
    locks: RunLocks,
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { locks: RunLocks::new(folder.path().join("a/b")), folder }
    }

    fn lock(&self, call: u64) -> RunLock {
        self.locks.of(&session(), CallId(call))
    }

    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path().join("a/b")).into_iter().flatten().flatten();
        let mut names: Vec<_> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Starts a run of call 7 as a process does that is killed at once: nobody waits for it.
    async fn left(&self, line: &str) -> Child {
        let mark = RunMark::new();
        let held = self.lock(7).hold(&mark).await.unwrap().unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(Stdio::piped());
        mark.mark(&mut command);
        held.pass_on(|| command.spawn()).unwrap()
    }
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

async fn sh(line: &str, lock: RunLock) -> (Result<ProcessResult, RunError>, String) {
    let cancel = CancelSignal::default();
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    let job = ProcessJob {
        command,
        input: ProcessInput::Empty,
        errors: StderrMode::Merged,
        limit: Duration::from_secs(60),
        grace: GracePeriods::default(),
        cancel: &cancel,
        lock: Some(lock),
    };
    let mut output = Output::default();
    let ran = run(job, &mut output).await;
    (ran, String::from_utf8(output.0).unwrap())
}

/// Waits until the first process has written its line, and returns the numbers in it.
fn pids(child: &mut Child) -> Vec<u32> {
    use std::io::{BufRead as _, BufReader};
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn lives(pid: u32) -> bool {
    fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).is_ok_and(|c| !c.is_empty())
}

/// Processes of each kind: of the group, out of it, without the mark, and without the lock.
const FAMILY: &str = "sleep 311 & a=$!; setsid sleep 312 & b=$!; env -i setsid sleep 313 & c=$!; \
                      bash -c 'for fd in /proc/self/fd/*; do n=${fd##*/}; [ $n -lt 3 ] || eval \"exec $n>&-\"; done; \
                      exec sleep 314' & d=$!; echo $$ $a $b $c $d; wait";

#[tokio::test]
async fn a_run_that_ends_removes_its_lock_and_one_that_is_not_started_too() {
    let place = Place::new();
    let mark = place.folder.path().join("a/b/s+7.run");
    let (ran, out) = sh(&format!("readlink -n {}", mark.display()), place.lock(7)).await;
    assert!(matches!(ran.unwrap().end, ProcessEnd::Exited(status) if status.success()));
    assert_eq!(RunMark::parse(&out).unwrap().starter(), i32::try_from(std::process::id()).ok());
    assert_eq!(place.files(), Vec::<String>::new());
    let held = place.lock(7).hold(&RunMark::new()).await.unwrap().unwrap();
    assert_eq!(place.files(), ["s+7", "s+7.run"]);
    held.pass_on(|| Command::new("/nonexistent").spawn()).unwrap_err();
    assert_eq!(place.files(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lock_reaches_no_process_of_another_run() {
    let place = Place::new();
    let mut running = Vec::new();
    for call in 0..60 {
        let lock = place.lock(call);
        // Those that end early would be held by those that end late.
        let line = if call % 2 == 0 { "exit 0" } else { "sleep 0.2" };
        running.push(tokio::spawn(async move { sh(line, lock).await.0.unwrap() }));
    }
    for one in running {
        let ran = one.await.unwrap();
        assert!(matches!(ran.end, ProcessEnd::Exited(status) if status.success()), "{ran:?}");
        assert_eq!(ran.remaining.count, 0, "{ran:?}");
    }
    assert_eq!(place.files(), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_killed_starter_left_is_ended_and_waited_for() {
    let place = Place::new();
    let mut left = place.left(FAMILY).await;
    let family = pids(&mut left);
    assert_eq!(family.len(), 5);
    // A process that is just starting its program has no command line.
    let end = Instant::now() + Duration::from_secs(60);
    while !family.iter().all(|pid| lives(*pid)) {
        assert!(Instant::now() < end, "{family:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let other = SessionId::new("s.2").unwrap();
    place.locks.end_runs(&other).await.unwrap();
    assert!(lives(family[1]), "it is of another session");
    place.locks.end_runs(&session()).await.unwrap();
    assert!(!family.iter().any(|pid| lives(*pid)), "{family:?}");
    assert_eq!(place.files(), Vec::<String>::new());
    left.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_call_is_run_again_once_its_earlier_run_has_ended() {
    let place = Place::new();
    // It does not end by itself.
    let mut left = place.left("trap '' TERM; echo $$; while :; do sleep 1; done").await;
    let pid = pids(&mut left)[0];
    let line = format!("[ -z \"$(tr -d '\\0' < /proc/{pid}/cmdline)\" ] && echo alone");
    let (ran, out) = sh(&line, place.lock(7)).await;
    ran.unwrap();
    assert_eq!((out.as_str(), place.files()), ("alone\n", Vec::new()));
    left.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_neither_has_the_mark_nor_the_group_is_killed_with_its_run() {
    let place = Place::new();
    // It is named by what it runs once `env` and `setsid` have become `sleep`.
    let line = "env -i setsid sleep 315 > /dev/null 2> /dev/null & \
                until [ \"$(tr '\\0' ' ' < /proc/$!/cmdline)\" = 'sleep 315 ' ]; do sleep 0.01; done; \
                echo $!";
    let (ran, out) = sh(line, place.lock(7)).await;
    let ran = ran.unwrap();
    assert_eq!((ran.remaining.count, ran.held_open), (1, false), "{ran:?}");
    assert_eq!(ran.remaining.commands, ["sleep 315"]);
    assert!(!lives(out.trim().parse().unwrap()));
    assert_eq!(place.files(), Vec::<String>::new());
}

#[tokio::test]
async fn an_id_that_another_process_has_by_now_names_nobody() {
    let place = Place::new();
    let mut innocent = Command::new("sleep").arg("316").spawn().unwrap();
    for text in [format!("{}-1-1", innocent.id()), innocent.id().to_string()] {
        drop(place.lock(7).hold(&RunMark::new()).await.unwrap().unwrap());
        let mark = place.folder.path().join("a/b/s+7.run");
        fs::remove_file(&mark).unwrap();
        std::os::unix::fs::symlink(text, mark).unwrap();
        place.locks.end_runs(&session()).await.unwrap();
        assert_eq!(place.files(), Vec::<String>::new());
        assert_eq!(innocent.try_wait().unwrap(), None, "it was killed");
    }
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

#[tokio::test]
async fn a_lock_that_does_not_get_free_fails_the_run_in_time() {
    let place = Place::new();
    drop(place.lock(7).hold(&RunMark::new()).await.unwrap().unwrap());
    // Held by this process, which is not to be killed.
    let file = fs::File::open(place.folder.path().join("a/b/s+7")).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    let start = Instant::now();
    let (ran, out) = sh("echo ran", place.lock(7)).await;
    let not_run = ran.unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(!not_run.began && out.is_empty());
    let words = not_run.error.to_string();
    assert!(words.contains("an earlier run of this call still run"), "{words}");
    drop(file);
    sh("true", place.lock(7)).await.0.unwrap();
    assert_eq!(place.files(), Vec::<String>::new());
}

#[tokio::test]
async fn where_no_lock_can_be_written_calls_run_without_one() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let locks = RunLocks::new(dir.path().join("file/runs"));
    let lock = locks.of(&session(), CallId(7));
    assert!(lock.hold(&RunMark::new()).await.unwrap().is_none());
}

/// The record of a machine's first process may come before its lock, which makes the folder.
#[test]
fn a_record_needs_no_folder() {
    let dir = tempfile::tempdir().unwrap();
    let locks = RunLocks::new(dir.path().join("state/runs"));
    locks.record(&session(), CallId(7)).unwrap();
    let recorded = RecordedProcess { call: CallId(7), running: false };
    assert_eq!(locks.recorded(&session()).unwrap(), [recorded]);
}

/// A record stays when its process has gone, until it is forgotten.
#[tokio::test]
async fn a_record_outlives_its_process() {
    let place = Place::new();
    let (locks, id) = (&place.locks, session());
    assert_eq!(locks.recorded(&id).unwrap(), []);
    let mut child = place.left("sleep 60").await;
    locks.record(&id, CallId(7)).unwrap();
    let mut expected = RecordedProcess { call: CallId(7), running: true };
    assert_eq!(locks.recorded(&id).unwrap(), [expected]);
    let reaping = std::thread::spawn(move || child.wait());
    locks.end(&id, CallId(7)).await.unwrap();
    reaping.join().unwrap().unwrap();
    expected.running = false;
    assert_eq!(locks.recorded(&id).unwrap(), [expected]);
    assert_eq!(locks.recorded(&SessionId::new("other").unwrap()).unwrap(), []);
    // This process is the starter, and lives.
    let mut child = place.left("sleep 60").await;
    locks.end_abandoned().await.unwrap();
    assert!(locks.recorded(&id).unwrap()[0].running);
    child.kill().unwrap();
    child.wait().unwrap();
    locks.end(&id, CallId(7)).await.unwrap();
    locks.forget(&id, CallId(7)).unwrap();
    locks.forget(&id, CallId(7)).unwrap();
    assert_eq!(place.files(), [""; 0]);
}
