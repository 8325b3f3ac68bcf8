//! Random streams that depend on the run's seed and the client, and on nothing else.

use rand::{SeedableRng, rngs::SmallRng};

/// A seed of one client's stream for one purpose.
pub(super) fn mix(seed: u64, client: u32, purpose: u32) -> u64 {
    let mut mixed = seed ^ (u64::from(client) << 32 | u64::from(purpose)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The stream of one client's choices; of several at the same time where it has several connections.
pub(super) fn choices(seed: u64, client: u32, lane: u32) -> SmallRng {
    SmallRng::seed_from_u64(mix(seed, client, lane + 1))
}
