//! What Redis says it has done and holds.

use trunkline_harness::redis::Standalone;

use crate::bench::BenchError;

/// Commands that were executed so far, but for those that ask for this. What scripts execute is in it.
pub(super) async fn commands(redis: &Standalone) -> Result<u64, BenchError> {
    Ok(executed(&info(redis, "commandstats").await?))
}

/// Bytes that Redis has allocated.
pub(super) async fn used(redis: &Standalone) -> Result<u64, BenchError> {
    let text = info(redis, "memory").await?;
    let found = text.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    found.ok_or_else(|| BenchError::Input("Redis does not say how much memory it uses".into()))
}

async fn info(redis: &Standalone, section: &str) -> Result<String, BenchError> {
    Ok(redis.command(&["INFO", section]).await?.text().unwrap_or_default())
}

/// The sum of lines as `cmdstat_get:calls=5,usec=...`.
fn executed(stats: &str) -> u64 {
    let counted = stats.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        (name != "info").then_some(())?;
        rest.split(',').next()?.parse::<u64>().ok()
    });
    counted.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_added_up_but_for_the_question_itself() {
        let stats = "# Commandstats\r\ncmdstat_evalsha:calls=3,usec=30,usec_per_call=10.00\r\n\
            cmdstat_client|setinfo:calls=2,usec=1\r\ncmdstat_info:calls=9,usec=9\r\nnonsense\r\n";
        assert_eq!(executed(stats), 5);
    }
}
