//! Bounds on what a server can make the client hold.

/// Bounds on what a server can grow. Each passed one ends the call, or the stream, with an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest answer that is not a stream, in bytes. 64 MiB: a tool's result with a few pictures fits.
    pub body: usize,
    /// The longest line and the longest event of a stream, or line of stdio, in bytes. As [`Self::body`], since a result
    /// is one line there.
    pub event: usize,
    /// The most rounds of questions in one call (`input_required`). 16: a wizard's worth of forms.
    pub rounds: usize,
    /// The most questions that are being answered at the same time. 16: more are refused, so that a server cannot pile up
    /// work of people and models.
    pub questions: usize,
    /// The most pages of a list. 1000 pages of 50 are more tools than a model can be told of.
    pub pages: usize,
    /// The most entries of the cache of answers. 256 lists and resources, each no longer than [`Self::cached`].
    pub cache: usize,
    /// The longest answer that is kept, in bytes. 1 MiB.
    pub cached: usize,
    /// The most tools whose mirrored parameters are remembered. 4096, as a list of a thousand pages could hold more.
    pub mirrored: usize,
}

// === impl Limits ===

impl Limits {
    /// The most bytes of a foreign body that an error repeats.
    pub const EXCERPT: usize = 200;

    /// The longest body of a refusal that is read, in bytes: enough for a JSON-RPC error with its data.
    pub(crate) const REFUSAL: usize = 64 * 1024;

    /// The most redirects that one request follows: to another spelling of the path, and once more.
    pub(crate) const REDIRECTS: usize = 4;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            event: 64 << 20,
            rounds: 16,
            questions: 16,
            pages: 1000,
            cache: 256,
            cached: 1 << 20,
            mirrored: 4096,
        }
    }
}
