//! A write to `SQLite` under a lock, which is refused if the lock was lost meanwhile.
//!
//! ```sh
//! cargo run -p fenced --features sqlite -- vorrang.toml accounts.db 42
//! ```
//!
//! The row has the newest token that it has seen, and takes nothing with an older one: so a machine
//! that has stood still for a minute, and believes that it holds the lock, changes nothing.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use rusqlite::{Connection, Result};
use vorrang::lock::{Config, Group, Token};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, database, value] = &arguments[..] else {
        eprintln!("usage: fenced CONFIG DATABASE VALUE");
        return Ok(ExitCode::from(64));
    };
    let database = open(Connection::open(database)?)?;
    let group = Group::start(Config::read(path)?).await?;
    let guard = group.lock("account").await?;
    let is_written = write(&database, guard.token(), value)?;
    println!("{}", if is_written { "written" } else { "refused: another has written since" });
    guard.release().await?;
    Ok(if is_written { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn open(database: Connection) -> Result<Connection> {
    database.execute_batch(
        "CREATE TABLE IF NOT EXISTS account (value TEXT, fence TEXT NOT NULL);
         INSERT INTO account SELECT NULL, '' WHERE NOT EXISTS (SELECT * FROM account);",
    )?;
    Ok(database)
}

/// Writes a value, unless one was written with a newer token. Tokens are compared as texts.
fn write(database: &Connection, token: Token, value: &str) -> Result<bool> {
    let write = "UPDATE account SET value = ?2, fence = ?1 WHERE fence <= ?1";
    Ok(database.execute(write, (token.to_string(), value))? == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_has_lost_the_lock_changes_nothing() {
        let database = open(Connection::open_in_memory().unwrap()).unwrap();
        let group = Group::start(Config { lease: None, ..Config::default() }).await.unwrap();
        let former = group.lock("account").await.unwrap().token();
        let holder = group.lock("account").await.unwrap();
        assert!(write(&database, former, "first").unwrap());
        assert!(write(&database, holder.token(), "second").unwrap());
        assert!(write(&database, holder.token(), "third").unwrap(), "the same holder again");
        assert!(!write(&database, former, "too late").unwrap());
        let value: String =
            database.query_row("SELECT value FROM account", (), |row| row.get(0)).unwrap();
        assert_eq!(value, "third");
    }
}
