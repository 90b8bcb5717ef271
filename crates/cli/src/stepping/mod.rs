//! An interactive session: commands of a person or a pipe, and answers.
//!
//! The script so far is all that is remembered. To undo is to play it again without its end; no
//! copy of any situation is kept, so a session is as large as what was said in it.

mod ahead;
mod console;
mod diagram;
mod input;
mod line_editor;
mod picture;
mod raw_mode;
mod script;
mod view;

use std::fs;
use std::path::Path;

use vorrang_algorithms::card::Order;
use vorrang_experiment::failure::Failure;
use vorrang_experiment::golden::{self, Golden};
use vorrang_experiment::lookup;
use vorrang_experiment::names::nearest;
use vorrang_experiment::options::OrderKind;
use vorrang_experiment::options::check::CheckArgs;
use vorrang_experiment::problem::Staged;
use vorrang_node::terminal::{BAD, BOLD, DIM, RESET, print};

pub(crate) use console::Console;
use console::Entered;
use diagram::Signs;
use input::cut;
pub(crate) use picture::Draws;
use script::count;

/// The user interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Surface {
    /// A person, with prompts and a list of next steps.
    Terminal,
    /// A program, whose lines are repeated with their answers; all else is a comment.
    Pipe,
}

/// A stage, and the script that was played on it.
pub(crate) struct Session {
    surface: Surface,
    draws: Draws,
    args: CheckArgs,
    /// The algorithm and its set-up, as a script begins.
    header: String,
    is_timely: bool,
    staged: Box<dyn Staged>,
    /// Steps and comments.
    lines: Vec<String>,
    /// Undone steps, the last one last.
    undone: Vec<String>,
    /// The seed of the next random steps, unless one is given.
    seed: u64,
    has_warned: bool,
    /// The finding of the checker.
    found: Option<String>,
    /// The signs of the diagram beside the list of next steps, unless it is turned off.
    signs: Option<Signs>,
    /// How many lines could not be done, and the first of them.
    wrong: u64,
    first_wrong: Option<String>,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    Quit,
}

/// Why a line could not be done, or why nothing more can be.
enum Problem {
    Line(String),
    World(Failure),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Usage(why) => Self::Line(why),
            Failure::Failed(_) | Failure::AlreadySaid | Failure::Bounded(_) | Failure::World(_) => {
                Self::World(failure)
            }
        }
    }
}

impl From<String> for Problem {
    fn from(why: String) -> Self {
        Self::Line(why)
    }
}

impl From<&str> for Problem {
    fn from(why: &str) -> Self {
        Self::Line(why.to_owned())
    }
}

/// The text of a script: a file, or a golden run by its name.
pub(crate) fn read_script(path: &Path) -> Result<String, Failure> {
    let golden = path.to_str().and_then(golden::find).filter(|_| !path.exists());
    if let Some(run) = golden {
        return Ok(run.text.to_owned());
    }
    let typed = path.display().to_string();
    let why = match fs::read_to_string(path) {
        Ok(text) => return Ok(text),
        Err(why) => Failure::World(format!("cannot read '{typed}': {why}")),
    };
    let names: Vec<String> = golden::RUNS.iter().map(Golden::typed).collect();
    let hint = match nearest(&typed, names.iter().map(String::as_str)) {
        Some(nearest) => format!("; did you mean '{nearest}'?"),
        None => String::new(),
    };
    let neither = Failure::neither(
        &typed,
        format!(
            "'{typed}' is neither a file nor a golden run{hint}\n  vorrang step --list names the \
             golden runs"
        ),
    );
    let is_word = !path.exists() && matches!(neither, Failure::Usage(_));
    Err(if is_word { neither } else { why })
}

impl Session {
    /// An algorithm at its beginning.
    pub(crate) fn new(
        name: &str,
        args: CheckArgs,
        (surface, draws): (Surface, Draws),
    ) -> Result<Self, Failure> {
        let entry = lookup::algorithm(name)?;
        let about = entry.algorithm.about();
        let staged = lookup::subject(entry, &args)?.stage(&args)?;
        let mut header = format!("{name} {}", staged.setup().text(about.takes));
        if let Some(flaw) = &args.flaw {
            header.push_str(&format!(" --flaw {flaw}"));
        }
        if args.reliable.is_some() {
            header.push_str(" --reliable");
        }
        if args.views.on_views {
            header.push_str(" --on-views");
        }
        if let Some(order) = args.order.filter(|it| Order::from(*it) != about.assumes.order) {
            header.push_str(&format!(
                " --order {}",
                vorrang_experiment::options::choice::name(&order)
            ));
        }
        Ok(Self {
            surface,
            draws,
            args: CheckArgs { nodes: Some(staged.setup().group.size()), ..args },
            header,
            is_timely: about.assumes.timely,
            staged,
            lines: Vec::new(),
            undone: Vec::new(),
            seed: 1,
            has_warned: false,
            found: None,
            signs: (surface == Surface::Terminal).then(Signs::of_locale),
            wrong: 0,
            first_wrong: None,
        })
    }

