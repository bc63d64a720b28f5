//! `turnstile pages`: manual pages, completions for shells, and the page of the reference, all made of what the help is made of.

mod man;
mod markdown;
pub mod sections;
pub mod subcommands;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::error::Error;
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Where to write manual pages and completions: a folder such as /usr/local/share
    #[arg(required_unless_present_any = ["reference", "routes"])]
    folder: Option<PathBuf>,
    /// Print the page of the reference instead
    #[arg(long, conflicts_with = "folder")]
    reference: bool,
    /// Print what the dashboard answers instead, as JSON
    #[arg(long, conflicts_with_all = ["folder", "reference"])]
    routes: bool,
}

const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/turnstile"),
    (Shell::Zsh, "zsh/site-functions/_turnstile"),
    (Shell::Fish, "fish/vendor_completions.d/turnstile.fish"),
];

/// `program`: its command line, which all this is made of.
pub fn run(args: &Args, program: Command) -> Result<ExitCode, Error> {
    if args.routes {
        output::line(&crate::serve::dashboard::routes::listed())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = described(program);
    match &args.folder {
        Some(folder) => write(&mut command, folder)?,
        None => output::line(&markdown::page(&command).trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// With all that is inherited in its place.
pub fn described(program: Command) -> Command {
    let mut command = program.disable_help_subcommand(true);
    command.build();
    command
}

fn write(command: &mut Command, share: &Path) -> Result<(), Error> {
    let manual = share.join("man/man1");
    fs::create_dir_all(&manual)?;
    man::write(command, &manual)?;
    for subcommand in subcommands::of(command) {
        man::write(subcommand, &manual)?;
    }
    for (shell, place) in COMPLETIONS {
        let place = share.join(place);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        clap_complete::generate(shell, command, "turnstile", &mut File::create(place)?);
    }
    Ok(())
}
