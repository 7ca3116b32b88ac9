package store

import "testing"

func TestGet(t *testing.T) {
	s := New()
	s.Get("a")
}
