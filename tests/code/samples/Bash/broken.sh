good() { echo 1; }
if then bad
fine() { good; }
