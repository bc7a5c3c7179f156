package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// spenderRole makes as many retries as the budget lets it, and writes down when.
func spenderRole(url, journal string) int {
	ctx, cancel := child()
	defer cancel()
	b, err := durable.OpenBudget(ctx, durable.BudgetConfig{URL: url, Name: "fleet", Tokens: 100})
	if err != nil {
		fmt.Fprintln(os.Stderr, "spender:", err)
		return 1
	}
	defer b.Close()
	var spent []byte
	policy := retry.New(backoff.Constant(time.Millisecond), b.Option(), retry.OnRetry(func(context.Context, retry.Event) {
		spent = strconv.AppendInt(spent, time.Now().UnixNano(), 10)
		spent = append(spent, '\n')
	}))
	fmt.Println("ready")
	for ctx.Err() == nil {
		retry.Run(ctx, policy, func(context.Context) error { return errors.New("down") })
		time.Sleep(2 * time.Millisecond) // the budget is empty
	}
	if err := os.WriteFile(journal, spent, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "spender:", err)
		return 1
	}
	if b.Silent() {
		fmt.Fprintln(os.Stderr, "spender: the server counts as silent")
	}
	return 0
}

func TestAFleetSharesABudget(t *testing.T) {
	t.Parallel()
	const processes = 4
	srv := start(t, embedded.Listen(0))
	dir := t.TempDir()
	began := time.Now()
	var fleet []*process
	for i := range processes {
		fleet = append(fleet, spawn(t, "spender", srv.URL(), filepath.Join(dir, strconv.Itoa(i))))
	}
	time.Sleep(4 * time.Second)
	for _, p := range fleet {
		p.stop()
	}
	took := time.Since(began)
	shares, all := readSpent(t, dir, processes)
	// Ten tokens in each tenth of a second that was touched, and no more, however many processes ask.
	if most := 10 * (int(took/(100*time.Millisecond)) + 2); all > most {
		t.Errorf("%d retries in %v, want at most %d", all, took, most)
	}
	if all == 0 {
		t.Error("no retries at all")
	}
	t.Logf("%d retries in %v, %.0f a second, shared as %v", all, took.Round(time.Millisecond), float64(all)/took.Seconds(), shares)
}

func readSpent(t *testing.T, dir string, processes int) (shares []int, all int) {
	t.Helper()
	for i := range processes {
		data, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range data {
			if c == '\n' {
				n++
			}
		}
		shares, all = append(shares, n), all+n
	}
	return shares, all
}

func TestABudgetFallsBackToALocalOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	port := freePort(t)
	server := spawn(t, "server", dir, port)
	b, err := durable.OpenBudget(t.Context(), durable.BudgetConfig{URL: "nats://127.0.0.1:" + port, Name: "alone",
		Tokens: 1000, Local: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	spend := func() {
		policy := retry.New(backoff.Constant(time.Millisecond), b.Option(), retry.Limit(20))
		retry.Run(t.Context(), policy, func(context.Context) error { return errors.New("down") })
	}
	eventually(t, "the server grants", func() bool { spend(); shared, _ := b.Granted(); return shared >= 10 })
	if _, local := b.Granted(); local != 0 && !b.Silent() {
		t.Errorf("%d local tokens while the server answers", local)
	}
	began := time.Now()
	_, before := b.Granted()
	server.kill()
	eventually(t, "the server is known to be silent, and tokens come", func() bool {
		spend()
		_, local := b.Granted()
		return b.Silent() && local >= before+10
	})
	_, local := b.Granted()
	// What came before the answer was found to be late counts too.
	if most := 20*(time.Since(began)+time.Second).Seconds() + 1; float64(local-before) > most {
		t.Errorf("%d local tokens in %v, want at most %v", local-before, time.Since(began), most)
	}
	shared, _ := b.Granted()
	spawn(t, "server", dir, port)
	eventually(t, "the server grants again", func() bool {
		spend()
		now, _ := b.Granted()
		return !b.Silent() && now > shared
	})
}

func TestABudgetIsOneAcrossPolicies(t *testing.T) {
	t.Parallel()
	srv := start(t)
	b, err := durable.OpenBudget(t.Context(), durable.BudgetConfig{Server: srv, Name: "b", Tokens: 10, Per: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	eventually(t, "there are tokens", func() bool { return b.Local().Tokens() >= 1 })
	b.Close()
	b.Close() // twice does no harm
	left := b.Local().Tokens()
	for _, policy := range []retry.Policy{retry.New(backoff.Backoff{}, b.Option()), retry.New(backoff.Constant(1), b.Option())} {
		err = retry.Run(t.Context(), policy, func(context.Context) error { return errors.New("down") })
		if !errors.Is(err, retry.ErrBudget) {
			t.Errorf("got %v, want ErrBudget", err)
		}
		e, _ := errors.AsType[*retry.Error](err)
		left -= float64(e.Attempts - 1)
	}
	if left >= 1 {
		t.Errorf("%v tokens left", left)
	}
}

// A Per that is no multiple of a tenth of a second has its tokens once all the same.
func TestABudgetOfAnOddPer(t *testing.T) {
	t.Parallel()
	const per, tokens = 199 * time.Millisecond, 20
	b, err := durable.OpenBudget(t.Context(), durable.BudgetConfig{Server: start(t), Name: "odd", Tokens: tokens, Per: per})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	began := time.Now()
	policy := retry.New(backoff.Constant(time.Millisecond), b.Option())
	for time.Since(began) < 2*time.Second {
		retry.Run(t.Context(), policy, func(context.Context) error { return errors.New("down") })
	}
	b.Close()
	shared, local := b.Granted()
	if most := int64(tokens * (time.Since(began)/per + 2)); shared > most || shared == 0 || local != 0 {
		t.Errorf("%d tokens granted, and %d local ones, want at most %d", shared, local, most)
	}
}

func TestBudgetRefusesNonsense(t *testing.T) {
	t.Parallel()
	srv := start(t)
	for _, c := range []durable.BudgetConfig{
		{Server: srv, Name: "b"},
		{Server: srv, Name: "b", Tokens: -1},
		{Server: srv, Name: "b", Tokens: 1, Per: time.Millisecond},
		{Server: srv, Name: "b", Tokens: 1, Local: -1},
		{Server: srv, Name: "", Tokens: 1},
		{Name: "b", Tokens: 1},
	} {
		if b, err := durable.OpenBudget(t.Context(), c); err == nil {
			b.Close()
			t.Errorf("%+v: no error", c)
		} else {
			t.Log(err)
		}
	}
}
