//! A small space-time diagram for a terminal: a column a node, a line a step, time downwards. A
//! message is an arrow in the line of the step in which it arrives; those under way follow below.

use std::env;

use vorrang_draw::Story;
use vorrang_draw::story::{Bar, Event, What};

/// The signs that lines are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Signs {
    /// A node that is up, one that waits, one that is inside, one at which something begins.
    lanes: [char; 4],
    /// A message that arrives, one that is under way, and where it crosses a lane.
    line: [char; 3],
    /// To the right, to the left, and to nowhere.
    ends: [char; 3],
    /// What was left out.
    more: char,
}

impl Signs {
    pub(super) const UNICODE: Self = Self {
        lanes: ['│', '║', '█', '●'],
        line: ['─', '╌', '┼'],
        ends: ['▶', '◀', '✗'],
        more: '…',
    };
    pub(super) const ASCII: Self = Self {
        lanes: ['|', ':', '#', 'o'],
        line: ['-', '.', '+'],
        ends: ['>', '<', 'x'],
        more: '~',
    };

    /// As the locale has it: ASCII where it names another set of letters than UTF-8, or none at all
    /// by the names `C` and `POSIX`, and on a dumb terminal. Where nothing is said, terminals of
    /// today are expected.
    pub(super) fn of_locale() -> Self {
        Self::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| {
            let value = variable(name)?;
            (!value.is_empty()).then(|| value.to_ascii_uppercase().replace('-', ""))
        });
        let is_other = named.is_some_and(|locale| !locale.contains("UTF8"));
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        if is_other || is_dumb { Self::ASCII } else { Self::UNICODE }
    }
}

/// A node takes so many columns, if there is room, and never fewer than the second.
const WIDEST: usize = 8;
const NARROWEST: usize = 2;
/// The words at the right of a line have so much room, or the nodes get less.
const WORDS: usize = 18;
/// So many messages under way are shown.
const UNDER_WAY: usize = 3;

/// The last steps of a run in so many columns and lines; empty before anything has happened, and
/// where there is no room.
pub(super) fn diagram(story: &Story, columns: usize, lines: usize, signs: Signs) -> Vec<String> {
    let (mut rows, flight) = rows(story, signs);
    let waiting = flight.len().min(UNDER_WAY) + usize::from(flight.len() > UNDER_WAY);
    let most = lines.saturating_sub(waiting + 1).max(1);
    let left = rows.len().saturating_sub(most);
    rows.drain(..left);
    if rows.is_empty() {
        return Vec::new();
    }
    let Some(grid) = Grid::of(story, &rows, &flight, columns) else { return Vec::new() };
    let mut text = vec![grid.header()];
    text.extend(rows.iter().map(|row| grid.row(row, signs)));
    let last = rows.last().map_or(&[][..], |row| &row.lanes);
    for (from, to, words) in flight.iter().take(UNDER_WAY) {
        let arrow = Some(Arrow { from: *from, to: *to, how: How::UnderWay });
        let row = Row { step: None, lanes: last.to_vec(), mark: None, arrow, words: words.clone() };
        text.push(grid.row(&row, signs));
    }
    if let Some(more @ 1..) = flight.len().checked_sub(UNDER_WAY) {
        text.push(cut(&format!("{} {more} more under way", signs.more), columns, signs));
    }
    text
}

/// A line of a diagram.
struct Row {
    step: Option<u64>,
    /// The sign of each node.
    lanes: Vec<char>,
    /// The node that does something without a message.
    mark: Option<usize>,
    arrow: Option<Arrow>,
    words: String,
}

impl Row {
    fn of(step: u64) -> Self {
        let (lanes, words) = (Vec::new(), String::new());
        Self { step: Some(step), lanes, mark: None, arrow: None, words }
    }
}

#[derive(Clone, Copy)]
struct Arrow {
    from: usize,
    to: usize,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Arrives,
    IsLost,
    UnderWay,
}

/// A message under way: from whom, to whom, and what is said of it.
type Flying = (usize, usize, String);

