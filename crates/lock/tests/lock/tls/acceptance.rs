//! Who is let in by a member that is called.

use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vorrang_lock::tls::Holder;
use vorrang_lock::tls::issue::{Authority, Issued, Validity};
use vorrang_net::hello::Refusal;
use vorrang_net::wire::Frame;

use super::support::{
    Keys, Running, Shown, bytes, call, call_as, caller, config, first_frame, group, hello, places,
    soon, start, start_plain,
};

#[tokio::test]
async fn members_with_keys_meet_and_hand_the_lock_over() {
    let keys = Keys::new();
    let (mut nodes, _) = group(&keys).await;
    for _ in 0..20 {
        for node in &mut nodes {
            node.take_turn().await;
        }
    }
    assert_eq!(nodes[0].connections(1).await, 1);
}

/// What a member says to a stranger that shows `shown` and says hello as node 2: the error that the
/// stranger gets.
async fn refused(
    node: &mut Running,
    peers: &[String],
    shown: Option<&Issued>,
    words: &[&str],
) -> String {
    let shown = shown.map(Shown::from);
    let answer = match call(&peers[0], shown.as_ref(), &TLS13).await {
        Ok(mut stream) => {
            // The stranger's side of the handshake may be over before it is judged.
            let _ = stream.write_all(&bytes(&Frame::Hello(hello(2, 0, peers)))).await;
            first_frame(&mut stream).await
        }
        Err(error) => Err(error.to_string()),
    };
    let error = answer.expect_err("nobody answers a stranger");
    let mut all = vec!["closed a connection with 127.0.0.1:"];
    all.extend(words);
    node.event(&all).await;
    error
}

#[tokio::test]
async fn only_valid_certificates_of_members_on_the_list_are_let_in() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut node = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;

    let others = Keys::new();
    let foreign = others.issue(&Holder::member("c"));
    let (ours, theirs) = (
        keys.authority.certificate().subject.clone(),
        others.authority.certificate().subject.clone(),
    );
    let words = ["its certificate, that of member c, was issued by", &theirs, &ours];
    let error = refused(&mut node, &peers, Some(&foreign), &words).await;
    assert!(error.contains("UnknownCA"), "{error}");

    let expired = keys.issue_at(&Holder::member("c"), -2);
    let words = ["its certificate, that of member c, expired on 2", " UTC, and here it is 2"];
    let error = refused(&mut node, &peers, Some(&expired), &words).await;
    assert!(error.contains("CertificateExpired"), "{error}");

    let early = keys.issue_at(&Holder::member("c"), 2);
    let words = ["its certificate, that of member c, is not valid before 2", "clocks wrong?"];
    let error = refused(&mut node, &peers, Some(&early), &words).await;
    assert!(error.contains("CertificateExpired"), "{error}");

    let unlisted = keys.issue(&Holder::member("d"));
    let words = ["that of member d, and only these are on our list of members: a, b, c"];
    let error = refused(&mut node, &peers, Some(&unlisted), &words).await;
    assert!(error.contains("AccessDenied"), "{error}");

    // With the name of a member, too.
    let client = keys.issue(&Holder::client("c"));
    let words = ["its certificate is that of client c, and only members are let in here"];
    let error = refused(&mut node, &peers, Some(&client), &words).await;
    assert!(error.contains("AccessDenied"), "{error}");

    let error = refused(&mut node, &peers, None, &["it shows no certificate"]).await;
    assert!(error.contains("CertificateRequired"), "{error}");

    // The right one is let in, by the same node and in the same way.
    let right = Shown::from(&keys.issue(&Holder::member("c")));
    let mut stream = call(&peers[0], Some(&right), &TLS13).await.unwrap();
    stream.write_all(&bytes(&Frame::Hello(hello(2, 0, &peers)))).await.unwrap();
    let answer = first_frame(&mut stream).await.unwrap();
    assert!(matches!(answer, Frame::Hello(_)), "{answer:?}");
}

