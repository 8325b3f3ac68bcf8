//! JSON in one layout, to tell whether two texts say the same: without blanks, and with the members of objects in the order
//! of their names.
//!
//! Names, strings and numbers stay as they are spelled, and a member that comes twice comes twice. Numbers that are rounded
//! before they are compared, or members of which one is dropped, would make one of two values that a handler can tell apart.

/// A value, with no more read of it than its layout.
enum Node<'a> {
    /// A string, a number, or a word.
    Scalar(&'a [u8]),
    List(Vec<Node<'a>>),
    Object(Vec<(&'a [u8], Node<'a>)>),
}

/// Reads JSON that was found valid, and nested no deeper than a body may be.
struct Reader<'a>(&'a [u8]);

/// The layout of a value. What is no JSON comes out as anything.
pub(super) fn canonical(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    Reader(json).value().write(&mut out);
    out
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn value(&mut self) -> Node<'a> {
        match self.peek() {
            Some(b'{') => {
                self.skip();
                let mut members = Vec::new();
                while self.goes_on() {
                    let name = self.scalar();
                    // The colon.
                    self.skip();
                    members.push((name, self.value()));
                }
                // Stable: those of one name stay in their order, which may matter to a reader.
                members.sort_by_key(|(name, _)| *name);
                Node::Object(members)
            }
            Some(b'[') => {
                self.skip();
                let mut items = Vec::new();
                while self.goes_on() {
                    items.push(self.value());
                }
                Node::List(items)
            }
            _ => Node::Scalar(self.scalar()),
        }
    }

    /// Takes the comma before an item or the bracket after the last; whether there is another item.
    fn goes_on(&mut self) -> bool {
        if self.peek() == Some(b',') {
            self.skip();
        }
        let ends = matches!(self.peek(), Some(b']' | b'}') | None);
        if ends {
            self.skip();
        }
        !ends
    }

    fn scalar(&mut self) -> &'a [u8] {
        let end = match self.peek() {
            Some(b'"') => self.end_of_string(),
            // At least one byte, so that what is no JSON ends as well.
            Some(_) => {
                let ends = |byte: &u8| b",:]} \t\r\n".contains(byte);
                self.0[1..].iter().position(ends).map_or(self.0.len(), |at| at + 1)
            }
            None => 0,
        };
        let (scalar, rest) = self.0.split_at(end);
        self.0 = rest;
        scalar
    }

    fn end_of_string(&self) -> usize {
        let mut escaped = false;
        let closes = |byte: &u8| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        };
        self.0.iter().skip(1).position(closes).map_or(self.0.len(), |at| at + 2)
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    fn skip(&mut self) {
        if self.peek().is_some() {
            self.0 = &self.0[1..];
        }
    }
}

// === impl Node ===

impl Node<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Scalar(scalar) => out.extend_from_slice(scalar),
            Self::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"" } else { b"," });
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"" } else { b"," });
                    out.extend_from_slice(name);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_layout(json: &str, expected: &str) {
        assert_eq!(String::from_utf8(canonical(json.as_bytes())).unwrap(), expected, "{json}");
    }

    #[test]
    fn blanks_go_and_members_are_in_order() {
        assert_layout(
            " { \"b\" : [ 1 ,\t{ } , [\n] ] ,\r\n\"a\" : { \"d\":1, \"c\":null } } ",
            r#"{"a":{"c":null,"d":1},"b":[1,{},[]]}"#,
        );
        assert_layout(r#"{"a":1,"b":[true,"x"]}"#, r#"{"a":1,"b":[true,"x"]}"#);
        for scalar in ["1", "-0.5e+7", "null", "\"\"", "[]", "{}"] {
            assert_layout(&format!(" {scalar} "), scalar);
        }
    }

    #[test]
    fn what_is_in_a_string_is_no_layout() {
        assert_layout(r#"{ "b\"}": " [ ,\\", "a:{": "\\\" ]" }"#, r#"{"a:{":"\\\" ]","b\"}":" [ ,\\"}"#);
    }

    #[test]
    fn what_a_handler_can_tell_apart_stays_apart() {
        for (one, other) in [
            ("18446744073709551616", "18446744073709551617"),
            ("0.1", "0.10000000000000000001"),
            ("1", "1.0"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            ("[1,2]", "[2,1]"),
            ("[[1],2]", "[[1,2]]"),
            (r#"["a b"]"#, r#"["ab"]"#),
            ("1", "\"1\""),
        ] {
            assert_ne!(canonical(one.as_bytes()), canonical(other.as_bytes()), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_json_ends() {
        for text in [
            "", "[", "{", "}", "]", ",", ":", "\"", "\"\\", "[,", "{:", "{\"a\"", "{\"a\":", "[}", "{]1",
            "[1 2", "{{", "[[[",
        ] {
            canonical(text.as_bytes());
        }
    }
}
