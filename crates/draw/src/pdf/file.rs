//! A file of PDF with one page.

use std::fmt::Write as _;

use super::css::Style;
use super::letters::{bytes, wide};

/// A point of PDF is 4/3 of a pixel.
const SCALE: f64 = 0.75;

/// A page that is being drawn.
#[derive(Default)]
pub(super) struct Page {
    /// How wide and high, in pixels.
    pub(super) size: (f64, f64),
    content: Vec<u8>,
    /// The opacities of fills and strokes that occur.
    faint: Vec<(f64, f64)>,
}

impl Page {
    fn put(&mut self, what: &str) {
        self.content.extend_from_slice(what.as_bytes());
    }

    pub(super) fn save(&mut self) {
        self.put("q\n");
    }

    pub(super) fn restore(&mut self) {
        self.put("Q\n");
    }

    pub(super) fn move_by(&mut self, (x, y): (f64, f64)) {
        self.put(&format!("1 0 0 1 {x} {y} cm\n"));
    }

    /// Chooses colours, opacities and lines.
    fn look(&mut self, style: &Style) {
        let shares = |it: [f64; 3]| format!("{} {} {}", it[0], it[1], it[2]);
        let mut text = String::new();
        if let Some(fill) = style.fill {
            let _ = writeln!(text, "{} rg", shares(fill));
        }
        if let Some(stroke) = style.stroke {
            let dash = style.dash.replace(',', " ");
            let _ = writeln!(text, "{} RG {} w [{dash}] 0 d", shares(stroke), style.stroke_width);
        }
        let opacity = (style.fill_opacity * style.opacity, style.stroke_opacity * style.opacity);
        let known = self.faint.iter().position(|it| *it == opacity);
        let place = known.unwrap_or_else(|| {
            self.faint.push(opacity);
            self.faint.len() - 1
        });
        let _ = writeln!(text, "/G{place} gs");
        self.put(&text);
    }

    pub(super) fn paint(&mut self, path: &str, style: &Style) {
        let operator = match (style.fill, style.stroke) {
            (Some(_), Some(_)) => "B\n",
            (Some(_), None) => "f\n",
            (None, Some(_)) => "S\n",
            (None, None) => return,
        };
        self.look(style);
        self.put(path);
        self.put(operator);
    }

    /// Writes a line; its outline, if it has one, is behind it.
    pub(super) fn write(&mut self, text: &str, style: &Style, (x, y): (f64, f64)) {
        let letters = bytes(text);
        let Style { font_size: size, is_bold, is_mono, .. } = *style;
        let x = x - wide(&letters, size, is_bold, is_mono) * style.anchor;
        let font = match (is_mono, is_bold) {
            (true, _) => "F3",
            (false, true) => "F2",
            (false, false) => "F1",
        };
        self.look(style);
        let modes: &[u8] = if style.stroke.is_some() { &[1, 0] } else { &[0] };
        for mode in modes {
            self.put(&format!("BT /{font} {size} Tf {mode} Tr 1 0 0 -1 {x:.2} {y:.2} Tm ("));
            for &letter in &letters {
                if matches!(letter, b'(' | b')' | b'\\') {
                    self.content.push(b'\\');
                }
                self.content.push(letter);
            }
            self.put(") Tj ET\n");
        }
    }

    /// The file.
    pub(super) fn finish(self) -> Result<Vec<u8>, String> {
        let (width, height) = (self.size.0 * SCALE, self.size.1 * SCALE);
        if width <= 0.0 || height <= 0.0 {
            return Err("there is no picture".to_owned());
        }
        let mut states = String::new();
        for (place, (fill, stroke)) in self.faint.iter().enumerate() {
            let _ = write!(states, "/G{place} <</ca {fill:.3} /CA {stroke:.3}>> ");
        }
        // Upside down: places of pictures are counted from above.
        let mut content = format!("{SCALE} 0 0 -{SCALE} 0 {height} cm 1 j\n").into_bytes();
        content.extend(self.content);
        let font = |name: &str| {
            format!("<</Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding>>")
                .into_bytes()
        };
        let mut stream = format!("<</Length {}>>\nstream\n", content.len()).into_bytes();
        stream.extend(content);
        stream.extend_from_slice(b"\nendstream");
        let objects = [
            b"<</Type /Catalog /Pages 2 0 R>>".to_vec(),
            b"<</Type /Pages /Kids [3 0 R] /Count 1>>".to_vec(),
            format!(
                "<</Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R \
                 /Resources <</Font <</F1 5 0 R /F2 6 0 R /F3 7 0 R>> /ExtGState <<{states}>>>>>>"
            )
            .into_bytes(),
            stream,
            font("Helvetica"),
            font("Helvetica-Bold"),
            font("Courier"),
        ];
        let mut file = b"%PDF-1.4\n".to_vec();
        let mut places = Vec::new();
        for (number, object) in (1..).zip(objects) {
            places.push(file.len());
            file.extend(format!("{number} 0 obj\n").into_bytes());
            file.extend(object);
            file.extend_from_slice(b"\nendobj\n");
        }
        let table = file.len();
        let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
        for place in &places {
            let _ = writeln!(end, "{place:010} 00000 n ");
        }
        let _ = write!(
            end,
            "trailer\n<</Size {} /Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n",
            places.len() + 1
        );
        file.extend(end.into_bytes());
        Ok(file)
    }
}
