//! Where the daemon is, as it is typed.

use std::env;
use std::path::PathBuf;

use vorrang_lock::tls::{ClientTls, KeyFiles};

use crate::client::{Server, Target, usual_socket};
use crate::failure::Failure;

/// Which daemon is asked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// The Unix socket of the daemon on this machine
    ///
    /// [default: `VORRANG_SOCKET`, else where `vorrang serve` of the same user listens if it is not
    /// told otherwise]
    #[arg(long, value_name = "PATH", conflicts_with = "server", help_heading = HEADING)]
    socket: Option<PathBuf>,
    /// A daemon on another machine, as host:port [default: `VORRANG_SERVER`]
    ///
    /// There is nothing but the renewals of this process that keeps a hold then, and with keys each
    /// proves to the other who it is; without them it must be on this machine.
    #[arg(long, value_name = "ADDRESS", help_heading = HEADING)]
    server: Option<String>,
    /// With --server: the certificate of the group's authority [default: `VORRANG_TLS_AUTHORITY`]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    tls_authority: Option<PathBuf>,
    /// With --server: the certificate of this client [default: `VORRANG_TLS_CERTIFICATE`]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    tls_certificate: Option<PathBuf>,
    /// With --server: the private key of this client [default: `VORRANG_TLS_KEY`]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    tls_key: Option<PathBuf>,
}

const HEADING: &str = "Daemon";

impl TargetArgs {
    /// Options count before variables.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        if let Some(socket) = &self.socket {
            return Ok(Target::Socket(socket.clone()));
        }
        if let Some(server) = &self.server {
            return self.remote("--server", server);
        }
        if let Some(socket) = env::var_os("VORRANG_SOCKET").filter(|it| !it.is_empty()) {
            return Ok(Target::Socket(socket.into()));
        }
        match env::var("VORRANG_SERVER") {
            Ok(server) if !server.is_empty() => self.remote("VORRANG_SERVER", &server),
            _ => Ok(Target::Socket(usual_socket())),
        }
    }

    fn remote(&self, said_by: &str, server: &str) -> Result<Target, Failure> {
        let address = address(said_by, server)?;
        Ok(Target::Server(Server { address, tls: self.keys()? }))
    }

    /// All three of the keys, or none.
    fn keys(&self) -> Result<Option<ClientTls>, Failure> {
        let given = [
            ("authority", &self.tls_authority),
            ("certificate", &self.tls_certificate),
            ("key", &self.tls_key),
        ];
        let of_variable = |key: &str| {
            let value = env::var_os(format!("VORRANG_TLS_{}", key.to_uppercase()));
            value.filter(|it| !it.is_empty()).map(PathBuf::from)
        };
        let files = given.map(|(key, option)| (key, option.clone().or_else(|| of_variable(key))));
        match files {
            [(_, None), (_, None), (_, None)] => Ok(None),
            [(_, Some(authority)), (_, Some(certificate)), (_, Some(key))] => {
                let files = KeyFiles { authority, certificate, key };
                let keys = ClientTls::load(&files);
                keys.map(Some).map_err(|why| Failure::Config(why.to_string()))
            }
            some => {
                let missing = some.iter().find(|it| it.1.is_none()).map_or("", |it| it.0);
                Err(Failure::Usage(format!(
                    "--tls-{missing} is missing: a client with keys has an authority, a \
                     certificate and a key"
                )))
            }
        }
    }
}

fn address(said_by: &str, server: &str) -> Result<String, Failure> {
    let address = server.strip_suffix('/').unwrap_or(server);
    let schemes = ["https://", "http://"];
    let address = schemes.iter().find_map(|it| address.strip_prefix(it)).unwrap_or(address);
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
    Ok(address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in
            ["127.0.0.1:7480", "http://127.0.0.1:7480/", "https://[::1]:7480", "a.example:1"]
        {
            assert!(address("--server", text).is_ok(), "{text}");
        }
        for text in ["", "here", ":80", "a:b", "a:70000", "http://a/b:80"] {
            let why = address("--server", text).unwrap_err();
            assert_eq!(why.code(), 64, "{text}");
            assert!(why.why().contains(&format!("--server {text} is no address")), "{why:?}");
        }
    }
}
