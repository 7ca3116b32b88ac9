int good() => 1;
int bad( => ;
class Fine { int ok() => good(); }
