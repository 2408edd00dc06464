//! `windlass inputs`: lists and changes the inputs of a session that no turn has accepted yet.

use serde_json::{Value, json};
use windlass_engine::core::{Delivery, Hold, InputId, SessionId};
use windlass_engine::ports::{Clock as _, LogStore};
use windlass_engine::{
    ChangeError, ChangeRequest, InputChange, Loaded, WaitingInput, change_input, load,
    waiting_inputs,
};

use super::{closed, prompt};
use crate::args::{InputsArgs, InputsCommand};
use crate::exit::{ExitKind, Failure};
use crate::present::{first_words, print_line, print_notice, visible};
use crate::signals::Signals;
use crate::wiring::{self, Workspace};

/// Facts of one read.
const PAGE: usize = 1_000;
/// Most characters of an input's text in the list.
const WORDS: usize = 60;

pub(super) async fn inputs(args: InputsArgs) -> Result<ExitKind, Failure> {
    let store = Workspace::new(&args.place)?.open_to_read().await?.store;
    let change = requested_change(args.command).await?;
    let changes = change.is_some();
    if let Some((input, change)) = change {
        apply(store.as_ref(), &args.session, input, change).await?;
    }
    if args.json || !changes {
        let loaded = load(store.as_ref(), &args.session, PAGE).await?;
        match args.json {
            true => print_line(&object(&loaded).to_string()).map_err(closed)?,
            false => list(&loaded)?,
        }
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
            let text = prompt::read(&text, &mut signals).await?;
            Some((InputId(input), InputChange::Edit { text }))
        }
        Some(InputsCommand::Move { input, before }) => {
            Some((InputId(input), InputChange::Move { before: before.map(InputId) }))
        }
        Some(InputsCommand::Withdraw { input }) => Some((InputId(input), InputChange::Withdraw)),
    })
}

async fn apply(
    store: &dyn LogStore,
    session: &SessionId,
    input: InputId,
    change: InputChange,
) -> Result<(), Failure> {
    let done = match &change {
        InputChange::Edit { .. } => "edited",
        InputChange::Move { .. } => "moved",
        InputChange::Withdraw => "withdrawn",
    };
    let now = wiring::clock().now();
    let request =
        ChangeRequest { session: session.clone(), input, change, scope: super::me(), now };
    match change_input(store, &request).await? {
        true => print_notice(&format!("input {input} is {done}")),
        false => print_notice(&format!("input {input} is as requested already")),
    }
    Ok(())
}

/// Prints one line for each input.
fn list(loaded: &Loaded) -> Result<(), Failure> {
    let session = &loaded.session;
    let waiting = waiting_inputs(session, &loaded.history);
    for input in &waiting {
        print_line(&visible(&row(input))).map_err(closed)?;
    }
    match (waiting.is_empty(), session.hold) {
        (true, _) => print_notice(&format!("no input waits in session {}", session.id)),
        (false, Hold::Held) => {
            print_notice(&format!("they wait until `windlass resume {}`", session.id));
        }
        (false, Hold::Free) => {}
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
        Some(turn) => format!(" (turn {turn} is open for it)"),
        None => String::new(),
    };
    let (input, delivery) = (waiting.input, delivery_name(waiting.delivery));
    let text = first_words(&waiting.text, WORDS);
    format!("{input:>6}  {delivery:<9}  {text}{images}{opened}")
}

/// Returns the queue in the form of the HTTP interface.
fn object(loaded: &Loaded) -> Value {
    let waiting = waiting_inputs(&loaded.session, &loaded.history);
    let input = |waiting: WaitingInput| {
        json!({
            "input": waiting.input, "text": waiting.text, "delivery": waiting.delivery,
            "images": waiting.images, "dry_run": waiting.dry_run, "turn": waiting.turn,
        })
    };
    let inputs: Vec<Value> = waiting.into_iter().map(input).collect();
    json!({"inputs": inputs, "held": loaded.session.hold == Hold::Held})
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
