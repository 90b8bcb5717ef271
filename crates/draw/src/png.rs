//! Pictures as pixels, with letters of our own: a machine may have none.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// The font: Inter, under the SIL Open Font License.
const FONTS: [&[u8]; 2] =
    [include_bytes!("../fonts/Inter-Regular.ttf"), include_bytes!("../fonts/Inter-SemiBold.ttf")];

/// No picture has more pixels.
const MOST_PIXELS: f64 = 200_000_000.0;

/// Draws an SVG of ours, so many times as large.
///
/// # Errors
///
/// If it is not an SVG, or too large.
pub fn png(svg: &str, scale: f64) -> Result<Vec<u8>, String> {
    let mut options = Options { font_family: "Inter".to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    for font in FONTS {
        fonts.load_font_data(font.to_vec());
    }
    for set in [
        fontdb::Database::set_sans_serif_family::<&str>,
        fontdb::Database::set_monospace_family::<&str>,
        fontdb::Database::set_serif_family::<&str>,
    ] {
        set(fonts, "Inter");
    }
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size();
    let (width, height) = (f64::from(size.width()) * scale, f64::from(size.height()) * scale);
    if width * height > MOST_PIXELS {
        return Err(format!(
            "{width:.0} by {height:.0} pixels are too many: make the picture narrower, or write SVG"
        ));
    }
    let mut pixels = Pixmap::new(width.ceil().max(1.0) as u32, height.ceil().max(1.0) as u32)
        .ok_or_else(|| "there is no room for so many pixels".to_owned())?;
    let scale = Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_drawn_whatever_the_machine_has() {
        let with = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\"><text \
                 x=\"2\" y=\"15\" font-family=\"Nonesuch\">{text}</text></svg>"
            );
            png(&svg, 1.0).expect("it is an SVG")
        };
        assert_ne!(with("AB"), with(""));
        assert_ne!(with("AB"), with("CD"));
        assert!(with("A").starts_with(b"\x89PNG"));
        assert!(png("no picture", 1.0).is_err());
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60000\" height=\"60000\"/>";
        assert!(png(huge, 1.0).unwrap_err().contains("too many"));
    }
}
