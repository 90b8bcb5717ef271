//! Pictures as PNG, which only a build with the feature `png` can write.

use std::path::Path;

use vorrang_experiment::failure::Failure;

/// Refuses to write PNG if this build cannot, before any time is spent on the picture.
#[cfg(feature = "png")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature, it refuses")]
pub(crate) fn check(_: Option<&Path>) -> Result<(), Failure> {
    Ok(())
}

/// An SVG of ours as PNG, so many times as large.
#[cfg(feature = "png")]
pub(crate) fn png(svg: &str, scale: f64, _: Option<&Path>) -> Result<Vec<u8>, Failure> {
    vorrang_draw::png::png(svg, scale).map_err(Failure::Usage)
}

/// Refuses to write PNG.
#[cfg(not(feature = "png"))]
pub(crate) fn check(file: Option<&Path>) -> Result<(), Failure> {
    let file = file.map_or_else(|| "--format png".to_owned(), |it| it.display().to_string());
    let words: Vec<_> = std::env::args().skip(1).map(|word| in_shell(&word)).collect();
    Err(Failure::usage(format!(
        "{file}: this build has no PNG: take .svg, or say cargo run --release --features png -- {}",
        words.join(" ")
    )))
}

/// Refuses to write PNG.
#[cfg(not(feature = "png"))]
pub(crate) fn png(_: &str, _: f64, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    check(file).map(|()| Vec::new())
}

/// A word as it is typed in a shell.
#[cfg(not(feature = "png"))]
fn in_shell(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:,=@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(all(test, not(feature = "png")))]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_typed_again() {
        assert_eq!(in_shell("--crash=2@50ms"), "--crash=2@50ms");
        assert_eq!(in_shell("my run.png"), "'my run.png'");
        assert_eq!(in_shell("it's"), r"'it'\''s'");
        assert_eq!(in_shell(""), "''");
    }
}
