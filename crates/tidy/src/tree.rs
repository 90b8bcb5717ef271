//! The project's files, as text.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Manifest, Source};

/// Folders that begin with a dot and belong to the project all the same.
const DOTTED: [&str; 3] = [".cargo", ".ci", ".github"];

/// The whole project.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    files: Vec<File>,
}

/// One file of it.
#[derive(Debug)]
pub struct File {
    /// From the root, with forward slashes.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// One crate of the workspace.
#[derive(Debug)]
pub struct Crate<'a> {
    /// The folder's name: `sim`.
    pub name: &'a str,
    /// Its `Cargo.toml`.
    pub manifest: Manifest<'a>,
}

impl Tree {
    /// Reads all text files but those that are built or ignored.
    pub fn read() -> Self {
        // Asked when run, not when built: one target folder may serve several copies of the tree.
        let here = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate lies");
        let root = Path::new(&here)
            .ancestors()
            .nth(2)
            .expect("this crate lies in the folder crates")
            .to_path_buf();
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored: Vec<PathBuf> = ignored
            .lines()
            .filter_map(|line| line.strip_prefix('/'))
            .map(|name| root.join(name.trim_end_matches('/')))
            .collect();
        let mut files = Vec::new();
        walk(&root, &root, &ignored, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { root, files }
    }

    /// Where a file lies, for those who rewrite it.
    pub fn locate(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The files, in the order of their paths.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The file at that path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The text of a file that everything else here rests upon.
    pub fn text(&self, path: &str) -> &str {
        let file = self.file(path);
        &file.unwrap_or_else(|| panic!("{path} is missing: the project cannot be without it")).text
    }

    /// All Rust files, understood as far as [`Source`] goes.
    pub fn sources(&self) -> Vec<Source<'_>> {
        let rust = self.files.iter().filter(|file| file.has_extension("rs"));
        rust.map(|file| Source::of(&file.path, &file.text)).collect()
    }

    /// The workspace's manifest.
    pub fn workspace(&self) -> Manifest<'_> {
        Manifest::parse("Cargo.toml", self.text("Cargo.toml"))
    }

    /// The crates, in the order of their names.
    pub fn crates(&self) -> Vec<Crate<'_>> {
        let found = self.files.iter().filter_map(|file| {
            let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            Some(Crate { name, manifest: Manifest::parse(&file.path, &file.text) })
        });
        let found: Vec<_> = found.collect();
        assert!(found.len() > 1, "crates/*/Cargo.toml: the crates are not where they are sought");
        found
    }
}

impl File {
    /// Whether the name ends so.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

fn walk(root: &Path, folder: &Path, ignored: &[PathBuf], files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("a folder of the project can be listed");
    for entry in entries {
        let entry = entry.expect("a folder of the project can be listed");
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && !DOTTED.contains(&name.as_str());
        let built = path.join("CACHEDIR.TAG").exists();
        if hidden || built || ignored.contains(&path) {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, ignored, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root).expect("a walk stays below its root");
            let path = path.to_string_lossy().replace('\\', "/");
            files.push(File { path, text });
        }
    }
}
