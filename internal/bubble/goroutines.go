package bubble

import (
	"bytes"
	"runtime"
)

// Goroutines returns how many goroutines the caller's bubble has, those of the testing package among them. Other than
// runtime.NumGoroutine it counts neither those of other tests nor one that has ended and that the runtime has not yet put
// away. Outside of a bubble it panics. It stops the world: it is for tests.
func Goroutines() int {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	header, _, _ := bytes.Cut(buf[:n], []byte("\n")) // the caller's: "goroutine 12 [running, synctest bubble 3]:"
	at := bytes.Index(header, []byte("synctest bubble "))
	if at < 0 {
		panic("bubble: Goroutines: called outside of a bubble")
	}
	return bytes.Count(buf[:n], header[at:])
}
