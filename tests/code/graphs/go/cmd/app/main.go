package main

import (
	"fmt"
	"example.com/app/internal/store"
	util "example.com/app/internal/helpers"
)

func main() {
	s := store.New()
	s.Get("x")
	util.Do()
	fmt.Println(local())
}
