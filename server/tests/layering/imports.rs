//! Reads which modules of its own crate a source file names: in `use` declarations and in paths within code.
//!
//! Not covered: paths that a macro puts together, which this crate has none of.

use std::{fmt, iter::Peekable, vec::IntoIter};

/// One module naming another.
#[derive(Debug)]
pub(crate) struct Import {
    /// The module that names.
    pub(crate) from: Vec<String>,
    /// The path that is named, from the root of the crate.
    pub(crate) to: Vec<String>,
    /// Whether everything in it is taken.
    pub(crate) glob: bool,
    /// Where.
    pub(crate) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Path,
    Sign(char),
}

struct Reader {
    tokens: Peekable<IntoIter<(usize, Token)>>,
    /// The module of the file, then those that are open within it, each with how many braces were open before.
    module: Vec<String>,
    inner: Vec<usize>,
    braces: usize,
    found: Vec<Import>,
}

/// The imports of a file that is the module at `module`.
pub(crate) fn read(source: &str, module: &[String]) -> Vec<Import> {
    let tokens = tokens(source).into_iter().peekable();
    let mut reader =
        Reader { tokens, module: module.to_vec(), inner: Vec::new(), braces: 0, found: Vec::new() };
    reader.run();
    reader.found
}

// === impl Import ===

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} names crate::{}", self.from.join("::"), self.to.join("::"))?;
        if self.glob { f.write_str("::*") } else { Ok(()) }
    }
}

// === impl Reader ===

impl Reader {
    fn run(&mut self) {
        let mut before = None;
        while let Some((line, token)) = self.tokens.next() {
            match &token {
                Token::Word(word) if word == "mod" => self.open_module(),
                Token::Word(word) if word == "crate" || word == "super" => {
                    // `pub(in crate::a)` says who may see, and names nobody.
                    let visibility = before == Some(Token::Word("in".to_owned()));
                    if self.at(&Token::Path) && !visibility {
                        let base = self.base(word);
                        self.path(base, line);
                    }
                }
                Token::Sign('{') => self.braces += 1,
                Token::Sign('}') => self.close_brace(),
                _ => {}
            }
            before = Some(token);
        }
    }

    /// Where a path begins that starts with this word, in the module that is open.
    fn base(&self, word: &str) -> Vec<String> {
        let mut base = if word == "crate" { Vec::new() } else { self.module.clone() };
        base.pop();
        base
    }

    /// The rest of a path, from the `::` on: each name in it, and each branch of a group.
    fn path(&mut self, mut base: Vec<String>, line: usize) {
        while self.at(&Token::Path) {
            self.tokens.next();
            match self.tokens.peek().map(|(_, token)| token.clone()) {
                Some(Token::Word(word)) => {
                    self.tokens.next();
                    extend(&mut base, word);
                }
                Some(Token::Sign('{')) => {
                    self.tokens.next();
                    return self.group(&base, line);
                }
                Some(Token::Sign('*')) => {
                    self.tokens.next();
                    return self.note(base, true, line);
                }
                // The type arguments of a call.
                _ => break,
            }
        }
        self.note(base, false, line);
    }

    fn group(&mut self, base: &[String], line: usize) {
        while let Some((_, token)) = self.tokens.next() {
            match token {
                Token::Word(word) if word == "as" => drop(self.tokens.next()),
                Token::Word(word) => {
                    let mut path = base.to_vec();
                    extend(&mut path, word);
                    self.path(path, line);
                }
                Token::Sign('*') => self.note(base.to_vec(), true, line),
                Token::Sign('}') => return,
                _ => {}
            }
        }
    }

    fn note(&mut self, to: Vec<String>, glob: bool, line: usize) {
        self.found.push(Import { from: self.module.clone(), to, glob, line });
    }

    fn open_module(&mut self) {
        let Some((_, Token::Word(name))) = self.tokens.next() else { return };
        if self.at(&Token::Sign('{')) {
            self.inner.push(self.braces);
            self.module.push(name);
        }
    }

    fn close_brace(&mut self) {
        self.braces = self.braces.saturating_sub(1);
        if self.inner.last() == Some(&self.braces) {
            self.inner.pop();
            self.module.pop();
        }
    }

    fn at(&mut self, token: &Token) -> bool {
        self.tokens.peek().is_some_and(|(_, next)| next == token)
    }
}

fn extend(path: &mut Vec<String>, word: String) {
    match word.as_str() {
        "self" => {}
        "super" => drop(path.pop()),
        _ => path.push(word),
    }
}

/// Words, signs and `::`, each with its line; no comments, no texts, no characters.
fn tokens(source: &str) -> Vec<(usize, Token)> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = length(rest, first);
        let text = &rest[..length];
        if first.is_alphanumeric() || first == '_' {
            found.push((line, Token::Word(text.to_owned())));
        } else if text == "::" {
            found.push((line, Token::Path));
        } else if length == first.len_utf8() && !first.is_whitespace() {
            found.push((line, Token::Sign(first)));
        }
        line += text.matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// How far the token, comment or text reaches that `rest` begins with.
fn length(rest: &str, first: char) -> usize {
    let bytes = rest.as_bytes();
    let raw = rest.strip_prefix('b').unwrap_or(rest);
    if let Some(opened) = raw.strip_prefix('r') {
        let signs = opened.bytes().take_while(|byte| *byte == b'#').count();
        if opened[signs..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(signs));
            let begin = rest.len() - opened.len() + signs + 1;
            return rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len());
        }
    }
    match first {
        '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
        '/' if rest.starts_with("/*") => block_comment(bytes),
        '"' => quoted(bytes, 0),
        'b' if rest.starts_with("b\"") => quoted(bytes, 1),
        'b' if rest.starts_with("b'") => quoted(bytes, 1),
        // A character, unless it is a lifetime: `'a'` and `'\n'` close, `'a` does not.
        '\'' if bytes.get(1) == Some(&b'\\') => quoted(bytes, 0),
        '\'' => {
            let mut chars = rest.chars().skip(1);
            let inside = chars.next().map_or(0, char::len_utf8);
            if chars.next() == Some('\'') { 2 + inside } else { 1 }
        }
        ':' if rest.starts_with("::") => 2,
        _ if first.is_alphanumeric() || first == '_' => {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        }
        _ => first.len_utf8(),
    }
}

fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of what is quoted by the byte at `from`.
fn quoted(bytes: &[u8], from: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(from + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if *byte == bytes[from] => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}
