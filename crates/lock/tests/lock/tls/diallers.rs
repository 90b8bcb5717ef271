//! Whom a member speaks with that has called.

use rustls::version::{TLS12, TLS13};
use tokio::io::AsyncWriteExt as _;
use vorrang_lock::tls::Holder;
use vorrang_lock::tls::issue::Issued;
use vorrang_net::hello::{JoinRequest, Refusal};
use vorrang_net::wire::Frame;
use vorrang_net::{Config, Generation, Open, Timing, request_id_over};

use super::support::{Keys, NAMES, Shown, answer, config, places, soon, start};

/// Member b calls node 0, and there somebody shows `shown`: what member b says of it, and what it
/// says to it.
async fn called(
    keys: &Keys,
    shown: &Issued,
    words: &[&str],
) -> Result<Frame<vorrang_protocol::Never>, String> {
    let (mut listeners, peers) = places(3).await;
    let mut told = answer(listeners.remove(0), &Shown::from(shown), &TLS13);
    let mut node = start(&keys.member(1, &peers), listeners.remove(0), config(1, &peers)).await;
    node.event(words).await;
    soon("a call", told.recv()).await.unwrap()
}

#[tokio::test]
async fn a_member_says_hello_only_to_the_member_that_it_has_called() {
    let keys = Keys::new();
    // Of the right one it wants something.
    let (mut listeners, peers) = places(3).await;
    let right = Shown::from(&keys.issue(&Holder::member("a")));
    let mut told = answer(listeners.remove(0), &right, &TLS13);
    let _node = start(&keys.member(1, &peers), listeners.remove(0), config(1, &peers)).await;
    let heard = soon("a call", told.recv()).await.unwrap();
    assert!(matches!(heard, Ok(Frame::Hello(_))), "{heard:?}");

    let other = keys.issue(&Holder::member("c"));
    let words = "its certificate is that of member c, we expect that of member a";
    let heard = called(&keys, &other, &["we refused node 0", words]).await;
    let why = Refusal::Certificate { refuser: Some("member a".into()), refused: "member c".into() };
    assert_eq!(heard, Ok(Frame::Refuse(why)));
}

#[tokio::test]
async fn a_member_that_calls_does_not_finish_a_handshake_with_a_stranger() {
    let keys = Keys::new();
    let others = Keys::new();
    // Shown by one who has another key.
    let seen = keys.issue(&Holder::member("a"));
    let stolen = Issued { key: others.issue(&Holder::member("a")).key, ..seen };
    let words = "it has not the key of the certificate that it shows";
    let stolen = (stolen, words, "DecryptError");
    let cases = [
        (
            others.issue(&Holder::member("a")),
            "that of member a, was issued by 'vorrang authority",
            "UnknownCA",
        ),
        (
            keys.issue_at(&Holder::member("a"), -2),
            "that of member a, expired on 2",
            "CertificateExpired",
        ),
        (
            keys.issue_at(&Holder::member("a"), 2),
            "that of member a, is not valid before 2",
            "CertificateExpired",
        ),
        (
            keys.issue(&Holder::member("d")),
            "only these are on our list of members: a, b, c",
            "AccessDenied",
        ),
        // A client's certificate is not even one of a server.
        (
            keys.issue(&Holder::client("a")),
            "that of client a, is not accepted",
            "UnsupportedCertificate",
        ),
    ];
    for (shown, words, alert) in cases.into_iter().chain([stolen]) {
        let error = called(&keys, &shown, &["waiting for node 0 at 127.0.0.1:", words]).await;
        let error = error.expect_err("it says nothing to a stranger");
        assert!(error.contains(alert), "{error}");
    }
}

#[tokio::test]
async fn a_member_that_calls_does_not_go_back_to_tls_1_2() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let right = Shown::from(&keys.issue(&Holder::member("a")));
    let mut told = answer(listeners.remove(0), &right, &TLS12);
    let mut node = start(&keys.member(1, &peers), listeners.remove(0), config(1, &peers)).await;
    let heard = soon("a call", told.recv()).await.unwrap();
    assert!(heard.is_err(), "{heard:?}");
    node.event(&["waiting for node 0", "it refuses TLS 1.3, and this side speaks nothing else"])
        .await;
}

/// The one who is refused says so, too, with the dates of its certificate and the name in it.
#[tokio::test]
async fn the_one_who_is_refused_knows_why() {
    let keys = Keys::new();
    let others = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut zero = start(&keys.member(0, &peers), listeners.remove(0), config(0, &peers)).await;

    // Of another authority: each refuses the other, and the one that calls is first.
    let mut one = start(&others.member(1, &peers), listeners.remove(0), config(1, &peers)).await;
    one.event(&["waiting for node 0", "its certificate, that of member a, was issued by"]).await;
    let words = "it does not know the authority of our certificate, that of member a";
    zero.event(&["closed a connection", words]).await;
}

/// A clock that is wrong: the member thinks that its certificate is valid, and nobody else does.
#[tokio::test]
async fn an_alert_is_a_sentence_with_the_dates_of_our_certificate() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let listener = listeners.remove(0);
    // Plays a member whose clock is wrong: it sends the alert at once.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // A fatal alert: certificate expired.
            let _ = stream.write_all(&[0x15, 3, 3, 0, 2, 2, 45]).await;
        }
    });
    let mut node = start(&keys.member(1, &peers), listeners.remove(0), config(1, &peers)).await;
    let words = "it takes our certificate, that of member b, for expired or not yet valid";
    let sentence =
        node.event(&["waiting for node 0", words, "is one of the two clocks wrong?"]).await;
    assert!(sentence.contains("valid from 2") && sentence.contains(" until 2"), "{sentence}");
}

/// A member asks for an id: only for the address that is its own on the list.
#[tokio::test]
async fn a_member_asks_for_an_id_in_its_own_name() {
    let keys = Keys::new();
    let (mut listeners, peers) = places(3).await;
    let mut room = vec![String::new(); 3];
    room[0].clone_from(&peers[0]);
    let open = config(0, &room).open(Open::new(Generation::now(), 1));
    let tls = keys.member(0, &peers);
    let _node = start(&tls, listeners.remove(0), Config { peers: room, ..open }).await;
    let wish = |address: &str| JoinRequest {
        group: "default".to_owned(),
        algorithm: "ricart-agrawala".to_owned(),
        setup: String::new(),
        room: NAMES.len() as u32,
        address: address.to_owned(),
        but: None,
    };
    let ask = async |tls, address: &str| {
        request_id_over(tls, &peers[0], wish(address), Timing::default()).await
    };
    let b = keys.member(1, &peers);
    assert_eq!(ask(b.clone(), &peers[1]).await.unwrap().id.0, 1);
    let why = ask(b.clone(), &peers[2]).await.unwrap_err().to_string();
    assert!(
        why.contains("our certificate is that of member b, it expects that of member c"),
        "{why}"
    );
    let why = ask(b, "127.0.0.1:9").await.unwrap_err().to_string();
    assert!(
        why.contains("our certificate is that of member b, which is not the member that we say"),
        "{why}"
    );
}