    /// The stepped run.
    fn name(&self) -> &str {
        self.header.split(' ').next().unwrap_or_default()
    }

    /// A script's algorithm, after its last step.
    pub(crate) fn of_script(
        script: &str,
        order: Option<OrderKind>,
        with: (Surface, Draws),
    ) -> Result<Self, Failure> {
        let (header, script) = script.split_once('\n').unwrap_or((script, ""));
        let (name, rest) = header.split_once(' ').unwrap_or((header, ""));
        let about = lookup::algorithm(name)?.algorithm.about();
        let args = ahead::read_header(rest, &about)?;
        let order = order.or(args.order);
        let mut session = Self::new(name, CheckArgs { order, ..args }, with)?;
        for (index, line) in script.lines().enumerate() {
            if is_answer(line) {
                continue;
            }
            if let Err(why) = session.take(line.trim_end()) {
                let line = cut(line.trim());
                return Err(Failure::usage(format!("line {}, '{line}': {why}", index + 2)));
            }
        }
        Ok(session)
    }

    /// Converses until the end of the input.
    pub(crate) fn run(&mut self, mut console: Console) -> Result<(), Failure> {
        self.greet()?;
        let mut number = 0_u64;
        loop {
            let line = match console.next()? {
                Entered::Line(line) => line,
                Entered::GivenUp => {
                    self.tell(&format!("{DIM}{}{RESET}\n", view::KEPT))?;
                    continue;
                }
                Entered::End => break,
            };
            number += 1;
            // Answers in a script are skipped, so that it can be piped in.
            let is_old = is_answer(&line) || line.trim_end() == self.header;
            if self.surface == Surface::Pipe && is_old {
                continue;
            }
            match self.hear(line.trim()) {
                Ok(Then::GoOn) => {}
                Ok(Then::Quit) => break,
                Err(Problem::World(failure)) => return Err(failure),
                Err(Problem::Line(why)) => self.complain(number, line.trim(), &why)?,
            }
        }
        self.take_leave()
    }

