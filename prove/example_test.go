package prove_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/prove"
)

// A client that takes the end of a connection for the end of its feed.
func ExampleTarget_Check() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close() }()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				for n := 1; n <= 3; n++ {
					time.Sleep(10 * time.Millisecond)
					_, _ = fmt.Fprintln(c, "event", n)
				}
				_, _ = c.Read(make([]byte, 1)) // until the client closes
				_ = c.Close()
			}()
		}
	}()
	target := prove.Target{
		Server: server.Addr().String(),
		Client: func(ctx context.Context, r prove.Run, got func(string)) error {
			c, err := net.Dial("tcp", r.Addr)
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
			for lines := bufio.NewScanner(c); lines.Scan(); {
				got(lines.Text())
			}
			return nil
		},
		Ways:  []prove.Way{prove.End},
		Quiet: 200 * time.Millisecond,
		Known: []prove.Known{{Kind: prove.Late, Why: "it was, once"}},
	}
	report, err := target.Check(context.Background())
	for errors.Is(err, prove.ErrBusy) { // other processes had the machine
		report, err = target.Check(context.Background())
	}
	if err != nil {
		panic(err)
	}
	for _, f := range report.Findings {
		fmt.Printf("%s: %s\n", f.Kind, f.What)
	}
	for _, k := range report.Missing(target.Known) {
		fmt.Printf("not found: %s (%s)\n", k.Kind, k.Why)
	}
	// Output:
	// ended: it ended without an error, and lost "event 1", "event 2", "event 3"
	// not found: late (it was, once)
}

func ExampleFinding_String() {
	report := prove.Report{Findings: []prove.Finding{{
		Kind: prove.Lost, Where: "cut before chunk 4 of 12 (connection 1, byte 310)", What: `lost "4"`,
		Mend: "does it ask for what follows the last value that it has delivered?", Shown: 9, Scenarios: 13,
	}}}
	shown := map[prove.Kind]int{}
	for _, f := range report.Findings {
		fmt.Println(f)
		shown[f.Kind] += f.Shown
	}
	fmt.Println(shown[prove.Lost])
	// Output:
	// cut before chunk 4 of 12 (connection 1, byte 310): lost "4"; does it ask for what follows the last value that it has delivered? (9 of 13 such scenarios)
	// 9
}

// A client that has no timeout, and takes the text of a failure for its result.
func ExampleCalls_Measure() {
	c := prove.Calls{
		Client: func(ctx context.Context, r prove.Run) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Addr+"/price", nil)
			if err != nil {
				return "", err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			price, err := io.ReadAll(resp.Body)
			return string(price), err
		},
		Answer: "12.50",
		Within: 2 * time.Second,
		Known:  []prove.Known{{Kind: prove.Hot, Why: "it was, once"}},
	}
	m, err := c.Measure(context.Background())
	for errors.Is(err, prove.ErrBusy) { // other processes had the machine
		m, err = c.Measure(context.Background())
	}
	if err != nil {
		panic(err)
	}
	for _, f := range m.Findings {
		fmt.Printf("%s: %s: %s\n", f.Kind, f.Where, f.What)
	}
	rows := map[string]prove.Row{}
	for _, row := range m.Rows {
		rows[row.Way] = row
	}
	fmt.Println("503 twice:", rows["503 twice"].How)
	fmt.Printf("policy: %q, because %s\n", m.Policy, m.Why)
	for _, k := range m.Missing(c.Known) {
		fmt.Printf("not found: %s (%s)\n", k.Kind, k.Why)
	}
	// Output:
	// swallowed: 503 twice: nothing succeeded, and it returned no error, but "503 Service Unavailable\n"
	// silent: silence: it still waits for an answer after 2s
	// 503 twice: no error, at once
	// policy: "", because a failure that goes on is not retried
	// not found: hot (it was, once)
}
