package groups

import ("fmt"; "os")

const ( Small = iota; Large )
const ( Only = 1 )
const (Tight = 1; Tighter = ")")
const (
	Low = iota; Middle
	High)

var ( count = 1 )

type ( Size int; Name string )

func Tell() { const ( width = 3 ); fmt.Fprintln(os.Stdout, Small, width, count) }
