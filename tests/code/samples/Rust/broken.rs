pub struct Before {
    pub name: String,
}

impl Before {
    pub fn greet(&self) -> String {
        format!("hello {}", self.name)
    }

    pub fn torn(&self) -> {
        let x = ;
        if x > {
        }
    }
}

fn broken(a: ) {}

pub enum After {
    One,
    Two(u8),
}

pub fn after(before: &Before) -> String {
    before.greet()
}
