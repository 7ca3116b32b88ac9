; Kernels and launches parse as functions and calls of C++; what a launch adds is its grid, and it hides no name.
(kernel_call_syntax (identifier) @name) @reference.use
