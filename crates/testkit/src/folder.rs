//! Folders for what a test writes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// A folder of a test's own, which is gone when the test is over.
#[derive(Debug)]
pub struct Folder(PathBuf);

/// Two tests of one program may give their folders the same name.
static MADE: AtomicU32 = AtomicU32::new(0);

impl Folder {
    /// An empty one among the files that are temporary.
    ///
    /// # Panics
    ///
    /// If it cannot be made.
    pub fn new(name: &str) -> Self {
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let unique = format!("vorrang-{name}-{}-{made}", process::id());
        let path = env::temp_dir().join(unique);
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// Where a file in it is.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The same as an argument of a program.
    ///
    /// # Panics
    ///
    /// If the path is not UTF-8.
    pub fn path(&self, file: &str) -> String {
        self.file(file).to_str().expect("a path in UTF-8").to_owned()
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is among temporary files anyway.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_apart_and_go_with_all_that_is_in_them() {
        let (one, other) = (Folder::new("same"), Folder::new("same"));
        let file = one.file("note.txt");
        fs::write(&file, "here").unwrap();
        assert_eq!(one.path("note.txt"), file.to_str().unwrap());
        assert!(file.exists() && !other.file("note.txt").exists());
        drop(one);
        assert!(!file.exists() && other.as_ref().exists());
    }
}
