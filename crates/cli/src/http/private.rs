//! Files with secrets, or with what decides who gets in: others may not have a part in them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

const READ: u32 = 0o004;
const WRITE: u32 = 0o002;

/// A pipe would be waited for, and what others may write is theirs. Owner and group are as the administrator has them.
pub fn check(metadata: &Metadata) -> Result<(), &'static str> {
    match metadata.mode() {
        _ if !metadata.is_file() => Err("it is not a file"),
        mode if mode & READ != 0 => Err("others may read it; run: chmod o-rwx"),
        mode if mode & WRITE != 0 => Err("others may write it; run: chmod o-rwx"),
        _ => Ok(()),
    }
}