    fn hear(&mut self, line: &str) -> Result<Then, Problem> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let is_number = !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit());
        match word {
            "" if self.surface == Surface::Terminal => self.show_next(usize::MAX)?,
            "" => {}
            _ if is_number && rest.is_empty() => {
                let line = self.option(word)?;
                if self.surface == Surface::Terminal {
                    print(&format!("{line}\n"))?;
                }
                self.step(&line)?;
            }
            "undo" => self.undo(count(rest)?)?,
            "redo" => self.redo(count(rest)?)?,
            "state" if rest == "--json" => {
                let look = serde_json::to_string(&self.staged.look());
                self.tell(&format!("{}\n", look.map_err(|why| why.to_string())?))?;
            }
            "state" => self.tell(&view::state(&self.staged.look(), self.width()))?,
            "next" => self.show_next(usize::MAX)?,
            "history" => self.tell(&self.history())?,
            "save" => self.save(rest, false)?,
            "save!" => self.save(rest, true)?,
            "load" => self.load(rest)?,
            "draw" => self.draw(rest)?,
            "diagram" => self.set_diagram(rest)?,
            "check" => self.check(rest)?,
            "random" => self.random(rest)?,
            "help" | "?" => self.tell(view::HELP)?,
            "quit" | "exit" | "q" => return Ok(Then::Quit),
            _ => self.step(line)?,
        }
        Ok(Then::GoOn)
    }

    /// Takes a step and says what came of it.
    fn step(&mut self, line: &str) -> Result<(), Problem> {
        let said = self.take(line)?;
        self.undone.clear();
        match self.surface {
            Surface::Pipe => print(&format!("{line}\n{said}"))?,
            Surface::Terminal => {
                print(&said)?;
                self.warn()?;
                if !line.starts_with('#') {
                    self.show_situation()?;
                }
            }
        }
        Ok(())
    }

    /// Takes a step and remembers it; returns what came of it.
    fn take(&mut self, line: &str) -> Result<String, String> {
        let step = line.split('#').next().unwrap_or_default().trim();
        let said = if step.is_empty() { "" } else { self.staged.step(step)? };
        let said = said.to_owned();
        self.lines.push(line.to_owned());
        Ok(said)
    }

    /// Plays the script again and returns it with its answers.
    fn replay(&mut self) -> String {
        self.staged.reset();
        let mut text = String::new();
        for line in &self.lines {
            let step = line.split('#').next().unwrap_or_default().trim();
            text.push_str(line);
            text.push('\n');
            if !step.is_empty() {
                let said = self.staged.step(step);
                text.push_str(said.expect("what could be done once can be done again"));
            }
        }
        text
    }

    fn option(&self, word: &str) -> Result<String, Problem> {
        let options = self.options();
        let place = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        place.and_then(|place| options.get(place).cloned()).ok_or_else(|| {
            Problem::Line(match options.len() {
                0 => "nothing can happen next".to_owned(),
                most => format!("the list of what can happen next goes from 1 to {most}"),
            })
        })
    }

    /// The next steps, or a note that there are none.
    fn options(&self) -> Vec<String> {
        let mut options = self.staged.options();
        let look = self.staged.look();
        match (look.flight.is_empty(), look.timers.is_empty()) {
            (false, _) => options.push("settle".to_owned()),
            (true, true) => options.push("rest".to_owned()),
            (true, false) => {}
        }
        options
    }

    /// Says where things stand at first.
    fn greet(&mut self) -> Result<(), Failure> {
        let body = self.replay();
        match self.surface {
            Surface::Pipe => print(&format!("{}\n{body}", self.header)),
            Surface::Terminal => {
                print(&format!("{BOLD}{}{RESET}\n{body}", self.header))?;
                print(&view::state(&self.staged.look(), self.width()))?;
                self.warn()?;
                self.show_situation()?;
                print(&format!("{DIM}{}{RESET}\n", view::HINT))
            }
        }
    }

    fn show_next(&self, most: usize) -> Result<(), Failure> {
        self.tell(&view::next(&self.options(), most))
    }

    /// The width of text that is not part of the run.
    fn width(&self) -> usize {
        match self.surface {
            Surface::Terminal => view::terminal_width(),
            Surface::Pipe => view::WIDTH - "# ".len(),
        }
    }

    /// Prints text that is not part of the run.
    fn tell(&self, text: &str) -> Result<(), Failure> {
        match self.surface {
            Surface::Terminal => print(text),
            Surface::Pipe => {
                let comment = |line: &str| format!("# {line}").trim_end().to_owned() + "\n";
                print(&text.lines().map(comment).collect::<String>())
            }
        }
    }

    /// Says once, and loudly, that something is violated.
    fn warn(&mut self) -> Result<(), Failure> {
        let Some(violation) = self.staged.violation() else { return Ok(()) };
        if self.has_warned {
            return Ok(());
        }
        self.has_warned = true;
        print(&format!("\n{BAD}*** {} is violated ***{RESET}\n", violation.property))
    }

    fn complain(&mut self, number: u64, line: &str, why: &str) -> Result<(), Failure> {
        let line = cut(line);
        let sentence = format!("'{line}': {why}");
        self.wrong += 1;
        self.first_wrong.get_or_insert_with(|| format!("line {number}, {sentence}"));
        let example = self.options().into_iter().next().unwrap_or_else(|| "undo".to_owned());
        let hint =
            format!("{DIM}Say a number of the list, a line such as '{example}', or help.{RESET}");
        self.tell(&format!("{BAD}{sentence}{RESET}\n{hint}\n"))
    }

    /// How the session ends.
    fn take_leave(&self) -> Result<(), Failure> {
        match self.surface {
            Surface::Pipe => print(&format!("= {} messages\n", self.staged.messages()))?,
            Surface::Terminal => print("\n")?,
        }
        if let (Surface::Pipe, Some(first)) = (self.surface, &self.first_wrong) {
            let others = match self.wrong - 1 {
                0 => String::new(),
                1 => "; and 1 more line".to_owned(),
                others => format!("; and {others} more lines"),
            };
            return Err(Failure::usage(format!("{first}{others}")));
        }
        match (self.staged.violation(), &self.found) {
            (Some(violation), _) => Err(Failure::Failed(format!("violated {violation}"))),
            (None, Some(found)) => Err(Failure::Failed(format!("can be violated: {found}"))),
            (None, None) => Ok(()),
        }
    }
}

/// Whether a line of a script is not a step.
fn is_answer(line: &str) -> bool {
    line.starts_with(char::is_whitespace) || line.starts_with("= ") || line.is_empty()
}
