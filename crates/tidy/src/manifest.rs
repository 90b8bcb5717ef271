//! A `Cargo.toml`, and where in it things are said.

use toml::de::{DeTable, DeValue};

/// The tables of dependencies that a crate is built with; those of its tests are not among them.
const BUILT_WITH: [&str; 2] = ["dependencies", "build-dependencies"];

/// A manifest.
#[derive(Debug)]
pub struct Manifest<'a> {
    /// Where it lies.
    pub path: &'a str,
    text: &'a str,
    table: DeTable<'a>,
}

/// One dependency, as a manifest declares it.
#[derive(Debug)]
pub struct Dependency<'a> {
    /// What it is called here.
    pub name: &'a str,
    /// The line that declares it.
    pub line: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Manifest<'a> {
    /// Reads one.
    pub fn parse(path: &'a str, text: &'a str) -> Self {
        let table = DeTable::parse(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path, text, table: table.into_inner() }
    }

    /// The value at a path of keys.
    pub fn value(&self, keys: &[&str]) -> Option<&DeValue<'a>> {
        let (first, rest) = keys.split_first()?;
        let first = self.table.get(*first)?.get_ref();
        rest.iter().try_fold(first, |value, key| Some(value.get(*key)?.get_ref()))
    }

    /// The text at a path of keys.
    pub fn str(&self, keys: &[&str]) -> Option<&str> {
        self.value(keys)?.as_str()
    }

    /// Whether it is true or false at a path of keys, if either.
    pub fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.value(keys)?.as_bool()
    }

    /// The texts of the list under these keys, one within the other.
    pub fn list(&self, keys: &[&str]) -> Vec<&str> {
        let list = self.value(keys).and_then(DeValue::as_array).into_iter().flatten();
        list.filter_map(|it| it.get_ref().as_str()).collect()
    }

    /// What the crate is built with, on whatever platform; not what its tests use.
    pub fn dependencies(&self) -> Vec<Dependency<'_>> {
        let mut found = self.dependencies_in(&self.table, &BUILT_WITH);
        if let Some(targets) = self.value(&["target"]).and_then(DeValue::as_table) {
            for table in targets.values().filter_map(|target| target.get_ref().as_table()) {
                found.extend(self.dependencies_in(table, &BUILT_WITH));
            }
        }
        found
    }

    /// All that is declared: for the crate, for its tests and, in the workspace, for everyone.
    pub fn all_dependencies(&self) -> Vec<Dependency<'_>> {
        let mut found = self.dependencies();
        found.extend(self.dependencies_in(&self.table, &["dev-dependencies"]));
        if let Some(workspace) = self.value(&["workspace"]).and_then(DeValue::as_table) {
            found.extend(self.dependencies_in(workspace, &["dependencies"]));
        }
        found
    }

    fn dependencies_in<'t>(
        &'t self,
        table: &'t DeTable<'a>,
        kinds: &[&str],
    ) -> Vec<Dependency<'t>> {
        let kinds = kinds.iter().filter_map(|kind| table.get(*kind)?.get_ref().as_table());
        let entries = kinds.flat_map(|kind| kind.iter());
        let declared = entries.map(|(name, value)| Dependency {
            name: name.get_ref(),
            line: 1 + self.text[..name.span().start].matches('\n').count(),
            value: value.get_ref(),
        });
        declared.collect()
    }
}

impl Dependency<'_> {
    /// What is said of it under that key.
    pub fn get(&self, key: &str) -> Option<&DeValue<'_>> {
        Some(self.value.get(key)?.get_ref())
    }

    /// Whether it is true or false under that key, if either.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// Whether the workspace says what it is.
    pub fn is_inherited(&self) -> bool {
        self.flag("workspace") == Some(true)
    }

    /// The package that is meant, whatever it is called here.
    pub fn package(&self) -> &str {
        self.get("package").and_then(DeValue::as_str).unwrap_or(self.name)
    }

    /// The version that is asked for, if any.
    pub fn version(&self) -> Option<&str> {
        self.value.as_str().or_else(|| self.get("version")?.as_str())
    }

    /// Whether the feature is switched on by name.
    pub fn has_feature(&self, feature: &str) -> bool {
        let features = self.get("features").and_then(DeValue::as_array);
        features.is_some_and(|all| all.iter().any(|one| one.get_ref().as_str() == Some(feature)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[dependencies]
one = "1"
two = { package = "zwei", version = "2", features = ["std"] }

[target.'cfg(unix)'.dependencies]
three.workspace = true

[dev-dependencies]
four = "*"
"#;

    #[test]
    fn dependencies_have_lines_and_true_names() {
        let manifest = Manifest::parse("Cargo.toml", TEXT);
        let found = manifest.dependencies();
        let found: Vec<_> = found.iter().map(|one| (one.line, one.package())).collect();
        assert_eq!(found, [(3, "one"), (4, "zwei"), (7, "three")]);
    }

    #[test]
    fn what_is_said_of_a_dependency_is_found() {
        let manifest = Manifest::parse("Cargo.toml", TEXT);
        let all = manifest.all_dependencies();
        assert_eq!(all[0].version(), Some("1"));
        assert!(all[1].has_feature("std") && !all[1].has_feature("alloc"));
        assert!(all[2].is_inherited());
        assert_eq!(all[3].version(), Some("*"));
    }
}
