// Package queue hands jobs to workers, one at a time and in order.
package queue

import (
	"context"
	_ "embed"
	"errors"
	. "fmt"

	slog "log/slog"

	"example.org/shop/internal/store"
)

import "sync"

// DefaultSize is how many jobs wait when nothing else is said.
const DefaultSize = 64

const (
	Idle State = iota
	Running
	größte, kleinste = 9, 1
)

// ErrClosed tells that a queue takes no more jobs.
var ErrClosed = errors.New("queue is closed")

var (
	mu       sync.Mutex
	handlers = map[string]Handler{"print": printJob, "store": storeJob}
)

// State of a worker.
type State int

type (
	// Handler does one job.
	Handler func(ctx context.Context, job *Job) error
	Alias   = store.Item
)

// Job is one piece of work.
type Job struct {
	*store.Item
	Name, Kind string `json:"name"`
	retries    int
	done       chan<- struct{}
}

// Source lends jobs.
type Source[T any] interface {
	~string | Ordered
	Closer
	Next(ctx context.Context) (T, error)
	Len() int
}

// Queue holds what waits, of any kind.
type Queue[K comparable, T any] struct {
	items map[K]T
	next  func() K
}

// New makes a queue.
func New[K comparable, T any](next func() K) *Queue[K, T] {
	return &Queue[K, T]{items: make(map[K]T), next: next}
}

func (q *Queue[K, T]) Push(
	key K,
	value T,
	more ...T,
) error {
	if q.closed() {
		return ErrClosed
	}
	q.items[key] = value
	for _, each := range more {
		q.items[q.next()] = each
	}
	return nil
}

func (q *Queue[K, T]) closed() bool { return q.items == nil }

func (State) String() string { return Sprint("state") }

func (j Job) run(ctx context.Context, s store.Store) (err error) {
	handler := handlers[j.Kind]
	defer func() {
		slog.Info("done", "job", j.Name)
	}()
	local := store.Options{Name: j.Name, Hook: j.finish}
	go watch(ctx, j.finish)
	switch v := any(s).(type) {
	case Closer:
		v.Close()
	}
	if err = handler(ctx, &j); err != nil {
		return Errorf("job %s: %w", j.Name, err)
	}
	return s.Save(ctx, local, Map[string, int](nil, nil))
}

func (j *Job) finish() { j.done <- struct{}{} }

// Map applies f to all.
func Map[T, U any](all []T, f func(T) U) []U {
	out := make([]U, 0, len(all))
	for _, each := range all {
		out = append(out, f(each))
	}
	return out
}
