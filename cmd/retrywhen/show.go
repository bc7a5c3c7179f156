package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/retry"
)

func newShow() *cobra.Command {
	in := report.Show{}
	s := simulation{strategies: &in.Strategies, progress: new(report.Progress)}
	c := &cobra.Command{
		Use:   "show POLICY...",
		Short: "Show the schedule of a policy",
		Long: `Show writes the schedule of one or more policies: for each retry the shortest,
the median and the longest wait before it, and the sum of the medians so far. The
bars have the same scale for all policies.

A policy is one quoted text. It begins with one of these curves:

  constant d=1s                      1s forever
  linear d=1s                        1s 2s 3s 4s
  quadratic d=1s                     1s 4s 9s 16s
  polynomial d=1s degree=1.5         d·n^degree, n from 1
  exponential base=100ms factor=2    100ms 200ms 400ms
  fibonacci d=1s                     1s 1s 2s 3s 5s
  table delays=10ms,100ms,1s         these, then the last one forever
  sidekiq                            k⁴ + 15 + rand·30·(k+1) s, k from 0
  buckets unit=1s exponent=3         between k³ and (k+2)³ s, k from 0
  decorrelated base=100ms            between base and 3·the previous wait

Any of these words may follow:

` + strings.Join(wordLines(), "\n") + `

A name and a colon may come before the curve: "mine: linear d=1s". For policies
in use there are names: grpc, aws and aws-2026.`,
		Example: `  retrywhen show "exponential base=100ms factor=2 cap=30s jitter=full"
  retrywhen show "linear d=1s tiled" "sidekiq limit=5" -o chart.svg
  retrywhen show "mine: constant d=5s" "theirs: fibonacci d=1s" --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("show: %w", report.ErrNoStrategy)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if in.Retries < 1 || in.Retries > report.MaxRows {
				return fmt.Errorf("show: --retries is %d, want 1 to %d", in.Retries, report.MaxRows)
			}
			return s.run(c, args, 0, func(context.Context) (report.Result, error) { return in.Run(), nil })
		},
	}
	s.flags(c, lab.TabPicture)
	c.Flags().IntVarP(&in.Retries, "retries", "n", 10, "number of retries to show")
	return c
}

// wordLines returns the words of a policy's text with what they mean.
func wordLines() []string {
	var rows [][]string
	for _, w := range retry.Words() {
		d, _ := retry.Describe(backoff.Word{Name: w.Name, Value: w.Example}, strings.Clone)
		word := "  " + d.String()
		for _, line := range console.Wrap(52, strings.Fields(d.Sentence)...) {
			rows = append(rows, []string{word, line})
			word = ""
		}
	}
	return console.Table([]string{"", ""}, rows, 2)[1:]
}
