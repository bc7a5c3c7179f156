package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Window splits s into consecutive windows, runs the stream that f returns for each window, one after the other, and
// yields their values. A window closes when its number of values is most, or when span has passed since it opened,
// whichever is sooner. It is Batch without the buffer: f's stream sees each value as it comes.
//
//	s:                       --1-2-3-4-5-|
//	Window(2, 0, sum):       ----3---7---5|
//
//	s:                       --1-2---------3--|
//	Window(max, 5, count):   -----2----0----1-0|
//
// With a span, the first window opens when the stream is run, and each next one when the one before is done, so windows
// may be empty. A span of 0 is no limit in time: then a window opens with its first value, and none is empty. For no
// limit by count, use math.MaxInt.
//
// It ends when s and f's last stream have ended. If s fails, the window fails with that error, and the stream fails
// with it when f's stream has returned, whatever f's stream returns. An error of one of f's streams ends the stream.
// Values that f's stream does not take, because it has ended or never ran its window, are dropped until the window
// closes. A window can be run once, while f's stream runs. A second run fails with stream.ErrNotRestartable, and so
// does a run that begins later or outlives f's stream, which is possible if f passes the window on.
//
// ReactiveX's window differs: it yields the windows, and the consumer must run them. Windows do not overlap: while an
// f's stream lasts longer than its window, s waits, and the next window opens when that stream has ended.
//
// s continues when f's stream is done with a value, or when the value is dropped, and the position of a Resume before
// Window moves then. What f's stream delivers for the whole window comes later.
//
// f and its streams run on the caller's goroutine, and s on its own. A value that comes exactly when the time is over
// may be in the window or in the next.
func Window[T, U any](s stream.Stream[T], most int, span time.Duration, f func(window stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	return op.Window(here, s, most, span, f)
}
