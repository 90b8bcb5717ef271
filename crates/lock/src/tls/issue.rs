//! An authority, and the certificates that it issues.

use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, SubjectPublicKeyInfo,
};
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use time::OffsetDateTime;

use super::certificate::{Certificate, Date, Holder, Role, validate_name};
use super::files::provider;
use super::pem::read_certificates;

/// For how many days an authority is valid if nothing else is said: ten years.
pub const AUTHORITY_DAYS: u32 = 3653;
/// For how many days a certificate of a member or a client is valid if nothing else is said.
pub const DAYS: u32 = 365;
/// A certificate is valid since so long ago: clocks of machines differ.
const BACKDATED: Duration = Duration::from_secs(3600);

/// Why no certificate was issued: a sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct IssueError(String);

fn error(why: impl std::fmt::Display) -> IssueError {
    IssueError(why.to_string())
}

/// From when until when a certificate is to be valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    /// From when on.
    pub not_before: SystemTime,
    /// Until when.
    pub not_after: SystemTime,
}

impl Validity {
    /// For so many days from now on.
    pub fn days(days: u32) -> Self {
        let now = SystemTime::now();
        let length = Duration::from_secs(u64::from(days) * 86_400);
        Self { not_before: now - BACKDATED, not_after: now + length }
    }
}

/// A certificate, and its private key if it is a new one, as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issued").finish_non_exhaustive()
    }
}

/// A private authority: whoever has its key decides who belongs to the group.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    /// A new one, and its files.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn create(validity: Validity) -> Result<(Self, Issued), IssueError> {
        let key = KeyPair::generate().map_err(error)?;
        let mut params = params(validity)?;
        // Two authorities with one name would only be told apart by their keys.
        let number = u32::from_be_bytes(random()?);
        let name = format!("vorrang authority {number:08x}");
        params.distinguished_name.push(DnType::CommonName, name);
        // It issues certificates of members and clients, and none of further authorities.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let made = params.self_signed(&key).map_err(error)?;
        let files = Issued { certificate: made.pem(), key: key.serialize_pem() };
        let certificate = Certificate::read(made.der()).map_err(IssueError)?;
        Ok((Self { issuer: Issuer::new(params, key), certificate }, files))
    }

    /// The one in these files.
    ///
    /// # Errors
    ///
    /// If they cannot be read or are not those of an authority.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, IssueError> {
        let wrong = |path: &Path, why: &str| IssueError(format!("{}: {why}", path.display()));
        let chain = read_certificates(certificate).map_err(error)?;
        let der = &chain[0];
        let read = Certificate::read(der).map_err(|why| wrong(certificate, &why))?;
        if !read.is_authority {
            let why = format!("the certificate of {} is not that of an authority", read.whose());
            return Err(wrong(certificate, &why));
        }
        if read.not_after <= SystemTime::now() {
            let why = format!("the authority expired on {}", Date(read.not_after));
            return Err(wrong(certificate, &why));
        }
        let text = std::fs::read_to_string(key).map_err(|why| {
            wrong(key, &format!("cannot read the private key of the authority: {why}"))
        })?;
        let key_pair = KeyPair::from_pem(&text)
            .map_err(|why| wrong(key, &format!("this is not a private key: {why}")))?;
        let parsed = ParsedCertificate::try_from(der).map_err(error)?;
        if *parsed.subject_public_key_info() != *key_pair.subject_public_key_info() {
            let why = format!("this is not the key of the authority in {}", certificate.display());
            return Err(wrong(key, &why));
        }
        let issuer = Issuer::from_ca_cert_der(der, key_pair).map_err(error)?;
        Ok(Self { issuer, certificate: read })
    }

    /// Its certificate.
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// A certificate with a new key, also for these hosts. It is not valid for longer than the
    /// authority.
    ///
    /// # Errors
    ///
    /// If a name is not allowed.
    pub fn issue(
        &self,
        holder: &Holder,
        hosts: &[String],
        validity: Validity,
    ) -> Result<Issued, IssueError> {
        let key = KeyPair::generate().map_err(error)?;
        let certificate = self.certify(holder, hosts, validity, &key)?;
        Ok(Issued { certificate, key: key.serialize_pem() })
    }

    /// The same certificate once more, for the same key and with new dates.
    ///
    /// # Errors
    ///
    /// If it is not a certificate of a member or a client of this authority.
    pub fn renew(&self, path: &Path, validity: Validity) -> Result<String, IssueError> {
        let wrong = |why: String| IssueError(format!("{}: {why}", path.display()));
        let chain = read_certificates(path).map_err(error)?;
        let read = Certificate::read(&chain[0]).map_err(wrong)?;
        let Some(holder) = &read.holder else {
            let whose = read.whose();
            return Err(wrong(format!("the certificate of {whose} names no member and no client")));
        };
        if read.authority != self.certificate.subject {
            let (theirs, ours) = (&read.authority, &self.certificate.subject);
            return Err(wrong(format!(
                "the certificate of {holder} was issued by '{theirs}', and this is '{ours}'"
            )));
        }
        let key = public_key(&chain[0])?;
        self.certify(holder, &read.hosts, validity, &key)
    }

    fn certify(
        &self,
        holder: &Holder,
        hosts: &[String],
        validity: Validity,
        key: &impl PublicKeyData,
    ) -> Result<String, IssueError> {
        validate_name(&holder.name).map_err(error)?;
        let not_after = validity.not_after.min(self.certificate.not_after);
        let mut params = params(Validity { not_after, ..validity })?;
        params.distinguished_name.push(DnType::CommonName, holder.name.as_str());
        params.subject_alt_names.push(SanType::URI(holder.uri().try_into().map_err(error)?));
        for host in hosts {
            params.subject_alt_names.push(host_name(host)?);
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        if holder.role == Role::Member {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        let made = params.signed_by(key, &self.issuer).map_err(error)?;
        Ok(made.pem())
    }
}

fn params(validity: Validity) -> Result<CertificateParams, IssueError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.not_before = OffsetDateTime::from(validity.not_before);
    params.not_after = OffsetDateTime::from(validity.not_after);
    // A positive number that nobody else draws.
    let mut serial = random::<16>()?;
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(params)
}

fn host_name(host: &str) -> Result<SanType, IssueError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let is_host = !host.is_empty()
        && host.len() <= 253
        && host.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.'));
    if !is_host {
        return Err(error(format!("'{host}' is neither the name of a host nor an IP address")));
    }
    Ok(SanType::DnsName(host.try_into().map_err(error)?))
}

fn public_key(der: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfo, IssueError> {
    let parsed = ParsedCertificate::try_from(der).map_err(error)?;
    SubjectPublicKeyInfo::from_der(&parsed.subject_public_key_info()).map_err(error)
}

fn random<const N: usize>() -> Result<[u8; N], IssueError> {
    let mut bytes = [0; N];
    provider().secure_random.fill(&mut bytes).map_err(|_| error("no random numbers"))?;
    Ok(bytes)
}
