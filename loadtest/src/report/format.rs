//! Numbers as people read them: three significant digits, and always a unit.

use std::time::Duration;

/// A duration: `850 µs`, `4.12 ms`, `1.23 s`, `2 min 03 s`.
pub(super) fn duration(duration: Duration) -> String {
    let micros = duration.as_micros() as f64;
    match micros {
        micros if micros < 999.5 => format!("{micros:.0} µs"),
        micros if micros < 999_500.0 => format!("{} ms", digits(micros / 1e3)),
        micros if micros < 59_950_000.0 => format!("{} s", digits(micros / 1e6)),
        _ => {
            let seconds = (micros / 1e6).round() as u64;
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            if hours > 0 {
                format!("{hours} h {minutes:02} min")
            } else {
                format!("{minutes} min {seconds:02} s")
            }
        }
    }
}

/// A count in groups of three digits: `1 204 331`.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 client`, `2 clients`.
pub(super) fn plural(times: u64, one: &str) -> String {
    format!("{} {one}{}", count(times), if times == 1 { "" } else { "s" })
}

/// A rate: `20 072/s`, `3.25/s`.
pub(super) fn rate(rate: f64) -> String {
    if rate < 99.95 { format!("{}/s", digits(rate)) } else { format!("{}/s", count(rate.round() as u64)) }
}

/// A share of 0.0 to 1.0 in per cent: `0 %`, `0.0021 %`, `12.3 %`. What is not all is never shown as `100 %`, nor what is
/// more than nothing as `0 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        percent if percent <= 0.0 => "0 %".to_owned(),
        percent if percent < 0.0001 => "<0.0001 %".to_owned(),
        percent if percent < 0.1 => format!("{} %", significant(percent, 2)),
        percent if (99.95..100.0).contains(&percent) => ">99.9 %".to_owned(),
        percent => format!("{} %", digits(percent)),
    }
}

/// Bytes: `812 B`, `12.3 MB`.
pub(super) fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{} {unit}", digits(value)) }
}

/// How many times something is of something else: `×1.25`. Nothing where there is nothing to compare with.
pub(super) fn ratio(value: f64, base: f64) -> String {
    if base > 0.0 && value.is_finite() { format!("×{}", digits(value / base)) } else { String::new() }
}

/// Text that may come from a server, on one line: what would move a cursor, change a colour or turn the direction of
/// writing is shown as `\u{1b}` and does nothing.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // The last ranges: marks that turn the direction, and separators of lines.
            '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => clean.extend(character.escape_unicode()),
            character => clean.push(character),
        }
    }
    clean
}

/// Three significant digits below 1000, and never a trailing point.
fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.0995 => significant(value, 3),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => count(value.round() as u64),
    }
}

fn significant(value: f64, digits: i32) -> String {
    let places = (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (micros, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1000, "1.00 ms"),
            (4123, "4.12 ms"),
            (99_960, "100 ms"),
            (999_400, "999 ms"),
            (999_600, "1.00 s"),
            (59_900_000, "59.9 s"),
            (59_990_000, "1 min 00 s"),
            (123_000_000, "2 min 03 s"),
            (3_600_000_000, "1 h 00 min"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text, "{micros}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(["0", "999", "1 000", "1 204 331"], [0, 999, 1000, 1_204_331].map(count)[..]);
        assert_eq!(["0/s", "3.25/s", "0.0125/s", "20 072/s"], [0.0, 3.25, 0.0125, 20_071.6].map(rate)[..]);
        assert_eq!(["812 B", "1.00 kB", "12.3 MB"], [812, 1000, 12_345_678].map(bytes)[..]);
        assert_eq!((ratio(5.0, 4.0).as_str(), ratio(1.0, 0.0).as_str()), ("×1.25", ""));
        assert_eq!([plural(1, "client"), plural(2000, "client")], ["1 client", "2 000 clients"]);
    }

    #[test]
    fn little_is_not_nothing_and_almost_all_is_not_all() {
        let shares = [0.0, 1e-9, 0.000_021, 0.123, 0.999_999, 1.0];
        assert_eq!(["0 %", "<0.0001 %", "0.0021 %", "12.3 %", ">99.9 %", "100 %"], shares.map(percent)[..]);
    }

    #[test]
    fn a_servers_text_moves_no_cursor() {
        assert_eq!(clean("a\u{1b}[2Jb\r\n\u{202e}c é <b>"), "a\\u{1b}[2Jb\\u{d}\\u{a}\\u{202e}c é <b>");
    }
}
