package durable

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		name           string
		workers        int
		average        time.Duration
		running, ready int
		want           int
	}{
		{"nothing is known: as many again as there are workers", 8, -1, 0, 0, 16},
		{"quick: much ahead", 8, time.Millisecond, 0, 0, 8 + 1024},
		{"quicker than the clock", 8, 0, 0, 0, 8 + 1024},
		{"quick, and half is there still", 8, time.Millisecond, 8, 600, 0},
		{"quick, and less than half is there", 8, time.Millisecond, 8, 400, 8 + 1024 - 408},
		{"slow: none ahead", 8, time.Second, 0, 0, 8},
		{"slow: one for each worker that is free", 8, time.Minute, 7, 0, 1},
		{"slow, all at work", 8, time.Minute, 8, 0, 0},
		{"slow, and too much is there already", 8, time.Minute, 8, 100, 0},
		{"between", 8, 100 * time.Millisecond, 8, 0, 16},
	} {
		f := feed{workers: c.workers, average: c.average, running: c.running}
		for range c.ready {
			f.ready = append(f.ready, nil)
		}
		if got := f.wanted(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWaitingIsInOrder(t *testing.T) {
	var w waiting
	now := time.Now()
	for range 1000 {
		heap.Push(&w, &delivery{state: state{due: now.Add(time.Duration(rand.N(500)))}})
	}
	for last := now; len(w) > 0; {
		d := heap.Pop(&w).(*delivery)
		if d.state.due.Before(last) {
			t.Fatalf("%v after %v", d.state.due, last)
		}
		last = d.state.due
	}
}

func TestCanSchedule(t *testing.T) {
	for version, want := range map[string]bool{"2.12.0": true, "2.15.2": true, "3.0.0": true, "2.12.0-RC.1": true,
		"2.11.9": false, "2.9.0": false, "1.99.0": false, "": false, "dev": false} {
		if got := canSchedule(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

func TestTokensOfSlicesAddUp(t *testing.T) {
	for _, c := range []BudgetConfig{{Tokens: 100, Per: time.Second}, {Tokens: 7, Per: time.Second}, {Tokens: 1, Per: time.Minute},
		{Tokens: 1000, Per: 350 * time.Millisecond}, {Tokens: 5, Per: 100 * time.Millisecond}} {
		b := Budget{config: c}
		slices := slicesOf(c.Per)
		sum := int64(0)
		for i := range slices {
			n := b.tokensOf(1_000_000*slices + i)
			if n < 0 || n > int64(c.Tokens)/slices+1 {
				t.Errorf("%+v: slice %d has %d tokens", c, i, n)
			}
			sum += n
		}
		if sum != int64(c.Tokens) {
			t.Errorf("%+v: the slices have %d tokens", c, sum)
		}
	}
}
