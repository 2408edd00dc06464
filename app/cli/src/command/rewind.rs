//! `windlass rewind`: returns a session to an earlier point of its conversation, in place.

use windlass_engine::core::{Reject, Seq};
use windlass_engine::ports::Clock as _;
use windlass_engine::{RewindError, RewindReport, RewindRequest, RewindTarget};

use super::{closed, require_position};
use crate::args::RewindArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice};
use crate::wiring::{self, Workspace};

pub(super) async fn rewind(args: RewindArgs) -> Result<ExitKind, Failure> {
    let store = Workspace::new(&args.place)?.open_to_read().await?.store;
    let target = match (args.to, args.turns) {
        (Some(to), _) => RewindTarget::Position(Seq(to)),
        (None, turns) => RewindTarget::Turns(turns.unwrap_or(1)),
    };
    let now = wiring::clock().now();
    let request = RewindRequest { session: args.session, target, scope: super::me(), now };
    let rewound = match windlass_engine::rewind(store.as_ref(), &request).await {
        Ok(rewound) => rewound,
        Err(error) => {
            if let RewindError::Rejected { session, reject: Reject::NoRewindPoint { to, .. } } =
                &error
            {
                require_position(store.as_ref(), session, *to).await?;
            }
            return Err(error.into());
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

impl From<RewindError> for Failure {
    fn from(error: RewindError) -> Self {
        match error {
            RewindError::Store(error) => error.into(),
            RewindError::InvalidFact { .. } => Self::new(ExitKind::Store, error.to_string()),
            RewindError::Rejected { session, reject: Reject::TurnRunning(turn) } => {
                Self::usage(format!(
                    "turn {turn} of session {session} is open: `windlass resume {session}` \
                     continues it; rewind afterwards, or fork the session at a position before it"
                ))
            }
            RewindError::TooFewTurns { session, turns } => {
                let turns = match turns {
                    0 => "no turn to rewind".to_owned(),
                    1 => "1 turn; --turns N is at most that".to_owned(),
                    many => format!("{many} turns; --turns N is at most that"),
                };
                Self::usage(format!("the conversation of session {session} has {turns}"))
            }
            RewindError::Unknown(_) | RewindError::Unfinished(_) | RewindError::Rejected { .. } => {
                Self::usage(error.to_string())
            }
        }
    }
}
