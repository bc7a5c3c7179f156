package sim

import (
	"time"

	"github.com/retrywhen/retrywhen/backoff"
)

// OpenQuestion returns the Comparison that "Visualization of backoff functions" makes, and the answer to the question
// it ends with: is there a backoff without state whose load is spread better, and whose waits differ little from
// each other? 100 jobs are retried 5 times, k = 0 … 4, under
//
//	constant      300 s
//	exponential   180 + 60·2ᵏ s
//	sidekiq       k⁴ + 15 + rand·30·(k+1) s
//	buckets       between k³ and (k+2)³ s
//	tiled         Linear(52.32 s), Tiled: the answer
//
// The tiled one takes as long as sidekiq: to the last retry both have 654 s on the mean, Σ k⁴+15+15·(k+1) being
// 12.5·52.32. The placement is Golden, as in one process; change that strategy's Placement for a fleet of one
// job to a process.
//
// The peak is that of one second. The dead time is in windows of 3.5 s, the shortest in which a golden tiled herd of
// this size never finds nothing: the largest of its gaps is 3.44 s. Figures are means over 200 runs.
func OpenQuestion() Comparison {
	return Comparison{
		Strategies: []Strategy{
			{Name: "constant", Backoff: backoff.Constant(5 * time.Minute)},
			{Name: "exponential", Backoff: backoff.Exponential(time.Minute, 2).Plus(3 * time.Minute)},
			{Name: "sidekiq", Backoff: backoff.Sidekiq()},
			{Name: "buckets", Backoff: backoff.Buckets(time.Second, 3)},
			{Name: "tiled", Backoff: backoff.Linear(52_320 * time.Millisecond).Tiled()},
		},
		Jobs: 100, Retries: 5, Runs: 200,
		PeakWindow: time.Second, DeadWindow: 3500 * time.Millisecond,
	}
}
