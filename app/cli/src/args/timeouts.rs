//! Time-outs of requests to the model, as flags and as fields of the server's configuration file.

use std::time::Duration;

use clap::Args as ClapArgs;
use serde::Deserialize;
use windlass_engine::core::Limits;

use super::parse::duration;

/// Longest time that a connection may take.
const LONGEST_CONNECT: Duration = Duration::from_mins(1);

/// Time-outs of a request to the model. All but the first are kept by the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, ClapArgs)]
pub(crate) struct TimeoutArgs {
    /// Longest time for a connection to the provider, with TLS, at most 60s [default: 60s].
    #[arg(long, value_name = "DUR", value_parser = connect)]
    pub(crate) connect_timeout: Option<Duration>,
    /// Longest time from sending a request to the headers of the response [default: 60s].
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) header_timeout: Option<Duration>,
    /// Longest time from the headers to the first event of an answer [default: 2m].
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) first_event_timeout: Option<Duration>,
    /// Longest time between two events of an answer; comments are none [default: 2m].
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) idle_timeout: Option<Duration>,
    /// Longest time of a request with its whole answer [default: 15m].
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) sample_timeout: Option<Duration>,
    /// Longest wait that a provider may ask for before the next attempt [default: 5m].
    ///
    /// If it asks for more, the turn fails and says so.
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) max_retry_after: Option<Duration>,
}

impl TimeoutArgs {
    /// Sets the limits that are named here.
    pub(crate) fn apply(&self, limits: &mut Limits) {
        for (limit, named) in [
            (&mut limits.connect_ms, self.header_timeout),
            (&mut limits.first_byte_ms, self.first_event_timeout),
            (&mut limits.idle_ms, self.idle_timeout),
            (&mut limits.sample_ms, self.sample_timeout),
            (&mut limits.retry_after_ms, self.max_retry_after),
        ] {
            *limit = named.map_or(*limit, milliseconds);
        }
    }

    /// Returns the time-out of a connection, in milliseconds.
    pub(crate) fn connect_ms(&self) -> Option<u64> {
        self.connect_timeout.map(milliseconds)
    }

    /// Returns true if a limit of the session is named here.
    pub(crate) fn any(&self) -> bool {
        *self != Self { connect_timeout: self.connect_timeout, ..Self::default() }
    }
}

fn connect(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    match time <= LONGEST_CONNECT {
        true => Ok(time),
        false => Err("it is at most 60s".to_owned()),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The same time-outs in a configuration file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TimeoutFields {
    connect: Option<String>,
    header: Option<String>,
    first_event: Option<String>,
    idle: Option<String>,
    sample: Option<String>,
    retry_after: Option<String>,
}

impl TimeoutFields {
    /// Converts into the arguments of the command.
    pub(crate) fn args(&self) -> Result<TimeoutArgs, String> {
        type Parse = fn(&str) -> Result<Duration, String>;
        let read = |field: &str, parse: Parse, said: &Option<String>| {
            let read = said.as_deref().map(parse).transpose();
            read.map_err(|why| format!("timeouts: {field}: {why}"))
        };
        Ok(TimeoutArgs {
            connect_timeout: read("connect", connect, &self.connect)?,
            header_timeout: read("header", duration, &self.header)?,
            first_event_timeout: read("first_event", duration, &self.first_event)?,
            idle_timeout: read("idle", duration, &self.idle)?,
            sample_timeout: read("sample", duration, &self.sample)?,
            max_retry_after: read("retry_after", duration, &self.retry_after)?,
        })
    }
}
