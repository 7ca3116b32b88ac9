use std::fmt;

use crate::error::SheetError;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Empty,
    Number(f64),
    Text(String),
    Error { reason: String },
}

/// A value and the formula it came from.
#[derive(Debug, Clone)]
pub struct Cell {
    pub value: Value,
    formula: Option<String>,
}

impl Cell {
    pub fn number(value: f64) -> Cell {
        Cell { value: Value::Number(value), formula: None }
    }

    pub fn formula(text: &str) -> Result<Cell, SheetError> {
        if !text.starts_with('=') {
            return Err(SheetError::Syntax(text.to_owned()));
        }
        Ok(Cell { value: Value::Empty, formula: Some(text[1..].to_owned()) })
    }

    pub(crate) fn source(&self) -> Option<&str> {
        self.formula.as_deref()
    }
}

impl Value {
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }
}

impl Default for Value {
    fn default() -> Self {
        Value::Empty
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Empty => Ok(()),
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
            Value::Error { reason } => write!(f, "#{reason}"),
        }
    }
}