/// A line a step, and the messages that are under way after the last one.
fn rows(story: &Story, signs: Signs) -> (Vec<Row>, Vec<Flying>) {
    let mut now = Now { lanes: vec![signs.lanes[0]; story.lanes.len()], flight: Flight::default() };
    let mut rows = Vec::new();
    for events in story.events.chunk_by(|one, next| one.at == next.at) {
        let mut row = Row::of(events[0].at);
        let mut words = Words::default();
        for event in events {
            now.follow(event, (&mut row, &mut words), signs);
        }
        // The sender of an arrow has a line of its own for what it did.
        row.mark = row.mark.filter(|_| row.arrow.is_none());
        row.words = words.text();
        row.lanes.clone_from(&now.lanes);
        rows.push(row);
    }
    (rows, now.flight.shown())
}

/// A run as far as it has been followed.
struct Now {
    /// The sign of each node.
    lanes: Vec<char>,
    flight: Flight,
}

impl Now {
    /// One event, and what it means for the line of its step.
    fn follow(&mut self, event: &Event, (row, words): (&mut Row, &mut Words), signs: Signs) {
        let [up, waiting, inside, _] = signs.lanes;
        let Event { at, node, what, .. } = event;
        let node = *node;
        match what {
            What::Said { text, look, .. } => {
                match look.bar {
                    Some(Bar::Filled(_)) => self.lanes[node] = inside,
                    Some(Bar::Outlined(_)) => self.lanes[node] = waiting,
                    Some(Bar::Ends) => self.lanes[node] = up,
                    None => {}
                }
                words.say(text);
            }
            What::Sent { to, letter } => {
                self.flight.add((node, *to, letter.number), *at, &letter.text);
                words.send(&letter.text, *to);
            }
            What::Got { from, letter } => {
                self.flight.remove((*from, node, letter.number));
                row.arrow = Some(Arrow { from: *from, to: node, how: How::Arrives });
                words.say(&letter.text);
            }
            What::Lost { to, number, .. } => {
                let text = self.flight.remove((node, *to, *number));
                row.arrow = Some(Arrow { from: node, to: *to, how: How::IsLost });
                words.say(&format!("{text} is lost"));
            }
            What::Doubled { to, number } => {
                self.flight.double((node, *to, *number));
                words.say("doubled");
            }
            What::Crash => {
                self.lanes[node] = ' ';
                words.say("crashes");
            }
            What::Restart => {
                self.lanes[node] = up;
                words.say("restarts");
            }
            What::Timer(timer) => words.say(&format!("timer {timer}")),
            What::Choice(value) => words.say(&format!("draws {value}")),
            What::Remark(text) | What::Network { text, .. } => words.say(text),
            What::Pause | What::Resume => {}
        }
        row.mark.get_or_insert(node);
    }
}

/// From whom, to whom, and its number between these two.
type Which = (usize, usize, u64);

/// What is under way, oldest first: which message, since when, its text and how many of it.
#[derive(Default)]
struct Flight(Vec<(Which, u64, String, u32)>);

impl Flight {
    fn add(&mut self, which: Which, at: u64, text: &str) {
        self.0.push((which, at, text.to_owned(), 1));
    }

    fn double(&mut self, which: Which) {
        if let Some(it) = self.0.iter_mut().find(|it| it.0 == which) {
            it.3 += 1;
        }
    }

    /// Takes away one of it; its text.
    fn remove(&mut self, which: Which) -> String {
        let Some(place) = self.0.iter().position(|it| it.0 == which) else { return String::new() };
        self.0[place].3 -= 1;
        if self.0[place].3 > 0 { self.0[place].2.clone() } else { self.0.remove(place).2 }
    }

    fn shown(self) -> Vec<Flying> {
        let line = |((from, to, _), at, text, _)| (from, to, format!("{text}, since {at}"));
        self.0.into_iter().map(line).collect()
    }
}

/// What is said of a step: what happened, then what was sent, alike messages together.
#[derive(Default)]
struct Words {
    said: Vec<String>,
    sent: Vec<(String, Vec<usize>)>,
}

