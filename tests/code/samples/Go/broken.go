package broken

import "fmt"

// Before is whole.
func Before(n int) string {
	return fmt.Sprint(n)
}

func torn(a int, b) {
	if a > {
		return ]
	}
	x := 
}

// After stands behind the error.
func After() {
	Before(1)
}

type Whole struct {
	ID int
}
