//! The pictures of the gallery are those that the commands printed below them make.

use crate::support;

use std::fs;

use support::{Folder, root, run};
use vorrang_testkit::is_set;

/// Numbers of two machines may differ in their last digit, and so may a place in a picture.
const NOISE: f64 = 0.6;

/// Text in pieces: numbers, and what is between them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_number = is_digit(first);
        let end = rest.find(|letter| is_digit(letter) != is_number).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Where two pictures differ by more than noise.
fn difference(one: &str, other: &str) -> Option<String> {
    let (ours, theirs) = (pieces(one), pieces(other));
    for (place, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        let is_near = match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= NOISE,
            (Err(_), Err(_)) => a == b,
            _ => false,
        };
        if !is_near {
            let around = ours[place.saturating_sub(6)..(place + 3).min(ours.len())].concat();
            return Some(format!("'{a}' and not '{b}' in {around}"));
        }
    }
    (ours.len() != theirs.len()).then(|| "one has more than the other".to_owned())
}

#[test]
fn every_picture_is_what_its_command_makes() {
    let gallery = fs::read_to_string(root().join("docs/gallery.md")).expect("a gallery");
    let folder = Folder::new("gallery");
    let rewrites = is_set("VORRANG_REWRITE");
    let mut shown = 0;
    for line in gallery.lines().filter_map(|line| line.strip_prefix("vorrang ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().position(|it| it.starts_with("docs/")).expect("a picture");
        let name = words[place].strip_prefix("docs/").expect("it begins so");
        assert!(gallery.contains(&format!("]({name})")), "{name} is not shown");
        let path = folder.path(&name.replace('/', "-"));
        let mut words = words.clone();
        words[place] = &path;
        let (code, _, aside) = run(&words);
        assert_eq!(code, 0, "{line}: {aside}");
        let made = fs::read_to_string(&path).expect("a picture");
        let kept = root().join("docs").join(name);
        if rewrites {
            fs::write(&kept, &made).expect("a place to write");
        }
        let known = fs::read_to_string(&kept).unwrap_or_default();
        if let Some(what) = difference(&known, &made) {
            panic!("{name} is not current, run docs/regenerate-gallery: {what}");
        }
        shown += 1;
    }
    assert_eq!(shown, gallery.matches("](gallery/").count(), "a command for every picture");
}

#[test]
fn a_picture_that_is_not_current_is_found() {
    assert_eq!(difference("x=\"10.2\" A", "x=\"10.4\" A"), None, "noise");
    assert!(difference("x=\"10.2\"", "x=\"20.4\"").is_some());
    assert!(difference("REQUEST(1)", "REPLY(1)").is_some());
    assert!(difference("a", "a1").is_some());
}
