package sim

import (
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// openQuestion is the comparison of "Visualization of backoff functions", with an answer to its open question: is there
// a backoff without state that spreads the load better, and whose waits differ little from each other?
//
// The tiled backoff takes as long as sidekiq: the last retry comes after 654 s on average with both, because Σ
// k⁴+15+15·(k+1) is 12.5·52.32. The dead time is in windows of 3.5 s. This is the shortest width at which the dead time
// of this herd is 0 when it is tiled in one process: its largest gap is 3.44 s.
func openQuestion() Comparison {
	return Comparison{
		Strategies: []Strategy{
			{Name: "constant", Policy: retry.New(backoff.Constant(5 * time.Minute))},
			{Name: "exponential", Policy: retry.New(backoff.Exponential(time.Minute, 2).Plus(3 * time.Minute))},
			{Name: "sidekiq", Policy: retry.New(backoff.Sidekiq())},
			{Name: "buckets", Policy: retry.New(backoff.Buckets(time.Second, 3))},
			{Name: "tiled", Policy: retry.New(backoff.Linear(52_320 * time.Millisecond).Tiled())},
		},
		Jobs: 100, Retries: 5, Runs: 200,
		PeakWindow: time.Second, DeadWindow: 3500 * time.Millisecond,
	}
}

// classics are the five strategies that "Exponential Backoff And Jitter" compares. Its exponential wait is
// min(2 s, 5 ms·2ⁿ), n from 1: the first one is 10 ms.
func classics() []Strategy {
	exponential := backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second)
	return []Strategy{
		{Name: "none", Policy: noWait},
		{Name: "exponential", Policy: retry.New(exponential)},
		{Name: "full", Policy: retry.New(exponential.Jitter(jitter.Full))},
		{Name: "equal", Policy: retry.New(exponential.Jitter(jitter.Equal))},
		{Name: "decorrelated", Policy: retry.New(backoff.Decorrelated(5 * time.Millisecond).Cap(2 * time.Second))},
	}
}
