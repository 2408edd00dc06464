//! A suite of a store that declares [`Durability::Power`]: what was acknowledged is there, whatever of
//! the unsynced writes a disk has kept when power was lost.
//!
//! It runs under `strace`, and says that it is skipped where there is none. A store that writes by
//! mapped memory cannot be recorded: the recording says that it is not all. Files that a store makes
//! anew when it opens may be mapped, if they are gone when the store is closed.
//!
//! [`Durability::Power`]: windlass_ports::Durability::Power

use std::fs;
use std::path::Path;

use super::{Recording, record};
use crate::store::child::{OpenFolder, Place, command, journal_in, judge, store_in};
use crate::store::{Checked, Violation, done, ensure, run};

/// Images of the disk that are looked at, where [`WIDE`] names no other number.
const IMAGES: usize = 100;
/// Environment variable with a number of images.
const WIDE: &str = "WINDLASS_POWER_IMAGES";
/// Appends of each session each time the store is open.
const APPENDS: usize = 8;
const SEED: u64 = 11;

/// Expands to the tests of the suite: the writer, which is this program as a child, and the images.
///
/// The argument is an [`OpenFolder`](crate::store::OpenFolder).
#[macro_export]
macro_rules! power_suite {
    ($open:expr) => {
        mod power_suite {
            #[allow(
                unused_imports,
                reason = "the way to open it may need no name from around it"
            )]
            use super::*;

            #[test]
            fn writer() -> $crate::store::Checked {
                $crate::store::writer($open)
            }

            #[test]
            fn nothing_acknowledged_is_lost_with_the_power() -> $crate::store::Checked {
                let writer = concat!(module_path!(), "::writer");
                $crate::power::suite::survives_power_loss(writer, $open)
            }
        }
    };
}

/// Records a writer, and opens images of the disk at moments of it. With all syncs left out, something
/// acknowledged must be lost: so it is known that the images can show it.
///
/// `writer` is the path of a test that calls [`writer`](crate::store::writer) with the same way to open
/// the store.
///
/// # Errors
/// A violation when an image lacks an acknowledged append, or does not open.
#[expect(clippy::print_stderr, reason = "it says what was recorded, or that it was skipped")]
pub fn survives_power_loss(writer: &str, open: OpenFolder) -> Checked {
    // Images are many, and no power is lost here.
    let memory = Path::new("/dev/shm");
    let place = match memory.is_dir() {
        true => Place::new(memory)?,
        false => Place::new(&std::env::temp_dir())?,
    };
    let failed = |error| Violation::new(format!("recording the writer: {error}"));
    let command = command(writer, place.path(), Some(APPENDS))?;
    let recorded = record(&command, &place.path().join("root"), &journal_in(place.path()));
    let recording = match recorded.map_err(failed)? {
        Ok(recording) => recording,
        Err(absent) => {
            eprintln!("skipped: {absent}");
            return Ok(());
        }
    };
    let calls = recording.calls();
    let (seen, broken) = broken_image(&recording, &place, open)?;
    if let Some(broken) = broken {
        return Err(broken);
    }
    let images = images();
    ensure!(seen > images / 4, "only {seen} of {images} images have something acknowledged");
    eprintln!("{images} images of {calls} calls, {seen} with acknowledged appends");
    let (_, broken) = broken_image(&recording.without_syncs(), &place, open)?;
    ensure!(
        broken.is_some(),
        "without any sync nothing is lost either: the images do not show what syncs are for"
    );
    Ok(())
}

fn images() -> usize {
    std::env::var(WIDE).ok().and_then(|wide| wide.parse().ok()).unwrap_or(IMAGES)
}

/// Looks for an image that breaks a promise. Answers how many had something acknowledged before it.
fn broken_image(
    recording: &Recording,
    place: &Place,
    open: OpenFolder,
) -> Result<(usize, Option<Violation>), Violation> {
    let mut acknowledged = 0;
    for (number, image) in recording.images(SEED, images()).enumerate() {
        let failed = |error: &dyn std::fmt::Display| Violation::new(format!("an image: {error}"));
        let image = image.map_err(|error| failed(&error))?;
        let folder = place.path().join("image");
        fs::create_dir(&folder).map_err(|error| failed(&error))?;
        image.write_to(&folder.join("root")).map_err(|error| failed(&error))?;
        let judged = run(async {
            let store = done(open(&store_in(&folder)), "opening what was left")?;
            judge(&*store, &image.acknowledged).await
        });
        fs::remove_dir_all(&folder).map_err(|error| failed(&error))?;
        if let Err(broken) = judged {
            let step = image.step;
            let broken = format!("power lost after step {step} (image {number}): {broken}");
            return Ok((acknowledged, Some(Violation::new(broken))));
        }
        acknowledged += usize::from(!image.acknowledged.is_empty());
    }
    Ok((acknowledged, None))
}