/// Certificates are no secret: everybody who connects is shown one.
#[tokio::test]
async fn a_certificate_is_worth_nothing_without_its_key() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut node = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;
    let seen = keys.issue(&Holder::member("c"));
    let key = Keys::new().issue(&Holder::member("c")).key;
    let stolen = Issued { key, ..seen };
    let words = ["it has not the key of the certificate that it shows"];
    let error = refused(&mut node, &peers, Some(&stolen), &words).await;
    assert!(error.contains("DecryptError"), "{error}");
}

/// What was judged once is judged again on the next connection.
#[tokio::test]
async fn sessions_are_not_resumed() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let _node = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;
    let right = Shown::from(&keys.issue(&Holder::member("c")));
    let caller = caller(Some(&right), &TLS13);
    for _ in 0..3 {
        let mut stream = call_as(&caller, &peers[0]).await.unwrap();
        let wrong = hello(2, 1, &peers);
        stream.write_all(&bytes(&Frame::Hello(wrong))).await.unwrap();
        let answer = first_frame(&mut stream).await.unwrap();
        assert!(matches!(answer, Frame::Refuse(Refusal::Target { .. })), "{answer:?}");
        assert_eq!(stream.get_ref().1.handshake_kind(), Some(HandshakeKind::Full));
        assert_eq!(stream.get_ref().1.tls13_tickets_received(), 0);
    }
}

/// Somebody makes an authority with the name of ours, and a member makes certificates as if it were
/// an authority.
#[tokio::test]
async fn an_authority_is_known_by_its_key_and_a_member_is_none() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut node = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;

    let forged = forge(&keys.authority.certificate().subject);
    let words = ["its certificate, that of member c, was issued by"];
    let error = refused(&mut node, &peers, Some(&forged), &words).await;
    assert!(error.contains("UnknownCA"), "{error}");

    let member = keys.issue(&Holder::member("b"));
    let by_member = issued_by(&member, "c");
    let words = ["its certificate, that of member c, is not accepted"];
    refused(&mut node, &peers, Some(&by_member), &words).await;
}

/// A certificate of member c, by an authority that only has this name.
fn forge(authority: &str) -> Issued {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = common_name(authority);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    of_member("c", &rcgen::Issuer::new(params, key), "")
}

/// A certificate of this member by another member, with the chain up to the authority.
fn issued_by(member: &Issued, name: &str) -> Issued {
    let key = rcgen::KeyPair::from_pem(&member.key).unwrap();
    let issuer = rcgen::Issuer::from_ca_cert_pem(&member.certificate, key).unwrap();
    of_member(name, &issuer, &member.certificate)
}

fn of_member(name: &str, issuer: &rcgen::Issuer<'_, rcgen::KeyPair>, chain: &str) -> Issued {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = common_name(name);
    let uri = Holder::member(name).uri();
    params.subject_alt_names = vec![rcgen::SanType::URI(uri.try_into().unwrap())];
    let made = params.signed_by(&key, issuer).unwrap();
    Issued { certificate: format!("{}{chain}", made.pem()), key: key.serialize_pem() }
}

fn common_name(name: &str) -> rcgen::DistinguishedName {
    let mut common = rcgen::DistinguishedName::new();
    common.push(rcgen::DnType::CommonName, name);
    common
}

