use crate::{error::Outcome, syntax};

pub type Function = fn(&[f64]) -> f64;

static TABLE: &[(&str, Function)] = &[("SUM", sum), ("MEAN", mean), ("MAX", largest)];

pub fn find(name: &str) -> Outcome<Function> {
    for (known, function) in TABLE {
        if known.eq_ignore_ascii_case(name) {
            return Ok(*function);
        }
    }
    syntax!("no function {name}")
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len().max(1) as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_nothing_is_nothing() {
        assert_eq!(mean(&[]), 0.0);
    }

    #[test]
    fn functions_are_found_by_name() {
        assert!(find("sum").is_ok());
        assert!(find("none").is_err());
    }
}
