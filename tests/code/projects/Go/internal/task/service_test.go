package task

import (
	"context"
	"testing"
)

type memory map[ID]*Task

func (m memory) Load(id ID) (*Task, error) {
	if found, ok := m[id]; ok {
		return found, nil
	}
	return nil, ErrNotFound
}

func (m memory) Save(_ context.Context, task *Task) error {
	m[task.ID] = task
	return nil
}

func (m memory) All() (all []*Task) {
	for _, each := range m {
		all = append(all, each)
	}
	return all
}

type silent struct{}

func (silent) Notify(context.Context, string) error { return nil }

func TestAdd(t *testing.T) {
	service := NewService(memory{}, silent{})
	added, err := service.Add(context.Background(), "write", High)
	if err != nil || added.Done() {
		t.Fatalf("got %v, %v", added, err)
	}
}

func TestFinish(t *testing.T) {
	t.Run("unknown", func(t *testing.T) {
		service := NewService(memory{}, silent{})
		if err := service.Finish(context.Background(), "x"); err != ErrNotFound {
			t.Error(err)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	for i := 0; i < b.N; i++ {
		filter([]int{1, 2, 3}, func(n int) bool { return n > 1 })
	}
}
