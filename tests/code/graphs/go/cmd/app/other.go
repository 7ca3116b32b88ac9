package main

func local() string { return "" }
