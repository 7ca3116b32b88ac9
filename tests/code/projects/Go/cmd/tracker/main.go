// Command tracker keeps tasks in a file.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"example.org/tracker/internal/notify"
	"example.org/tracker/internal/store"
	"example.org/tracker/internal/task"
)

var path = flag.String("file", "tasks.json", "where tasks are kept")

func main() {
	flag.Parse()
	if err := run(context.Background(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tracker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	kept, err := store.Open(*path)
	if err != nil {
		return err
	}
	defer kept.Close()
	service := task.NewService(kept, notify.NewMail("localhost"))
	switch command(args) {
	case "add":
		_, err = service.Add(ctx, args[1], task.Low)
	case "done":
		err = service.Finish(ctx, task.ID(args[1]))
	default:
		err = list(service)
	}
	return err
}

func command(args []string) string {
	if len(args) == 0 {
		return "list"
	}
	return args[0]
}

func list(service *task.Service) error {
	for _, each := range service.Open() {
		fmt.Println(each)
	}
	return nil
}
