module example.org/tracker

go 1.22
