package streamtest

import (
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Diagram subscribes to st, lets time pass until it ends, but not more than d, and returns the marble diagram of what
// it did, with what the letters stand for: those of the given values, of strings and numbers of one letter or digit
// themselves, of others the capital letters. A stream that goes on after d is cancelled. It is for documents that show
// what streams do, and for tests that compare with such a document.
func Diagram[T any](s *Session, d time.Duration, st stream.Stream[T], values ...map[string]T) (diagram string, meaning map[string]T) {
	s.report.Helper()
	if st == nil {
		s.report.Fatalf("streamtest: Diagram: the stream is nil")
	}
	if d < 0 {
		s.report.Fatalf("streamtest: Diagram: d is %v, want >= 0", d)
	}
	l := letters[T]{}
	if len(values) > 0 {
		var err error
		if l, err = newLetters(values); err != nil {
			s.report.Fatalf("streamtest: Diagram: %v", err)
		}
	}
	sub := subscribe(s, "Diagram", st, subscription{open: true})
	timer := time.NewTimer(d)
	select {
	case <-sub.done:
	case <-timer.C:
	}
	timer.Stop()
	s.hand.settle()
	over := sub.returned()
	sub.unsubscribe()
	s.hand.settle()
	alphabet := alphabet[T]{letters: l, used: make(map[string]bool)}
	r := row{until: d}
	if over {
		r.until = 0
	}
	for _, e := range sub.seen() {
		if c, crashed := e.err.(crash); crashed {
			s.report.Fatalf("streamtest: Diagram: the stream %s", string(c))
		}
		if e.at < d || over {
			r.glyphs = append(r.glyphs, glyph{e.at, alphabet.got(e, "")})
		}
	}
	meaning = make(map[string]T)
	for _, n := range alphabet.found {
		meaning[n.letter] = n.value
	}
	drawn, _ := draw(r)
	return drawn[0], meaning
}
