//! A page of the manual.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::{sections, subcommands};
use crate::error::Error;

pub fn write(command: &Command, folder: &Path) -> Result<(), Error> {
    let source = concat!("turnstile ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).source(source).manual("Turnstile");
    let mut file = File::create(folder.join(page.get_filename()))?;
    page.render_title(&mut file)?;
    page.render_name_section(&mut file)?;
    page.render_synopsis_section(&mut file)?;
    page.render_description_section(&mut file)?;
    page.render_options_section(&mut file)?;
    if subcommands::of(command).next().is_some() {
        page.render_subcommands_section(&mut file)?;
    }
    Ok(file.write_all(more(command).as_bytes())?)
}

/// The sections behind the options, with their lines as they are.
fn more(command: &Command) -> String {
    let mut roff = Roff::new();
    for section in sections::of(command) {
        roff.control("SH", [section.title.to_uppercase().as_str()]);
        roff.control("nf", []);
        for line in section.lines {
            roff.text([roman(if line.is_empty() { " " } else { &line })]);
        }
        roff.control("fi", []);
    }
    roff.render()
}
