//! A suite of a store whose process is killed, at moments that no store chooses: what was acknowledged
//! is there, and each append is whole or absent.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::child::{OpenFolder, Place, command, journal_in, judge, store_in};
use super::violation::{Checked, Violation, done, ensure, run};

/// Bytes of the journal after which the writer is killed, one round each. 0 is while the store opens.
const MOMENTS: [u64; 10] = [200, 0, 40, 0, 700, 9, 0, 90, 1_500, 30];

/// Longest wait for a writer.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_micros(200);

/// Expands to the tests of the suite: the writer, which is this program as a child, and the kills.
///
/// The argument is an [`OpenFolder`](crate::store::OpenFolder).
#[macro_export]
macro_rules! kill_suite {
    ($open:expr) => {
        mod kill_suite {
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
            fn appends_are_whole_and_kept_after_kills() -> $crate::store::Checked {
                let writer = concat!(module_path!(), "::writer");
                $crate::store::survives_kills(writer, $open)
            }
        }
    };
}

/// Kills a writer again and again, and looks at what it left.
///
/// `writer` is the path of a test that calls [`writer`](crate::store::writer) with the same way to open
/// the store.
///
/// # Errors
/// A violation when an acknowledged append is lost or one is there in part.
pub fn survives_kills(writer: &str, open: OpenFolder) -> Checked {
    let place = Place::new(&std::env::temp_dir())?;
    for (round, moment) in MOMENTS.into_iter().enumerate() {
        let killed = killed(writer, place.path(), moment)?;
        let journal = fs::read(journal_in(place.path())).unwrap_or_default();
        run(async {
            let store = done(open(&store_in(place.path())), "opening what a killed process left")?;
            judge(&*store, &journal).await
        })
        .map_err(|broken| {
            Violation::new(format!(
                "in round {round}, killed when {killed} bytes were acknowledged: {broken}"
            ))
        })?;
    }
    Ok(())
}

/// Starts a writer, kills it once its journal has grown by so many bytes, and answers by how many it
/// had.
fn killed(writer: &str, place: &Path, moment: u64) -> Result<u64, Violation> {
    let failed = |error| Violation::new(format!("the writer: {error}"));
    let length = || fs::metadata(journal_in(place)).map_or(0, |file| file.len());
    let before = length();
    let mut child = command(writer, place, None)?.spawn().map_err(failed)?;
    let begun = Instant::now();
    let opening = || moment == 0 && store_in(place).exists();
    while !opening() && (moment == 0 || length() < before + moment) {
        let ended = child.try_wait().map_err(failed)?;
        ensure!(
            ended.is_none() && begun.elapsed() < PATIENCE,
            "the writer ended by itself ({ended:?}) or stood still: run the test {writer} with \
             --nocapture, a store in it fails"
        );
        sleep(LOOK);
    }
    if moment == 0 {
        // In the middle of opening, or shortly after.
        sleep(Duration::from_millis(before % 7));
    }
    end(&mut child).map_err(failed)?;
    Ok(length() - before)
}

fn end(child: &mut Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}
