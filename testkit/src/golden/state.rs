//! The folded state of a log as canonical text: all control data of the session, and the part of
//! its payload that a driver reads.
//!
//! Each field has a name of its own here. So a field that is renamed in the code keeps its line,
//! and a new field needs one.

use windlass_core::{
    CompactionRequest, ContextLifetime, DetachedChild, GoalState, GoalStatus, History, Hold,
    ItemFingerprint, MeasuredRequest, PendingContext, Phase, QueuedContext, QueuedInput,
    QueuedResult, Session, VisiblePart,
};

use super::canon::Lines;
use super::{gates, prompt, settings, turn};

/// A state with its history.
pub(super) fn text(session: &Session, history: &History) -> String {
    let Session {
        id,
        next,
        bytes: _,
        changed_at: _,
        owner,
        workspace,
        lineage,
        title,
        // They follow from the turns.
        totals: _,
        settings: set,
        settings_at,
        queue,
        keys,
        hold,
        visible: conversation,
        measured,
        known_context: told,
        found_tools: found,
        goal,
        detached,
        compaction: requested,
        // Settings are in the log.
        reader: _,
        start,
        pending: waiting,
        hook_rounds: asked,
        latest_sample: latest,
        phase,
        // It follows from the rest of the states before.
        rewind: _,
    } = session;
    let mut lines = Lines::default();
    lines.put("session", id);
    lines.put("next", next);
    lines.put("owner", owner);
    lines.maybe("workspace", workspace.as_ref());
    lines.put("lineage", lineage);
    lines.maybe("title", title.as_ref());
    settings::lines(&mut lines, "settings", set);
    lines.put("settings.at", settings_at);
    for (index, one) in queue.iter().enumerate() {
        queued(&mut lines, &format!("queue.{index}"), one, history);
    }
    for (index, (key, seq)) in keys.iter().enumerate() {
        lines.put(&format!("key.{index}"), &(key, seq));
    }
    let held = match hold {
        Hold::Free => false,
        Hold::Held => true,
    };
    lines.flag("held", held);
    shown(&mut lines, "shown", conversation);
    if let Some(MeasuredRequest { tokens, visible: at }) = measured {
        lines.put("measured.tokens", tokens);
        shown(&mut lines, "measured", at);
    }
    for (name, digest) in told.iter() {
        lines.put("told", &(name, digest));
    }
    for name in found.iter() {
        lines.put("found", name);
    }
    if let Some(goal) = goal {
        goal_lines(&mut lines, goal);
    }
    for (index, DetachedChild { call, agent, scope, opens_turn }) in detached.iter().enumerate() {
        lines.put(&format!("detached.{index}"), &(call, agent, scope));
        lines.flag(&format!("detached.{index}.wakes"), *opens_turn);
    }
    compaction(&mut lines, "compaction", requested.as_ref());
    lines.maybe("start", start.as_ref());
    pending(&mut lines, "pending", waiting.iter());
    gates::lines(&mut lines, "gates", asked);
    lines.put("latest", latest);
    lines.put("conversation", &prompt::digest(history));
    match phase {
        Phase::Idle => lines.put("phase", &"idle"),
        Phase::InTurn(open) => {
            lines.put("phase", &"turning");
            turn::lines(&mut lines, open, history);
        }
    }
    lines.text().to_owned()
}

/// A request to compact, with a name before each of its fields.
pub(super) fn compaction(lines: &mut Lines, name: &str, request: Option<&CompactionRequest>) {
    if let Some(CompactionRequest { requested, scope, waits, focus }) = request {
        lines.put(&format!("{name}.requested"), requested);
        lines.put(&format!("{name}.scope"), scope);
        lines.flag(&format!("{name}.waits"), *waits);
        lines.maybe(&format!("{name}.focus"), focus.as_ref());
    }
}

fn queued(lines: &mut Lines, name: &str, queued: &QueuedInput, history: &History) {
    let QueuedInput { id, scope, delivery, text: words, context, images, dry_run, result, command } =
        queued;
    lines.put(&format!("{name}.input"), id);
    lines.put(&format!("{name}.scope"), scope);
    lines.put(&format!("{name}.delivery"), delivery);
    part(lines, name, words);
    lines.maybe(&format!("{name}.text"), history.waiting(*id));
    for (index, QueuedContext { from, text: words }) in context.iter().enumerate() {
        let name = format!("{name}.context.{index}");
        lines.put(&format!("{name}.from"), from);
        part(lines, &name, words);
    }
    for (index, shown) in images.iter().enumerate() {
        part(lines, &format!("{name}.image.{index}"), shown);
    }
    lines.flag(&format!("{name}.dry_run"), *dry_run);
    lines.maybe(&format!("{name}.command"), command.as_ref());
    if let Some(QueuedResult { call, agent: _, opens_turn }) = result {
        lines.put(&format!("{name}.result"), call);
        lines.flag(&format!("{name}.wakes"), *opens_turn);
    }
}

fn goal_lines(lines: &mut Lines, state: &GoalState) {
    let GoalState { goal, set, scope, turns, status: standing } = state;
    lines.put("goal", goal);
    lines.put("goal.set", set);
    lines.put("goal.scope", scope);
    lines.put("goal.turns", turns);
    match standing {
        GoalStatus::Waiting => lines.put("goal.standing", &"waiting"),
        GoalStatus::Due => lines.put("goal.standing", &"due"),
        GoalStatus::Met { call } => lines.put("goal.standing", &("met", call)),
        GoalStatus::Stopped { reason } => lines.put("goal.standing", &("over", reason)),
    }
}

/// Context that waits to be injected.
pub(super) fn pending<'a>(
    lines: &mut Lines,
    name: &str,
    pending: impl Iterator<Item = &'a PendingContext>,
) {
    for (index, one) in pending.enumerate() {
        let PendingContext { decided, text: words, lifetime: lasting } = one;
        let lasting: &ContextLifetime = lasting;
        let name = format!("{name}.{index}");
        lines.put(&name, &(decided, lasting));
        part(lines, &name, words);
    }
}

/// One item in numbers.
pub(super) fn part(lines: &mut Lines, name: &str, part: &ItemFingerprint) {
    let ItemFingerprint { digest, bytes } = part;
    lines.put(&format!("{name}.part"), &(digest, bytes));
}

/// A conversation in numbers.
pub(super) fn shown(lines: &mut Lines, name: &str, shown: &VisiblePart) {
    lines.put(&format!("{name}.shown"), shown);
}
