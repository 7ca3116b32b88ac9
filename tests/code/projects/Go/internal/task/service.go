package task

import (
	"context"
	"sort"

	"example.org/tracker/pkg/clock"
)

// Keeper keeps tasks.
type Keeper interface {
	Load(id ID) (*Task, error)
	Save(ctx context.Context, task *Task) error
	All() []*Task
}

// Notifier hears of what happens.
type Notifier interface {
	Notify(ctx context.Context, subject string) error
}

// Service is what commands talk to.
type Service struct {
	keeper   Keeper
	notifier Notifier
	now      clock.Clock
	count    int
}

type byPriority []*Task

func (b byPriority) Len() int           { return len(b) }
func (b byPriority) Less(i, j int) bool { return b[i].Priority.Less(b[j].Priority) }
func (b byPriority) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

// NewService makes a service.
func NewService(keeper Keeper, notifier Notifier) *Service {
	return &Service{keeper: keeper, notifier: notifier, now: clock.System{}}
}

// Add makes a task.
func (s *Service) Add(ctx context.Context, title string, priority Priority) (*Task, error) {
	added := &Task{ID: s.nextID(), Title: title, Priority: priority, Created: s.now.Now()}
	if err := s.keeper.Save(ctx, added); err != nil {
		return nil, err
	}
	return added, s.notifier.Notify(ctx, "added "+title)
}

// Finish ends a task.
func (s *Service) Finish(ctx context.Context, id ID) error {
	found, err := s.keeper.Load(id)
	if err != nil {
		return err
	}
	if err := found.Finish(s.now.Now()); err != nil {
		return err
	}
	return s.keeper.Save(ctx, found)
}

// Open lists what is not done, the most urgent last.
func (s *Service) Open() []*Task {
	open := filter(s.keeper.All(), func(each *Task) bool { return !each.Done() })
	sort.Sort(byPriority(open))
	return open
}

func (s *Service) nextID() ID {
	s.count++
	return ID(rune('a' + s.count))
}

func filter[T any](all []T, keep func(T) bool) []T {
	var kept []T
	for _, each := range all {
		if keep(each) {
			kept = append(kept, each)
		}
	}
	return kept
}
