//! `windlass inputs`: lists and changes the inputs of a session that no turn has accepted yet.

use windlass_engine::core::{Delivery, InputId, SessionId};
use windlass_engine::ports::Clock as _;
use windlass_engine::{
    ChangeError, ChangeRequest, InputChange, InputQueue, WaitingInput, change_input, load,
};

use super::{attach, closed, prompt};
use crate::args::{InputsArgs, InputsCommand};
use crate::attach::{RemoteServer, RemoteSession};
use crate::exit::{ExitKind, Failure};
use crate::present::{first_words, print_json, print_line, print_notice, visible};
use crate::signals::Signals;
use crate::wiring::{self, Adapters, StoreHandle};

/// Facts of one read.
const PAGE: usize = 1_000;
/// Most characters of an input's text in the list.
const WORDS: usize = 60;

pub(super) async fn inputs(args: InputsArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let change = requested_change(args.command).await?;
    let (session, id) = match &args.server {
        Some(server) => {
            let token = attach::token(args.token_file.as_deref())?;
            let server = RemoteServer::new(server, token)?;
            let id = server.find(args.session.as_id().as_str()).await?;
            (QueueAccess::Server(server.session(id.clone())), id)
        }
        None => {
            let site = adapters.workspace(&args.place)?;
            let opened = site.open_to_read().await?;
            let id = args.session.resolve(&site, &*opened.store).await?;
            (QueueAccess::Store(opened), id)
        }
    };
    if let Some((input, change)) = &change {
        session.change(&id, *input, change).await?;
    }
    if args.json {
        let queue = serde_json::to_string(&session.queue(&id).await?);
        let queue = queue.map_err(|error| Failure::new(ExitKind::Failed, error.to_string()))?;
        print_json(&queue).map_err(closed)?;
    } else if change.is_none() {
        let queue = session.queue(&id).await?;
        list(&id, &queue, &session.continuation(&id))?;
    }
    Ok(ExitKind::Completed)
}

/// Returns the change that the command requests; `None` if it lists.
async fn requested_change(
    command: Option<InputsCommand>,
) -> Result<Option<(InputId, InputChange)>, Failure> {
    Ok(match command {
        None | Some(InputsCommand::List) => None,
        Some(InputsCommand::Edit { input, text }) => {
            let (mut signals, _again) = Signals::listen()?;
            let text = prompt::text(&text, &mut signals).await?;
            Some((InputId(input), InputChange::Edit { text }))
        }
        Some(InputsCommand::Move { input, before }) => {
            Some((InputId(input), InputChange::Move { before: before.map(InputId) }))
        }
        Some(InputsCommand::Withdraw { input }) => Some((InputId(input), InputChange::Withdraw)),
    })
}

/// Place of the session.
enum QueueAccess {
    /// A store; no process drives the session.
    Store(StoreHandle),
    /// A server, which may drive it.
    Server(RemoteSession),
}

impl QueueAccess {
    async fn change(
        &self,
        session: &SessionId,
        input: InputId,
        change: &InputChange,
    ) -> Result<(), Failure> {
        match self {
            Self::Server(remote) => remote.change_input(input, change).await?,
            Self::Store(store) => {
                let request = ChangeRequest {
                    session: session.clone(),
                    input,
                    change: change.clone(),
                    scope: super::me(),
                    now: wiring::clock().now(),
                };
                if !change_input(store.store.as_ref(), &request).await? {
                    let has = match change {
                        InputChange::Edit { .. } => "has this text",
                        InputChange::Move { .. } => "is at this place",
                        InputChange::Withdraw => "is withdrawn",
                    };
                    print_notice(&format!("nothing to change: input {input} {has}"));
                    return Ok(());
                }
            }
        }
        let done = match change {
            InputChange::Edit { .. } => "edited",
            InputChange::Move { .. } => "moved",
            InputChange::Withdraw => "withdrawn",
        };
        print_notice(&format!("input {input} is {done}"));
        Ok(())
    }

    /// Returns the command that continues the session.
    fn continuation(&self, session: &SessionId) -> String {
        match self {
            Self::Server(remote) => format!("POST {}/continue", remote.url()),
            Self::Store(_) => format!("windlass resume {session}"),
        }
    }

    async fn queue(&self, session: &SessionId) -> Result<InputQueue, Failure> {
        match self {
            Self::Server(remote) => remote.inputs().await,
            Self::Store(store) => {
                let loaded = load(store.store.as_ref(), session, PAGE).await?;
                Ok(InputQueue::of(&loaded.session, &loaded.history))
            }
        }
    }
}

/// Prints one line for each input. `continuation` is the command that continues the session.
fn list(session: &SessionId, queue: &InputQueue, continuation: &str) -> Result<(), Failure> {
    for input in &queue.inputs {
        print_line(&visible(&row(input))).map_err(closed)?;
    }
    match (queue.inputs.is_empty(), queue.held) {
        (true, _) => print_notice(&format!("no input waits in session {session}")),
        (false, true) => print_notice(&format!("the inputs wait until `{continuation}`")),
        (false, false) => {}
    }
    Ok(())
}

fn row(waiting: &WaitingInput) -> String {
    let images = match waiting.images {
        0 => String::new(),
        1 => " (with 1 image)".to_owned(),
        many => format!(" (with {many} images)"),
    };
    let opened = match waiting.turn {
        Some(_) => " (a turn is open for it)",
        None => "",
    };
    let (input, delivery) = (waiting.input.0, delivery_name(waiting.delivery));
    let text = first_words(&waiting.text, WORDS);
    format!("{input:>6}  {delivery:<9}  {text}{images}{opened}")
}

fn delivery_name(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Turn => "turn",
        Delivery::Steer => "steer",
        Delivery::FollowUp => "follow-up",
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Start(error) => error.into(),
            ChangeError::Store(error) => error.into(),
            ChangeError::Rejected(_) => Self::usage(error.to_string()),
        }
    }
}
