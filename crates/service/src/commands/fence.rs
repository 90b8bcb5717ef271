//! `vorrang fence`: a resource for scripts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

use vorrang_lock::{NoToken, Token};

use super::wait_time::wait_time;
use crate::failure::Failure;

/// Run a command only if a fencing token is not older than the newest one seen
///
/// A lock alone cannot keep a process from writing that has stood still for so long that somebody
/// else has the lock by now. The resource can, if it refuses a fencing token older than the newest
/// one it has seen. This makes a resource of a file: FILE keeps the newest token, durably and
/// before the command begins, and is locked as by flock(1) until the command and all that it has
/// started have ended. Each resource needs a file of its own, beside it and on the same machine.
///
/// The command takes the place of this process, so that its exit code and signals are its own. It
/// inherits the open file, which is what keeps it locked.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    vorrang lock shop -- sh -c 'vorrang fence shop/.fence $VORRANG_TOKEN -- ./write.sh'\n  \
    vorrang lock -s shop -- sh -c 'vorrang fence -s shop/.fence $VORRANG_TOKEN -- ./read.sh'\
    \n\nExit codes:\n   \
    that of the command; and by itself:\n    \
    1  FILE was not to be locked in time (with -n or -w; see -E)\n   \
    64  wrong use\n   \
    65  FILE has something else in it than a token\n   \
    74  FILE cannot be read, locked or written: the command was not run\n   \
    75  TOKEN is older than the newest seen: the command was not run\n  \
    126  the command cannot be run\n  \
    127  there is no such command")]
pub(crate) struct Fence {
    /// For a reader: FILE is not written, and other readers run at the same time
    #[arg(short, long)]
    shared: bool,
    /// Do not wait while somebody else has FILE locked
    #[arg(short, long, visible_alias = "nb", conflicts_with = "timeout")]
    nonblock: bool,
    /// Wait for no longer than this: seconds, or a time such as 500ms; 0 is --nonblock
    #[arg(short = 'w', long, visible_alias = "wait", value_name = "TIME", value_parser = wait_time)]
    timeout: Option<Duration>,
    /// The exit code if FILE is not to be locked in time
    #[arg(short = 'E', long, value_name = "N", default_value_t = 1)]
    conflict_exit_code: u8,
    /// The file that keeps the newest token; made if it is missing
    file: PathBuf,
    /// The token: 32 hexadecimal digits, as `vorrang lock` has them in `VORRANG_TOKEN`
    token: String,
    /// The command and its arguments
    #[arg(required = true, value_name = "COMMAND", trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// What a file says.
enum Kept {
    Nothing,
    Newest(Token),
}

impl Fence {
    pub(crate) fn execute(self) -> Result<ExitCode, Failure> {
        let token: Token = self
            .token
            .parse()
            .map_err(|why: NoToken| Failure::Usage(format!("{why}, as VORRANG_TOKEN has them")))?;
        let Some(file) = self.locked()? else { return Ok(ExitCode::from(self.conflict_exit_code)) };
        let file = match self.read(&file)? {
            Kept::Newest(newest) if token < newest => {
                return Err(Failure::Lost(format!(
                    "the token {token} is older than {newest}, which {} has seen: somebody else \
                     has the lock by now, and the command was not run",
                    self.file.display()
                )));
            }
            Kept::Nothing | Kept::Newest(_) if self.shared => file,
            Kept::Newest(newest) if token == newest => file,
            Kept::Nothing | Kept::Newest(_) => self.keep(token).map_err(self.cannot("write"))?,
        };
        // Whoever has it open keeps it locked: the command, and what that starts.
        fcntl_setfd(&file, FdFlags::empty()).map_err(|why| self.cannot("hand on")(why.into()))?;
        let (program, arguments) = self.command.split_first().expect("there is a command");
        let why = Command::new(program).args(arguments).exec();
        let code = if why.kind() == ErrorKind::NotFound { 127 } else { 126 };
        vorrang_terminal::say_aside(&format!(
            "error: cannot run '{}': {why}",
            program.to_string_lossy()
        ));
        Ok(ExitCode::from(code))
    }

