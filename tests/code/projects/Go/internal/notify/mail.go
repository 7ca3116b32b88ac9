// Package notify tells people.
package notify

import (
	"context"
	"log/slog"
	"time"
)

const (
	retries = 3
	pause   = time.Second
)

// Mail sends mails.
type Mail struct {
	host string
	send func(host, subject string) error
}

// NewMail makes a sender.
func NewMail(host string) *Mail {
	return &Mail{host: host, send: deliver}
}

// Notify tries a few times.
func (m *Mail) Notify(ctx context.Context, subject string) error {
	var err error
	for attempt := 0; attempt < retries; attempt++ {
		if err = m.send(m.host, subject); err == nil {
			return nil
		}
		slog.Warn("mail", "attempt", attempt, "error", err)
		if !wait(ctx, pause) {
			return ctx.Err()
		}
	}
	return err
}

func deliver(host, subject string) error {
	slog.Info("mail", "host", host, "subject", subject)
	return nil
}

func wait(ctx context.Context, length time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(length):
		return true
	}
}
