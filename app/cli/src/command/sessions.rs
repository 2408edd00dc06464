//! `windlass sessions`: lists the sessions of a store.

use serde_json::json;
use windlass_engine::core::{
    BudgetUsage, Fact, Lineage, RecordedFact, Seq, SessionId, TurnOutcome,
};
use windlass_engine::ports::{LogStore, SessionFilter, SessionListing, StoreError};

use super::closed;
use crate::args::SessionsArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{first_words, outcome_name, print_json, print_line, print_notice, visible};
use crate::wiring::{Adapters, Workspace, short_id};

/// Sessions of one listing.
const SESSIONS: usize = 10_000;
/// Facts of one read.
const PAGE: usize = 1_000;
/// Facts of the first read: all of most sessions, and few of those of other workspaces.
const FIRST_PAGE: usize = 32;
/// Sessions of the first read.
const BATCH: usize = 128;

/// Kinds of the facts that a row shows.
const KINDS: &[&str] = &["SessionOpened", "InputQueued", "TurnOpened", "TurnSettled"];

/// One session in a list.
#[derive(Default)]
pub(super) struct SessionRow {
    turns: u64,
    facts: u64,
    open: bool,
    outcome: Option<TurnOutcome>,
    prompt: String,
    /// Folder that it was opened for.
    workspace: Option<String>,
    /// Origin of the session.
    lineage: Option<Lineage>,
    /// Usage of its ended turns, with their agents.
    spent: BudgetUsage,
    trouble: Option<String>,
}

pub(super) async fn sessions(args: SessionsArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let store = site.open_to_read().await?.store;
    let here = site.recorded();
    let only = (!args.all).then_some(here.as_str());
    let (mut listed, mut elsewhere) = (0_u64, 0_u64);
    let mut after: Option<SessionId> = None;
    loop {
        // One more than are printed, since ids are shown as far as they differ from the next.
        let limit = SESSIONS.saturating_add(1);
        let heads = store.sessions(SessionFilter::ALL_TENANTS, after.as_ref(), limit).await?;
        let shown = heads.get(..SESSIONS).unwrap_or(&heads);
        let mut first = 0_usize;
        for batch in SessionListing::batches(shown, BATCH, FIRST_PAGE) {
            let mut lines = Vec::with_capacity(batch.len());
            let read = summaries(store.as_ref(), batch, only).await;
            let numbered = batch.iter().zip(read).zip(first..);
            first = first.saturating_add(batch.len());
            for ((head, summary), at) in numbered {
                let before = at.checked_sub(1).and_then(|at| heads.get(at)).map(|head| &head.id);
                let next = heads.get(at.saturating_add(1)).map(|head| &head.id);
                let id = short_id(&head.id, [before.or(after.as_ref()), next]);
                let Some(summary) = summary else {
                    elsewhere += 1;
                    continue;
                };
                listed += 1;
                lines.push(match (args.json, args.all) {
                    (true, _) => object(&head.id, &summary),
                    (false, false) => row(id, &summary),
                    (false, true) => row(id, &summary) + &place(&summary),
                });
            }
            if lines.is_empty() {
                continue;
            }
            let lines = lines.join("\n");
            let printed = match args.json {
                true => print_json(&lines),
                false => print_line(&lines),
            };
            printed.map_err(closed)?;
        }
        if heads.len() <= SESSIONS {
            notice(&site, listed, elsewhere);
            return Ok(ExitKind::Completed);
        }
        after = heads.get(SESSIONS.saturating_sub(1)).map(|head| head.id.clone());
    }
}

/// Says why a list is empty, and how many sessions are not in it.
fn notice(site: &Workspace, listed: u64, elsewhere: u64) {
    if listed == 0 {
        let of = match elsewhere {
            0 => String::new(),
            _ => format!(" of {}", site.workspace.display()),
        };
        print_notice(&visible(&format!("there are no sessions{of} in {}", site.store)));
    }
    match elsewhere {
        0 => {}
        1 => print_notice("1 session of another workspace: --all lists it"),
        many => print_notice(&format!("{many} sessions of other workspaces: --all lists them")),
    }
}

