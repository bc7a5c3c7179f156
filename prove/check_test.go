package prove_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/prove"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "16") // tests wait for real time
	check.Main(m)
}

// night reports whether tests may take long.
var night = os.Getenv("RETRYWHEN_NIGHTLY") != ""

func kinds(r prove.Report) (all []prove.Kind) {
	for _, f := range r.Findings {
		all = append(all, f.Kind)
	}
	slices.Sort(all)
	return all
}

// measured returns what reports whether the undisturbed runs are over.
func measured(target *prove.Target) func() bool {
	var over atomic.Bool
	target.OnProgress = func(int, int) { over.Store(true) }
	return over.Load
}

// wrong has the clients with one fault each.
var wrong = map[string]struct {
	client
	kinds []prove.Kind
	way   prove.Way // the first that shows it
}{
	"from the beginning again": {client{again: true}, []prove.Kind{prove.Repeated}, prove.Cut},
	"from the end":             {client{fromEnd: true}, []prove.Kind{prove.Lost}, prove.Cut},
	"half lines":               {client{half: true}, []prove.Kind{prove.Foreign, prove.Lost}, prove.Amid},
	"gives up silently":        {client{givesUp: true}, []prove.Kind{prove.Ended}, prove.Cut},
	"gives up":                 {client{fails: true}, []prove.Kind{prove.GaveUp}, prove.Cut},
	"spins":                    {client{spins: true}, []prove.Kind{prove.Hot}, prove.Refuse},
	"spins after an end":       {client{spinsAtEnd: true}, []prove.Kind{prove.Hot}, prove.Refuse},
	"deaf to silence":          {client{deaf: true}, []prove.Kind{prove.Silent}, prove.Silence},
	"ignores its context":      {client{stubborn: true}, []prove.Kind{prove.Late}, prove.Cut},
	"keeps connections":        {client{keeps: true}, []prove.Kind{prove.Open}, prove.Cut},
	"wrong the second time":    {client{second: true}, []prove.Kind{prove.Lost}, prove.Twice},
	"goes away":                {client{leaves: true}, []prove.Kind{prove.Away}, prove.Cut},
	"swaps":                    {client{swaps: true}, []prove.Kind{prove.Order}, prove.Cut},
	"reads past the proxy":     {client{past: true}, []prove.Kind{prove.Past}, prove.Silence},
	"panics":                   {client{panics: true}, []prove.Kind{prove.Panic}, prove.Cut},
}

func TestCheck_NamesTheFault(t *testing.T) { // alone, so that a program that spins can do so
	s := newServer(t)
	var checks sync.WaitGroup
	for name, test := range wrong {
		checks.Go(func() {
			target := s.target(test.run)
			target.Places = 3
			target.GivesUp = test.givesUp // that allows an end with an error only
			if !night {
				target.Ways = []prove.Way{test.way} // at night all ways, of which this is the first that shows it
			}
			if test.past {
				goPast(&target)
			}
			var told []prove.Kind
			target.OnFinding = func(f prove.Finding) { told = append(told, f.Kind) }
			begun := target.OnProgress
			target.OnProgress = func(done, of int) {
				if done == 0 {
					told = nil
				}
				if begun != nil {
					begun(done, of)
				}
			}
			checked(t, target, func(report prove.Report, err error) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				slices.Sort(told)
				if !slices.Equal(kinds(report), test.kinds) || !slices.Equal(told, test.kinds) {
					t.Errorf("%s: got %v and was told %v, want %v", name, kinds(report), told, test.kinds)
				}
				for _, f := range report.Findings {
					if !strings.HasPrefix(f.Where, string(test.way)+" ") || f.Shown == 0 || f.Shown > f.Scenarios || len(f.Timeline) == 0 ||
						test.half && !strings.HasPrefix(f.Mend, "does it take half a value for a whole one? A value") {
						t.Errorf("%s: %s: %+v", name, f, f)
					}
				}
			})
		})
	}
	checks.Wait()
	kept.Range(func(c, _ any) bool { return c.(net.Conn).Close() == nil })
}

// goPast makes a target's program read from the server itself when it is disturbed, as if the server had told it
// another address.
func goPast(target *prove.Target) {
	target.Every = 200 * time.Millisecond
	past, disturbed := target.Client, measured(target)
	target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
		if disturbed() {
			return past(ctx, r, got)
		}
		return client{}.run(ctx, r, got)
	}
}

// A program that does not need the proxy need not come back to it, also if that is known.
func TestCheck_PastTheProxyIsNotAway(t *testing.T) {
	t.Parallel()
	target := newServer(t).target(client{past: true, leaves: true}.run)
	target.Places, target.Ways = 3, []prove.Way{prove.Cut, prove.Silence}
	goPast(&target)
	target.Known = []prove.Known{{Kind: prove.Past, Why: "the server tells it another address"}}
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || !slices.Equal(kinds(report), []prove.Kind{prove.Past}) {
			t.Errorf("got %v, %v, want %v", kinds(report), err, prove.Past)
		}
	})
}

