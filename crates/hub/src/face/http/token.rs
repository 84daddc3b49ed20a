//! The token that opens the face: made once, kept in a file only its owner can read.

use crate::data_folder::{is_own, is_same_file, secure_data_folder};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const FILE: &str = crate::config::TOKEN_FILE;
const TOKEN_BYTES: usize = 32;
/// A token file is shorter; more is not read.
const FILE_BYTES_MAX: u64 = 1024;
/// A shorter token could be guessed; somebody cut the file.
const TOKEN_CHARS_MIN: usize = 32;

/// What a client has to show.
#[derive(Debug, Clone)]
pub struct Token(Secret);

impl Token {
    /// The token in `data_dir`; made where there is none yet. Two that start at once get the same.
    pub fn load_or_create(data_dir: &Path) -> Result<Token> {
        secure_data_folder(data_dir)?;
        let path = data_dir.join(FILE);
        match load(&path)? {
            Some(token) => Ok(token),
            None => create(data_dir, &path),
        }
    }

    /// A token that nobody has yet, for as long as it is held.
    pub fn draw() -> Result<Token> {
        let mut bytes = [0; TOKEN_BYTES];
        let random = SystemRandom::new().fill(&mut bytes);
        random.map_err(|_| Fault::internal("token: the system gives no random numbers"))?;
        Ok(Token(Secret::new(URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// A token somebody chose.
    pub fn new(secret: Secret) -> Token {
        Token(secret)
    }

    /// For the person who asks for it, and nothing else.
    pub fn secret(&self) -> &Secret {
        &self.0
    }

    /// Whether `shown` is the token, in a time that does not tell how much of it is right.
    pub(super) fn opens(&self, shown: &[u8]) -> bool {
        let own = self.0.expose().as_bytes();
        let mut differs = usize::from(own.len() != shown.len());
        for (at, byte) in own.iter().enumerate() {
            // Past its end the shown one is compared with what cannot match the length anyway.
            differs |= usize::from(byte ^ shown.get(at).unwrap_or(&0));
        }
        std::hint::black_box(differs) == 0
    }
}

fn load(path: &Path) -> Result<Option<Token>> {
    let cannot = |e: Error| Fault::internal(format!("token: {}: {e}", path.display()));
    let Some(file) = open_unlinked(path)? else { return Ok(None) };
    let mode = file.metadata().map_err(cannot)?.permissions().mode();
    if mode & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(cannot)?;
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(cannot)?;
    let text = text.trim();
    if text.len() < TOKEN_CHARS_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Fault::invalid(format!(
            "token: {} holds no token; remove it and a new one is made",
            path.display()
        )));
    }
    Ok(Some(Token(Secret::new(text))))
}

/// Opens the token's own file, or none where there is none. A link is refused: the file it leads to
/// is not ours, and its mode would be changed.
fn open_unlinked(path: &Path) -> Result<Option<File>> {
    let shown = path.display();
    let cannot = |e: Error| Fault::internal(format!("token: {shown}: {e}"));
    let refused = |why: &str| {
        let text = format!("token: {shown} {why}; remove it and a new token is made");
        Fault::invalid(text)
    };
    let found = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(cannot)?,
    };
    if found.is_symlink() {
        return Err(refused("is a link, which is not followed"));
    }
    // To open a pipe may never end.
    if !found.is_file() {
        return Err(refused("is not a file"));
    }
    let file = File::open(path).map_err(cannot)?;
    let opened = file.metadata().map_err(cannot)?;
    if !is_same_file(&opened, &found) {
        return Err(refused("was replaced while it was read"));
    }
    if !is_own(&opened) {
        return Err(refused("belongs to another user, who knows it"));
    }
    Ok(Some(file))
}

/// Written beside its place and linked into it: whoever reads it reads all of it, and of two that
/// do this at once one wins.
fn create(data_dir: &Path, path: &Path) -> Result<Token> {
    let cannot = |e: Error| Fault::internal(format!("token: {}: {e}", path.display()));
    let token = Token::draw()?;
    let draft = Draft(data_dir.join(format!("{FILE}.{:016x}", fastrand::u64(..))));
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(&draft.0).map_err(cannot)?;
    file.write_all(format!("{}\n", token.secret().expose()).as_bytes()).map_err(cannot)?;
    file.sync_all().map_err(cannot)?;
    match fs::hard_link(&draft.0, path) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(cannot(e)),
        _ => load(path)?.ok_or_else(|| Fault::internal("token: somebody removed it just now")),
    }
}

/// Removed whatever happens.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // Nothing to be done where it cannot be: the folder is the person's own.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_once_and_only_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let token = Token::load_or_create(&data).unwrap();
        let again = Token::load_or_create(&data).unwrap();
        assert_eq!(token.secret(), again.secret());
        assert_eq!(token.secret().expose().len(), 43);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&data.join(FILE)), 0o600);
        assert_eq!(fs::read_dir(&data).unwrap().count(), 1, "no draft is left");
        fs::set_permissions(data.join(FILE), fs::Permissions::from_mode(0o644)).unwrap();
        Token::load_or_create(&data).unwrap();
        assert_eq!(mode(&data.join(FILE)), 0o600);
    }

    fn private_folder() -> tempfile::TempDir {
        let private = fs::Permissions::from_mode(0o700);
        tempfile::Builder::new().permissions(private).tempdir().unwrap()
    }

    #[test]
    fn many_that_start_at_once_share_one() {
        let folder = tempfile::tempdir().unwrap();
        let tokens: Vec<Token> = std::thread::scope(|scope| {
            let start = || scope.spawn(|| Token::load_or_create(folder.path()).unwrap());
            let threads: Vec<_> = (0..8).map(|_| start()).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|token| token.secret() == tokens[0].secret()));
    }

    #[test]
    fn a_broken_file_is_told_of_and_kept() {
        for text in ["", "short\n", "spaces in it are not part of any token at all"] {
            let folder = private_folder();
            fs::write(folder.path().join(FILE), text).unwrap();
            let fault = Token::load_or_create(folder.path()).unwrap_err();
            assert!(fault.message.starts_with("token: "), "{fault}");
            assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), text);
        }
    }

    #[test]
    fn a_link_is_refused_and_what_it_leads_to_keeps_its_mode() {
        let folder = private_folder();
        let (elsewhere, place) = (folder.path().join("shared"), folder.path().join(FILE));
        fs::write(&elsewhere, "0123456789abcdef0123456789abcdef\n").unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
        for _ in ["there", "gone"] {
            let fault = Token::load_or_create(folder.path()).unwrap_err();
            assert!(fault.message.contains("is a link, which is not followed"), "{fault}");
            if elsewhere.exists() {
                assert_eq!(elsewhere.metadata().unwrap().permissions().mode() & 0o777, 0o644);
                fs::remove_file(&elsewhere).unwrap();
            }
        }
    }

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::new(Secret::new("abcdefgh"));
        for (shown, opens) in [
            ("abcdefgh", true),
            ("", false),
            ("abcdefg", false),
            ("abcdefghi", false),
            ("Abcdefgh", false),
            ("abcdefg\0", false),
        ] {
            assert_eq!(token.opens(shown.as_bytes()), opens, "{shown:?}");
        }
    }
}
