//! A connection that is severed and healed.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use trunkline_harness::cut::{Cut, Severed};

mod support;

/// Long enough for a byte to come that is not held back; too short to matter where none comes.
const MOMENT: Duration = Duration::from_millis(200);

/// A server that sends back what it is sent.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });
    address
}

async fn says(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
    hears(stream, text).await;
}

async fn hears(stream: &mut TcpStream, text: &str) {
    let mut buffer = vec![0; text.len()];
    timeout(support::DEADLINE, stream.read_exact(&mut buffer)).await.unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&buffer), text);
}

async fn is_reset(stream: &mut TcpStream) {
    let read = timeout(support::DEADLINE, stream.read(&mut [0; 8])).await.unwrap();
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_refusal_resets_what_is_open_and_lets_nobody_in() {
    let mut cut = Cut::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(cut.address()).await.unwrap();
    says(&mut stream, "one").await;
    assert_eq!(cut.connections(), 1);

    cut.sever(Severed::Refused).await;
    is_reset(&mut stream).await;
    let refused = TcpStream::connect(cut.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    support::eventually("no connection is left", async || cut.connections() == 0).await;

    cut.heal().await.unwrap();
    let mut stream = TcpStream::connect(cut.address()).await.unwrap();
    says(&mut stream, "two").await;
}

#[tokio::test]
async fn a_frozen_connection_carries_nothing_and_loses_nothing() {
    let mut cut = Cut::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(cut.address()).await.unwrap();
    says(&mut stream, "one").await;

    cut.sever(Severed::Frozen).await;
    stream.write_all(b"two").await.unwrap();
    let mut late = TcpStream::connect(cut.address()).await.unwrap();
    late.write_all(b"late").await.unwrap();
    assert!(timeout(MOMENT, stream.read(&mut [0; 8])).await.is_err(), "nothing comes through");
    assert!(timeout(MOMENT, late.read(&mut [0; 8])).await.is_err(), "nothing comes through");

    cut.heal().await.unwrap();
    hears(&mut stream, "two").await;
    hears(&mut late, "late").await;
    says(&mut stream, "three").await;
}

#[tokio::test]
async fn a_frozen_connection_can_be_reset() {
    let mut cut = Cut::start(echo().await).await.unwrap();
    let mut stream = TcpStream::connect(cut.address()).await.unwrap();
    says(&mut stream, "one").await;
    cut.sever(Severed::Frozen).await;
    cut.reset();
    is_reset(&mut stream).await;
    cut.heal().await.unwrap();
    says(&mut TcpStream::connect(cut.address()).await.unwrap(), "two").await;
}

#[tokio::test]
async fn much_passes_whole_and_the_end_of_one_direction_is_passed_on() {
    let cut = Cut::start(echo().await).await.unwrap();
    let stream = TcpStream::connect(cut.address()).await.unwrap();
    let sent: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    let (mut read, mut write) = stream.into_split();
    let bytes = sent.clone();
    tokio::spawn(async move {
        write.write_all(&bytes).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut received = Vec::new();
    timeout(support::DEADLINE, read.read_to_end(&mut received)).await.unwrap().unwrap();
    assert!(received == sent, "{} bytes came of {}", received.len(), sent.len());
}

#[tokio::test]
async fn a_target_that_does_not_listen_resets_its_clients() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let cut = Cut::start(gone).await.unwrap();
    is_reset(&mut TcpStream::connect(cut.address()).await.unwrap()).await;
}

#[tokio::test]
async fn dropped_it_resets_its_connections_and_listens_no_more() {
    let cut = Cut::start(echo().await).await.unwrap();
    let address = cut.address();
    let mut stream = TcpStream::connect(address).await.unwrap();
    says(&mut stream, "one").await;
    drop(cut);
    is_reset(&mut stream).await;
    support::eventually("nobody listens", async || TcpStream::connect(address).await.is_err()).await;
}