func TestCheck_RightClients(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var checks sync.WaitGroup
	for name, change := range map[string]func(*prove.Target){
		"right":            func(*prove.Target) {},
		"right again":      func(*prove.Target) {},
		"and again":        func(*prove.Target) {},
		"repeats, allowed": func(p *prove.Target) { p.Client, p.AtLeastOnce = client{again: true}.run, true },
		"swaps, allowed":   func(p *prove.Target) { p.Client, p.AnyOrder = client{swaps: true}.run, true },
		"the first one is late, allowed": func(p *prove.Target) {
			p.Ways, p.Places, p.AnyOrder = []prove.Way{prove.End}, 2, true
			disturbed := measured(p)
			p.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				return client{}.run(ctx, r, func(v string) {
					if disturbed() && v == "event 1" {
						time.AfterFunc(2*time.Second, func() { got(v) }) // longer than Quiet after the last one
					} else {
						got(v)
					}
				})
			}
		},
		"wrong once": func(p *prove.Target) { // only what a scenario shows twice is a finding
			disturbed := measured(p)
			var was atomic.Bool
			p.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				return client{}.run(ctx, r, func(v string) {
					if got(v); disturbed() && v == "event 2" && was.CompareAndSwap(false, true) {
						got(v)
					}
				})
			}
		},
		"gives up, allowed": func(p *prove.Target) { p.Client, p.GivesUp = client{fails: true}.run, true },
		"skips, allowed":    func(p *prove.Target) { p.Client, p.Latest, p.AtLeastOnce = client{lastOnly: true}.run, true, true },
		"it polls":          func(p *prove.Target) { p.Client = client{polls: true}.run },
		"it ends":           func(p *prove.Target) { p.Client = client{finite: true}.run },
		"it writes":         func(p *prove.Target) { p.Client, p.Ways = client{writes: true}.run, []prove.Way{prove.End} },
		"one of two connections goes on": func(p *prove.Target) {
			p.Ways, p.Places = []prove.Way{prove.Cut}, 24
			p.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				var task sync.WaitGroup
				defer task.Wait()
				second := sync.OnceFunc(func() {
					task.Go(func() {
						_ = client{leaves: true}.run(ctx, prove.Run{Name: "nothing" + r.Name, Addr: r.Addr}, func(string) {})
					})
				})
				return client{}.run(ctx, r, func(v string) { second(); got(v) })
			}
		},
		"a run after the other": func(p *prove.Target) { p.Parallel, p.Places, p.Ways = 1, 1, []prove.Way{prove.Cut} },
	} {
		checks.Go(func() {
			target := s.target(client{}.run)
			if !night {
				target.Places = 3
			}
			change(&target)
			checked(t, target, func(report prove.Report, err error) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				for _, f := range report.Findings {
					t.Errorf("%s: %s: %s\n%s", name, f.Kind, f, strings.Join(f.Timeline, "\n"))
				}
				if target.Ways == nil && (report.Scenarios < 4*report.Places || report.Places == 0) { // some chunks have no half
					t.Errorf("%s: %+v", name, report)
				}
			})
		})
	}
	checks.Wait()
}

// A scenario that does not show its fault again is neither named nor counted, unless its kind is certain already.
func TestCheck_ShownOnce(t *testing.T) {
	t.Parallel()
	target := newServer(t).target(nil)
	target.Ways, target.Places, target.Parallel = []prove.Way{prove.End}, 3, 1
	over, failed := -1, false // scenarios that are over; the first one has shown its fault
	target.OnProgress = func(done, _ int) {
		if over = done; over == 0 {
			failed = false
		}
	}
	target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
		wrong := over == 0 && !failed || over >= 2
		err := client{fails: wrong}.run(ctx, r, got)
		failed = failed || wrong && err != nil
		return err
	}
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) != 1 || !strings.HasPrefix(report.Findings[0].Where, "end before chunk ") ||
			strings.HasPrefix(report.Findings[0].Where, "end before chunk 1 ") || report.Findings[0].Shown != 2 {
			t.Errorf("got %v and %+v", err, report)
		}
	})
}

// What never came from the server is a line of a log; half a value did.
func TestCheck_LogLines(t *testing.T) {
	t.Parallel()
	target := newServer(t).target(nil)
	target.Ways, target.Places = []prove.Way{prove.End}, 2
	target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
		first := true
		return client{transform: func(v string) string {
			if v == "event 1" && !first {
				got("connected again")
			}
			first = false
			return v
		}, again: true}.run(ctx, r, got)
	}
	target.AtLeastOnce, target.AnyOrder = true, true
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != prove.Foreign || !strings.HasPrefix(report.Findings[0].Mend, "is it a line of a log?") {
			t.Errorf("got %v and %+v", err, report)
		}
	})
}

