//! `windlass rewind`: returns a session to an earlier point of its conversation, in place.

use windlass_engine::core::{Reject, Seq, SessionId};
use windlass_engine::ports::Clock as _;
use windlass_engine::{ChangeError, RewindError, RewindReport, RewindRequest, RewindTarget};

use super::{closed, require_position};
use crate::args::RewindArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice};
use crate::wiring::{self, Adapters};

pub(super) async fn rewind(args: RewindArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let store = site.open_to_read().await?.store;
    let session = args.session.resolve(&site, &*store).await?;
    let target = match (args.to, args.turns) {
        (Some(to), _) => RewindTarget::Position(Seq(to)),
        (None, turns) => RewindTarget::Turns(turns.unwrap_or(1)),
    };
    let now = wiring::clock().now();
    let request = RewindRequest { session, target, scope: super::me(), now };
    let rewound = match windlass_engine::rewind(store.as_ref(), &request).await {
        Ok(rewound) => rewound,
        Err(error) => {
            if let RewindError::Change(ChangeError::Rejected(Reject::NoRewindPoint {
                to, ..
            })) = &error
            {
                require_position(store.as_ref(), &request.session, *to).await?;
            }
            return Err(failure(&request.session, error));
        }
    };
    print_notice(&words(&request, &rewound));
    if rewound.effects_remain {
        print_notice("effects of rewound calls remain: files are not changed back");
    }
    print_line(&rewound.to.to_string()).map_err(closed)?;
    Ok(ExitKind::Completed)
}

fn words(request: &RewindRequest, RewindReport { to, at, .. }: &RewindReport) -> String {
    let id = &request.session;
    match at {
        Some(at) => format!(
            "session {id} continues from {to}: what followed stays in its log, before {at}, and \
             the model does not see it"
        ),
        None => format!("session {id} is at {to} already"),
    }
}

fn failure(session: &SessionId, error: RewindError) -> Failure {
    match error {
        RewindError::Change(ChangeError::Rejected(Reject::TurnRunning(_))) => {
            Failure::usage(format!(
                "a turn of session {session} is open: `windlass resume {session}` continues \
                 it; rewind afterwards, or fork the session at a position before it"
            ))
        }
        RewindError::Change(ChangeError::Rejected(reject)) => {
            Failure::usage(format!("session {session}: {reject}"))
        }
        RewindError::Change(error) => error.into(),
        RewindError::TooFewTurns { turns, .. } => {
            let turns = match turns {
                0 => "no turn to rewind".to_owned(),
                1 => "1 turn; --turns N is at most that".to_owned(),
                many => format!("{many} turns; --turns N is at most that"),
            };
            Failure::usage(format!(
                "the conversation of session {session} has {turns}. A compaction ends the reach of \
                 a rewind: `windlass fork {session} --at SEQ` starts further back"
            ))
        }
    }
}
