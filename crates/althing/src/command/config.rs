//! `config`: where it is and what is in force.

use super::{Desk, print};
use crate::args;
use crate::terminal::table::table;
use althing_hub::config;
use althing_stdx::Result;

pub async fn config(args: args::Config) -> Result<()> {
    let desk = Desk::open();
    if args.init {
        config::init(&desk.config.file)?;
        return print(&format!("Wrote {}\n", desk.config.file.display()));
    }
    desk.warn();
    let exists = if desk.config.file.exists() {
        ""
    } else {
        " (does not exist; althing config --init writes it)"
    };
    let head = format!("{}{exists}\n\n", desk.config.file.display());
    let library = desk.library_to_read().await?;
    let rows =
        library.book().config.rows().into_iter().map(|row| vec![row.key, row.value, row.source]);
    let titles = vec!["KEY".into(), "VALUE".into(), "SOURCE".into()];
    print(&(head + &table(&[titles].into_iter().chain(rows).collect::<Vec<_>>())))
}
