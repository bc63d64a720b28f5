//! The subcommands that users are told of.

use clap::Command;

pub fn of(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|each| !each.is_hide_set())
}