/// Member b has a good certificate, and says that it is c.
#[tokio::test]
async fn a_member_cannot_speak_for_another() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut node = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;
    let shown = Shown::from(&keys.issue(&Holder::member("b")));
    let mut stream = call(&peers[0], Some(&shown), &TLS13).await.unwrap();
    stream.write_all(&bytes(&Frame::Hello(hello(2, 0, &peers)))).await.unwrap();
    let expected =
        Refusal::Certificate { refuser: Some("member c".into()), refused: "member b".into() };
    assert_eq!(first_frame(&mut stream).await, Ok(Frame::Refuse(expected)));
    let words = "its certificate is that of member b, we expect that of member c";
    node.event(&["we refused node 2 at 127.0.0.1:", words]).await;

    // Nor can it knock in the name of one with a lower number: node 1 is called by node 0.
    let (mut listeners, peers) = places(3).await;
    let mut node = start(&keys.member(1, &peers), listeners.remove(1), config(1, &peers)).await;
    let shown = Shown::from(&keys.issue(&Holder::member("c")));
    let mut stream = call(&peers[1], Some(&shown), &TLS13).await.unwrap();
    let who = hello(0, 1, &peers).who;
    let knock = Frame::DialRequest(vorrang_net::hello::DialRequest { who });
    stream.write_all(&bytes(&knock)).await.unwrap();
    let answer = first_frame(&mut stream).await.unwrap();
    assert!(matches!(answer, Frame::Refuse(Refusal::Certificate { .. })), "{answer:?}");
    let words = "its certificate is that of member c, we expect that of member a";
    node.event(&["we refused node 0 at 127.0.0.1:", words]).await;
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut node = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;
    let shown = Shown::from(&keys.issue(&Holder::member("c")));
    let error = call(&peers[0], Some(&shown), &TLS12).await.unwrap_err().to_string();
    assert!(error.contains("ProtocolVersion"), "{error}");
    node.event(&["closed a connection", "it cannot speak TLS 1.3"]).await;
    // The same stranger is let in with TLS 1.3.
    call(&peers[0], Some(&shown), &TLS13).await.unwrap();
}

#[tokio::test]
async fn without_tls_nobody_is_heard_and_both_sides_say_that_one_has_no_keys() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(2).await;
    let mut zero = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;
    let mut one = start_plain(listeners.remove(0), config(1, &peers)).await;
    let hint = "only one of the two was given keys";
    zero.event(&["closed a connection with 127.0.0.1:", "does not speak TLS", hint]).await;
    one.event(&["closed a connection with node 0", "it speaks TLS", hint]).await;

    // The other way round: the plain one is called.
    let (mut listeners, peers) = places(2).await;
    let mut zero = start_plain(listeners.remove(0), config(0, &peers)).await;
    let mut one = start(&keys.member(1, &peers), listeners.remove(0), config(1, &peers)).await;
    zero.event(&["closed a connection with 127.0.0.1:", "it speaks TLS", hint]).await;
    one.event(&["waiting for node 0", "in the middle of the TLS handshake: it may have no keys"])
        .await;
}

/// Half a handshake is not waited for any longer than half a hello.
#[tokio::test]
async fn half_a_handshake_is_waited_for_only_so_long() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut config = config(0, &peers);
    config.timing.hello = std::time::Duration::from_millis(100);
    let mut node = start(&keys.member(0, &peers), listeners.remove(0), config).await;
    let mut slow = TcpStream::connect(&peers[0]).await.unwrap();
    // The beginning of a record of a handshake.
    slow.write_all(&[0x16, 3, 1, 1, 0, 1]).await.unwrap();
    let mut rest = Vec::new();
    let _ = soon("the end", slow.read_to_end(&mut rest)).await;
    node.event(&["no whole hello within the time allowed"]).await;
}

/// The authority is what counts, and not the file that it is in.
#[test]
fn certificates_do_not_outlive_their_authority() {
    let (authority, _) = Authority::create(Validity::days(1)).unwrap();
    let end = authority.certificate().not_after;
    let issued = authority.issue(&Holder::member("a"), &[], Validity::days(9)).unwrap();
    let keys = vorrang_testkit::Folder::new("outlive");
    let path = keys.file("a.pem");
    std::fs::write(&path, issued.certificate).unwrap();
    let read = vorrang_lock::tls::Certificate::read_file(&path).unwrap().remove(0);
    assert_eq!(read.not_after, end);
}
