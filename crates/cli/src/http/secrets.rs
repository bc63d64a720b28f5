//! Secrets by reference: `env:TURNSTILE_SECRET_NAME`, or `file:relative/path` below a folder. No row of the database has a value.
//!
//! Who may set an endpoint names references, so these reach nothing but what was put there for the purpose. What is wrong is told
//! without a value, or any other text of a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::private;
use super::signature::Keys;

const PREFIX: &str = "TURNSTILE_SECRET_";
/// So long a secret that has been changed is still used.
const KEPT: Duration = Duration::from_secs(5);
/// Ten long secrets have room in it.
const LARGEST: u64 = 64 * 1024;

/// Why there is no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The reference, if it is one: a value that stands in its place is not told either.
    pub reference: Option<String>,
    pub reason: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reference {
            Some(reference) => write!(formatter, "the secret {reference}: {}", self.reason),
            None => write!(formatter, "the secret: {}", self.reason),
        }
    }
}

impl std::error::Error for Missing {}

type Variables = fn(&str) -> Option<OsString>;

pub struct Secrets {
    folder: Option<PathBuf>,
    variables: Variables,
    kept: Mutex<HashMap<String, (Instant, Arc<Keys>)>>,
    keep: Duration,
}

impl Secrets {
    /// `folder`: where files are. Without one there are none.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            variables: |name| std::env::var_os(name),
            kept: Mutex::default(),
            keep: KEPT,
        }
    }

    /// All secrets of a reference; there are several while one takes the place of another.
    pub fn get(&self, reference: &str) -> Result<Arc<Keys>, Missing> {
        let now = Instant::now();
        if let Some(keys) = self.known(reference, now) {
            return Ok(keys);
        }
        let missing = |reason| Missing {
            reference: Some(reference)
                .filter(|name| name.starts_with("env:") || name.starts_with("file:"))
                .map(str::to_owned),
            reason,
        };
        let text = self.read(reference).map_err(missing)?;
        let keys = Arc::new(Keys::parse(&text).map_err(missing)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (until, _)| *until > now);
        kept.insert(reference.to_owned(), (now + self.keep, Arc::clone(&keys)));
        Ok(keys)
    }

    fn known(&self, reference: &str, now: Instant) -> Option<Arc<Keys>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, keys) = kept.get(reference)?;
        (*until > now).then(|| Arc::clone(keys))
    }

    fn read(&self, reference: &str) -> Result<String, &'static str> {
        if let Some(name) = reference.strip_prefix("env:") {
            return self.variable(name);
        }
        match reference.strip_prefix("file:") {
            Some(path) => self.file(path),
            None => Err("a reference begins with env: or file:"),
        }
    }

    fn variable(&self, name: &str) -> Result<String, &'static str> {
        let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
        match name.strip_prefix(PREFIX) {
            Some(rest) if !rest.is_empty() && rest.bytes().all(is_letter) => {}
            _ => return Err("the name of its variable does not begin with TURNSTILE_SECRET_"),
        }
        let value = (self.variables)(name).ok_or("there is no such environment variable")?;
        value.into_string().map_err(|_| NOT_TEXT)
    }

    fn file(&self, path: &str) -> Result<String, &'static str> {
        let Some(folder) = &self.folder else {
            return Err("no folder for secrets is given (--secrets)");
        };
        let path = Path::new(path);
        let is_below = |part| matches!(part, Component::Normal(_));
        if path.components().next().is_none() || !path.components().all(is_below) {
            return Err("its path is not a relative one without . and ..");
        }
        read_below(folder, path)
    }
}

// ---- Files ----------------------------------------------------------------------------------------

const NOT_TEXT: &str = "it is not UTF-8";
const UNREADABLE: &str = "its file cannot be read";

