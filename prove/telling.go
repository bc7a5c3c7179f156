package prove

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// telling tells the user of a check how far it is and what it has found. It is safe for concurrent use.
type telling struct {
	clock      *clock
	known      []Known
	onFinding  func(Finding)
	onProgress func(done, of int)
	cancel     context.CancelCauseFunc // ends the check

	mu    sync.Mutex
	done  int
	total int
	told  map[string]bool // the kinds of which onFinding knows
}

func newTelling(known []Known, onFinding func(Finding), onProgress func(done, of int)) telling {
	return telling{clock: newClock(), known: known, onFinding: onFinding, onProgress: onProgress, told: map[string]bool{}}
}

// begin starts the clock of a check, whose context it returns, and the function that ends both.
func (t *telling) begin(ctx context.Context) (running context.Context, end func()) {
	running, t.cancel = context.WithCancelCause(ctx)
	var ticks sync.WaitGroup
	ticks.Go(func() { t.clock.run(running) })
	return running, func() {
		t.cancel(nil)
		ticks.Wait()
	}
}

// progress records that so many more scenarios are over.
func (t *telling) progress(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done += n
	if t.onProgress != nil {
		t.onProgress(t.done, t.total)
	}
}

// finding makes a finding of a fault that so many scenarios could show.
func (t *telling) finding(f *judge.Fault, scenarios int) Finding {
	finding := Finding{Kind: Kind(f.Kind), Where: f.Where, What: f.What, Mend: f.Mend, Shown: f.Shown, Scenarios: scenarios, Timeline: f.Timeline}
	if i := slices.IndexFunc(t.known, func(k Known) bool { return k.is(finding) }); i >= 0 {
		finding.Known = t.known[i].Why
	}
	return finding
}

// tell calls onFinding, unless it knows of the kind. The caller holds the mutex.
func (t *telling) tell(finding Finding) {
	key := string(finding.Kind) + finding.Known
	if !t.told[key] && t.onFinding != nil {
		t.onFinding(finding)
	}
	t.told[key] = true
}

// is reports whether the finding is what is known.
func (k Known) is(f Finding) bool { return f.Kind == k.Kind && strings.Contains(f.Where, k.Where) }

// missing returns what is known and was not found.
func missing(findings []Finding, known []Known) (missing []Known) {
	for _, k := range known {
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Known != "" && k.is(f) }) {
			missing = append(missing, k)
		}
	}
	return missing
}

// orDefault sets a field of a Target or Calls that is 0.
func orDefault[T int | time.Duration](name string, field *T, value T) {
	if *field < 0 {
		panic(fmt.Sprintf("prove: %s is %v, want at least 0", name, *field))
	}
	*field = cmp.Or(*field, value)
}
