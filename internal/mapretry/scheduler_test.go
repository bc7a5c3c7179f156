package mapretry

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each script is a list of lines "event: what the scheduler returns, and what must be done". Items are numbered from 0,
// workers from 1. "1 next 5" is a call of next for worker 1 at the time 5.
func TestScheduler(t *testing.T) {
	for name, c := range map[string]struct {
		workers, pending int
		ordered          bool
		script           string
	}{
		"an item goes through": {1, 10, false, `
			take: wait
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			1 ok: wake consumer
			1 next ?: idle
			take: 0
			offer: ok, wake 1
			1 arrive: -
			1 next ?: call 1
			end: -
			take: wait
			1 ok: wake consumer
			take: 1
			take: end`},
		"a new worker comes for each item, as long as there may be more": {2, 10, false, `
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			offer: ok, start 1
			2 arrive: -
			2 next ?: call 1
			offer: ok
			1 ok: -
			1 next ?: call 2`},
		"the one that comes has another one come": {3, 10, false, `
			offer: ok, start 1
			offer: ok, start 1
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			2 arrive: -
			2 next ?: call 1
			3 arrive: -
			3 next ?: call 2`},
		"an item waits for the timer": {1, 10, false, `
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			1 wait 3 until 10: -
			1 next 3: set the timer to 10
			timer is set: -
			1 next 3: watch
			1 stops watching: -
			tick: -
			1 next 10: call 0`},
		"what is due goes before what is new": {1, 10, false, `
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 3 until 3: -
			1 next 3: call 0
			1 wait 3 until 4: -
			1 next 3: call 1`},
		"of two that are due together the one that has waited longer goes first": {1, 10, false, `
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			1 next 1: call 1
			1 wait 2 until 9: -
			1 next 9: call 0
			1 wait 9 until 9: -
			1 next 9: call 1`},
		"and so on": {1, 10, false, `
			offer: ok, start 1
			offer: ok
			offer: ok
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			1 next 1: call 1
			1 wait 1 until 9: -
			1 next 1: call 2
			1 wait 1 until 9: -
			1 next 1: call 3
			1 wait 1 until 9: -
			1 next 9: call 0
			1 ok: -
			1 next 9: call 1
			1 ok: -
			1 next 9: call 2
			1 ok: -
			1 next 9: call 3`},
		"the timer is set for what is due first": {1, 10, false, `
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			1 next 1: call 1
			1 wait 2 until 7: -
			1 next 2: set the timer to 7
			timer is set: -
			1 next 2: watch`},
		"and again if something earlier comes, but not for something later": {2, 10, false, `
			offer: ok, start 1
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			2 arrive: -
			2 next ?: call 1
			1 wait 1 until 9: -
			1 next 1: set the timer to 9
			2 wait 1 until 5: -
			2 next 1: watch
			timer is set: -
			1 next 1: set the timer to 5
			timer is set: -
			1 next 1: watch
			offer: ok, wake 1
			1 stops watching, woken: -
			1 next 2: call 2
			1 wait 3 until 7: -
			1 next 3: watch`},
		"somebody watches the timer during a long call": {2, 10, false, `
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			offer: ok, start 1
			1 next 1: call 1
			2 arrive: -
			2 next 1: set the timer to 9
			timer is set: -
			2 next 1: watch`},
		"or else another worker comes to watch": {2, 10, false, `
			offer: ok, start 1
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			1 next 1: call 1
			2 arrive: -
			1 wait 2 until 8: -
			1 next 8: call 1
			2 next 8: set the timer to 9`},
		"before a call the timer is set for those that watch": {3, 10, false, `
			offer: ok, start 1
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			2 arrive: -
			2 next ?: call 1
			1 wait 1 until 9: -
			1 next 1: set the timer to 9
			timer is set: -
			1 next 1: watch
			2 wait 1 until 20: -
			1 stops watching: -
			tick: -
			2 next 1: set the timer to 9
			timer is set: -
			2 next 1: watch
			tick: -
			1 next 9: set the timer to 20
			timer is set: -
			1 next 9: call 0`},
		"an item that comes to be due meanwhile has another worker come": {2, 10, false, `
			offer: ok, start 1
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			2 arrive: -
			2 next ?: call 1
			1 wait 1 until 5: -
			2 wait 1 until 5: -
			1 next 1: set the timer to 5
			timer is set: -
			1 next 1: watch
			2 next 5: call 0, wake 1`},
		"a signal ends the waits that began before it": {1, 10, false, `
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			1 next 1: call 1
			signal 1 at 4: -
			1 wait 5 until 7, of signal 1: -
			1 next 6: call 0`},
		"a signal between a failure and its wait too": {1, 10, false, `
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9 after signal 1: -
			1 next 1: call 0`},
		"the source waits when enough is pending": {1, 2, false, `
			offer: ok, start 1
			offer: ok
			offer: full
			1 arrive: -
			1 next ?: call 0
			1 wait 0 until 9: -
			1 next 0: call 1
			1 ok: wake source
			offer: ok
			offer: full`},
		"results that are held back are pending": {1, 2, true, `
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 0 until 9: -
			1 next 0: call 1
			1 ok: -
			offer: full
			1 next 9: call 0
			take: wait
			1 ok: wake source, wake consumer
			take: 0 1`},
		"the source waits when the buffer is full, until it is half empty": {1, 99, false, `
			offer: ok, start 1
			offer: ok
			offer: ok
			offer: ok
			offer: full
			1 arrive: -
			1 next ?: call 0
			1 ok: -
			1 next ?: call 1, wake source
			offer: ok`},
		"workers wait when there is no place for results": {1, 99, false, `
			offer: ok, start 1
			offer: ok
			offer: ok
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 ok: -
			1 next ?: call 1
			1 ok: -
			1 next ?: call 2
			1 ok: -
			1 next ?: call 3
			1 ok: -
			offer: ok
			1 next ?: idle
			take: 0 1 2 3
			offer: ok
			consumer has 3 left: wake 1
			1 arrive: -
			1 next ?: call 4
			consumer has 2 left: -`},
		"after a failure that ends the stream none is called": {2, 99, false, `
			offer: ok, start 1
			offer: ok, start 1
			1 arrive: -
			1 next ?: call 0
			2 arrive: -
			2 next ?: call 1
			offer: ok
			2 wait 1 until 2: -
			1 fails: -
			1 next 3: idle
			take: 0
			unfinished: 1`},
		"unless it is an earlier one and the order counts": {2, 99, true, `
			offer: ok, start 1
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			2 arrive: -
			2 next ?: call 1
			1 wait 1 until 2: -
			2 fails: -
			2 next 1: set the timer to 2
			1 next 2: call 0
			1 ok: -
			take: 0 1`},
		"what is abandoned is unfinished": {1, 99, false, `
			offer: ok, start 1
			offer: ok
			1 arrive: -
			1 next ?: call 0
			1 wait 1 until 9: -
			1 next 1: call 1
			end: -
			take: wait
			1 abandons: -
			unfinished: 1 0`},
		"a source that ends with nothing left ends the run": {1, 99, false, `
			take: wait
			end: wake consumer
			take: end`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &player{s: newScheduler[int, int](c.workers, c.pending, c.ordered), workers: make([]worker[int], 1+c.workers)}
			for line := range strings.Lines(strings.TrimSpace(c.script)) {
				event, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
				if got := p.play(t, event); got != want {
					t.Fatalf("%s: got %q, want %q", event, got, want)
				}
			}
		})
	}
}