impl Words {
    fn say(&mut self, text: &str) {
        self.said.push(text.to_owned());
    }

    fn send(&mut self, text: &str, to: usize) {
        match self.sent.last_mut() {
            Some((last, all)) if last == text => all.push(to),
            _ => self.sent.push((text.to_owned(), vec![to])),
        }
    }

    fn text(mut self) -> String {
        for (text, to) in &self.sent {
            let to: Vec<String> = to.iter().map(ToString::to_string).collect();
            self.said.push(format!("{text} to {}", to.join(" ")));
        }
        self.said.join(", ")
    }
}

/// Where things stand in a line.
struct Grid {
    /// The nodes that have a column.
    nodes: Vec<usize>,
    /// The column of the first.
    left: usize,
    pitch: usize,
    columns: usize,
    names: Vec<String>,
}

impl Grid {
    /// All nodes if there is room, or those that take part in these lines; none if even those are
    /// too many.
    fn of(story: &Story, rows: &[Row], flight: &[Flying], columns: usize) -> Option<Self> {
        let last = rows.iter().filter_map(|row| row.step).max().unwrap_or(0);
        let left = last.to_string().len() + 2;
        let all: Vec<usize> = (0..story.lanes.len()).collect();
        let takes_part = |node: &usize| {
            let of_rows = rows.iter().filter_map(|row| row.arrow);
            let ends = of_rows.flat_map(|it| [it.from, it.to]);
            let flying = flight.iter().take(UNDER_WAY).flat_map(|&(from, to, _)| [from, to]);
            ends.chain(rows.iter().filter_map(|row| row.mark)).chain(flying).any(|it| it == *node)
        };
        let some: Vec<usize> = all.iter().copied().filter(takes_part).collect();
        [(all, WORDS), (some.clone(), WORDS), (some, 0)].into_iter().find_map(|(nodes, words)| {
            let digits = nodes.iter().max().map_or(1, |it| it.to_string().len());
            let room = columns.checked_sub(left + digits + words)?;
            let narrowest = NARROWEST.max(digits + 1);
            let gaps = nodes.len().saturating_sub(1).max(1);
            let pitch = (room / gaps).min(WIDEST);
            let names = nodes.iter().map(ToString::to_string).collect();
            (pitch >= narrowest).then_some(Self { nodes, left, pitch, columns, names })
        })
    }

    fn column(&self, node: usize) -> Option<usize> {
        let place = self.nodes.iter().position(|it| *it == node)?;
        Some(self.left + place * self.pitch)
    }

    fn width(&self) -> usize {
        self.left + (self.nodes.len().saturating_sub(1)) * self.pitch + 1
    }

    fn header(&self) -> String {
        let mut line = vec![' '; self.width()];
        for (name, &node) in self.names.iter().zip(&self.nodes) {
            let at = self.column(node).unwrap_or(0);
            line.resize(line.len().max(at + name.len()), ' ');
            for (offset, letter) in name.chars().enumerate() {
                line[at + offset] = letter;
            }
        }
        line.into_iter().collect::<String>().trim_end().to_owned()
    }

    fn row(&self, row: &Row, signs: Signs) -> String {
        let mut line = vec![' '; self.width()];
        if let Some(step) = row.step {
            let number = format!("{step:>width$}", width = self.left - 2);
            for (place, letter) in number.chars().enumerate() {
                line[place] = letter;
            }
        }
        for &node in &self.nodes {
            let at = self.column(node).unwrap_or(0);
            line[at] = row.lanes.get(node).copied().unwrap_or(' ');
        }
        if let Some(at) = row.mark.and_then(|node| self.column(node)) {
            line[at] = signs.lanes[3];
        }
        if let Some(arrow) = row.arrow {
            self.draw(arrow, &mut line, signs);
        }
        let line: String = line.into_iter().collect();
        let whole = if row.words.is_empty() { line } else { format!("{line}  {}", row.words) };
        cut(whole.trim_end(), self.columns, signs)
    }

