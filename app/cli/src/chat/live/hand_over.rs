//! Handing over: the terminal belongs to another program for a while, such as an editor or a pager.

use std::task::{Context, Poll, Waker};

use super::external::TemporaryFile;
use super::{LiveTerminal, clipboard, external, unusable};
use crate::chat::Chat;
use crate::exit::{ExitKind, Failure};
use crate::present::{hold_notices, release_notices};
use crate::wiring;
use windlass_engine::ports::Clock as _;

impl LiveTerminal<'_> {
    /// Edits the message in the person's editor.
    pub(super) async fn edit(&mut self) -> Result<(), Failure> {
        let (text, name) = (self.composer.text(), format!("{:x}", wiring::clock().entropy()));
        let edited = self.hand_over(move || external::edit(&text, &name)).await?;
        match edited {
            Ok(text) => self.composer.set_text(&text),
            Err(error) => self.hint = Some(format!("the editor failed: {error}")),
        }
        Ok(())
    }

    /// Inserts the image of the clipboard. It is in a file, as other images are, until the person leaves.
    pub(super) async fn paste_image(&mut self) {
        let pasted = match clipboard::image().await {
            Ok(image) => {
                let name = format!("windlass-{:x}.png", wiring::clock().entropy());
                let file = TemporaryFile::new(&image, &name);
                file.map_err(|error| format!("cannot keep the image of the clipboard: {error}"))
            }
            Err(why) => Err(why),
        };
        match pasted {
            Ok(file) => {
                self.composer.attach_image(file.path());
                self.pasted.push(file);
            }
            Err(why) => self.hint = Some(why),
        }
    }

    /// Shows the whole log of the session in the person's pager.
    pub(super) async fn show_transcript(&mut self, chat: &Chat) -> Result<(), Failure> {
        let text = match chat.conversation.whole_transcript().await {
            Ok(text) => text,
            Err(failure) => {
                self.hint = Some(failure.message);
                return Ok(());
            }
        };
        let shown = self.hand_over(move || external::page(&text)).await?;
        if let Err(error) = shown {
            self.hint = Some(format!("the pager failed: {error}"));
        }
        Ok(())
    }

    /// Runs another command of the program, whose output goes to the scrollback.
    pub(super) async fn run_command(&mut self, chat: &mut Chat) -> Result<(), Failure> {
        self.release()?;
        chat.run_planned(self.adapters).await;
        self.reclaim()
    }

    /// Hands the terminal over to another program while the work runs.
    pub(super) async fn hand_over<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.release()?;
        let done = tokio::task::spawn_blocking(work).await;
        self.reclaim()?;
        done.map_err(|error| Failure::new(ExitKind::Failed, error.to_string()))
    }

    /// Stops the process as Ctrl+Z does elsewhere, until it is continued.
    pub(super) fn suspend(&mut self) -> Result<(), Failure> {
        let bytes = self.screen.suspend();
        self.device.write(&bytes).map_err(|error| unusable(&error))?;
        self.device.suspend().map_err(|error| unusable(&error))?;
        self.redraw();
        Ok(())
    }

    pub(super) fn release(&mut self) -> Result<(), Failure> {
        let bytes = self.screen.suspend();
        self.device.write(&bytes).map_err(|error| unusable(&error))?;
        self.device.pause().map_err(|error| unusable(&error))?;
        release_notices();
        Ok(())
    }

    pub(super) fn reclaim(&mut self) -> Result<(), Failure> {
        hold_notices();
        self.device.resume().map_err(|error| unusable(&error))?;
        // Ctrl+C in the other program was meant for that one.
        if let Some(interrupts) = &mut self.interrupts {
            let mut now = Context::from_waker(Waker::noop());
            while let Poll::Ready(Some(())) = interrupts.poll_recv(&mut now) {}
        }
        self.redraw();
        Ok(())
    }

    pub(super) fn redraw(&mut self) {
        if let Ok((columns, rows)) = self.device.size() {
            self.resize(columns, rows);
        }
        self.screen.resume();
        self.changed = true;
    }
}

impl Drop for LiveTerminal<'_> {
    fn drop(&mut self) {
        release_notices();
    }
}
