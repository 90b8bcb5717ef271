//! A terminal that hands on every key, for as long as a line is typed.

#[cfg(unix)]
pub(super) use unix::RawMode;

#[cfg(unix)]
mod unix {
    use std::io::{self, stdin};
    use std::sync::{Mutex, PoisonError};

    use rustix::termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    use crate::interrupt;

    /// How the terminal was before, while it is otherwise.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Keys come one by one, unseen; also Ctrl-C, which is a key like others then. The terminal is
    /// as before when this goes.
    pub(in super::super) struct RawMode;

    impl RawMode {
        /// Whether terminals can do that here.
        pub(in super::super) const IS_KNOWN: bool = true;

        pub(in super::super) fn begin() -> io::Result<Self> {
            let before = tcgetattr(stdin())?;
            let mut raw = before.clone();
            raw.local_modes -=
                LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
            raw.input_modes -= InputModes::IXON;
            raw.special_codes[SpecialCodeIndex::VMIN] = 1;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            let this = Self;
            // Nothing that was typed ahead is thrown away.
            tcsetattr(stdin(), OptionalActions::Drain, &raw)?;
            // Only now is Ctrl-C a key: an interrupt before was meant for a line, and is no end.
            interrupt::before_the_end(Some(end));
            Ok(this)
        }
    }

    impl Drop for RawMode {
        fn drop(&mut self) {
            interrupt::before_the_end(None);
            end();
        }
    }

    fn end() {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(before) = before {
            // The terminal may be gone.
            let _ = tcsetattr(stdin(), OptionalActions::Drain, &before);
        }
    }
}

/// Where there is nothing like it, lines are read as they are.
#[cfg(not(unix))]
pub(super) struct RawMode;

#[cfg(not(unix))]
impl RawMode {
    pub(super) const IS_KNOWN: bool = false;

    pub(super) fn begin() -> std::io::Result<Self> {
        Ok(Self)
    }
}
