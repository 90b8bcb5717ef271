//! Commands that wait for a node to have room for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedSender};
use vorrang_net::{CommandError, Handle};
use vorrang_protocol::Refused;

use crate::nonblocking_output::NonblockingOutput;
use crate::terminal::{harmless, wrapped};

/// Commands that are obeyed one after the other, each as soon as the node has room for it.
pub(crate) struct CommandQueue<C> {
    commands: UnboundedSender<C>,
    waiting: Arc<AtomicUsize>,
    /// Whether the node takes none at the moment.
    pub(crate) is_full: Arc<AtomicBool>,
}

impl<C: Clone + Send + 'static> CommandQueue<C> {
    /// How many lines are read ahead of what the node takes.
    const MOST: usize = 64;
    /// How long to wait before a node that has no room is asked again.
    const A_MOMENT: Duration = Duration::from_millis(5);

    pub(crate) fn to(
        handle: &Handle<C>,
        output: &NonblockingOutput,
        waits: fn(Refused) -> bool,
        obeyed: fn(&C) -> Option<&'static str>,
    ) -> Self {
        let (commands, mut come) = mpsc::unbounded_channel::<C>();
        let (waiting, is_full) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (handle, output) = (handle.clone(), output.clone());
        let (count, full) = (Arc::clone(&waiting), Arc::clone(&is_full));
        tokio::spawn(async move {
            while let Some(command) = come.recv().await {
                loop {
                    while full.load(Ordering::Relaxed) {
                        tokio::time::sleep(Self::A_MOMENT).await;
                    }
                    match handle.command(command.clone()).await {
                        Ok(()) => {
                            if let Some(answer) = obeyed(&command) {
                                output.tell(answer);
                            }
                            break;
                        }
                        Err(CommandError::Refused(why)) if waits(why) => {
                            tokio::time::sleep(Self::A_MOMENT).await;
                        }
                        Err(error) => {
                            output.tell(in_words(&error));
                            break;
                        }
                    }
                }
                count.fetch_sub(1, Ordering::Relaxed);
            }
        });
        Self { commands, waiting, is_full }
    }

    pub(crate) fn push(&self, command: C) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The receiver lives as long as this.
        let _ = self.commands.send(command);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < Self::MOST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }
}

/// Why a command is not carried out, in words.
pub(crate) fn in_words(error: &CommandError) -> String {
    wrap(&harmless(&error.to_string()))
}

/// No wider than the screen, without an end of line.
pub(crate) fn wrap(text: &str) -> String {
    wrapped(text).trim_end().to_owned()
}
