//! Files of a folder for completion: walked in a thread, filtered by the letters of a query.

mod fuzzy;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use fuzzy::fuzzy;
use fuzzy::{Entry, Query};

/// Shortest time between two walks.
const REFRESH: Duration = Duration::from_secs(5);
/// Endings of images.
const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// Files that a person can name.
pub trait FileSource: Send {
    /// Returns at most `most` paths that fit a query, the best first. Folders end with a slash.
    /// Returns at once, with the files known so far.
    fn find(&mut self, query: &str, most: usize) -> Vec<String>;

    /// Returns true once after the files have changed.
    fn changed(&mut self) -> bool {
        false
    }

    /// Returns the image that a pasted text names, if it is an existing file.
    fn image(&self, text: &str) -> Option<PathBuf> {
        let _ = text;
        None
    }
}

/// Files below a folder, without those that `.gitignore` leaves out.
///
/// Hidden files are left out, except for `.windlass`. The first question starts a walk of at most
/// 50,000 entries in 20 levels, and later ones repeat it at most every 5 seconds.
pub struct Files {
    root: PathBuf,
    shared: Arc<Shared>,
    walked: Option<Instant>,
    seen: u64,
}

/// Results of the walks.
struct Shared {
    entries: Mutex<Arc<Vec<Entry>>>,
    walks: AtomicU64,
    walking: AtomicBool,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl Files {
    /// Creates the files of a folder. `notify` is called in a thread after each walk that found
    /// changes; the composer's `refresh` shows them.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, notify: impl Fn() + Send + Sync + 'static) -> Self {
        let shared = Shared {
            entries: Mutex::default(),
            walks: AtomicU64::new(0),
            walking: AtomicBool::new(false),
            notify: Box::new(notify),
        };
        Self { root: root.into(), shared: Arc::new(shared), walked: None, seen: 0 }
    }

    /// Starts a walk unless one is under way or was started a moment ago.
    fn walk(&mut self, now: Instant) {
        let recent = self.walked.is_some_and(|walked| now < walked + REFRESH);
        if recent || self.shared.walking.swap(true, Ordering::SeqCst) {
            return;
        }
        self.walked = Some(now);
        let (root, shared) = (self.root.clone(), self.shared.clone());
        let walk = move || shared.replace(walk::entries(&root));
        let started = std::thread::Builder::new().name("files".into()).spawn(walk);
        if started.is_err() {
            self.shared.walking.store(false, Ordering::SeqCst);
        }
    }
}

impl Shared {
    fn entries(&self) -> Arc<Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, entries: Vec<Entry>) {
        let changed = *self.entries() != entries;
        if changed {
            *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(entries);
            self.walks.fetch_add(1, Ordering::SeqCst);
        }
        self.walking.store(false, Ordering::SeqCst);
        if changed {
            (self.notify)();
        }
    }
}

impl FileSource for Files {
    fn find(&mut self, query: &str, most: usize) -> Vec<String> {
        self.walk(Instant::now());
        Query::new(query).best(&self.shared.entries(), most)
    }

    fn changed(&mut self) -> bool {
        let walks = self.shared.walks.load(Ordering::SeqCst);
        std::mem::replace(&mut self.seen, walks) != walks
    }

    fn image(&self, text: &str) -> Option<PathBuf> {
        let path = self.root.join(named(text.trim())?);
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        (IMAGES.contains(&ending.as_str()) && path.is_file()).then_some(path)
    }
}

/// Returns the path in a pasted text, as terminals and file managers write it: in quotes, with
/// backslashes, as a URL, or below the home folder.
fn named(text: &str) -> Option<PathBuf> {
    if text.is_empty() || text.len() > 4096 || text.contains('\n') {
        return None;
    }
    if let Some(url) = text.strip_prefix("file://") {
        return Some(decoded(url.strip_prefix("localhost").unwrap_or(url)));
    }
    let quoted = ['"', '\''].iter().find_map(|mark| {
        text.strip_prefix(*mark).and_then(|text| text.strip_suffix(*mark)).map(str::to_owned)
    });
    let path = quoted.unwrap_or_else(|| unescaped(text));
    match path.strip_prefix("~/") {
        Some(below) => Some(Path::new(&std::env::var_os("HOME")?).join(below)),
        None => Some(path.into()),
    }
}

fn unescaped(text: &str) -> String {
    let mut escaped = false;
    let keep = |letter: &char| {
        escaped = *letter == '\\' && !escaped;
        !escaped
    };
    text.chars().filter(keep).collect()
}

/// Decodes `%20` and the like.
fn decoded(url: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(url.len());
    let mut rest = url.as_bytes();
    while let [byte, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let (byte, after) = match (byte, code) {
            (b'%', Some(code)) => (code, &after[2..]),
            (byte, _) => (*byte, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests;
