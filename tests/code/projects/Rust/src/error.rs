//! What may go wrong.

use std::{error::Error, fmt, io};

pub type Outcome<T, E = SheetError> = std::result::Result<T, E>;

#[derive(Debug)]
#[non_exhaustive]
pub enum SheetError {
    Full { limit: usize },
    Syntax(String),
    Cycle,
    Io(io::Error),
}

impl fmt::Display for SheetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "more than {limit} cells"),
            Self::Syntax(text) => write!(f, "no formula: {text}"),
            Self::Cycle => f.write_str("a formula needs itself"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Error for SheetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for SheetError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Ends a function early with a syntax error.
#[macro_export]
macro_rules! syntax {
    ($($part:tt)*) => { return Err($crate::SheetError::Syntax(format!($($part)*))) };
}
