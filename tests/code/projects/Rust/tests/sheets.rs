use sheet::{Cell, Engine, Position, Sheet};

fn filled() -> Sheet {
    let mut sheet = Sheet::new("test");
    sheet.set(Position::new(1, 1), Cell::number(2.0)).unwrap();
    sheet
}

#[test]
fn formulas_see_cells() {
    let sheet = filled();
    assert_eq!(Engine::new(&sheet).run("SUM(A1, 3)").unwrap(), 5.0);
}

#[test]
#[should_panic]
fn unknown_functions_are_refused() {
    Engine::new(&filled()).run("NONE(1)").unwrap();
}