// player plays the events of a script.
type player struct {
	s       scheduler[int, int]
	workers []worker[int] // from 1
	offered int
}

// play returns what the scheduler returned for the event, and what must be done.
func (p *player) play(t *testing.T, event string) string {
	var (
		said []string
		n, i int
		at   time.Duration
	)
	switch {
	case event == "offer":
		said = append(said, map[bool]string{true: "ok", false: "full"}[p.s.offer(p.offered)])
		p.offered++
	case event == "end":
		p.s.end()
	case event == "take":
		said = append(said, p.take())
	case scan(event, "consumer has %d left", &n):
		p.s.comeTo(n)
	case event == "tick":
		p.s.tick()
	case event == "timer is set":
		p.s.timerIsSet()
	case scan(event, "signal %d at %d", &n, &at):
		p.s.signal(uint64(n), at)
	case event == "unfinished":
		var items []any
		for it := range p.s.notFinished {
			items = append(items, it.value)
		}
		said = append(said, strings.TrimSpace(fmt.Sprintln(items...)))
	case scan(event, "%d", &i):
		_, event, _ := strings.Cut(event, " ")
		said = append(said, p.work(t, &p.workers[i], event)...)
	default:
		t.Fatal("no event: ", event)
	}
	return strings.Join(append(said, p.todo(len(said))...), ", ")
}

func (p *player) take() string {
	ready, more := p.s.take(nil)
	switch {
	case len(ready) > 0:
		var seqs []any
		for _, r := range ready {
			seqs = append(seqs, r.seq)
		}
		return strings.TrimSpace(fmt.Sprintln(seqs...))
	case more:
		return "wait"
	}
	return "end"
}

// work plays an event of a worker.
func (p *player) work(t *testing.T, w *worker[int], event string) []string {
	var (
		now, due time.Duration
		fires    uint64
	)
	switch {
	case event == "arrive":
		p.s.arrive()
	case event == "stops watching", event == "stops watching, woken":
		p.s.stopWatching(event != "stops watching")
	case event == "next ?":
		return p.next(w, unknown)
	case scan(event, "next %d", &now):
		return p.next(w, now)
	case event == "ok":
		p.s.finish(w, &intResult{seq: w.item.seq})
	case event == "fails":
		p.s.finish(w, &intResult{seq: w.item.seq, kind: failure})
	case scan(event, "wait %d until %d after signal %d", &now, &due, &fires):
		p.s.wait(w, now, due, 0, fires)
	case scan(event, "wait %d until %d, of signal %d", &now, &due, &fires):
		p.s.wait(w, now, due, fires, fires)
	case scan(event, "wait %d until %d", &now, &due):
		p.s.wait(w, now, due, p.s.fires, p.s.fires)
	case event == "abandons":
		p.s.abandon(w)
	default:
		t.Fatal("no event of a worker: ", event)
	}
	return nil
}

func (p *player) next(w *worker[int], now time.Duration) []string {
	switch step, due := p.s.next(w, now); step {
	case makeCall:
		return []string{fmt.Sprint("call ", w.item.value)}
	case setTimer:
		return []string{fmt.Sprintf("set the timer to %d", due)}
	case watch:
		return []string{"watch"}
	}
	return []string{"idle"}
}

func (p *player) todo(said int) (what []string) {
	do := p.s.todo
	p.s.todo = todo{}
	if do.source {
		what = append(what, "wake source")
	}
	if do.consumer {
		what = append(what, "wake consumer")
	}
	if do.wake > 0 {
		what = append(what, fmt.Sprint("wake ", do.wake))
	}
	if do.start > 0 {
		what = append(what, fmt.Sprint("start ", do.start))
	}
	if len(what)+said == 0 {
		return []string{"-"}
	}
	return what
}

// scan reports whether the event has the given form.
func scan(event, form string, args ...any) bool {
	n, err := fmt.Sscanf(event, form, args...)
	return err == nil && n == len(args)
}