// An undisturbed run with which others cannot be compared is the last one.
func TestCheck_TheFirstRunIsOfNoUse(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for want, change := range map[string]func(*prove.Target){
		"and made no connection through the proxy": func(p *prove.Target) {
			p.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				got("banner")
				return client{direct: true}.run(ctx, r, got)
			}
		},
		"and the server cannot be reached": func(p *prove.Target) { p.Server = "127.0.0.1:1" },
	} {
		target := s.target(client{}.run)
		target.Parallel = 1 // the second run is not played
		change(&target)
		run, runs := target.Client, 0
		target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
			runs++
			return run(ctx, r, got)
		}
		checked(t, target, func(_ prove.Report, err error) {
			if err == nil || !strings.Contains(err.Error(), want) || runs != 1 {
				t.Errorf("got %v after %d runs, want %s", err, runs, want)
			}
		})
	}
}

// A client that stands every break but one of a connection that has delivered all.
func TestCheck_AfterTheLastValue(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	target := s.target(nil)
	target.Ways, target.Places = []prove.Way{prove.End}, 3
	target.Client = client{failsAt: 6}.run
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Where != "end after the last value" || report.Findings[0].Kind != prove.GaveUp {
			t.Errorf("got %v and %+v", err, report)
		}
	})
}

// Undisturbed runs that connect again, because the machine is busy say, have places that other runs do not have.
func TestCheck_ConnectionsDiffer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	target := s.target(nil)
	target.Ways = []prove.Way{prove.Cut, prove.Amid, prove.End}
	disturbed := measured(&target)
	target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
		return client{reconnects: !disturbed()}.run(ctx, r, got)
	}
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) > 0 {
			t.Errorf("got %v and %+v", err, report)
		}
	})
	// A connection that the program has replaced cannot break, although the server still sends.
	target.Ways = []prove.Way{prove.End}
	target.Events, target.Every = 2, 5*heartbeat/2 // a heartbeat follows each event
	target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
		return client{reconnects: disturbed(), fails: true}.run(ctx, r, got)
	}
	disturbed = measured(&target)
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != prove.GaveUp || report.Findings[0].Shown != report.Scenarios {
			t.Errorf("got %v and %+v, want each scenario to show %s", err, report, prove.GaveUp)
		}
	})
}

// stored is a client that has stored the events.
func stored(ctx context.Context, _ prove.Run, got func(string)) error {
	for n := range 6 {
		got(fmt.Sprintf("event %d", n+1))
	}
	<-ctx.Done()
	return nil
}

// Findings stay when fewer than half of the breaks took place, and nothing found is an error.
func TestCheck_TooFewBreaks(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var checks sync.WaitGroup
	for _, again := range []bool{false, true} {
		checks.Go(func() {
			target := s.target(nil)
			target.Ways, target.Places, target.Parallel = []prove.Way{prove.End, prove.Cut}, 4, 1
			disturbed := measured(&target)
			runs, told := 0, false
			target.OnFinding = func(prove.Finding) { told = true }
			target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				if disturbed() {
					runs++
				}
				if runs < 2 || again && !told {
					return client{again: again}.run(ctx, r, got)
				}
				return stored(ctx, r, got)
			}
			checked(t, target, func(report prove.Report, err error) {
				want := "prove: a connection broke as planned in "
				if plays := report.Scenarios + 2*report.NotPlayed; !again && runs != plays {
					t.Errorf("%d runs of %+v, want %d", runs, report, plays)
				}
				if err == nil || !strings.HasPrefix(err.Error(), want) || report.Scenarios == 0 || again != slices.Equal(kinds(report), []prove.Kind{prove.Repeated}) {
					t.Errorf("got %v and %+v, want %s", err, report, want)
				}
			})
		})
	}
	checks.Wait()
}