/// Summarises sessions up to the positions of their listings. One with an unreadable log has the
/// error; one of another workspace than the given one is `None`.
pub(super) async fn summaries(
    store: &dyn LogStore,
    heads: &[SessionListing],
    only: Option<&str>,
) -> Vec<Option<SessionRow>> {
    let ids: Vec<SessionId> = heads.iter().map(|head| head.id.clone()).collect();
    let logs = store.read_logs(&ids, FIRST_PAGE, Some(KINDS)).await;
    let mut rows = Vec::with_capacity(heads.len());
    for (head, log) in heads.iter().zip(logs) {
        let mut row = SessionRow::default();
        let read = match log {
            Ok(facts) => row.add_all(store, head, facts, only).await,
            Err(error) => Err(error),
        };
        rows.push(match read {
            Ok(true) => Some(row),
            Ok(false) => None,
            Err(error) => {
                row.trouble = Some(error.to_string());
                Some(row)
            }
        });
    }
    rows
}

impl SessionRow {
    /// Adds the facts of a log, of which the first ones are read. Returns false for a session of
    /// another workspace than the given one.
    async fn add_all(
        &mut self,
        store: &dyn LogStore,
        head: &SessionListing,
        mut facts: Vec<RecordedFact>,
        only: Option<&str>,
    ) -> Result<bool, StoreError> {
        let last = head.summary.as_ref().map_or(Seq(u64::MAX), |summary| summary.last);
        let (mut position, mut more) = (Seq(FIRST_PAGE as u64), true);
        loop {
            facts.iter().filter(|fact| fact.seq <= last).for_each(|fact| self.add(fact));
            if only.is_some() && self.workspace.as_deref().is_some_and(|of| Some(of) != only) {
                return Ok(false);
            }
            if !more || position >= last {
                break;
            }
            facts = store.read(&head.id, position, PAGE).await?;
            more = facts.len() == PAGE;
            position = facts.last().map_or(position, |fact| fact.seq);
        }
        // Facts of other kinds follow the last one that was read.
        self.facts = head.summary.as_ref().map_or(self.facts, |summary| summary.last.0);
        Ok(true)
    }

    fn add(&mut self, fact: &RecordedFact) {
        self.facts = fact.seq.0;
        if let Fact::SessionOpened(opened) = &fact.fact {
            self.lineage = Some(opened.lineage.clone());
            self.workspace.clone_from(&opened.workspace);
        }
        if let Fact::TurnOpened(_) = &fact.fact {
            self.turns += 1;
            self.open = true;
        }
        if let Fact::TurnSettled(settled) = &fact.fact {
            self.open = false;
            self.outcome = Some(settled.outcome.clone());
            self.spent = self.spent.plus(settled.spent.with_agents());
        }
        if let Fact::InputQueued(queued) = &fact.fact
            && self.prompt.is_empty()
        {
            self.prompt = first_words(&queued.text, 60);
        }
    }
}

fn state(summary: &SessionRow) -> &'static str {
    match (&summary.trouble, summary.open, &summary.outcome) {
        (Some(_), _, _) => "unreadable",
        (None, true, _) => "unfinished",
        (None, false, Some(outcome)) => outcome_name(outcome),
        (None, false, None) => "new",
    }
}

fn row(id: &str, summary: &SessionRow) -> String {
    let words = summary.trouble.as_deref().unwrap_or(&summary.prompt);
    let from = match &summary.lineage {
        Some(Lineage::Child { of, call }) => format!("(for call {call} of {of}) "),
        Some(Lineage::Fork { of, .. }) => format!("(forked from {of}) "),
        Some(Lineage::Root) | None => String::new(),
    };
    let (state, turns) = (state(summary), summary.turns);
    let turns = match turns {
        1 => "1 turn".to_owned(),
        many => format!("{many} turns"),
    };
    visible(&format!("{id}  {state:<11}  {turns:<9}  {from}{words}")).replace('\n', " ")
}

/// Returns the workspace of a session, as a list of all workspaces shows it.
fn place(summary: &SessionRow) -> String {
    let shown = summary.workspace.as_ref().map(|workspace| format!("  in {workspace}"));
    visible(&shown.unwrap_or_default()).replace('\n', "\\n")
}

fn object(id: &SessionId, summary: &SessionRow) -> String {
    let object = json!({
        "session": id, "state": state(summary), "turns": summary.turns, "facts": summary.facts,
        "prompt": summary.prompt, "workspace": summary.workspace, "lineage": summary.lineage, "spent": summary.spent,
        "trouble": summary.trouble,
    });
    object.to_string()
}
