package operators_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// moment is something that a stream does: a value, "|" or "#".
type moment struct {
	at   time.Duration
	what string
}

func (m moment) ends() bool { return m.what == "|" || m.what == "#" }

// moments are what a stream does, in order: nothing comes after the end, and if there is none it waits forever.
type moments []moment

// script is what cold is given to do so.
func (m moments) script() string {
	var words []string
	for _, each := range m {
		words = append(words, fmt.Sprint(each.at.Milliseconds(), each.what))
	}
	return strings.Join(words, " ")
}

// later is the same when it is run after d.
func (m moments) later(d time.Duration) moments {
	m = slices.Clone(m)
	for i := range m {
		m[i].at += d
	}
	return m
}

// random makes a stream of at most five values, whose names begin with the letter.
func random(r *rand.Rand, letter string) (m moments) {
	at := time.Duration(0)
	next := func() time.Duration { at += time.Duration(1+r.IntN(3000)) * ms; return at }
	for i := range r.IntN(6) {
		m = append(m, moment{next(), fmt.Sprint(letter, i%3)})
	}
	switch r.IntN(6) {
	case 0:
	case 1, 2:
		m = append(m, moment{next(), "#"})
	default:
		m = append(m, moment{next(), "|"})
	}
	return m
}

// timeline runs a model: things happen one after the other, in the order of their times. Two at the same time would
// make the outcome a matter of chance.
type timeline struct {
	now     time.Duration
	waiting []happening
	out     moments
	over    bool
	chance  bool
}

type happening struct {
	at time.Duration
	do func()
	of *bool // whether it has been called off
}

// at has do happen then.
func (l *timeline) at(at time.Duration, do func()) (callOff func()) {
	off := new(bool)
	l.waiting = append(l.waiting, happening{at, do, off})
	return func() { *off = true }
}

// follow has do be called with all that m does.
func (l *timeline) follow(m moments, do func(what string)) (callOff func()) {
	var all []func()
	for _, each := range m {
		all = append(all, l.at(each.at, func() { do(each.what) }))
	}
	return func() {
		for _, off := range all {
			off()
		}
	}
}

func (l *timeline) emit(what string) {
	if l.over {
		return
	}
	l.out = append(l.out, moment{l.now, what})
	l.over = l.out[len(l.out)-1].ends()
}

func (l *timeline) run() moments {
	for !l.over {
		l.waiting = slices.DeleteFunc(l.waiting, func(h happening) bool { return *h.of })
		if len(l.waiting) == 0 {
			break
		}
		slices.SortStableFunc(l.waiting, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
		next := l.waiting[0]
		l.chance = l.chance || len(l.waiting) > 1 && l.waiting[1].at == next.at
		l.waiting = l.waiting[1:]
		l.now = next.at
		next.do()
	}
	return l.out
}
