//! The folders of the crate have no circles: each uses only those above it in the map of `src/lib.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The folders in the order of the map.
fn map() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let names = rows.filter_map(|row| row.split_once('`'));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The modules of the crate that a file names.
fn used(text: &str) -> Vec<&str> {
    let after = text.split("crate::").skip(1);
    let names = after.filter_map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    });
    names.collect()
}

#[test]
fn each_folder_uses_only_those_above_it_in_the_map() {
    let map = map();
    for folder in files(&source()).iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let above = map.iter().take_while(|each| *each != name).count();
        assert!(above < map.len(), "{name} is not in the map");
        for file in files(folder) {
            let text = fs::read_to_string(&file).unwrap();
            for module in used(&text) {
                let is_above = map.iter().take(above + 1).any(|each| each == module);
                assert!(is_above, "{} uses {module}", file.display());
            }
        }
    }
}
