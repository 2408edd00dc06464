//! Commands of a conversation: what each slash command does.

use serde_json::json;
use windlass_terminal::{Line, Theme};

use super::conversation::Message;
use super::slash::{QueueChange, Slash};
use super::{Chat, pages};
use crate::exit::Failure;

impl Chat {
    pub(super) async fn slash(&mut self, command: Slash) -> Result<Vec<Line>, Failure> {
        let say = |words: &str, theme: &Theme| vec![Line::styled(words, theme.dim).wrapped(2)];
        if self.conversation.session().is_none() && needs_session(&command) {
            return Ok(say("there is no session yet: send a message first", &self.theme));
        }
        match command {
            Slash::Help => return Ok(pages::help(&self.theme)),
            Slash::Invalid(words) => return Ok(vec![Line::styled(words, self.theme.warning)]),
            Slash::Message => {}
            Slash::Model { name: None, .. } => self.conversation.fetch_models(),
            Slash::Model { name: Some(name), effort } => {
                let mut body = json!({ "model": name });
                if let (Some(effort), Some(fields)) = (effort, body.as_object_mut()) {
                    fields.insert("effort".to_owned(), effort.into());
                }
                self.conversation.change(body);
                return Ok(say("the next turn uses it", &self.theme));
            }
            Slash::Permissions(Some(_)) | Slash::Plan if !self.typed => {
                let words = "only a person at a terminal changes what calls may do: use \
                             --permissions and --mode";
                return Ok(say(words, &self.theme));
            }
            Slash::Permissions(Some(wanted)) => {
                self.conversation.change(json!({"permissions": wanted.replace('-', "_")}));
            }
            Slash::Permissions(None) | Slash::Status => {
                return Ok(pages::status(self.conversation.info(), self.own, &self.theme));
            }
            Slash::Plan => {
                let planning = self.conversation.info().and_then(|info| info.mode.as_deref());
                let next = if planning == Some("plan") { "build" } else { "plan" };
                self.conversation.change(json!({ "mode": next }));
            }
            Slash::Compact(focus) => self.conversation.compact(focus.as_deref()),
            Slash::Context => self.conversation.fetch_context(),
            Slash::Cost => self.conversation.fetch_usage(),
            Slash::New => {
                self.conversation.clear();
                return Ok(say("a new conversation; /resume goes back to another", &self.theme));
            }
            Slash::Resume(None) => self.conversation.list_sessions(),
            Slash::Resume(Some(wanted)) => match self.conversation.find(&wanted).await {
                Ok(found) => self.conversation.join(found),
                Err(failure) => return Ok(say(&failure.message, &self.theme)),
            },
            Slash::Fork => match self.conversation.transcript().rest() {
                Some(rest) => self.conversation.fork(rest, None),
                None => return Ok(say("no turn of this session has ended here yet", &self.theme)),
            },
            Slash::Rename(title) => {
                self.conversation.change(json!({ "title": title }));
            }
            Slash::Diff => self.conversation.fetch_diff(),
            Slash::Undo => return Ok(self.undo()),
            Slash::Queue(change) => return Ok(self.queue(change)),
            Slash::Continue => self.conversation.continue_waiting(),
            Slash::Agents => {
                return Ok(pages::agents(self.conversation.transcript().settings(), &self.theme));
            }
            Slash::Hooks => {
                return Ok(pages::hooks(self.conversation.transcript().settings(), &self.theme));
            }
            Slash::Mcp => self.run_command(&["mcp", "list"], &[]),
            Slash::Skills => self.run_command(&["skills"], &[]),
            Slash::Doctor => self.run_command(&["doctor"], &self.provider.clone()),
            Slash::Copy => self.copies = true,
            Slash::Export(file) => self.conversation.export(file.into()),
            Slash::Theme(name) => self.retheme = Some(name.unwrap_or_else(|| "auto".to_owned())),
            Slash::Quit => self.left = true,
        }
        Ok(Vec::new())
    }

    /// Undoes the last turn.
    fn undo(&mut self) -> Vec<Line> {
        match self.conversation.transcript().last_turn() {
            Some(turn) => {
                self.conversation.undo(turn);
                Vec::new()
            }
            None => vec![Line::styled("no turn of this session was seen here", self.theme.dim)],
        }
    }

    fn queue(&mut self, change: QueueChange) -> Vec<Line> {
        let queue = self.conversation.queue();
        let chosen = match change {
            QueueChange::Show => return pages::queue(queue, &self.theme),
            QueueChange::Edit(number) | QueueChange::Drop(number) => {
                number.checked_sub(1).and_then(|at| queue.get(at)).cloned()
            }
        };
        let Some(chosen) = chosen else {
            return vec![Line::styled("no message with this number waits", self.theme.dim)];
        };
        let edits = matches!(change, QueueChange::Edit(_));
        if edits && chosen.has_images {
            let words = "a message with images is not edited: /queue drop withdraws it";
            return vec![Line::styled(words, self.theme.warning)];
        }
        let message = Message { text: chosen.text, images: Vec::new() };
        self.conversation.withdraw(chosen.id, edits.then_some(message));
        Vec::new()
    }

    /// Plans another command of the program; the terminal runs it once it has made room.
    fn run_command(&mut self, words: &[&str], more: &[String]) {
        let words = ["windlass"].iter().chain(words).map(|word| (*word).to_owned());
        self.command = Some(words.chain(self.place.iter().chain(more).cloned()).collect());
    }
}

/// Returns true for commands about a session.
fn needs_session(command: &Slash) -> bool {
    match command {
        Slash::Model { .. }
        | Slash::Permissions(Some(_))
        | Slash::Plan
        | Slash::Compact(_)
        | Slash::Context
        | Slash::Cost
        | Slash::Fork
        | Slash::Rename(_)
        | Slash::Diff
        | Slash::Undo
        | Slash::Continue
        | Slash::Agents
        | Slash::Hooks
        | Slash::Export(_) => true,
        Slash::Help
        | Slash::Permissions(None)
        | Slash::New
        | Slash::Resume(_)
        | Slash::Queue(_)
        | Slash::Mcp
        | Slash::Skills
        | Slash::Status
        | Slash::Copy
        | Slash::Doctor
        | Slash::Theme(_)
        | Slash::Quit
        | Slash::Message
        | Slash::Invalid(_) => false,
    }
}
