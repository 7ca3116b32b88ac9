use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::{Cell, Outcome, Sheet};

/// Reads what a format holds.
pub trait Format {
    fn read<R: Read>(&self, from: R) -> Outcome<Sheet>;
}

/// Values between commas.
pub struct Csv {
    pub separator: char,
}

impl Format for Csv {
    fn read<R: Read>(&self, from: R) -> Outcome<Sheet> {
        let mut sheet = Sheet::new("csv");
        for (row, line) in BufReader::new(from).lines().enumerate() {
            for (column, text) in line?.split(self.separator).enumerate() {
                sheet.set((row as u32, column as u32).into(), parsed(text)?)?;
            }
        }
        Ok(sheet)
    }
}

pub async fn load(path: &Path) -> Outcome<Sheet> {
    let file = fs::File::open(path)?;
    Csv { separator: ',' }.read(file)
}

fn parsed(text: &str) -> Outcome<Cell> {
    match text.parse() {
        Ok(number) => Ok(Cell::number(number)),
        Err(_) => Cell::formula(text),
    }
}
