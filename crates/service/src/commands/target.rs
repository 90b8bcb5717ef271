//! Where the daemon is, as it is typed.

use std::env;
use std::path::PathBuf;

use crate::client::{Server, Target, usual_socket};
use crate::failure::Failure;

/// Which daemon is asked.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Daemon")]
pub(crate) struct TargetArgs {
    /// The Unix socket of the daemon on this machine
    ///
    /// [default: `VORRANG_SOCKET`, else vorrang.sock in `XDG_RUNTIME_DIR`, else
    /// /run/vorrang.sock for root and /tmp/vorrang-UID.sock for others]
    #[arg(long, value_name = "PATH", conflicts_with = "server")]
    socket: Option<PathBuf>,
    /// A daemon on another machine, as host:port [default: `VORRANG_SERVER`]
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
}

impl TargetArgs {
    /// Options count before variables.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        if let Some(socket) = &self.socket {
            return Ok(Target::Socket(socket.clone()));
        }
        if let Some(server) = &self.server {
            return remote("--server", server);
        }
        if let Some(socket) = env::var_os("VORRANG_SOCKET").filter(|it| !it.is_empty()) {
            return Ok(Target::Socket(socket.into()));
        }
        match env::var("VORRANG_SERVER") {
            Ok(server) if !server.is_empty() => remote("VORRANG_SERVER", &server),
            _ => Ok(Target::Socket(usual_socket())),
        }
    }
}

fn remote(said_by: &str, server: &str) -> Result<Target, Failure> {
    let address = server.strip_suffix('/').unwrap_or(server);
    let address = address.strip_prefix("http://").unwrap_or(address);
    let port = address.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse::<u16>().ok()?;
        (!host.is_empty() && !host.contains('/')).then_some(port)
    });
    if port.is_none() {
        return Err(Failure::Usage(format!(
            "{said_by} {} is no address: it is host:port, as in 10.0.0.1:7480",
            server.escape_debug()
        )));
    }
    Ok(Target::Server(Server { address: address.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in ["127.0.0.1:7480", "http://127.0.0.1:7480/", "[::1]:7480", "a.example:1"] {
            assert!(remote("--server", text).is_ok(), "{text}");
        }
        for text in ["", "here", ":80", "a:b", "a:70000", "http://a/b:80"] {
            let why = remote("--server", text).unwrap_err();
            assert_eq!(why.code(), 64, "{text}");
            assert!(why.why().contains(&format!("--server {text} is no address")), "{why:?}");
        }
    }
}
