package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// doublingAnswer describes the waits of 1 s × 2.
func doublingAnswer(d []time.Duration) string {
	right := 0
	for want := float64(base); right < len(d) && want < float64(noCap) && math.Abs(float64(d[right])/want-1) < 1e-9; right++ {
		want *= 2
	}
	switch rest := d[right:]; {
	case slices.Min(rest) < 0:
		return fmt.Sprintf("correct up to %d, from %d on **negative**, down to %s", right, right+1, years(slices.Min(rest)))
	case slices.Contains(rest, 0):
		n := right + slices.Index(rest, 0) + 1
		return fmt.Sprintf("correct up to %d, from %d on **zero**", right, n)
	case slices.Min(rest) == slices.Max(rest):
		return fmt.Sprintf("correct up to %d, from there %s", right, years(rest[0]))
	default:
		return fmt.Sprintf("correct up to %d, then between %s and %s", right, years(slices.Min(rest)), years(slices.Max(rest)))
	}
}

func years(d time.Duration) string { return fmt.Sprintf("%.0f years", d.Hours()/24/365.25) }

// cappedAnswer describes the jitter at the cap.
func cappedAnswer(d []time.Duration) []string {
	above := 0
	for _, delay := range d {
		if delay > most {
			above++
		}
	}
	slices.Sort(d)
	distinct := fmt.Sprint(len(slices.Compact(slices.Clone(d))))
	if n := len(slices.Compact(slices.Clone(d))); n > len(d)*99/100 {
		distinct = "nearly all"
	} else if n < 1000 {
		distinct = fmt.Sprintf("**%d**", n)
	}
	share := fmt.Sprintf("%.0f %%", 100*float64(above)/float64(len(d)))
	if above > 0 {
		share = "**" + share + "**"
	}
	return []string{share, fmt.Sprintf("%.1f s … %.1f s", d[0].Seconds(), d[len(d)-1].Seconds()), distinct}
}

// cancelAnswer cancels 3 s into a wait of 10 s.
func cancelAnswer(t *testing.T, o operation) (answer []string) {
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var cancelled time.Time
		time.AfterFunc(3*time.Second, func() {
			cancelled = time.Now()
			cancel()
		})
		attempts := 0
		err := o(ctx, func(context.Context) error {
			attempts++
			return errBoom
		})
		answer = []string{after(time.Since(cancelled)), yes(errors.Is(err, context.Canceled)), yes(errors.Is(err, errBoom))}
		if err == nil {
			answer[1], answer[2] = "**nil**", "**nil**"
		}
		if attempts > 1 {
			answer[0] += fmt.Sprintf(", %d more attempts", attempts-1)
		}
	})
	return answer
}

// deadlineAnswer begins a wait of 10 s 5 s before the deadline.
func deadlineAnswer(t *testing.T, o operation) (answer string) {
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = o(ctx, func(context.Context) error { return errBoom })
		switch slept := time.Since(began); slept {
		case 0:
			answer = "no, returns at once"
		case 5 * time.Second:
			answer = "yes, until the deadline"
		default:
			answer = fmt.Sprintf("**yes, for %v**, %v past the deadline", slept, slept-5*time.Second)
		}
	})
	return answer
}

// sharedAnswer runs two operations with one policy, the second 0.5 s after the first, and a third when both are over.
func sharedAnswer(t *testing.T, make func() operation) (answer []string) {
	synctest.Test(t, func(*testing.T) {
		o := make()
		run := func() string {
			var waits []string
			var last time.Time
			_ = o(context.Background(), func(context.Context) error {
				if !last.IsZero() {
					waits = append(waits, time.Since(last).String())
				}
				last = time.Now()
				return errBoom
			})
			if text := strings.Join(waits, " "); text != "" {
				return text
			}
			return "no retry"
		}
		var first, second string
		var both sync.WaitGroup
		both.Go(func() { first = run() })
		time.Sleep(base / 2)
		both.Go(func() { second = run() })
		both.Wait()
		for _, waits := range []string{first, second, run()} {
			if waits != "1s 2s 4s" {
				waits = "**" + waits + "**"
			}
			answer = append(answer, waits)
		}
	})
	return answer
}

func after(d time.Duration) string {
	if d == 0 {
		return "at once"
	}
	return fmt.Sprintf("**%v** later", d)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "**no**"
}
