package backoff

import (
	"encoding/binary"
	"fmt"
	"time"
)

// table holds a Table's delays, 8 bytes each. It is a string because Backoffs are compared with ==: a slice is not
// comparable, and a pointer would compare by identity.
type table string

// Table returns the Backoff whose n-th delay is the n-th of delays, n from 1, and then the last of them forever. It is
// the stateless table of Peter Teichman, "Simple backoff" (Gopher Academy Advent 2014). The delays are copied. Table
// panics without a delay.
func Table(delays ...time.Duration) Backoff {
	if len(delays) == 0 {
		panic("backoff: Table: delays is empty, want at least one")
	}
	t := make([]byte, 0, 8*len(delays))
	for i, d := range delays {
		if d < 0 {
			panic(fmt.Sprintf("backoff: Table: delays[%d] is %v, want at least 0", i, d))
		}
		t = binary.LittleEndian.AppendUint64(t, uint64(d))
	}
	return Backoff{kind: tabled, table: table(t)}
}

func (t table) len() int { return len(t) / 8 }

// at is the n-th delay, or the last one.
func (t table) at(n int) time.Duration {
	i := 8 * (min(n, t.len()) - 1)
	return time.Duration(binary.LittleEndian.Uint64([]byte(t[i : i+8])))
}

// falls returns the number, from 1, of the first delay that is less than the one before it, or 0.
func (t table) falls() int {
	for n := 2; n <= t.len(); n++ {
		if t.at(n) < t.at(n-1) {
			return n
		}
	}
	return 0
}
