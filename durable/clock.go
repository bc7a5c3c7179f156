package durable

import "time"

// minSkew is the smallest difference of clocks that counts: what is less may be the time of a request.
const minSkew = time.Second

// now returns the time by the server's clock, which all processes of the queue share: due times, and the times in a
// job's retry state, are the server's. It is this machine's time if both differ by less than minSkew.
func (q *Queue) now() time.Time { return time.Now().Add(time.Duration(q.skew.Load())) }

// until returns how long it is until t by the server's clock.
func (q *Queue) until(t time.Time) time.Duration { return t.Sub(q.now()) }

// compareClocks is called with the server's time of a response, and when the request was sent and the response came.
func (q *Queue) compareClocks(sent, came, server time.Time) {
	if server.IsZero() || came.Sub(sent) > minSkew {
		return
	}
	skew := server.Sub(sent.Add(came.Sub(sent) / 2))
	if skew.Abs() < minSkew {
		skew = 0
	}
	before := time.Duration(q.skew.Swap(int64(skew)))
	if skew.Abs() > q.lease() && before.Abs() <= q.lease() {
		q.config.Logger.Warn("the clocks of this machine and of the server differ by more than a lease: synchronize them", "queue", q.config.Name,
			"ahead", -skew)
	}
}
