//! The module documentation of an algorithm's own file, for its card, without the code below it:
//! all files together are several times as long.

/// The module documentation of a file beside this one, as it stands there.
macro_rules! page {
    ($file:literal) => {{
        const SOURCE: &[u8] = include_bytes!($file);
        const PAGE: [u8; $crate::page::len(SOURCE)] = $crate::page::head(SOURCE);
        match core::str::from_utf8(&PAGE) {
            Ok(page) => page,
            Err(_) => panic!("a file of Rust is UTF-8"),
        }
    }};
}

/// How long the lines of module documentation are with which a file begins.
pub(crate) const fn len(source: &[u8]) -> usize {
    let mut end = 0;
    while matches!(source.split_at(end).1, [b'/', b'/', b'!', ..]) {
        while source[end] != b'\n' {
            end += 1;
        }
        end += 1;
    }
    end
}

/// So many of its first bytes.
pub(crate) const fn head<const LEN: usize>(source: &[u8]) -> [u8; LEN] {
    let mut head = [0; LEN];
    head.copy_from_slice(source.split_at(LEN).0);
    head
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_page_ends_where_the_code_begins() {
        const SOURCE: &[u8] = b"//! One.\n//!\n//! Two.\n\n//! Not this.\n";
        assert_eq!(super::head::<{ super::len(SOURCE) }>(SOURCE), *b"//! One.\n//!\n//! Two.\n");
        assert_eq!(super::len(b"/// An item.\n"), 0);
        let own = page!("page.rs");
        assert!(own.starts_with("//! The module documentation of") && own.lines().count() == 2);
    }
}
