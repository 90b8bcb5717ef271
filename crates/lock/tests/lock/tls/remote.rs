//! Clients on other machines.

use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use vorrang_lock::tls::{ClientTls, Holder, KeyFiles, Tls};

use super::support::{Keys, Shown, answer, call, places, soon};

/// A member that tells everybody who he is, or closes with the reason in `log`.
async fn member(
    keys: &Keys,
) -> (Tls, String, tokio::sync::mpsc::UnboundedReceiver<Result<Holder, String>>) {
    let (_, peers) = places(3).await;
    let tls = keys.member(0, &peers);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    let shared = tls.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let outcome = shared.remote().accept(stream).await;
            let said = match outcome {
                Ok((mut stream, who)) => {
                    stream.write_all(who.to_string().as_bytes()).await.unwrap();
                    let _ = stream.shutdown().await;
                    Ok(who)
                }
                Err(error) => Err(error.to_string()),
            };
            if tell.send(said).is_err() {
                return;
            }
        }
    });
    (tls, address, told)
}

async fn ask(files: &KeyFiles, address: &str) -> Result<(String, Holder), String> {
    let tls = ClientTls::load(files).map_err(|error| error.to_string())?;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut stream, who) = tls.connect(stream).await.map_err(|error| error.to_string())?;
    let mut said = String::new();
    let read = soon("an answer", stream.read_to_string(&mut said)).await;
    read.map_err(|error| tls.explain(error).to_string())?;
    Ok((said, who))
}

#[tokio::test]
async fn a_member_knows_its_clients_by_name_and_they_know_it() {
    let keys = Keys::new();
    let (_, address, mut told) = member(&keys).await;
    for holder in [Holder::client("ci"), Holder::client("a"), Holder::member("b")] {
        let (said, who) = ask(&keys.files(&holder), &address).await.unwrap();
        assert_eq!((said, who), (holder.to_string(), Holder::member("a")));
        assert_eq!(soon("a word", told.recv()).await, Some(Ok(holder)));
    }
}

#[tokio::test]
async fn a_stranger_is_no_client() {
    let (keys, others) = (Keys::new(), Keys::new());
    let (_, address, mut told) = member(&keys).await;
    let cases = [
        (Some(others.issue(&Holder::client("ci"))), "that of client ci, was issued by"),
        (Some(keys.issue_at(&Holder::client("ci"), -2)), "that of client ci, expired on 2"),
        (Some(keys.issue_at(&Holder::client("ci"), 2)), "that of client ci, is not valid before 2"),
        (None, "it shows no certificate"),
    ];
    for (shown, words) in cases {
        let shown = shown.as_ref().map(Shown::from);
        let mut first = [0];
        let read = match call(&address, shown.as_ref(), &TLS13).await {
            Ok(mut stream) => soon("an end", stream.read(&mut first)).await,
            Err(error) => Err(error),
        };
        assert!(read.is_err(), "{read:?}");
        let why = soon("a word", told.recv()).await.unwrap().unwrap_err();
        assert!(why.contains(words), "{why}");
    }
    let right = Shown::from(&keys.issue(&Holder::client("ci")));
    call(&address, Some(&right), &TLS12).await.unwrap_err();
    let why = soon("a word", told.recv()).await.unwrap().unwrap_err();
    assert!(why.contains("it cannot speak TLS 1.3"), "{why}");
}

/// Who is refused after its own side of the handshake hears it when it reads.
#[tokio::test]
async fn a_client_is_told_why_it_is_refused() {
    let keys = Keys::new();
    let (_, address, _told) = member(&keys).await;
    let files = keys.files(&Holder::client("ci"));
    let next = Keys::new();
    // It trusts both authorities; the member knows only one.
    let both =
        [std::fs::read_to_string(keys.ca()).unwrap(), std::fs::read_to_string(next.ca()).unwrap()];
    let foreign = next.files(&Holder::client("ci"));
    std::fs::write(next.ca(), both.concat()).unwrap();
    ask(&files, &address).await.unwrap();
    let why = ask(&foreign, &address).await.unwrap_err();
    assert!(
        why.contains("it does not know the authority of our certificate, that of client ci"),
        "{why}"
    );
}

#[tokio::test]
async fn a_client_takes_nobody_but_a_member_for_a_server() {
    let (keys, others) = (Keys::new(), Keys::new());
    let files = keys.files(&Holder::client("ci"));
    let cases = [
        (keys.issue(&Holder::client("a")), "that of client a, is not accepted"),
        (others.issue(&Holder::member("a")), "that of member a, was issued by"),
        (keys.issue_at(&Holder::member("a"), -2), "that of member a, expired on 2"),
    ];
    for (shown, words) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let _told = answer(listener, &Shown::from(&shown), &TLS13);
        let why = ask(&files, &address).await.unwrap_err();
        assert!(why.contains(words), "{why}");
    }
}

/// A connection of a member cannot be led to where clients are served, nor the other way round.
#[tokio::test]
async fn what_is_said_to_members_is_not_heard_as_what_clients_say() {
    let keys = Keys::new();
    let (tls, address, mut told) = member(&keys).await;
    let error = vorrang_net::Transport::connect(&tls, &address).await.unwrap_err().to_string();
    assert!(error.contains("something else than what we look for is spoken there"), "{error}");
    let why = soon("a word", told.recv()).await.unwrap().unwrap_err();
    assert!(why.contains("it speaks TLS for something else"), "{why}");
}