    fn draw(&self, Arrow { from, to, how }: Arrow, line: &mut [char], signs: Signs) {
        let (Some(start), Some(end)) = (self.column(from), self.column(to)) else { return };
        let [arrives, under_way, crosses] = signs.line;
        let along = if how == How::UnderWay { under_way } else { arrives };
        let (low, high) = (start.min(end), start.max(end));
        for (at, place) in line.iter_mut().enumerate().take(high).skip(low + 1) {
            let is_lane = (at - self.left).is_multiple_of(self.pitch);
            *place = if is_lane && *place != ' ' { crosses } else { along };
        }
        if start == end {
            return;
        }
        let [right, left, nowhere] = signs.ends;
        let tip = if end > start { end - 1 } else { end + 1 };
        line[tip] = match how {
            How::IsLost => nowhere,
            How::Arrives | How::UnderWay if end > start => right,
            How::Arrives | How::UnderWay => left,
        };
    }
}

fn cut(text: &str, columns: usize, signs: Signs) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain([signs.more]).collect()
}

/// Lines beside each other, or none if these do not fit into so many columns.
pub(super) fn beside(left: &[String], right: &[String], columns: usize) -> Option<String> {
    const GAP: usize = 3;
    let width = |lines: &[String]| {
        lines.iter().map(|line| vorrang_node::terminal::length(line)).max().unwrap_or(0)
    };
    let wide = width(left);
    if wide + GAP + width(right) > columns {
        return None;
    }
    let mut text = String::new();
    for place in 0..left.len().max(right.len()) {
        let one = left.get(place).map_or("", String::as_str);
        let other = right.get(place).map_or("", String::as_str);
        let gap = " ".repeat(wide + GAP - vorrang_node::terminal::length(one));
        text += format!("{one}{gap}{other}").trim_end();
        text.push('\n');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use vorrang_draw::Look;
    use vorrang_draw::story::MessageLabel;

    use super::*;

    fn letter(number: u64, text: &str) -> MessageLabel {
        MessageLabel { number, kind: String::new(), text: text.to_owned(), is_token: false }
    }

    /// Node 0 asks the last one, which answers; a second question is lost, a third under way.
    fn story(nodes: usize) -> Story {
        let last = nodes - 1;
        let said = |text: &str, bar| What::Said {
            text: text.to_owned(),
            is_command: true,
            look: Look::bar(bar),
        };
        let at = |at, node, what| Event { at, node, what, state: None };
        Story {
            lanes: (0..nodes).map(|it| format!("node {it}")).collect(),
            events: vec![
                at(1, 0, said("acquire", Bar::Outlined("waits"))),
                at(1, 0, What::Sent { to: last, letter: letter(0, "ASK") }),
                at(2, last, What::Got { from: 0, letter: letter(0, "ASK") }),
                at(2, last, What::Sent { to: 0, letter: letter(1, "YES") }),
                at(2, last, What::Sent { to: 1, letter: letter(2, "NO") }),
                at(3, 0, What::Got { from: last, letter: letter(1, "YES") }),
                at(3, 0, said("entered", Bar::Filled("inside"))),
                at(4, last, What::Lost { to: 1, number: 2, why: "by chance" }),
                at(5, last, What::Timer("Again".to_owned())),
                at(5, last, What::Sent { to: 0, letter: letter(3, "WELL") }),
                at(6, 1, What::Crash),
            ],
            ..Story::default()
        }
    }

    #[test]
    fn a_run_is_drawn_step_by_step() {
        let drawn = diagram(&story(3), 44, 20, Signs::UNICODE);
        let wanted = [
            "   0       1       2",
            "1  ●       │       │  acquire, ASK to 2",
            "2  ║───────┼──────▶│  ASK, YES to 0, NO to 1",
            "3  █◀──────┼───────│  YES, entered",
            "4  █       │✗──────│  NO is lost",
            "5  █       │       ●  timer Again, WELL to 0",
            "6  █       ●       │  crashes",
            "   █◀╌╌╌╌╌╌╌╌╌╌╌╌╌╌│  WELL, since 5",
        ];
        assert_eq!(drawn, wanted);
        let narrow = diagram(&story(3), 40, 20, Signs::UNICODE);
        assert!(narrow[2].ends_with("▶│  ASK, YES to 0, NO…"), "{narrow:#?}");
    }

    /// A copy is under way for as long as it has not arrived as well.
    #[test]
    fn a_doubled_message_arrives_twice() {
        let at = |at, node, what| Event { at, node, what, state: None };
        let got = || What::Got { from: 0, letter: letter(0, "ASK") };
        let mut story = Story {
            lanes: vec![String::new(); 2],
            events: vec![
                at(1, 0, What::Sent { to: 1, letter: letter(0, "ASK") }),
                at(2, 0, What::Doubled { to: 1, number: 0 }),
                at(2, 1, got()),
            ],
            ..Story::default()
        };
        let drawn = diagram(&story, 60, 20, Signs::ASCII);
        assert!(drawn.last().is_some_and(|it| it.ends_with("ASK, since 1")), "{drawn:#?}");
        story.events.push(at(3, 1, got()));
        let drawn = diagram(&story, 60, 20, Signs::ASCII);
        assert!(drawn.last().is_some_and(|it| it.starts_with("3 ")), "{drawn:#?}");
    }

    #[test]
    fn ascii_is_enough() {
        let drawn = diagram(&story(3), 40, 20, Signs::ASCII).join("\n");
        assert!(drawn.is_ascii(), "{drawn}");
        for sign in ['#', 'o', 'x', '<', '>', '.', '+', ':', '|'] {
            assert!(drawn.contains(sign), "no {sign} in\n{drawn}");
        }
    }

    #[test]
    fn it_keeps_within_the_room_that_there_is() {
        for nodes in [2, 3, 9, 13, 40, 64] {
            for columns in [40, 60, 80, 120, 200] {
                for lines in [3, 8, 40] {
                    let drawn = diagram(&story(nodes), columns, lines, Signs::UNICODE);
                    assert!(drawn.len() <= lines.max(4), "{} in {lines}", drawn.len());
                    let widest = drawn.iter().map(|it| it.chars().count()).max();
                    let widest = widest.expect("those who take part have room");
                    assert!(widest <= columns, "{widest} of {columns}: {drawn:#?}");
                    assert!(drawn.concat().contains('◀'), "{nodes} {columns}: {drawn:#?}");
                }
            }
        }
        assert_eq!(diagram(&Story::default(), 80, 10, Signs::ASCII), [""; 0]);
        assert_eq!(diagram(&story(64), 4, 10, Signs::ASCII), [""; 0], "no room at all");
    }

    #[test]
    fn the_last_steps_are_those_that_are_shown() {
        let drawn = diagram(&story(3), 80, 5, Signs::ASCII);
        assert_eq!(drawn.len(), 5, "{drawn:#?}");
        assert!(drawn[1].starts_with('4') && drawn[3].starts_with('6'), "{drawn:#?}");
        assert!(drawn[1].contains('#'), "what happened before is not forgotten: {drawn:#?}");
    }

    #[test]
    fn signs_are_those_of_the_locale() {
        let of = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
            Signs::of(value)
        };
        assert_eq!(of(&[]), Signs::UNICODE);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), Signs::UNICODE);
        assert_eq!(of(&[("LANG", "C.utf8"), ("LC_ALL", "")]), Signs::UNICODE);
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]), Signs::ASCII);
        assert_eq!(of(&[("LANG", "POSIX")]), Signs::ASCII);
        assert_eq!(of(&[("LC_CTYPE", "de_DE.ISO-8859-1"), ("LANG", "C.UTF-8")]), Signs::ASCII);
        assert_eq!(of(&[("TERM", "dumb")]), Signs::ASCII);
    }

    #[test]
    fn columns_stand_beside_each_other_if_they_fit() {
        let of = |lines: &[&str]| lines.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (left, right) = (of(&["one", "three"]), of(&["1", "2", "3"]));
        assert_eq!(beside(&left, &right, 9).as_deref(), Some("one     1\nthree   2\n        3\n"));
        assert_eq!(beside(&left, &right, 8), None);
    }
}
