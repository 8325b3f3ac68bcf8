//! Where the body of an answer ends (RFC 9112 sections 6 and 7). It decides and reads nothing.

use crate::error::Error;

/// The longest line of a chunk's size with its extensions, and the longest trailer, in bytes. Nobody sends any.
const LINE: usize = 4096;

/// How a body is delimited, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes.
    Length(u64),
    /// Pieces that say how long they are.
    Chunked(Chunk),
    /// Up to the end of the connection.
    Close,
}

/// What comes next of a body in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    Size,
    Data(u64),
    /// The line's end after a chunk.
    DataEnd,
    /// Trailers, of which so many bytes were read.
    Trailer(usize),
    End,
}

/// What to do with what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next so many bytes are of the body.
    Data(usize),
    /// The next so many bytes are not.
    Skip(usize),
    /// More has to be read first.
    More,
    /// The body has ended.
    End,
}

// === impl Framing ===

impl Framing {
    pub(super) const CHUNKED: Self = Self::Chunked(Chunk::Size);

    /// Decides about what was read and not used yet. What it takes must be removed before it is asked again.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the chunks are none.
    pub(super) fn step(&mut self, input: &[u8]) -> Result<Step, Error> {
        match self {
            Self::Length(0) => Ok(Step::End),
            Self::Length(left) => Ok(data(left, input)),
            Self::Close if input.is_empty() => Ok(Step::More),
            Self::Close => Ok(Step::Data(input.len())),
            Self::Chunked(chunk) => chunk.step(input),
        }
    }

    /// How much is known to come still.
    pub(super) const fn left(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunked(Chunk::Data(left)) => *left,
            _ => 0,
        }
    }

    /// The next so many bytes of the body went past [`Self::step`].
    pub(super) const fn passed(&mut self, bytes: u64) {
        if let Self::Length(left) | Self::Chunked(Chunk::Data(left)) = self {
            *left = left.saturating_sub(bytes);
        }
    }
}

// === impl Chunk ===

impl Chunk {
    fn step(&mut self, input: &[u8]) -> Result<Step, Error> {
        match self {
            Self::Size => {
                let Some(line) = line(input)? else { return Ok(Step::More) };
                *self = match size(line)? {
                    0 => Self::Trailer(0),
                    size => Self::Data(size),
                };
                Ok(Step::Skip(line.len() + 2))
            }
            Self::Data(0) => {
                *self = Self::DataEnd;
                self.step(input)
            }
            Self::Data(left) => Ok(data(left, input)),
            Self::DataEnd => match input {
                [b'\r', b'\n', ..] => {
                    *self = Self::Size;
                    Ok(Step::Skip(2))
                }
                [] | [b'\r'] => Ok(Step::More),
                _ => Err(Error::malformed("a chunk of the answer is longer than it says")),
            },
            Self::Trailer(read) => {
                let Some(line) = line(input)? else { return Ok(Step::More) };
                let length = line.len() + 2;
                let read = *read + length;
                if read > LINE {
                    return Err(Error::malformed("the answer has endless trailers"));
                }
                *self = if line.is_empty() { Self::End } else { Self::Trailer(read) };
                Ok(Step::Skip(length))
            }
            Self::End => Ok(Step::End),
        }
    }
}

fn data(left: &mut u64, input: &[u8]) -> Step {
    if input.is_empty() {
        return Step::More;
    }
    let taken = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= taken as u64;
    Step::Data(taken)
}

/// A line without its end, if it is there.
fn line(input: &[u8]) -> Result<Option<&[u8]>, Error> {
    match memchr::memchr(b'\n', &input[..input.len().min(LINE)]) {
        Some(end) => match input[..end].strip_suffix(b"\r") {
            Some(line) => Ok(Some(line)),
            None => Err(Error::malformed("a line between the chunks of the answer ends without a CR")),
        },
        None if input.len() < LINE => Ok(None),
        None => Err(Error::malformed("a line between the chunks of the answer is endless")),
    }
}

/// Hexadecimal, with extensions that mean nothing here.
fn size(line: &[u8]) -> Result<u64, Error> {
    let end = memchr::memchr(b';', line).unwrap_or(line.len());
    let digits = line[..end].trim_ascii_end();
    let read = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit));
    read.and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| Error::malformed("a chunk of the answer does not say how long it is"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body, and what is left after it.
    type Decoded = (Vec<u8>, Vec<u8>);

    /// `None` if the body has not ended.
    fn decode(mut framing: Framing, pieces: &[&[u8]]) -> Result<Option<Decoded>, Error> {
        let (mut buffer, mut body) = (Vec::new(), Vec::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            loop {
                match framing.step(&buffer)? {
                    Step::Data(length) => body.extend(buffer.drain(..length)),
                    Step::Skip(length) => drop(buffer.drain(..length)),
                    Step::More => break,
                    Step::End => return Ok(Some((body, buffer))),
                }
            }
        }
        Ok(None)
    }

    const CHUNKS: &[u8] = b"5;name=\"v\"\r\nhello\r\n00c \r\n, world\r\n\r\n!\r\n0\r\nTrailer: 1\r\n\r\nnext";

    #[test]
    fn chunks_come_in_any_pieces() {
        let whole = (b"hello, world\r\n\r\n!".to_vec(), b"next".to_vec());
        assert_eq!(decode(Framing::CHUNKED, &[CHUNKS]).unwrap(), Some(whole.clone()));
        for at in 0..CHUNKS.len() - 4 {
            let (a, b) = CHUNKS.split_at(at);
            let (body, _rest) = decode(Framing::CHUNKED, &[a, b]).unwrap().unwrap();
            assert_eq!(body, whole.0, "{at}");
            assert_eq!(decode(Framing::CHUNKED, &[a]).unwrap(), None, "{at}");
        }
        let bytes: Vec<&[u8]> = CHUNKS.chunks(1).collect();
        assert_eq!(decode(Framing::CHUNKED, &bytes).unwrap().unwrap().0, whole.0);
    }

    #[test]
    fn a_length_is_kept_to() {
        assert_eq!(decode(Framing::Length(3), &[b"ab"]).unwrap(), None);
        assert_eq!(
            decode(Framing::Length(3), &[b"ab", b"cd"]).unwrap(),
            Some((b"abc".to_vec(), b"d".to_vec()))
        );
        assert_eq!(decode(Framing::Length(0), &[b"x"]).unwrap(), Some((Vec::new(), b"x".to_vec())));
        assert_eq!(decode(Framing::Close, &[b"ab", b"cd"]).unwrap(), None);
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        let endless = vec![b'a'; LINE];
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(LINE / 4));
        for bad in [
            &b"\r\n"[..],
            b"x\r\n",
            b"-1\r\n",
            b"+1\r\n",
            b"0x1\r\n",
            b"1 1\r\n",
            b"5\nhello",
            b"2\r\nabc\r\n",
            b"11111111111111111\r\n",
            &endless,
            trailers.as_bytes(),
        ] {
            let read = decode(Framing::CHUNKED, &[bad]);
            assert!(matches!(read, Err(Error::Malformed { .. })), "{:?}", String::from_utf8_lossy(bad));
        }
    }
}
