//! Answers that go on for as long as there is something to tell.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use super::connection::{Connection, Idle, broken};
use super::{ClientError, LONGEST_ANSWER, Target};
use crate::api::{ElectionEvent, HoldEvent};

/// The lines of a hold. On a Unix socket to drop it gives the hold back.
pub type HoldStream = Stream<HoldEvent>;

/// The lines of an election that is observed.
pub type ElectionStream = Stream<ElectionEvent>;

/// An answer that consists of JSON lines.
pub struct Stream<T> {
    target: Target,
    body: Incoming,
    /// What has arrived and is no whole line yet.
    read: BytesMut,
    /// Until the last line was read: then the connection is kept for something else.
    connection: Option<(Connection, Arc<Idle>)>,
    line: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("target", &self.target).finish_non_exhaustive()
    }
}

impl<T> Stream<T> {
    pub(super) fn new(target: Target, body: Incoming, connection: (Connection, Arc<Idle>)) -> Self {
        let (read, line) = (BytesMut::new(), PhantomData);
        Self { target, body, read, connection: Some(connection), line }
    }
}

impl<T: DeserializeOwned> Stream<T> {
    /// The next line; none after the last one. Cancel-safe: what has arrived is kept.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or what comes is not understood.
    pub async fn next(&mut self) -> Result<Option<T>, ClientError> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line = self.read.split_to(end);
                self.read.advance(1);
                return match serde_json::from_slice(&line) {
                    Ok(line) => Ok(Some(line)),
                    Err(why) => Err(self.not_understood(why.to_string())),
                };
            }
            if self.read.len() > LONGEST_ANSWER {
                return Err(self.not_understood("a line without end".to_owned()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.read.extend_from_slice(data);
                    }
                }
                Some(Err(why)) => return Err(broken(&why, &self.target)),
                None if self.read.is_empty() => {
                    if let Some((connection, idle)) = self.connection.take() {
                        idle.put(connection);
                    }
                    return Ok(None);
                }
                None => {
                    let why = "in the middle of a line".to_owned();
                    return Err(ClientError::Broken { target: self.target.to_string(), why });
                }
            }
        }
    }

    fn not_understood(&self, why: String) -> ClientError {
        ClientError::NotUnderstood { target: self.target.to_string(), why }
    }
}
