//! The same again and again.

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::time::sleep;
use vorrang_terminal::{is_closed, print};

use crate::failure::Failure;

/// How often, if it is not said.
pub(crate) const EVERY: &str = "1s";

/// Goes to the upper left corner and clears what is below.
const FROM_THE_TOP: &str = "\x1b[H\x1b[J";

/// Prints what is shown, once or until nobody reads it. On a terminal each takes the place of the
/// one before; in a pipe they follow each other, with an empty line between if they have several.
pub(crate) async fn shown(
    every: Option<Duration>,
    mut show: impl AsyncFnMut() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let output = |why| Failure::Storage(format!("standard output: {why}"));
    let Some(every) = every else {
        return print(&show().await?).map_err(output);
    };
    let in_place = std::io::stdout().is_terminal();
    let mut is_first = true;
    while !is_closed() {
        let text = match show().await {
            Ok(text) => text,
            // A daemon that is started anew is there again soon.
            Err(Failure::Unavailable(why)) if !is_first => format!("{why}\n"),
            Err(failure) => return Err(failure),
        };
        let before = match (in_place, is_first) {
            (true, _) => FROM_THE_TOP,
            (false, false) if text.lines().count() > 1 => "\n",
            (false, _) => "",
        };
        print(&format!("{before}{text}")).map_err(output)?;
        is_first = false;
        sleep(every).await;
    }
    Ok(())
}
