{ }: rec { concat = a: b: a + b; join = concat; }