// What cannot be judged is never nothing found.
func TestCheck_CannotBeJudged(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	trouble := errors.New("the disk is full")
	var checks sync.WaitGroup
	for want, change := range map[string]func(*prove.Target){
		`prove: Target.Server is "x", want host:port`: func(p *prove.Target) { p.Server = "x" },
		"prove: undisturbed: the program delivered 6 values and made no connection through the proxy": func(p *prove.Target) {
			p.Client, p.Event = client{direct: true}.run, nil
			p.Before = func(ctx context.Context, r prove.Run) error { return s.fill(ctx, r) }
		},
		"prove: undisturbed: the program ended after 0 values: the disk is full": func(p *prove.Target) {
			p.Client = func(context.Context, prove.Run, func(string)) error { return trouble }
		},
		"prove: undisturbed: nothing came from the server, on 1 connection through the proxy, and the server cannot be reached": func(p *prove.Target) {
			p.Server, p.Client = "127.0.0.1:1", client{givesUp: true}.run
		},
		"prove: undisturbed: before: the disk is full": func(p *prove.Target) {
			p.Before = func(context.Context, prove.Run) error { return trouble }
		},
		"prove: undisturbed: event 1: the disk is full": func(p *prove.Target) {
			p.Event = func(context.Context, prove.Run, int) error { return trouble }
		},
		`prove: two undisturbed runs differ: value 2 is "event 2, run`: func(p *prove.Target) {
			p.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				return client{transform: func(v string) string { return strings.Replace(v, "event 2", "event 2, run "+r.Name, 1) }}.run(ctx, r, got)
			}
		},
		"prove: a connection broke as planned in 0 of ": func(p *prove.Target) {
			p.Ways, p.Parallel, p.Quiet = []prove.Way{prove.Silence}, 1, 300*time.Millisecond
			disturbed := measured(p)
			p.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
				if !disturbed() {
					return client{}.run(ctx, r, got)
				}
				return stored(ctx, r, got)
			}
		},
	} {
		checks.Go(func() {
			target := s.target(client{}.run)
			target.Places = 6
			change(&target)
			checked(t, target, func(report prove.Report, err error) {
				if err == nil || !strings.HasPrefix(err.Error(), want) || len(report.Findings) > 0 {
					t.Errorf("got %v and %+v, want %s", err, report, want)
				}
			})
		})
	}
	checks.Wait()
}

// An end of the context ends all runs, and the report has what is known.
func TestCheck_IsCancelled(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	var running sync.Map
	target := s.target(func(ctx context.Context, r prove.Run, got func(string)) error {
		running.Store(r.Name, true)
		defer running.Delete(r.Name)
		return client{again: true}.run(ctx, r, got)
	})
	target.OnFinding = func(prove.Finding) { cancel(stopped) }
	report, err := target.Check(ctx)
	if !errors.Is(err, stopped) || !slices.Equal(kinds(report), []prove.Kind{prove.Repeated}) {
		t.Errorf("got %v and %+v", err, report)
	}
	running.Range(func(name, _ any) bool { t.Errorf("%s still runs", name); return true })
}

func TestCheck_Progress(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	target := s.target(client{}.run)
	target.Ways, target.Places = []prove.Way{prove.End}, 2
	var told []string
	target.OnProgress = func(done, of int) {
		if done == 0 {
			told = nil
		}
		told = append(told, fmt.Sprintf("%d/%d", done, of))
	}
	checked(t, target, func(report prove.Report, err error) {
		var want []string
		for n := range report.Scenarios + report.NotPlayed + 1 {
			want = append(want, fmt.Sprintf("%d/%d", n, report.Scenarios+report.NotPlayed))
		}
		if err != nil || len(want) < 3 || !slices.Equal(told, want) {
			t.Errorf("got %v and %v, want %v", err, told, want)
		}
	})
}

func TestFinding_String(t *testing.T) {
	f := prove.Finding{Where: "cut", What: "lost 1", Scenarios: 1}
	for _, test := range []struct {
		change func()
		want   string
	}{
		{func() {}, "cut: lost 1"},
		{func() { f.Mend = "mend?" }, "cut: lost 1; mend?"},
		{func() { f.Shown, f.Scenarios = 2, 3 }, "cut: lost 1; mend? (2 of 3 such scenarios)"},
		{func() { f.Known = "issue 7" }, "cut: lost 1; mend? (2 of 3 such scenarios); known: issue 7"},
	} {
		if test.change(); f.String() != test.want {
			t.Errorf("got %q, want %q", f, test.want)
		}
	}
}

func TestCheck_PanicsOnMistakes(t *testing.T) {
	run := func(context.Context, prove.Run, func(string)) error { return nil }
	for want, target := range map[string]prove.Target{
		"prove: Target.Client is nil":                                                                {},
		"prove: Target.Within is -1ns, want at least 0":                                              {Client: run, Server: "x:1", Within: -1},
		"prove: Target.Quiet is -1s, want at least 0":                                                {Client: run, Server: "x:1", Quiet: -time.Second},
		"prove: Target.Places is -3, want at least 0":                                                {Client: run, Server: "x:1", Places: -3},
		`prove: Target.Ways has "cat", want some of ["cut" "amid" "end" "silence" "refuse" "twice"]`: {Client: run, Server: "x:1", Ways: []prove.Way{"cat"}},
	} {
		check.Panics(t, want, func() { _, _ = target.Check(t.Context()) })
	}
}
