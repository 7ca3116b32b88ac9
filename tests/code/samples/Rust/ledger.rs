//! Ledgers: accounts, entries, and what adds them up.

use std::collections::{BTreeMap as Map, HashSet};
use std::fmt::{self, Display};

use crate::money::{self, Amount, currency::{Currency, EUR}};
pub use super::errors::*;
extern crate serde as ser;

mod audit;
pub mod export {
    /// Writes a ledger as text.
    pub fn write(ledger: &super::Ledger) -> String {
        format!("{}", ledger.total())
    }
}

/// Most entries of an account.
pub const LIMIT: usize = 10_000;
static mut COUNTER: u64 = 0;

/// A shorter name.
pub type Outcome<T> = std::result::Result<T, LedgerError>;

/// What may go wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LedgerError {
    /// Too many entries.
    Full,
    Unknown(String),
    Mismatch { want: Amount, got: Amount },
}

/// One line of an account.
#[derive(Debug)]
pub struct Entry<'a, T: Display + 'a>
where
    T: Clone,
{
    pub label: &'a str,
    amount: Amount,
    tag: Option<T>,
}

pub struct Id(pub u64, String);

union Bits {
    whole: u64,
    halves: [u32; 2],
}

/// What adds up.
pub trait Total: fmt::Debug + money::Counted {
    type Unit;
    const ZERO: i64 = 0;

    fn total(&self) -> Self::Unit;

    /// Whether nothing is in it.
    fn is_empty(&self) -> bool {
        self.count() == Self::ZERO as usize
    }
}

#[derive(Default)]
pub struct Ledger {
    entries: Map<u64, Amount>,
    währungen: HashSet<Currency>,
}

impl Ledger {
    const START: u64 = 1;

    /// An empty ledger.
    pub fn new() -> Self {
        Self { entries: Map::new(), währungen: HashSet::default() }
    }

    pub async fn add<F>(&mut self, amount: Amount, notify: F) -> Outcome<u64>
    where
        F: Fn(&Amount) -> bool,
    {
        if self.entries.len() >= LIMIT {
            return Err(LedgerError::Full);
        }
        let check = |each: &Amount| validate(each) && notify(each);
        let entry = Ledger::START;
        audit::record(&amount).await?;
        self.entries.insert(entry, amount);
        money::convert::<Currency>(EUR);
        Ok(entry)
    }
}

impl Total for Ledger {
    type Unit = Amount;

    fn total(&self) -> Amount {
        self.entries.values().fold(Amount::default(), combine)
    }
}

impl<'a, T: Display + Clone> fmt::Display for Entry<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label, describe(&self.amount))
    }
}

unsafe extern "C" fn callback(code: i32) -> i32 {
    code
}

extern "C" {
    fn native_sum(values: *const i64, len: usize) -> i64;
}

fn combine(left: Amount, right: &Amount) -> Amount {
    left + *right
}

fn validate(amount: &Amount) -> bool {
    !amount.is_zero()
}

/// Entries in a row.
macro_rules! entries {
    ($($amount:expr),*) => { vec![$(make($amount)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> Ledger {
        Ledger::new()
    }

    #[test]
    fn adds_up() {
        assert_eq!(filled().total(), Amount::default());
    }

    #[tokio::test]
    #[should_panic(expected = "full")]
    async fn refuses_more() {
        filled().add(Amount::from(1), |_| true).await.unwrap();
    }
}
