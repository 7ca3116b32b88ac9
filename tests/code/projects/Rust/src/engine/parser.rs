use crate::{error::Outcome, syntax, Position};

#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Number(f64),
    Cell(Position),
    Call { name: String, arguments: Vec<Expression> },
}

pub struct Parser<'s> {
    rest: &'s str,
}

impl<'s> Parser<'s> {
    pub fn new(source: &'s str) -> Self {
        Parser { rest: source.trim() }
    }

    pub fn parse(&mut self) -> Outcome<Expression> {
        let found = self.expression()?;
        if !self.rest.is_empty() {
            syntax!("left over: {}", self.rest);
        }
        Ok(found)
    }

    fn expression(&mut self) -> Outcome<Expression> {
        let word = self.word();
        if let Ok(number) = word.parse() {
            return Ok(Expression::Number(number));
        }
        if self.eat('(') {
            return Ok(Expression::Call { name: word.to_owned(), arguments: self.arguments()? });
        }
        cell_position(word).map(Expression::Cell)
    }

    fn arguments(&mut self) -> Outcome<Vec<Expression>> {
        let mut found = vec![];
        while !self.eat(')') {
            found.push(self.expression()?);
            self.eat(',');
        }
        Ok(found)
    }

    fn word(&mut self) -> &'s str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn eat(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }
}

/// `B12` as a position.
pub fn cell_position(word: &str) -> Outcome<Position> {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let Ok(row) = digits.parse() else { syntax!("no cell: {word}") };
    let column = word.bytes().take(word.len() - digits.len()).fold(0, |sum, b| sum * 26 + u32::from(b & 31));
    Ok(Position::new(row, column))
}
