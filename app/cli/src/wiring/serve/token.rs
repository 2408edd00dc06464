//! Token of a server without configured tokens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use windlass_server::new_token;

use crate::exit::{ExitKind, Failure};

/// Most bytes of a token file.
const MOST: u64 = 4 * 1024;
/// Fewest characters of a user's own token: 256 bits in the densest common encoding.
const FEWEST: usize = 43;

/// Creates a new token.
pub(crate) fn generate_token() -> Result<String, Failure> {
    new_token().map_err(|error| {
        let words = format!("the operating system gives no entropy for a token: {error}");
        Failure::new(ExitKind::Failed, words)
    })
}

/// Reads the token from a file. A missing file is created, readable for its owner only.
pub(super) fn load_or_create(path: &Path) -> Result<String, Failure> {
    let failed =
        |what: String| Failure::usage(format!("the token's file {}: {what}", path.display()));
    match File::open(path) {
        Ok(file) => read(file).map_err(failed),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let token = generate_token()?;
            write(path, &token)
                .map_err(|error| failed(format!("it cannot be created: {error}")))?;
            Ok(token)
        }
        Err(error) => Err(failed(format!("it cannot be read: {error}"))),
    }
}

/// Reads an open file, so that the checked and the read file are the same.
fn read(file: File) -> Result<String, String> {
    let unread = |error: io::Error| format!("it cannot be read: {error}");
    let about = file.metadata().map_err(unread)?;
    if !about.is_file() || about.len() > MOST {
        return Err(format!("it is not a file of at most {MOST} bytes"));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err("others can read it: make a new token, and set the file's mode to 0600".into());
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(unread)?;
    let token = text.trim();
    if token.len() < FEWEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "it holds no token of at least {FEWEST} characters: make one with windlass serve \
             --new-token, or remove the file"
        ));
    }
    Ok(token.to_owned())
}

/// Writes the file atomically: a partial file would be rejected at the next start.
fn write(path: &Path, token: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    // Named by process, so that a file left by a crash is in no other's way.
    beside.push(format!(".{}.new", std::process::id()));
    let beside = Path::new(&beside);
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(beside)?;
    let written = writeln!(file, "{token}").and_then(|()| file.sync_all());
    // Never replaces a file that another process has created.
    let made = written.and_then(|()| fs::hard_link(beside, path));
    fs::remove_file(beside)?;
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_for_its_owner_alone() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("token");
        let token = load_or_create(&path).unwrap();
        assert_eq!(load_or_create(&path).unwrap(), token);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        for mode in [0o640, 0o604, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = load_or_create(&path).unwrap_err();
            assert!(refused.message.contains("others can read"), "{mode:o}");
            assert!(!refused.message.contains(&token));
        }
    }

    #[test]
    fn what_is_no_token_is_not_taken_for_one() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("token");
        for bad in
            ["", "secret", &"x".repeat(42), &format!("{} {}", "x".repeat(30), "x".repeat(30))]
        {
            fs::write(&path, bad).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(load_or_create(&path).unwrap_err().message.contains("--new-token"), "{bad:?}");
        }
        assert!(load_or_create(dir.path()).is_err());
        assert!(load_or_create(&dir.path().join("no/token")).is_err());
    }
}
