use serde_json::json;

use super::*;

fn release(step: u64) -> Item {
    let values = vec![step as f64, -0.0, f64::MIN_POSITIVE, 1e300];
    Item::Release { what: "sums of näme".into(), step, values }
}

/// A journal of three synchronisations: releases 1 and 2, release 3, and a model.
fn written(folder: &Path) -> PathBuf {
    let path = folder.join("model.journal");
    let header = Header { of: json!({ "plan": 1 }), token: Some("secret".into()) };
    let mut journal = Journal::create(&path, &header).unwrap();
    journal.append(&release(1));
    journal.append(&release(2));
    journal.sync().unwrap();
    journal.append(&release(3));
    journal.sync().unwrap();
    journal.append(&Item::Model([7; 32]));
    journal.sync().unwrap();
    journal.append(&release(4));
    path
}

fn steps(replay: &mut Replay) -> Vec<u64> {
    let mut steps = Vec::new();
    while let Some((_, step)) = replay.peek() {
        steps.push(step);
        assert_eq!(replay.take().unwrap().unwrap()[0], step as f64);
    }
    steps
}

#[test]
fn what_was_synchronised_is_read_back_and_what_was_not_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    assert!(
        matches!(Journal::create(&path, &Header { of: json!({}), token: None }), Err(e) if e.kind() == ErrorKind::AlreadyExists)
    );
    let left = Left::open(&path).unwrap();
    assert_eq!((left.releases, left.tail, left.models.as_slice()), (3, Tail::None, &[[7; 32]][..]));
    assert_eq!(left.digests.len(), 4);
    assert!(matches!(Left::open(&path), Err(Fault::InUse)), "it is locked");
    let before = left.digests.clone();
    let (mut journal, mut replay) = left.resume("nonce".into()).unwrap();
    assert!(matches!(Left::open(&path), Err(Fault::InUse)), "it is locked again");
    assert_eq!(steps(&mut replay), [1, 2, 3]);
    journal.append(&release(4));
    journal.sync().unwrap();
    let newest = journal.digest();
    drop(journal);
    let left = Left::open(&path).unwrap();
    assert_eq!(left.digests[..4], before);
    assert_eq!((left.releases, hex(left.digests.last().unwrap())), (4, newest));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    left.remove().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Cut anywhere, a journal is one of what was synchronised before; what follows is written in place of the torn end.
#[test]
fn a_torn_end_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(written(folder.path())).unwrap();
    let path = folder.path().join("cut.journal");
    let mut seen = Vec::new();
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let Ok(left) = Left::open(&path) else {
            assert!(seen.is_empty(), "the header was whole before");
            continue;
        };
        assert_ne!(left.tail, Tail::Damaged);
        seen.push(left.releases);
        let (journal, mut replay) = left.resume("nonce".into()).unwrap();
        assert!(steps(&mut replay).len() <= 3);
        drop(journal);
        assert_eq!(Left::open(&path).unwrap().tail, Tail::None);
    }
    assert!(seen.is_sorted() && seen.first() == Some(&0) && seen.last() == Some(&3));
    // A file that was made longer before the power went out, and not filled.
    std::fs::write(&path, [&whole[..], &[0; 5000]].concat()).unwrap();
    let left = Left::open(&path).unwrap();
    assert_eq!((left.tail, left.releases), (Tail::Torn, 3));
}

/// A flipped bit anywhere is noticed: the frame it is in is not read, nor any after it. Before the last frame it is no torn end.
#[test]
fn damage_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(written(folder.path())).unwrap();
    let path = folder.path().join("damaged.journal");
    let sound = {
        std::fs::write(&path, &whole).unwrap();
        Left::open(&path).unwrap().digests
    };
    // Model frame: 8 bytes, kind and digest, 32 bytes.
    let last = whole.len() - (8 + 33 + 32);
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        std::fs::write(&path, &damaged).unwrap();
        let Ok(left) = Left::open(&path) else { continue };
        assert!(left.digests.len() < sound.len() && sound.starts_with(&left.digests), "{place}");
        assert_eq!(left.tail == Tail::Torn, place >= last + 8, "{place}");
    }
}

/// A disk that fails once leaves nothing that could be mistaken for a whole journal.
#[test]
fn nothing_is_written_after_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let left = Left::open(&path).unwrap();
    let (mut journal, _) = left.resume("nonce".into()).unwrap();
    journal.file = File::open(&path).unwrap();
    journal.append(&release(4));
    assert!(journal.sync().is_err(), "it is open to read alone");
    journal.file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert!(journal.sync().is_err());
}

/// A journal of another version is told from a file that is none.
#[test]
fn other_versions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[NAME.len()] = b'1';
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(Left::open(&path), Err(Fault::OtherVersion)));
    bytes[0] = b'R';
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(Left::open(&path), Err(Fault::NotAJournal)));
}
