package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// defaultPort is fixed, so that bookmarks of the page stay valid. It is RETR on a telephone.
const defaultPort = 7387

func newLab() *cobra.Command {
	var (
		port int
		open bool
	)
	c := &cobra.Command{
		Use:   "lab [POLICY...]",
		Short: "Serve a web page for trying policies, on this machine only",
		Long: `Lab serves a web page on 127.0.0.1, for this machine only, until it is
interrupted. The page simulates at once what you choose: a server that stalls, a
server that comes back, and the choice of a policy. The page's address contains
all your choices. The page needs no network.

Policies are as in: retrywhen show --help. The options in retrywhen sim --help
may be added.`,
		Example: `  retrywhen lab --open
  retrywhen lab "exponential base=1s factor=2 jitter=full" "linear d=5s tiled"`,
		ValidArgsFunction: completePolicy(),
		RunE: func(c *cobra.Command, args []string) error {
			query := ""
			if len(args) > 0 {
				state := lab.Default()
				var err error
				if state.Strategies, err = report.ParseStrategies(args); err != nil {
					return fmt.Errorf("lab: %w", err)
				}
				query = "?" + state.Query().Encode()
			}
			if n := len(query); n > lab.MaxQuery {
				return fmt.Errorf("lab: the policies need an address of %d bytes, want at most %d: fewer or shorter policies", n, lab.MaxQuery)
			}
			if port < 0 || port > 65535 {
				return fmt.Errorf("lab: --port is %d, want 0 to 65535", port)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			var config net.ListenConfig
			l, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if errors.Is(err, syscall.EADDRINUSE) && !c.Flags().Changed("port") {
				fmt.Fprintf(c.ErrOrStderr(), "retrywhen: lab: port %d is in use, so this is a free one\n", port)
				l, err = config.Listen(ctx, "tcp4", "127.0.0.1:0")
			}
			switch {
			case errors.Is(err, syscall.EADDRINUSE):
				return fmt.Errorf("lab: port %d is in use, want another, or 0 for a free one", port)
			case err != nil:
				return fmt.Errorf("lab: %w", err)
			}
			_, actual, err := net.SplitHostPort(l.Addr().String())
			if err != nil {
				return err
			}
			address := "http://127.0.0.1:" + actual + "/" + query
			fmt.Fprintln(c.OutOrStdout(), address)
			if open {
				if err := openBrowser(address); err != nil {
					fmt.Fprintf(c.ErrOrStderr(), "retrywhen: lab: no browser could be opened: %v\n", err)
				}
			}
			return serve(ctx, l, lab.Handler("127.0.0.1:"+actual, "localhost:"+actual))
		},
	}
	c.Flags().IntVarP(&port, "port", "p", defaultPort, "the port, or 0 for a free one")
	c.Flags().BoolVar(&open, "open", false, "open the page in the browser")
	return c
}

// serve serves until ctx ends. Then it cancels the running requests and waits up to a second for them.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	requests, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	cancel() // stops the computations
	grace, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if s.Shutdown(grace) != nil {
		_ = s.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openBrowser opens an address in the user's browser.
func openBrowser(address string) error {
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}
	c := exec.Command(opener[0], append(opener[1:], address)...)
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // a browser may live longer than the lab
	return nil
}
