package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/prove"
)

func newMeasure() *cobra.Command {
	var (
		m      measurer
		known  []string
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "measure [flags] -- command [args...]",
		Short: "Measure what a program's calls do when their server fails",
		Long: `Measure runs a command about 40 times, 30 to 50 s in all, against a server of its
own that fails in another way each time, and says what is retried, how long the
waits are, what is wrong, and which policy it is. The command may be in any
language. It makes one call of the server at {url} and ends: its result is its
stdout, and an error is an exit code other than 0. In the command these are
replaced, and are in the environment too:

  {url}   RETRYWHEN_URL    http://127.0.0.1:port, without a / at the end
  {addr}  RETRYWHEN_ADDR   127.0.0.1:port
  {host}  RETRYWHEN_HOST
  {port}  RETRYWHEN_PORT

Each request is answered with --answer, or passed to --server, but for the one
that fails: the first one that the command makes, or --request. A call that makes
two such requests cannot be measured.

A run's end is SIGTERM to the command's process group, and SIGKILL if that lasts
for longer than --stop; so all commands end when measure is interrupted, unless
that is by SIGKILL. On Windows all that it has started is ended at once.

docs/measure.md says what fails, and what the kinds of findings mean.

Exit codes:

    0  nothing was found
    1  something was found, or a --known was not
    2  wrong usage
  125  nothing could be measured: the command fails or makes no request when
       nothing is wrong, its results differ, or the machine is so busy that it
       may hide a fault
128+n  ended by signal n; what is known is printed`,
		Example: `  retrywhen measure -- curl -sS --fail --retry 4 {url}/price
  retrywhen measure --answer '{"id":7}' --request 'POST /orders' -- python3 order.py {url}`,
		Args: wantsCommand("retrywhen measure -- curl -sS --fail {url}"),
		RunE: func(c *cobra.Command, args []string) error {
			m.args = args
			if err := m.check(known); err != nil {
				return err
			}
			return m.measure(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&m.Server, "server", "", "pass undisturbed requests to this server, as `host:port`")
	f.StringVar(&m.Answer, "answer", `{"ok":true}`, "the `text` of the answer to undisturbed requests; JSON if it begins with {")
	f.StringVar(&m.Request, "request", "", "the request that fails, as `'METHOD /path'`; the first one if this is empty")
	f.DurationVar(&m.Within, "within", 30*time.Second, "time for which a run is watched")
	f.DurationVar(&m.Stop, "stop", 5*time.Second, "time in which the command ends after SIGTERM")
	f.IntVar(&m.Parallel, "parallel", 32, "runs at once")
	f.IntVar(&m.Most, "most", 15, "more requests for one call in 30 s are a finding")
	f.BoolVar(&m.Idempotent, "idempotent", false, "a POST may be repeated without an Idempotency-Key")
	f.BoolVar(&m.NoJitter, "no-jitter", false, "equal waits are meant")
	f.StringArrayVar(&known, "known", nil, "findings of this `kind=why` are no failure; they must be found")
	f.BoolVar(&asJSON, "json", false, "write JSON, with durations in nanoseconds")
	f.SetInterspersed(false)
	c.ValidArgsFunction = completeCommand
	return c
}

// measuredKinds are the kinds that measure can find in real time.
var measuredKinds = []string{
	string(prove.Hot), string(prove.Storm), string(prove.Silent), string(prove.Early), string(prove.Unsafe), string(prove.Body), string(prove.Half),
	string(prove.Vain), string(prove.Swallowed), string(prove.Stale), string(prove.Jitter), string(prove.Cap), string(prove.Late), string(prove.Open),
}

// measurer runs the command of measure.
type measurer struct {
	prove.Calls
	prover
}

// check reads the flags that are not in the Calls yet.
func (m *measurer) check(known []string) (err error) {
	if host, port, err := net.SplitHostPort(m.Server); m.Server != "" && (err != nil || host == "" || port == "") {
		return fmt.Errorf("measure: --server is %q, want host:port, as in localhost:8080", m.Server)
	}
	if method, path, ok := strings.Cut(m.Request, " "); m.Request != "" && (!ok || method == "" || !strings.HasPrefix(path, "/") || strings.Contains(path, " ")) {
		return fmt.Errorf("measure: --request is %q, want a method and a path, as in 'POST /orders'", m.Request)
	}
	if err := positive("measure", map[string]time.Duration{"within": m.Within, "stop": m.Stop}, map[string]int{"parallel": m.Parallel, "most": m.Most}); err != nil {
		return err
	}
	if err := misspelt("measure", []string{"url", "addr", "host", "port"}, "", m.args...); err != nil {
		return err
	}
	m.Known, err = readKnown("measure", known, measuredKinds)
	m.Client, m.stop = m.call, m.Stop
	return err
}

// call runs the command once. It is prove.Calls.Client.
func (m *measurer) call(ctx context.Context, r prove.Run) (string, error) {
	replace, env := words(r, 0)
	url := "http://" + r.Addr
	var args []string
	for _, a := range m.args {
		args = append(args, strings.ReplaceAll(replace(a), "{url}", url))
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(env, "RETRYWHEN_URL="+url, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	var result strings.Builder
	err := m.run(ctx, cmd, m.stop+kindness, func(text string, _ bool) { result.WriteString(text + "\n") })
	return strings.TrimSuffix(result.String(), "\n"), err
}

// measure measures the command and prints what is found.
func (m *measurer) measure(ctx context.Context, out, errOut io.Writer, asJSON bool) error {
	ctx, stop := endedBySignal(ctx, endings()...)
	defer stop()
	progress := newBar(errOut)
	m.OnProgress = progress.show
	measured, err := m.Measure(ctx)
	progress.clear()
	return concludeWith("measure", measured.Findings, measured.Missing(m.Known), err, errOut, func(missing []string, _ bool) error {
		if asJSON {
			return writeJSON(out, measured)
		}
		return writeMeasured(out, measured, missing)
	})
}
