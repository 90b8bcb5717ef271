//! Links of a page that stay in the repository lead to a file that is there, and a heading in it.

use std::fs;
use std::path::Path;

use super::pages;
use crate::support::root;

/// The targets of links in a page.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let lower = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = lower.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.collect::<String>().replace(' ', "-")
}

/// Why a link from this page leads nowhere, if it does not.
fn broken(page: &str, target: &str) -> Option<String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { page.into() } else { folder.join(path) };
    if !root().join(&path).exists() {
        return Some(format!("{page}: {target}: there is no {}", path.display()));
    }
    if heading.is_empty() {
        return None;
    }
    let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
    let has_it = text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
    (!has_it).then(|| format!("{page}: {target}: {} has no such heading", path.display()))
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let inside = targets(&page.text).filter(|target| !target.contains("://"));
        wrong.extend(inside.filter_map(|target| broken(&page.path, target)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_named() {
    let page = "docs/learn.md";
    assert!(broken(page, "nowhere.md").expect("no file").contains("there is no docs/nowhere.md"));
    assert!(broken(page, "../README.md#nowhere").expect("no heading").contains("no such heading"));
    assert_eq!(broken(page, "../README.md#two-commands"), None);
}
