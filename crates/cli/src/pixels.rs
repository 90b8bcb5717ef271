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
    Err(Failure::usage(format!(
        "{file}: this build has no PNG: take .svg, or say cargo run --release --features png -- {}",
        crate::output::arguments()
    )))
}

/// Refuses to write PNG.
#[cfg(not(feature = "png"))]
pub(crate) fn png(_: &str, _: f64, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    check(file).map(|()| Vec::new())
}
