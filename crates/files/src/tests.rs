use std::io::Write as _;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_there_in_full_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let begun = AtomicFile::create(&path, Access::Owner).unwrap();
    begun.file().unwrap().write_all(b"half").unwrap();
    assert!(!path.exists());
    drop(begun);
    assert_eq!(names(folder.path()), [""; 0]);
    write(&path, Access::Owner, b"first").unwrap();
    write(&path, Access::Umask, b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    let third = AtomicFile::create(&path, Access::Owner).unwrap();
    assert_eq!(third.finish_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"second");
    remove(&path).unwrap();
    AtomicFile::create(&path, Access::Owner).unwrap().finish_new().unwrap();
    assert_eq!(names(folder.path()), ["model"]);
    assert!(AtomicFile::create(folder.path(), Access::Owner).is_err());
}

/// Temporary files of killed writers are removed by the next writer; those of running writers and files with similar names
/// are not.
#[test]
fn temporary_files_of_killed_writers_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let others = [".model.tmp", ".model.0123456789abcdeg.tmp", ".models.0123456789abcdef.tmp", "model.0.tmp"];
    for name in others.iter().chain(&[".model.0123456789abcdef.tmp"]) {
        fs::write(folder.path().join(name), "left").unwrap();
    }
    let alive = AtomicFile::create(&path, Access::Owner).unwrap();
    write(&path, Access::Owner, b"another").unwrap();
    let left = names(folder.path());
    assert!(!left.contains(&".model.0123456789abcdef.tmp".to_owned()), "{left:?}");
    assert!(others.iter().all(|name| left.contains(&(*name).to_owned())), "{left:?}");
    alive.finish().unwrap();
    assert_eq!(names(folder.path()).len(), others.len() + 1);
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_and_private_files_have_mode_0600() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (folder.path().join("model"), folder.path().join("elsewhere"));
    fs::write(&elsewhere, "precious").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(open_private(&path).is_err());
    assert_eq!(create_empty(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert!(AtomicFile::create(&path, Access::Owner).unwrap().finish_new().is_err());
    write(&path, Access::Owner, b"secret").unwrap();
    assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");
    let metadata = fs::symlink_metadata(&path).unwrap();
    assert!(metadata.is_file());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let empty = folder.path().join("empty");
    create_empty(&empty).unwrap();
    let metadata = fs::symlink_metadata(&empty).unwrap();
    assert_eq!((metadata.len(), metadata.permissions().mode() & 0o777), (0, 0o600));
}

/// Many writers of one name at once: each finishes, and nothing is left.
#[test]
fn many_writers_do_not_remove_each_others_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    std::thread::scope(|scope| {
        for writer in 0..8u8 {
            let path = &path;
            scope.spawn(move || (0..50).for_each(|_| write(path, Access::Owner, &[writer; 64]).unwrap()));
        }
    });
    let written = fs::read(&path).unwrap();
    assert!(written.len() == 64 && written.iter().all(|byte| *byte == written[0]));
    assert_eq!(names(folder.path()), ["model"]);
}
