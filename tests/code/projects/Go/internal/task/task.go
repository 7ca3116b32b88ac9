// Package task knows what a task is and what may become of it.
package task

import (
	"errors"
	"fmt"
	"time"
)

// ID names a task.
type ID string

// Priority orders tasks.
type Priority int

const (
	Low Priority = iota
	Normal
	High
)

var (
	// ErrNotFound tells of an unknown task.
	ErrNotFound = errors.New("no such task")
	ErrDone     = errors.New("task is done")
)

// Task is one thing to do.
type Task struct {
	ID       ID
	Title    string
	Priority Priority
	Created  time.Time
	finished *time.Time
	Labels   map[string]string
}

func (t *Task) Finish(at time.Time) error {
	if t.Done() {
		return fmt.Errorf("%s: %w", t.ID, ErrDone)
	}
	t.finished = &at
	return nil
}

// Done reports whether it is finished.
func (t Task) Done() bool { return t.finished != nil }

func (t Task) String() string {
	return fmt.Sprintf("%s %s (%s)", t.ID, t.Title, t.Priority)
}

func (p Priority) String() string {
	switch p {
	case High:
		return "high"
	case Low:
		return "low"
	}
	return "normal"
}

func (p Priority) Less(other Priority) bool {
	return p < other
}
