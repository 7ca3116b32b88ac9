//! Works out formulas.

mod functions;
pub mod parser;

use crate::{cell::Value, error::Outcome, Position, Sheet, SheetError};
use functions::Function;
use parser::{Expression, Parser};

/// What formulas may ask for.
pub trait Lookup {
    fn value(&self, position: Position) -> Value;

    fn number(&self, position: Position) -> f64 {
        self.value(position).as_number().unwrap_or_default()
    }
}

impl Lookup for Sheet {
    fn value(&self, position: Position) -> Value {
        self.get(position).map(|cell| cell.value.clone()).unwrap_or_default()
    }
}

/// Evaluates, to a depth.
pub struct Engine<'a, L: Lookup> {
    lookup: &'a L,
    depth: usize,
}

impl<'a, L: Lookup> Engine<'a, L> {
    const DEPTH: usize = 64;

    pub fn new(lookup: &'a L) -> Self {
        Engine { lookup, depth: Self::DEPTH }
    }

    pub fn run(&self, source: &str) -> Outcome<f64> {
        let expression = Parser::new(source).parse()?;
        self.evaluate(&expression, 0)
    }

    fn evaluate(&self, expression: &Expression, depth: usize) -> Outcome<f64> {
        if depth > self.depth {
            return Err(SheetError::Cycle);
        }
        match expression {
            Expression::Number(number) => Ok(*number),
            Expression::Cell(position) => Ok(self.lookup.number(*position)),
            Expression::Call { name, arguments } => {
                let function = functions::find(name)?;
                let values = arguments.iter().map(|each| self.evaluate(each, depth + 1)).collect::<Outcome<Vec<_>>>()?;
                Ok(apply(function, &values))
            }
        }
    }
}

fn apply(function: Function, values: &[f64]) -> f64 {
    function(values)
}
