//! The conductor: starts the server, strikes it, its tools and its store, starts it again, measures it, and
//! erases sessions that nobody uses.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, interval};
use windlass_testkit::faults::RandomFaults;
use windlass_testkit::http::ModelServer;

use crate::http::Ask;
use crate::meter::Sample;
use crate::random::Random;
use crate::report;
use crate::server::{Served, Site};
use crate::tally::{add, read};
use crate::tools;
use crate::world::World;
use xtask::say::say;

/// Time between two looks at the server.
const LOOK: Duration = Duration::from_millis(100);
/// Mean number of calls of one method of the store between two faults.
const EVERY: u64 = 150;
/// Exit code of a server whose store ended.
const STORE: i32 = 5;
/// Sessions that are erased at a time.
const ERASED: usize = 4;
/// Sessions that are unchanged for so long are erased while the server is down.
const RETENTION: &str = "90s";

/// Times of what the conductor does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Least and most time between two ends of the server.
    pub(crate) lives: (Duration, Duration),
    /// Time after which the server is not ended any more, so that one process is measured for long.
    pub(crate) steady: Duration,
    /// Least and most time between two strikes at tools and erasures.
    pub(crate) strikes: (Duration, Duration),
    pub(crate) samples: Duration,
}

pub(crate) struct Conductor<'a> {
    world: Arc<World>,
    site: &'a Site,
    model: &'a ModelServer,
    pace: Pace,
    random: Random,
    served: Served,
    life: u64,
    /// When the soak, and the life of this server, began.
    began: Instant,
    born: Instant,
    pub(crate) samples: Vec<Sample>,
}

/// When the next things are due.
struct Due {
    end: Instant,
    strike: Instant,
    sample: Instant,
    line: Instant,
}

