//! Sheets of cells with formulas.

pub mod engine;
pub mod error;
pub mod io;
mod cell;

pub use cell::{Cell, Value};
pub use engine::Engine;
pub use error::{Outcome, SheetError};

use std::collections::HashMap;

/// Most cells of a sheet.
pub const MAX_CELLS: usize = 1 << 20;

/// Where a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    pub row: u32,
    pub column: u32,
}

/// Cells by where they are.
#[derive(Default)]
pub struct Sheet {
    cells: HashMap<Position, Cell>,
    name: Option<String>,
}

impl Sheet {
    /// A sheet without cells.
    pub fn new(name: impl Into<String>) -> Self {
        Self { cells: HashMap::new(), name: Some(name.into()) }
    }

    pub fn set(&mut self, position: Position, cell: Cell) -> Outcome<()> {
        if self.cells.len() >= MAX_CELLS {
            return Err(SheetError::Full { limit: MAX_CELLS });
        }
        self.cells.insert(position, cell);
        Ok(())
    }

    pub fn get(&self, position: Position) -> Option<&Cell> {
        self.cells.get(&position)
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Position {
    pub const fn new(row: u32, column: u32) -> Self {
        Self { row, column }
    }
}

impl From<(u32, u32)> for Position {
    fn from((row, column): (u32, u32)) -> Self {
        Position::new(row, column)
    }
}
