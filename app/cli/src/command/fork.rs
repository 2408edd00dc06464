//! `windlass fork`: creates a session that continues from a position of another one's log.

use windlass_engine::core::{Seq, SessionId};
use windlass_engine::ports::Clock as _;
use windlass_engine::{ForkError, ForkReport, ForkRequest};

use super::closed;
use super::turn::new_id;
use crate::args::ForkArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice};
use crate::wiring::{self, Adapters};

/// Facts of one read.
const PAGE: usize = 1_000;

pub(super) async fn fork(args: ForkArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let clock = wiring::clock();
    let now = clock.now();
    let id = match args.id {
        Some(id) => id,
        None => new_id(now.0, clock.entropy())?,
    };
    let site = adapters.workspace(&args.place)?;
    let keeper = site.open_to_read().await?.copy_target();
    let asked = ForkRequest {
        source: args.session.resolve(&site, &*keeper.store).await?,
        at: Seq(args.at),
        id,
        scope: super::me(),
        now,
        max_bytes: u64::MAX,
    };
    let forked = windlass_engine::fork(&keeper, &asked).await;
    let forked = forked.map_err(|error| cut_short(error, &asked))?;
    print_notice(&words(&asked.source, &forked));
    let loaded = windlass_engine::load(keeper.store.as_ref(), &forked.session, PAGE).await?;
    let waiting = match loaded.session.queue.len() {
        0 => None,
        1 => Some(("1 input waits".to_owned(), "it")),
        many => Some((format!("{many} inputs wait"), "them")),
    };
    if let Some((waiting, them)) = waiting.filter(|_| forked.facts > 0) {
        let id = &forked.session;
        print_notice(&format!(
            "{waiting} there, as at that position: `windlass resume {id}` processes {them}"
        ));
    }
    print_line(forked.session.as_str()).map_err(closed)?;
    Ok(ExitKind::Completed)
}

fn words(of: &SessionId, forked: &ForkReport) -> String {
    let ForkReport { session, last, facts, blobs, missing: left } = forked;
    if *facts == 0 {
        return format!("session {session} is already the fork of {of} at {last}");
    }
    let outputs = match blobs {
        0 => String::new(),
        1 => ", with 1 long output or image".to_owned(),
        many => format!(", with {many} long outputs or images"),
    };
    let left = match left {
        0 => String::new(),
        1 => "; 1 long output or image is missing from the store".to_owned(),
        many => format!("; {many} long outputs or images are missing from the store"),
    };
    format!("session {session} continues {of} from {last}{outputs}{left}")
}

/// Creates the failure of a fork that may exist in part, with its id.
fn cut_short(error: ForkError, asked: &ForkRequest) -> Failure {
    let (of, at, id) = (&asked.source, asked.at, &asked.id);
    let stopped = matches!(error, ForkError::Store(_) | ForkError::Blob { .. });
    let mut failure = Failure::from(error);
    if stopped {
        let words = format!(". `windlass fork {of} --at {at} --as {id}` completes it");
        failure.message.push_str(&words);
    }
    failure
}

impl From<ForkError> for Failure {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::Store(error) => error.into(),
            ForkError::Unknown(_)
            | ForkError::NoPosition { .. }
            | ForkError::UnderWay { .. }
            | ForkError::Unfinished(_)
            | ForkError::Exists(_)
            | ForkError::TooLarge { .. }
            | ForkError::TooManyBytes { .. }
            | ForkError::TooMany { .. } => Self::usage(error.to_string()),
            ForkError::InvalidFact { .. } | ForkError::Blob { .. } => {
                Self::new(ExitKind::Store, error.to_string())
            }
            ForkError::ShutDown(_) => Self::new(ExitKind::Failed, error.to_string()),
            _ => Self::new(ExitKind::Failed, error.to_string()),
        }
    }
}
