//! What rustls is told at either end of a connection.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};

use super::files::Loaded;
use super::verifier::Accepts;

/// The side that is called. Sessions are not resumed: every connection shows its certificate.
pub(super) fn server(loaded: &Loaded, accepts: Accepts, protocol: &[u8]) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&loaded.provider))
        .with_protocol_versions(&[&TLS13])
        .expect("ring has TLS 1.3")
        .with_client_cert_verifier(Arc::new(loaded.verifier(accepts)))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&loaded.key))));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

/// The side that calls.
pub(super) fn client(loaded: &Loaded, accepts: Accepts, protocol: &[u8]) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&loaded.provider))
        .with_protocol_versions(&[&TLS13])
        .expect("ring has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(loaded.verifier(accepts)))
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&loaded.key))));
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

/// TLS wants a name of a host to connect with. Ours are names of members, and are judged otherwise.
pub(super) fn nominal() -> ServerName<'static> {
    ServerName::try_from("member.invalid").expect("a name")
}
