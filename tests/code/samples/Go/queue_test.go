package queue

import "testing"

func TestPush(t *testing.T) {
	q := New[string, int](nil)
	if err := q.Push("a", 1); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkMap(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Map([]int{1}, double)
	}
}

func double(i int) int { return 2 * i }