    fn cannot(&self, what: &'static str) -> impl Fn(io::Error) -> Failure + '_ {
        move |why| Failure::Storage(format!("cannot {what} {}: {why}", self.file.display()))
    }

    /// The file that is called so once it is locked. None if it is not to be locked in time.
    fn locked(&self) -> Result<Option<File>, Failure> {
        let until = match self.timeout {
            _ if self.nonblock => Some(Instant::now()),
            Some(timeout) => Some(Instant::now() + timeout),
            None => None,
        };
        loop {
            let file = self.open().map_err(self.cannot("open"))?;
            if !lock(&file, self.shared, until).map_err(self.cannot("lock"))? {
                return Ok(None);
            }
            // Another one may have taken its place while it was waited for.
            let (ours, named) = (file.metadata(), fs::metadata(&self.file));
            match (ours, named) {
                (Ok(ours), Ok(named)) if (ours.dev(), ours.ino()) == (named.dev(), named.ino()) => {
                    return Ok(Some(file));
                }
                (Err(why), _) => return Err(self.cannot("look at")(why)),
                (_, Err(why)) if why.kind() != ErrorKind::NotFound => {
                    return Err(self.cannot("look at")(why));
                }
                _ => {}
            }
        }
    }

    /// Whoever only reads may need no more than that.
    fn open(&self) -> io::Result<File> {
        match File::open(&self.file) {
            Ok(file) if self.shared => Ok(file),
            Err(why) if self.shared && why.kind() != ErrorKind::NotFound => Err(why),
            Ok(_) | Err(_) => {
                File::options().read(true).write(true).create(true).truncate(false).open(&self.file)
            }
        }
    }

    fn read(&self, mut file: &File) -> Result<Kept, Failure> {
        let mut bytes = Vec::new();
        // More than a token is something else anyway.
        io::Read::take(&mut file, 1024).read_to_end(&mut bytes).map_err(self.cannot("read"))?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        match text.parse() {
            Err(_) if text.is_empty() => Ok(Kept::Nothing),
            Err(NoToken { .. }) => Err(Failure::Data(format!(
                "{} has no token in it but '{}': is it the right file?",
                self.file.display(),
                text.chars().take(40).collect::<String>().escape_debug()
            ))),
            Ok(newest) => Ok(Kept::Newest(newest)),
        }
    }

    /// Another file takes the place of this one, locked before anybody can see it: there is a whole
    /// token at any time, and it is on the disk when this returns.
    fn keep(&self, token: Token) -> io::Result<File> {
        // What it is called after all links, so that a link stays one.
        let path = fs::canonicalize(&self.file)?;
        let directory = path.parent().unwrap_or_else(|| Path::new("/"));
        let mut next = path.clone().into_os_string();
        // Nobody else makes one meanwhile; one may be left from a process that was killed.
        next.push(".new");
        let kept = (|| {
            let mut file = File::create(&next)?;
            let former = fs::metadata(&path)?;
            file.set_permissions(former.permissions())?;
            // Only the administrator may give a file away, and nobody else need.
            let _ = fchown(&file, Some(former.uid()), Some(former.gid()));
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.write_all(format!("{token}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&next, &path)?;
            File::open(directory)?.sync_all()?;
            Ok(file)
        })();
        kept.inspect_err(|_| {
            // It may not even be there.
            let _ = fs::remove_file(&next);
        })
    }
}

/// How long it is not tried again.
const TRIED_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// False if it is not to be locked until then.
fn lock(file: &File, shared: bool, until: Option<Instant>) -> io::Result<bool> {
    let (wait, try_once) = if shared {
        (FlockOperation::LockShared, FlockOperation::NonBlockingLockShared)
    } else {
        (FlockOperation::LockExclusive, FlockOperation::NonBlockingLockExclusive)
    };
    loop {
        let operation = if until.is_some() { try_once } else { wait };
        match (flock(file, operation), until) {
            (Ok(()), _) => return Ok(true),
            (Err(Errno::INTR), _) => {}
            (Err(Errno::WOULDBLOCK), Some(until)) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(false);
                }
                std::thread::sleep(TRIED_AGAIN_AFTER.min(left));
            }
            (Err(why), _) => return Err(why.into()),
        }
    }
}
