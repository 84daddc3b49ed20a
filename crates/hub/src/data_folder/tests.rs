use super::*;
use std::os::unix::fs::symlink;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open_folder(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_new_folder_is_private_and_an_open_one_is_closed() {
    let home = tempfile::tempdir().unwrap();
    let (new, old) = (home.path().join("a/b"), home.path().join("old"));
    secure_data_folder(&new).unwrap();
    assert_eq!(mode(&new), 0o700);
    open_folder(&old);
    secure_data_folder(&old).unwrap();
    assert_eq!(mode(&old), 0o700);
}

#[test]
fn an_open_folder_behind_a_link_is_refused_and_keeps_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let (real, link) = (home.path().join("real"), home.path().join("link"));
    open_folder(&real);
    symlink(&real, &link).unwrap();
    let fault = secure_data_folder(&link).unwrap_err();
    assert!(fault.message.contains("run chmod 700"), "{fault}");
    assert_eq!(mode(&real), 0o755);
    fs::set_permissions(&real, Permissions::from_mode(0o700)).unwrap();
    secure_data_folder(&link).unwrap();
}

/// `ALTHING_DATA=/tmp`, say.
#[test]
fn an_open_folder_with_files_of_others_is_refused_and_keeps_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let shared = home.path().join("shared");
    open_folder(&shared);
    fs::write(shared.join("somebody's"), "").unwrap();
    let fault = secure_data_folder(&shared).unwrap_err();
    assert!(fault.message.contains("it holds other files"), "{fault}");
    assert_eq!(mode(&shared), 0o755);
    // One that has been ours all along is closed.
    fs::write(shared.join(DATABASE), "").unwrap();
    secure_data_folder(&shared).unwrap();
    assert_eq!(mode(&shared), 0o700);
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let given = home.path().join("given");
    fs::create_dir(&given).unwrap();
    // Only root can give a folder away; for everybody else this one is somebody else's.
    let (folder, owner) = match std::os::unix::fs::chown(&given, Some(1), None) {
        Ok(()) => (given.as_path(), 1),
        Err(_) => (Path::new("/usr"), 0),
    };
    let fault = secure_data_folder(folder).unwrap_err();
    let text = format!("belongs to another user (id {owner})");
    assert!(fault.message.contains(&text), "{fault}");
}
