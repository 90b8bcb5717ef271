//! Who gets in, and who does not: members over TLS, and all who try without the right certificate.

mod acceptance;
mod diallers;
mod files;
mod flood;
mod groups;
mod remote;
mod replay;
mod support;
