package report

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/retry"
)

func of(t *testing.T, text string, rows int) Schedule {
	t.Helper()
	p, err := retry.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return scheduleOf(Strategy{Policy: p}, rows)
}

func TestRows(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string][]Row{
		"exponential base=100ms factor=2 cap=300ms": {{1, 100 * ms, 100 * ms, 100 * ms, 100 * ms}, {2, 200 * ms, 200 * ms, 200 * ms, 300 * ms}, {3, 300 * ms, 300 * ms, 300 * ms, 600 * ms}},
		"linear d=100ms jitter=equal":               {{1, 50 * ms, 75 * ms, 100*ms - 1, 75 * ms}, {2, 100 * ms, 150 * ms, 200*ms - 1, 225 * ms}},
		"linear d=100ms tiled":                      {{1, 0, 50 * ms, 100*ms - 1, 50 * ms}, {2, 100 * ms, 150 * ms, 200*ms - 1, 200 * ms}},
		"sidekiq":                                   {{1, 15 * time.Second, 30 * time.Second, 45*time.Second - 1, 30 * time.Second}},
	}
	for text, want := range tests {
		got := of(t, text, len(want)).Rows
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", text, len(got), len(want))
			continue
		}
		for i := range want {
			if near := got[i]; near.N != want[i].N || near.Least != want[i].Least || near.Median != want[i].Median || near.Most-want[i].Most < 0 || near.Most-want[i].Most > 1 || near.Cumulative != want[i].Cumulative {
				t.Errorf("%s: row %d is %+v, want %+v", text, i+1, got[i], want[i])
			}
		}
	}
}

func TestDecorrelatedEndsAreThoseOfTheChain(t *testing.T) {
	rows := of(t, "decorrelated base=100ms cap=2s", 4).Rows
	most := []time.Duration{300 * time.Millisecond, 900 * time.Millisecond, 2 * time.Second, 2 * time.Second}
	for i, r := range rows {
		if r.Least != 100*time.Millisecond || (most[i]-r.Most).Abs() > 100 {
			t.Errorf("%+v, want 100ms and %v", r, most[i])
		}
		if r.Median <= r.Least || r.Median >= r.Most {
			t.Errorf("%+v: the median is not between the ends", r)
		}
	}
	// The first step is uniform between base and 3·base.
	if m := rows[0].Median; (m - 200*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("the first median is %v, want 200ms", m)
	}
	for _, r := range of(t, "decorrelated base=100ms key=3", 4).Rows {
		if r.Least != r.Median || r.Most != r.Median {
			t.Errorf("keyed: %+v", r)
		}
	}
}

func TestEnd(t *testing.T) {
	tests := []struct {
		text string
		rows int
		end  string
	}{
		{"constant d=1s", 10, ""},
		{"constant d=1s limit=3", 3, "the limit of 3 retries is reached"},
		{"constant d=1s limit=1", 1, "the limit of 1 retry is reached"},
		{"constant d=1s limit=0", 0, "the limit of 0 retries is reached"},
		{"constant d=1s limit=99", 10, ""},
		{"constant d=1s within=5s", 5, "later than 5s after the first failure"},
		{"exponential base=1s factor=2 stopat=10s", 4, "the backoff would be 16s, and it stops at 10s"},
	}
	for _, test := range tests {
		s := of(t, test.text, 10)
		if len(s.Rows) != test.rows || !strings.Contains(s.End, test.end) || (test.end == "") != (s.End == "") {
			t.Errorf("%s: %d rows, %q; want %d, %q", test.text, len(s.Rows), s.End, test.rows, test.end)
		}
	}
}

func TestSumsDoNotOverflow(t *testing.T) {
	rows := of(t, "exponential base=1h factor=10", 50).Rows
	for i, r := range rows[1:] {
		if r.Cumulative < rows[i].Cumulative {
			t.Fatalf("row %d: %v after %v", r.N, r.Cumulative, rows[i].Cumulative)
		}
	}
	if rows[49].Cumulative != math.MaxInt64 {
		t.Error(rows[49])
	}
}

// The axes of the picture have at most 12 ticks of retries, 6 of waits and 9 of times, without the origin.
func TestShowTicks(t *testing.T) {
	for retries, test := range map[int]struct{ strategies, ticks []string }{
		12: {
			[]string{"constant d=0s", "constant d=6s limit=1", "constant d=3s limit=3"},
			[]string{"1 2 3 4 5 6 7 8 9 10 11 12", "0 1s 2s 3s 4s 5s 6s", "0 1s 2s 3s 4s 5s 6s 7s 8s 9s"},
		},
		13: {
			[]string{"constant d=0s", "constant d=7s limit=1", "constant d=5s limit=2"},
			[]string{"2 4 6 8 10 12", "0 2s 4s 6s", "0 2s 4s 6s 8s 10s"},
		},
	} {
		f := Show{Strategies: strategies(t, test.strategies...), Retries: retries}.Run().Figure()
		for i, a := range []picture.Axis{f.Panels[0].X, f.Panels[0].Y, f.Panels[1].X} {
			var labels []string
			for _, tick := range a.Ticks {
				labels = append(labels, tick.Label)
			}
			if got := strings.Join(labels, " "); got != test.ticks[i] {
				t.Errorf("%d retries: axis %d has the ticks %s, want %s", retries, i, got, test.ticks[i])
			}
		}
	}
}

// A wide text has a chart next to the table, over an axis from 0.
func TestShowHasAChartIfThereIsRoom(t *testing.T) {
	s := Show{Strategies: strategies(t, "linear d=1s"), Retries: 2}.Run()
	axis := regexp.MustCompile(`(?m)^ +0 .* 2s$`)
	if wide, narrow := strings.Join(s.Text(100), "\n"), strings.Join(s.Text(50), "\n"); !axis.MatchString(wide) || axis.MatchString(narrow) {
		t.Errorf("got\n%s\nand\n%s", wide, narrow)
	}
}