impl<'a> Conductor<'a> {
    /// Starts the server.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) async fn new(
        world: Arc<World>,
        site: &'a Site,
        model: &'a ModelServer,
        pace: Pace,
    ) -> anyhow::Result<Self> {
        let faults = RandomFaults { seed: world.seed, every: EVERY };
        let served = site.serve(faults, &world.tally).await?;
        world.publish(Some(served.at));
        let (began, random) = (Instant::now(), Random::new(world.seed, 0));
        Ok(Self {
            world,
            site,
            model,
            pace,
            random,
            served,
            life: 0,
            began,
            born: began,
            samples: Vec::new(),
        })
    }

    /// Works until it is dropped.
    ///
    /// # Errors
    /// When the server cannot be started again or measured.
    pub(crate) async fn work(&mut self) -> anyhow::Result<()> {
        let mut ticks = interval(LOOK);
        let now = Instant::now();
        let mut due = Due { end: now, strike: now, sample: now, line: now };
        due.end += self.after(self.pace.lives);
        due.strike += self.after(self.pace.strikes);
        due.line += Duration::from_secs(60);
        loop {
            ticks.tick().await;
            let now = Instant::now();
            if let Some(status) = self.served.ended()? {
                self.ended_alone(status.code()).await?;
                due.end = now + self.after(self.pace.lives);
            }
            if now >= due.end && self.began.elapsed() < self.pace.steady {
                self.end().await?;
                due.end = Instant::now() + self.after(self.pace.lives);
            }
            if now >= due.strike {
                self.strike().await?;
                due.strike = now + self.after(self.pace.strikes);
            }
            if now >= due.sample {
                self.sample()?;
                due.sample = now + self.pace.samples;
            }
            if now >= due.line {
                self.model.forget();
                self.line();
                due.line = now + Duration::from_secs(60);
            }
        }
    }

    fn after(&mut self, (least, most): (Duration, Duration)) -> Duration {
        self.random.between(least, most)
    }

    fn sample(&mut self) -> anyhow::Result<()> {
        let measured = Sample::of(self.served.pid(), &self.site.stored());
        // The process may have ended just now.
        let Ok(measured) = measured else { return Ok(()) };
        let hours = |since: Instant| since.elapsed().as_secs_f64() / 3_600.0;
        self.samples.push(Sample {
            hours: hours(self.began),
            life: self.life,
            age: hours(self.born) * 3_600.0,
            turns: read(&self.world.tally.turns) as f64,
            ..measured
        });
        Ok(())
    }

    fn line(&self) {
        if let Some(last) = self.samples.last() {
            say(report::line(last, &self.world.tally));
        }
    }

    /// The server has ended by itself. That is meant only where its store cannot go on without it.
    async fn ended_alone(&mut self, code: Option<i32>) -> anyhow::Result<()> {
        if code == Some(STORE) {
            self.world.tally.fault("server: ended with its store");
        } else {
            let said = self.served.said();
            self.world.tally.wrong(format!("the server ended by itself ({code:?}): {said}"));
        }
        self.start().await
    }

    /// Ends the server, tidies its store up, and starts it again.
    async fn end(&mut self) -> anyhow::Result<()> {
        self.world.publish(None);
        if self.random.percent(60) {
            self.world.tally.fault("server: SIGKILL");
            self.served.kill()?;
        } else {
            self.world.tally.fault("server: SIGTERM");
            if let Err(error) = self.served.stop().await {
                self.world.tally.wrong(format!("{error:#}"));
                self.served.kill()?;
            }
        }
        if self.site.store.has_maintenance() {
            let done = self.site.run(&["vacuum", "--erase-after", RETENTION]).await?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr);
                self.world.tally.wrong(format!("vacuum: {}: {said}", done.status));
            }
        }
        // The next vacuum erases what this one left. Without one, strikes erase them.
        if self.site.store.has_maintenance() || !self.site.store.erases() {
            while self.world.oldest().is_some() {}
        }
        self.start().await
    }

    async fn start(&mut self) -> anyhow::Result<()> {
        self.world.publish(None);
        self.life += 1;
        let faults = RandomFaults { seed: self.world.seed ^ self.life << 32, every: EVERY };
        self.served = self.site.serve(faults, &self.world.tally).await?;
        self.born = Instant::now();
        add(&self.world.tally.restarts, 1);
        self.world.publish(Some(self.served.at));
        Ok(())
    }

    /// Kills a tool, or erases sessions that nobody uses.
    async fn strike(&mut self) -> anyhow::Result<()> {
        if self.site.store.erases() && self.random.percent(70) {
            for _ in 0..ERASED {
                self.erase().await?;
            }
            return Ok(());
        }
        let running = tools::running(&self.site.work());
        let which = self.random.below(running.len() as u64);
        let Some(pid) = usize::try_from(which).ok().and_then(|which| running.get(which)) else {
            return Ok(());
        };
        // Only what is still a tool: the number may be another's by now.
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if line.starts_with(b"sh\0-c\0") && kill(Pid::from_raw(*pid), Signal::SIGKILL).is_ok() {
            self.world.tally.fault("tool: SIGKILL");
        }
        tools::ended(&self.site.work(), *pid);
        Ok(())
    }

    /// Erases the oldest session that nobody uses, beside the server.
    async fn erase(&mut self) -> anyhow::Result<()> {
        let Some(session) = self.world.oldest() else { return Ok(()) };
        let done = self.site.run(&["erase", &session, "--yes"]).await?;
        if !done.status.success() {
            self.world.tally.fault("erase: refused");
            return Ok(());
        }
        add(&self.world.tally.erased, 1);
        let seen = self.world.insist(&Ask::get(format!("/v1/sessions/{session}"))).await;
        match seen {
            Ok(answer) if answer.status == 404 => {}
            seen => self.world.tally.wrong(format!("{session} was erased: {seen:?}")),
        }
        Ok(())
    }

    /// Stops the server and verifies its store.
    ///
    /// # Errors
    /// When a command cannot be started.
    pub(crate) async fn close(&mut self) -> anyhow::Result<()> {
        self.line();
        if let Err(error) = self.served.stop().await {
            self.world.tally.wrong(format!("{error:#}"));
            self.served.kill()?;
        }
        let verified = self.site.run(&["verify"]).await?;
        if !verified.status.success() {
            let said = String::from_utf8_lossy(&verified.stderr);
            self.world.tally.wrong(format!("verify: {}: {said}", verified.status));
        }
        Ok(())
    }
}
