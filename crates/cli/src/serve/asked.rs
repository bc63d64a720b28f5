//! Whether this program was asked to end, by a signal, and how often.

use tokio::sync::watch;
use turnstile_client::Signals;

use crate::error::Error;

/// How often this program was asked to end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    Never,
    Once,
    Again,
}

/// Says so once this program is asked to end, and once it is asked again. Others see it who look later.
pub fn on_signals() -> Result<watch::Receiver<Asked>, Error> {
    let mut signals = Signals::new()?;
    let (asked, ends) = watch::channel(Asked::Never);
    tokio::spawn(async move {
        for (times, what) in [
            (Asked::Once, "ends: takes no further connection"),
            (Asked::Again, "ends at once"),
        ] {
            signals.next().await;
            tracing::info!("{what}");
            _ = asked.send(times);
        }
        asked.closed().await;
    });
    Ok(ends)
}

/// Until it was asked to so often.
pub async fn until(mut ends: watch::Receiver<Asked>, times: Asked) {
    _ = ends.wait_for(|asked| *asked >= times).await;
}
