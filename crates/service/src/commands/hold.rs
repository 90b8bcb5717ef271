//! A hold of this process: what the daemon says of it, and over TCP what keeps it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::api::{HoldEvent, HoldRequest, HoldState, Renewal};
use crate::boot_time;
use crate::client::{Client, ClientError, HoldStream, Target, new_id};

/// How long a renewal that has failed, or a stream that has broken, is not tried again.
const TRIED_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What is known of it.
#[derive(Debug)]
pub(crate) enum Update {
    /// As the daemon says. Deadlines are on the clock of this machine, whether it is local or not.
    Event(HoldEvent),
    /// Nothing more will be said.
    Broken(ClientError),
}

impl Update {
    fn is_last(&self) -> bool {
        match self {
            Self::Event(event) => event.is_last(),
            Self::Broken(_) => true,
        }
    }
}

/// A hold that was asked for. To drop it gives it back, if the daemon is on this machine.
#[derive(Debug)]
pub(crate) struct Hold {
    client: Arc<Client>,
    id: String,
    updates: UnboundedReceiver<Update>,
    tasks: Vec<JoinHandle<()>>,
}

impl Hold {
    /// Asks for it.
    pub(crate) async fn ask(
        client: &Arc<Client>,
        request: &HoldRequest,
    ) -> Result<Self, ClientError> {
        let id = new_id();
        let stream = client.hold(&id, request).await?;
        let (sender, updates) = unbounded_channel();
        let tasks = match client.target() {
            Target::Socket(_) => {
                vec![tokio::spawn(read(stream, client.target().to_string(), sender))]
            }
            Target::Server(_) => {
                let (client, id) = (Arc::clone(client), id.clone());
                let remote = Remote { client, id, request: request.clone(), updates: sender };
                vec![tokio::spawn(remote.clone().read(stream)), tokio::spawn(remote.renew())]
            }
        };
        Ok(Self { client: Arc::clone(client), id, updates, tasks })
    }

    /// Whether the daemon is on another machine, so that somebody here must see to deadlines.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.client.target(), Target::Server(_))
    }

    /// The next news. Cancel-safe. After the last one this waits for ever.
    pub(crate) async fn next(&mut self) -> Update {
        match self.updates.recv().await {
            Some(update) => update,
            None => std::future::pending().await,
        }
    }

    /// Tells the daemon which process group works under it, if it can do anything about that.
    pub(crate) async fn works(&self, group: u32) -> Result<(), ClientError> {
        if self.is_remote() {
            return Ok(());
        }
        self.client.process(&self.id, Some(group)).await
    }

    /// Gives it back, or waits for it no more.
    pub(crate) async fn release(self) -> Result<(), ClientError> {
        self.client.release(&self.id).await
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Hands on what the daemon says, over a stream that must not break.
async fn read(mut stream: HoldStream, target: String, updates: UnboundedSender<Update>) {
    loop {
        let update = match stream.next().await {
            Ok(Some(event)) => Update::Event(event),
            Ok(None) => {
                let (target, why) = (target.clone(), "it was closed".to_owned());
                Update::Broken(ClientError::Broken { target, why })
            }
            Err(why) => Update::Broken(why),
        };
        let is_last = update.is_last();
        // Whoever was told may have gone.
        if updates.send(update).is_err() || is_last {
            break;
        }
    }
}

/// A hold over TCP: it lasts as long as it is renewed, whatever becomes of the connection.
#[derive(Clone)]
struct Remote {
    client: Arc<Client>,
    id: String,
    request: HoldRequest,
    updates: UnboundedSender<Update>,
}

impl Remote {
    /// Hands on what the daemon says, over one connection after the other.
    async fn read(self, stream: HoldStream) {
        let mut stream = Some(stream);
        loop {
            let update = match self.line(&mut stream).await {
                Ok(HoldEvent::Granted { token, view, number, lease_ms, .. }) => {
                    // It is told together with how long that holds.
                    let Some(deadline_boottime_ns) = self.first_deadline().await else { continue };
                    let granted =
                        HoldEvent::Granted { token, view, number, lease_ms, deadline_boottime_ns };
                    Update::Event(granted)
                }
                Ok(event) => Update::Event(event),
                Err(why) => Update::Broken(why),
            };
            let is_last = update.is_last();
            if self.updates.send(update).is_err() || is_last {
                break;
            }
        }
    }

    async fn line(&self, stream: &mut Option<HoldStream>) -> Result<HoldEvent, ClientError> {
        loop {
            if let Some(open) = stream {
                match open.next().await {
                    Ok(Some(event)) => return Ok(event),
                    Ok(None) | Err(_) => *stream = None,
                }
            } else {
                sleep(TRIED_AGAIN_AFTER).await;
                match self.client.hold(&self.id, &self.request).await {
                    Ok(again) => *stream = Some(again),
                    Err(why) if why.code().is_some() => return Err(why),
                    Err(_) => {}
                }
            }
        }
    }

    /// Until when a hold may be counted on that was just granted. None if that cannot be known:
    /// then the stream says why, or the hold is lost before anything was done with it.
    async fn first_deadline(&self) -> Option<Option<u64>> {
        loop {
            match self.renew_once().await {
                Ok((renewal, until_ns)) if renewal.state != HoldState::Waiting => {
                    return (renewal.state != HoldState::Over).then_some(until_ns);
                }
                Err(why) if why.code().is_some() => return None,
                Ok(_) | Err(_) => sleep(TRIED_AGAIN_AFTER).await,
            }
        }
    }

    /// Says again and again that its client is alive.
    async fn renew(self) {
        loop {
            match self.renew_once().await {
                Ok((renewal, _)) if renewal.state == HoldState::Over => break,
                Ok((renewal, deadline_boottime_ns)) => {
                    let alive = Update::Event(HoldEvent::Alive { deadline_boottime_ns });
                    if self.updates.send(alive).is_err() {
                        break;
                    }
                    sleep(Duration::from_millis(renewal.within_ms) / 3).await;
                }
                Err(why) if why.code().is_some() => {
                    // Nobody listens any more if the reader was told the same.
                    let _ = self.updates.send(Update::Broken(why));
                    break;
                }
                Err(_) => sleep(TRIED_AGAIN_AFTER).await,
            }
        }
    }

    /// Time counts from the sending of a request: when it arrives nobody here knows.
    async fn renew_once(&self) -> Result<(Renewal, Option<u64>), ClientError> {
        let sent_ns = boot_time::now_ns();
        let renewal = self.client.renew(&self.id).await?;
        let until_ns = renewal.left_ms.map(|left| sent_ns + left * 1_000_000);
        Ok((renewal, until_ns))
    }
}
