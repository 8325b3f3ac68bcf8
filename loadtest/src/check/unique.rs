//! Values that no other request has.

/// Bits of a request's number; after 8 million requests of one client they come again.
const SEQUENCE: u32 = 23;

/// Bits that only a value made here has right: a sum that is off by something is no other request's sum.
const SEAL: u32 = 10;

/// The number of a request among all of the run. Fits into 53 bits, so that it survives every server's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unique(i64);

// === impl Unique ===

impl Unique {
    /// That of a client's request with this number.
    pub(crate) fn new(client: u32, sequence: u32) -> Self {
        let sequence = i64::from(sequence & ((1 << SEQUENCE) - 1));
        let value = (i64::from(client) << SEQUENCE) | sequence;
        Self((value << SEAL) | seal(value))
    }

    /// As a number: what has to come back.
    pub(crate) const fn number(self) -> i64 {
        self.0
    }

    /// A text of so many bytes, or a little more where it would not fit, that begins with it.
    pub(crate) fn text(self, bytes: usize) -> String {
        let mut text = format!("loadtest-{:014x}-", self.0);
        text.extend(std::iter::repeat_n('.', bytes.saturating_sub(text.len())));
        text
    }

    /// Whether a number that came back is that of another request.
    pub(crate) fn is_of_another(self, number: i64) -> bool {
        number != self.0 && number > 0 && number & ((1 << SEAL) - 1) == seal(number >> SEAL)
    }

    /// Whether a text that came back is that of another request.
    pub(crate) fn is_text_of_another(self, text: &str) -> bool {
        let number =
            text.strip_prefix("loadtest-").and_then(|rest| i64::from_str_radix(rest.get(..14)?, 16).ok());
        number.is_some_and(|number| self.is_of_another(number))
    }
}

/// A few bits that depend on all of the value's.
const fn seal(value: i64) -> i64 {
    let mixed = (value as u64 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> (64 - SEAL)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_whose_it_is() {
        let (mine, other) = (Unique::new(3, 17), Unique::new(4, 17));
        assert!(mine.is_of_another(other.number()) && !mine.is_of_another(mine.number()));
        let near = (1..=64).filter(|off| mine.is_of_another(mine.number() + off)).count();
        assert!(near <= 2, "a wrong sum is no swapped one");
        assert!(mine.is_text_of_another(&other.text(64)));
        assert!(!mine.is_text_of_another(&mine.text(64)) && !mine.is_text_of_another("hello"));
        assert_eq!(mine.text(64).len(), 64);
    }

    #[test]
    fn it_fits_into_a_double() {
        let largest = Unique::new((1 << 20) - 1, u32::MAX).number();
        assert!(largest < 1 << 53, "{largest}");
    }
}