/// Links within the folder are followed, since secrets that are mounted consist of them.
fn read_below(folder: &Path, path: &Path) -> Result<String, &'static str> {
    let folder = folder
        .canonicalize()
        .map_err(|_| "the folder for secrets cannot be read")?;
    let file = folder.join(path).canonicalize().map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            "there is no such file"
        } else {
            UNREADABLE
        }
    })?;
    if !file.starts_with(&folder) {
        return Err("its file is outside the folder for secrets");
    }
    let metadata = file.metadata().map_err(|_| UNREADABLE)?;
    private::check(&metadata)?;
    let mut text = Vec::new();
    std::fs::File::open(&file)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text))
        .map_err(|_| UNREADABLE)?;
    if text.len() as u64 > LARGEST {
        return Err("its file is larger than 64 kB");
    }
    String::from_utf8(text).map_err(|_| NOT_TEXT)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A folder with `secrets/` and `outside` in it.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NUMBER: AtomicUsize = AtomicUsize::new(0);
            let number = NUMBER.fetch_add(1, Ordering::SeqCst);
            let name = format!("turnstile-secrets-{}-{number}", std::process::id());
            let folder = Self(std::env::temp_dir().join(name));
            fs::create_dir_all(folder.0.join("secrets/below")).unwrap();
            folder.write("../outside", "hunter2");
            folder
        }

        fn write(&self, name: &str, text: impl AsRef<[u8]>) {
            fs::write(self.0.join("secrets").join(name), text).unwrap();
            self.allow(name, 0o640);
        }

        fn allow(&self, name: &str, mode: u32) {
            let file = self.0.join("secrets").join(name);
            fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
        }

        fn link(&self, to: impl AsRef<Path>, name: &str) {
            symlink(to, self.0.join("secrets").join(name)).unwrap();
        }

        fn secrets(&self, keep: Duration) -> Secrets {
            Secrets {
                keep,
                variables: |name| match name {
                    "TURNSTILE_SECRET_A" => Some("hunter2".into()),
                    "TURNSTILE_SECRET_bad" => Some("whsec_hunter2!".into()),
                    "PGPASSWORD" => Some("hunter2".into()),
                    _ => None,
                },
                ..Secrets::new(Some(self.0.join("secrets")))
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    fn signed(secrets: &Secrets, reference: &str) -> String {
        secrets.get(reference).unwrap().sign("id", 0, b"")
    }

    fn of_text(text: &str) -> String {
        Keys::parse(text).unwrap().sign("id", 0, b"")
    }

    #[test]
    fn variables_and_files_have_secrets() {
        let folder = Folder::new();
        folder.write("below/one", "one\n");
        folder.write("two", "one\ntwo\n");
        folder.link("below", "link");
        folder.link("link/one", "..data");
        let secrets = folder.secrets(Duration::ZERO);
        assert_eq!(
            signed(&secrets, "env:TURNSTILE_SECRET_A"),
            of_text("hunter2")
        );
        for path in ["below/one", "link/one", "..data", "below//one"] {
            assert_eq!(
                signed(&secrets, &format!("file:{path}")),
                of_text("one"),
                "{path}"
            );
        }
        assert_eq!(signed(&secrets, "file:two"), of_text("one two"));
    }

    #[test]
    fn a_secret_is_kept_for_a_while_and_then_read_again() {
        let folder = Folder::new();
        folder.write("a", "old");
        let (keeping, reading) = (
            folder.secrets(Duration::from_secs(3_600)),
            folder.secrets(Duration::ZERO),
        );
        for secrets in [&keeping, &reading] {
            assert_eq!(signed(secrets, "file:a"), of_text("old"));
        }
        folder.write("a", "new old");
        assert_eq!(signed(&keeping, "file:a"), of_text("old"));
        assert_eq!(signed(&reading, "file:a"), of_text("new old"));
    }

    #[test]
    fn nothing_else_is_read_and_no_value_is_told() {
        let folder = Folder::new();
        folder.write("empty", "\n");
        folder.write("shared", "hunter2");
        folder.allow("shared", 0o644);
        folder.write("open", "hunter2");
        folder.allow("open", 0o602);
        folder.write("binary", b"hunter2\xff");
        folder.write("bad", "whsec_hunter2!");
        folder.write("large", "hunter2 ".repeat(10_000));
        folder.link("../outside", "link");
        folder.link(folder.0.join("outside"), "absolute");
        folder.link("..", "up");
        folder.link("loop", "loop");
        let secrets = folder.secrets(Duration::ZERO);
        let outside = format!("file:{}", folder.0.join("outside").display());
        let inside = format!("file:{}", folder.0.join("secrets/bad").display());
        for reference in [
            "",
            "whsec_hunter2",
            "env:",
            "file:",
            "vault:a",
            "ENV:TURNSTILE_SECRET_A",
            " env:TURNSTILE_SECRET_A",
            "TURNSTILE_SECRET_A",
            "env:PGPASSWORD",
            "env:TURNSTILE_SECRET_",
            "env:TURNSTILE_SECRET_B",
            "env:turnstile_secret_A",
            "env:TURNSTILE_SECRET_A=",
            "env:TURNSTILE_SECRET_A\0",
            "env:TURNSTILE_SECRET_bad",
            "file:none",
            "file:.",
            "file:..",
            "file:../outside",
            "file:below/../bad",
            "file:./bad",
            "file:below",
            "file:link",
            "file:absolute",
            "file:up/outside",
            "file:loop",
            "file:empty",
            "file:binary",
            "file:shared",
            "file:open",
            "file:bad",
            "file:large",
            "file:bad\0",
            "file:bad/",
            "file:/dev/zero",
            "file:///etc/passwd",
            "file:/proc/self/environ",
            &outside,
            &inside,
        ] {
            let missing = secrets
                .get(reference)
                .map(|keys| format!("{keys:?}"))
                .unwrap_err();
            let told = format!("{missing} {missing:?}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }

    /// All paths of up to four steps, through links of all kinds.
    #[test]
    fn no_path_leads_outside() {
        let folder = Folder::new();
        fs::create_dir_all(folder.0.join("secrets-too")).unwrap();
        folder.write("../secrets-too/outside", "hunter2");
        folder.write("below/inside", "inside");
        folder.write("inside", "inside");
        folder.link("../..", "below/up");
        folder.link(".", "here");
        folder.link("../secrets/below", "round");
        folder.link("../secrets-too", "beside");
        folder.link(&folder.0, "absolute");
        let secrets = folder.secrets(Duration::ZERO);
        let steps = [
            "", ".", "..", "inside", "outside", "below", "below/up", "here", "round", "beside",
            "absolute", "secrets", "/",
        ];
        let (mut paths, mut found) = (vec![String::new()], 0);
        for _ in 0..4 {
            paths = paths
                .iter()
                .flat_map(|path| steps.map(|step| format!("{path}/{step}")))
                .collect();
            for path in &paths {
                let reference = format!("file:{}", path.trim_start_matches('/'));
                if let Ok(keys) = secrets.get(&reference) {
                    found += 1;
                    assert_eq!(keys.sign("id", 0, b""), of_text("inside"), "{reference}");
                }
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn without_a_folder_there_are_no_files() {
        let missing = Secrets::new(None).get("file:a").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "the secret file:a: no folder for secrets is given (--secrets)"
        );
    }
}
