//! The command of the command line, looked for before any job is claimed.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::error::Error;

pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
}

impl Program {
    pub fn find(mut words: Vec<OsString>) -> Result<Self, Error> {
        if words.is_empty() {
            return Err(Error::Usage("work needs a command".to_owned()));
        }
        let name = words.remove(0);
        if is_there(Path::new(&name)) {
            Ok(Self {
                name,
                arguments: words,
            })
        } else {
            let name = Path::new(&name).display();
            Err(Error::Usage(format!("there is no program {name} to run")))
        }
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments);
        command
    }
}

fn is_there(name: &Path) -> bool {
    if name.components().count() > 1 || name.is_absolute() {
        return is_program(name);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| is_program(&folder.join(name)))
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
