package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Window cuts s into windows that follow one another, and returns the stream of the values of the streams that f makes
// of them, one after the other. A window closes when it has had as many values as most says, or when span has passed
// since it opened, whichever is sooner. It is Batch without the buffer: f's stream sees each value as it comes.
//
//	s:                       --1-2-3-4-5-|
//	Window(2, 0, sum):       ----3---7---5|
//
//	s:                       --1-2---------3--|
//	Window(max, 5, count):   -----2----0----1-0|
//
// With a span the first window opens when the stream is run and each next one when the one before is done with, so that
// windows may be empty. With a span of 0, which is no limit in time, a window opens with its first value, and none is
// empty. For no limit by count, give math.MaxInt.
//
// It ends when s has ended and f's last stream too. If s fails, the window fails with that error, and the stream does
// so when f's stream has returned, whatever that makes of it. An error of one of f's streams ends it all. Values that
// f's stream does not take, because it has ended or never ran its window, are dropped until the window closes. A window
// is run once, while f's stream runs. A second run fails with stream.ErrNotRestartable, and so does one that begins
// later or outlives f's stream, as may happen to a window that is handed out.
//
// It differs from ReactiveX, whose window yields the windows and leaves it to the consumer to run them. Windows do not
// overlap: an f whose stream lasts longer than its window holds up s, and the next window opens when it has ended.
//
// s goes on when f's stream is done with a value, or when that is dropped, and the position of a Resume before Window
// moves then: what f's stream delivers for the whole window comes later.
//
// f and its streams run on the caller's goroutine, and s on one of its own. Time is that of the clock that ctx carries,
// see stream.WithClock. A value that comes exactly when the time is over may be in the window or in the next. f must
// not return nil: the stream fails then.
func Window[T, U any](s stream.Stream[T], most int, span time.Duration, f func(window stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	return op.Window(here, s, most, span, f)
}
