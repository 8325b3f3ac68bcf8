//! Ctrl-C, and the signal that asks a process to end.

use std::{io, thread};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled at the first Ctrl-C or SIGTERM: a run then ends in order, and what was counted is reported. The
/// second one ends the process at once.
///
/// # Errors
/// That signals cannot be taken.
pub fn stop_on_interrupt() -> io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let stopped = stop.clone();
    let wait = async move {
        for times in 0..2 {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if times == 0 {
                stopped.cancel();
            }
        }
        std::process::exit(130);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(wait))?;
    Ok(stop)
}
