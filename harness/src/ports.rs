//! Free ports on the loopback that stay ours.
//!
//! Between the look at a port and the server's bind somebody else can take it. Two things keep that rare: the ports are
//! below 32768, where no outgoing connection is given one, and whoever uses this harness, in this process or another,
//! holds a lock on the ports it has drawn. The lock is a UDP socket on the same number, which the system releases
//! however its holder ends. Against everybody else a start that fails with "address in use" is tried again.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use crate::HarnessError;

/// The ports that are drawn: above what services of the machine use. A Redis cluster's bus is 10 000 higher, and still
/// below the ports of outgoing connections.
const LOW: u16 = 10_000;
const HIGH: u16 = 22_000;

/// What a node of a Redis cluster adds to its port for its bus.
const BUS: u16 = 10_000;

/// Draws before the range counts as full. With half of it taken, so many misses in a row have odds of 2^-200.
const DRAWS: usize = 200;

/// A server that lost the race for its port is started anew with another. Each time is rare by itself.
pub(crate) const STARTS: usize = 5;

/// A port that nobody else who uses the harness is given while this value lives, whether or not a server listens on it.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _locks: Vec<UdpSocket>,
}

// === impl Port ===

impl Port {
    /// Draws a free port.
    ///
    /// # Errors
    /// [`HarnessError::NoPort`].
    pub fn draw() -> Result<Self, HarnessError> {
        Self::find(&[0])
    }

    /// Draws a port that is free together with the one 10 000 above it.
    ///
    /// # Errors
    /// [`HarnessError::NoPort`].
    pub fn draw_with_bus() -> Result<Self, HarnessError> {
        Self::find(&[0, BUS])
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Its address on the loopback.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }

    fn find(offsets: &[u16]) -> Result<Self, HarnessError> {
        for _ in 0..DRAWS {
            let number = rand::random_range(LOW..HIGH);
            if let Some(locks) = offsets.iter().map(|offset| lock(number + offset)).collect() {
                return Ok(Self { number, _locks: locks });
            }
        }
        Err(HarnessError::NoPort { low: LOW, high: HIGH })
    }
}

/// Locks a port, if nobody holds or uses it.
fn lock(number: u16) -> Option<UdpSocket> {
    let lock = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
    // On every interface: a server that listens on all of them would be in the way as well.
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, number)).is_ok().then_some(lock)
}

/// Whether a server's last words say that its port was taken.
pub(crate) fn is_taken(logs: &str) -> bool {
    let logs = logs.to_ascii_lowercase();
    ["address already in use", "address in use", "cannot bind socket"]
        .iter()
        .any(|words| logs.contains(words))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_port_is_given_to_one_at_a_time() {
        let ports: Vec<Port> = (0..500).map(|_| Port::draw().unwrap()).collect();
        let numbers: HashSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
        for port in &ports {
            assert!(lock(port.number()).is_none(), "{} is locked", port.number());
        }
    }

    #[test]
    fn a_port_is_free_again_when_it_is_dropped() {
        let port = Port::draw_with_bus().unwrap();
        let number = port.number();
        assert!(lock(number + BUS).is_none());
        drop(port);
        assert!(lock(number).is_some());
        assert!(lock(number + BUS).is_some());
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_not_given() {
        let port = Port::draw().unwrap();
        let number = port.number();
        let _listener = TcpListener::bind(port.address()).unwrap();
        drop(port);
        assert!(lock(number).is_none());
    }

    #[test]
    fn the_words_of_each_server_for_a_taken_port_are_known() {
        for words in [
            "Warning: Could not create server TCP listening socket 127.0.0.1:1: bind: Address already in use",
            "[ALERT] (1) : Starting frontend f: cannot bind socket (Address already in use) [127.0.0.1:1]",
            "nginx: [emerg] bind() to 127.0.0.1:1 failed (98: Address already in use)",
            "Address already in use (os error 98)",
        ] {
            assert!(is_taken(words), "{words}");
        }
        assert!(!is_taken("no such file"));
    }
}
