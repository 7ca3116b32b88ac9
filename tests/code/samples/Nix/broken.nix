{
  good = 1;
  bad = { a = ; };
  fine = x: x;
}
