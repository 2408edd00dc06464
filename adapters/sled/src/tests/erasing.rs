//! Test: data that sled removes stays in its file, so the store cannot erase.

use std::fs;

use crate::open::database;

#[test]
fn what_is_removed_from_the_database_stays_in_its_file() {
    let own = tempfile::tempdir().unwrap();
    let dir = own.path().join("db");
    let said = b"what nobody may read any more";
    let holds_it = || {
        let file = fs::read(dir.join("db")).unwrap();
        file.windows(said.len()).any(|window| window == said)
    };
    let db = database(&dir).unwrap();
    db.insert("key", said).unwrap();
    db.flush().unwrap();
    assert!(holds_it());
    db.remove("key").unwrap();
    db.flush().unwrap();
    drop(db);
    // Also after it was opened again, which is when sled tidies up.
    let db = database(&dir).unwrap();
    assert_eq!(db.get("key").unwrap(), None);
    db.flush().unwrap();
    drop(db);
    assert!(holds_it());
}
