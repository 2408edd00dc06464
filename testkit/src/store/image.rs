//! A case of a process that is killed: what was acknowledged is outside of it.
//!
//! Nothing of the store object runs between an answer and the look at what it left: it is not
//! dropped, not asked to verify, to list or to read. So what it still holds in memory counts for
//! nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use windlass_core::Seq;
use windlass_ports::Durability;

use super::StoreFixture;
use super::facts::numbered_facts;
use super::violation::{Checked, Violation, done, ensure, run};
use super::writer::{Writer, check_log};

/// The most copies of one folder that [`copy_of`] makes in another.
const MOST_COPIES: u32 = 1_000;

/// Of a store that declares [`Durability::Process`] or more, what was acknowledged is outside of the
/// process when the answer comes: a copy of what is there has all of it, while the store object
/// lives on and none of its destructors has run. One that declares [`Durability::Memory`] promises
/// nothing of the kind, and nothing is asked of it.
///
/// # Errors
/// A violation when something is missing, or the fixture has no image to look at.
pub fn what_was_acknowledged_is_outside_of_the_process(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let declared = store.capabilities().durability;
        if declared == Durability::Memory {
            return Ok(());
        }
        let mut writers = [Writer::new(&store, "one").await?, Writer::new(&store, "two").await?];
        for count in [1, 4, 1, 9] {
            for writer in &mut writers {
                writer.append(writer.next(count)).await?;
            }
            look(at, &writers, declared).await?;
        }
        Ok(())
    })
}

/// Looks at an image: it has what was acknowledged, and what is written to it goes nowhere else.
async fn look(at: &dyn StoreFixture, writers: &[Writer], declared: Durability) -> Checked {
    let Some(image) = at.image().await else {
        return Err(Violation::new(format!(
            "the store declares {declared:?}, and the fixture has no image of what is outside of \
             the process: implement StoreFixture::image, which opens a copy of what is kept at \
             this moment (for a store in a folder: copy_of and open), or declare Memory"
        )));
    };
    for Writer { id, log, .. } in writers {
        let held = check_log(&*image, id, log).await;
        held.map_err(|missing| {
            Violation::new(format!(
                "{declared:?} is declared, and in what a killed process would leave: {missing}"
            ))
        })?;
        let claimed = done(image.claim(id).await, "claiming in an image")?;
        let last = log.last().map_or(Seq::ZERO, |fact| fact.seq);
        ensure!(
            claimed.last == last && claimed.repaired.is_none(),
            "a log that ended at {last} is claimed as {claimed:?} in an image"
        );
        let facts = numbered_facts(id, last, 1);
        let appended = image.append(id, claimed.epoch, last, &facts).await;
        done(appended, "appending in an image, which is a store of its own")?;
    }
    for writer in writers {
        writer.check().await.map_err(|grown| {
            Violation::new(format!(
                "what is written to an image is in the store too, so StoreFixture::image opens no \
                 copy: {grown}"
            ))
        })?;
    }
    Ok(())
}

/// Copies a folder with all that is in it into a new folder inside of another one, and tells which:
/// for a fixture's [`image`](StoreFixture::image). A file that goes away meanwhile is left out.
///
/// # Errors
/// What the file system says; `AlreadyExists` after a thousand copies.
pub fn copy_of(folder: &Path, inside: &Path) -> io::Result<PathBuf> {
    for number in 0..MOST_COPIES {
        let copy = inside.join(format!("image-{number}"));
        match fs::create_dir(&copy) {
            Ok(()) => return fill(folder, &copy).map(|()| copy),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Copies what is in a folder into one that is empty.
fn fill(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&copy)?;
            fill(&entry.path(), &copy)?;
            continue;
        }
        match fs::copy(entry.path(), &copy) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
