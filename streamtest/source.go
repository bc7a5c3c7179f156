package streamtest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Source is a stream that notes when it is subscribed to.
type Source[T any] struct {
	session *Session
	stream  stream.Stream[T]
	from    time.Time

	mu   sync.Mutex
	runs []subscription
}

// Probe returns src as a Source, so that a test can say when it was subscribed to:
//
//	src := streamtest.Probe(s, streamtest.Cold[string](s, "--a--#"))
//	streamtest.Expect(s, src.Stream().Retry(1)).ToBe("--a----a--#")
//	src.Subscriptions("^----!", "-----^----!")
func Probe[T any](s *Session, src stream.Stream[T]) *Source[T] {
	s.report.Helper()
	if src == nil {
		s.report.Fatalf("streamtest: Probe: src is nil")
	}
	return &Source[T]{session: s, stream: src, from: time.Now()}
}

// Stream returns the stream. Each run of it is a subscription, from the call to its return.
func (src *Source[T]) Stream() stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		src.mu.Lock()
		n := len(src.runs)
		src.runs = append(src.runs, subscription{from: time.Since(src.from), open: true})
		src.mu.Unlock()
		defer func() {
			src.mu.Lock()
			src.runs[n].to, src.runs[n].open = time.Since(src.from), false
			src.mu.Unlock()
		}()
		return src.stream(ctx, yield)
	}
}

// Subscriptions fails the test unless the subscriptions so far were those of the diagrams, in this order: "^" is the
// instant of the subscription and "!" the one at which it was over, ended or cancelled; without "!" it still runs. The
// instant 0 is the one at which the source was made. A diagram without "^", such as "-", stands for no subscription, as in
// RxJS; without diagrams, or with such ones only, there must have been none.
func (src *Source[T]) Subscriptions(diagrams ...string) {
	s := src.session
	s.report.Helper()
	var want []subscription
	for _, text := range diagrams {
		w, err := parseSubscription(text)
		if err != nil {
			s.report.Fatalf("streamtest: Subscriptions: %v", err)
		}
		if !w.never {
			want = append(want, w)
		}
	}
	s.hand.settle()
	src.mu.Lock()
	got := append([]subscription(nil), src.runs...)
	src.mu.Unlock()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			s.report.Errorf("streamtest: the subscriptions are not as expected, from number %d on:\n%s", i+1, compareSubscriptions(want, got))
			return
		}
	}
}

// compareSubscriptions draws what was wanted above what was, for each subscription.
func compareSubscriptions(want, got []subscription) string {
	var rows []row
	for i := range max(len(want), len(got)) {
		for _, all := range [][]subscription{want, got} {
			r := row{}
			if i < len(all) {
				r.glyphs = append(r.glyphs, glyph{all[i].from, "^"})
				if !all[i].open {
					r.glyphs = append(r.glyphs, glyph{all[i].to, "!"})
				}
			}
			rows = append(rows, r)
		}
	}
	drawn, _ := draw(rows...)
	var b strings.Builder
	for i, text := range drawn {
		if len(rows[i].glyphs) == 0 {
			text = "none"
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("    " + []string{"want  ", "got   "}[i%2] + text)
	}
	return b.String()
}
