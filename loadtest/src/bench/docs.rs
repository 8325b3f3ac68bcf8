//! The tables in a page of the documentation, between marks; the words around them are people's.

use super::{BenchError, model::SuiteResult, text};

/// The page with what a suite found in its place.
pub(super) fn put(page: &str, result: &SuiteResult) -> Result<String, BenchError> {
    let (begin, end) = marks(&result.suite);
    let missing =
        || BenchError::Input(format!("the page has no place for the suite: write {begin} and {end} into it"));
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n\n{}\n{end}{after}", text::suite(result)))
}

fn marks(suite: &str) -> (String, String) {
    (format!("<!-- bench {suite} -->"), format!("<!-- end {suite} -->"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let result = SuiteResult { suite: "server".into(), ..SuiteResult::default() };
        let page = "words\n<!-- bench server -->\nold\n<!-- end server -->\nmore\n";
        let once = put(page, &result).unwrap();
        assert!(
            once.starts_with("words\n<!-- bench server -->\n")
                && once.ends_with("<!-- end server -->\nmore\n")
        );
        assert!(!once.contains("old"));
        assert_eq!(put(&once, &result).unwrap(), once);
        assert!(put("no place", &result).unwrap_err().to_string().contains("<!-- bench server -->"));
    }
}
