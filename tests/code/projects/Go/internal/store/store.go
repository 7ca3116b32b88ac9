// Package store keeps tasks in one JSON file.
package store

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"example.org/tracker/internal/task"
)

// File is a store in a file.
type File struct {
	mu    sync.RWMutex
	path  string
	tasks map[task.ID]*task.Task
}

// Open reads the file, or begins a new one.
func Open(path string) (*File, error) {
	opened := &File{path: path, tasks: make(map[task.ID]*task.Task)}
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return opened, nil
	}
	if err != nil {
		return nil, err
	}
	return opened, decode(raw, &opened.tasks)
}

// Load finds one task.
func (f *File) Load(id task.ID) (*task.Task, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if found, ok := f.tasks[id]; ok {
		return found, nil
	}
	return nil, task.ErrNotFound
}

// Save writes all tasks.
func (f *File) Save(ctx context.Context, changed *task.Task) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks[changed.ID] = changed
	return f.flush(ctx)
}

// All lists them.
func (f *File) All() []*task.Task {
	all := make([]*task.Task, 0, len(f.tasks))
	for _, each := range f.tasks {
		all = append(all, each)
	}
	return all
}

func (f *File) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(f.tasks, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.path, raw, 0o600)
}

// Close writes what is left.
func (f *File) Close() error { return f.flush(context.Background()) }

func decode(raw []byte, into any) error {
	return json.Unmarshal(raw, into)
}
