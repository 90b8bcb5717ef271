//! Letters of PDF: those of Windows, which its fonts have.

/// How wide the letters of Helvetica are, in thousandths of their size: from the space to the
/// tilde.
const ADVANCES: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// How wide a text is in letters of this size.
pub(super) fn wide(bytes: &[u8], size: f64, is_bold: bool, is_mono: bool) -> f64 {
    let advance = |&byte: &u8| match ADVANCES.get(usize::from(byte).wrapping_sub(32)) {
        _ if is_mono => 600.0,
        Some(&known) => f64::from(known) * if is_bold { 1.05 } else { 1.0 },
        None => 556.0,
    };
    bytes.iter().map(advance).sum::<f64>() * size / 1000.0
}

/// A text as bytes; what there is no letter for is written as people do who have none.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        let more: &[u8] = match letter {
            '–' | '−' => &[0x96],
            '—' => &[0x97],
            '…' => &[0x85],
            '‘' => &[0x91],
            '’' => &[0x92],
            '“' => &[0x93],
            '”' => &[0x94],
            '≈' => b"~",
            '≤' => b"<=",
            '≥' => b">=",
            '→' => b"->",
            '←' => b"<-",
            ' '..='~' | '\u{a0}'..='\u{ff}' => &[letter as u32 as u8],
            _ => b"?",
        };
        bytes.extend_from_slice(more);
    }
    bytes
}

/// A text as XML means it.
pub(super) fn unescaped(text: &str) -> String {
    let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    known.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_one_that_fonts_have() {
        assert_eq!(bytes("a ± µ…"), b"a \xb1 \xb5\x85");
        assert_eq!(bytes("0 → 1 ✓"), b"0 -> 1 ?");
        assert_eq!(unescaped("a &amp;lt; &lt;"), "a &lt; <");
        assert!((wide(b"il", 10.0, false, false) - 4.44).abs() < 1e-9);
    }
}
