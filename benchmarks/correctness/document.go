package main

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// million is the number of draws from which the share above the cap is computed.
const million = 1_000_000

// document runs all cases with all libraries, with the given number of draws at the cap.
func document(t *testing.T, draws int) (string, error) {
	d := &writer{modules: map[string]module{}}
	d.printf(`# Correctness

Written by `+"`make correctness`"+` on %s/%s. The times are virtual, so they are exact. **Bold** results may surprise.
The results are for the versions named. The result of converting a too large float64 to a Duration depends on the processor.
rxgo's BackOffRetry takes a policy of cenkalti/backoff/v4: v4.0.0, the version that rxgo requires.
`, runtime.GOOS, runtime.GOARCH)

	d.table("Delays that overflow", fmt.Sprintf("The waits before retries 1 to %d of an exponential backoff from 1 s on, factor 2, without a cap and without jitter. failsafe-go requires a cap: the largest Duration is used. cilium/stream requires one too. samber/ro has only fixed delays.", delays), "library", "waits", "where")
	for _, s := range subjects() {
		if s.doubling != nil {
			d.row(s, append([]string{doublingAnswer(inBubbleOf(t, s.doubling, delays))}, d.places(s.module, s.doublingAt)))
		}
	}
	d.table("Jitter at the cap", "A million waits of 1 s × 2 with a cap of 30 s, all of them at the cap. For k8s wait it is Step, because its ExponentialBackoff ends when the cap is reached. In sethvargo/go-retry the result depends on the order of the wrappers.", "library", "jitter", "above the cap", "from … to", "different waits", "where")
	for _, s := range subjects() {
		if s.capped != nil {
			cells := append([]string{s.jitter}, cappedAnswer(inBubbleOf(t, s.capped, draws))...)
			d.row(s, append(cells, d.places(s.module, s.cappedAt)))
		}
	}
	d.table("A cancellation during a wait", "An operation that always fails and waits 10 s before each of 5 retries, cancelled 3 s into the first wait. cilium/stream is configured not to retry a context's errors. k8s wait does not receive the errors, so it cannot keep them.", "library", "returns", "`context.Canceled`?", "the last error?", "where")
	for _, s := range subjects() {
		if s.constant != nil {
			d.row(s, append(cancelAnswer(t, s.constant), d.places(s.module, s.constantAt)))
		}
	}
	d.table("A cancellation during an attempt", "A stream whose attempt lasts until its context ends.", "library", "", "where")
	for _, m := range midAttempt {
		answer, err := midAttemptAnswer(m.name)
		if err != nil {
			return "", err
		}
		d.row(subject{name: m.name, module: m.module}, []string{answer, d.places(m.module, m.at)})
	}
	d.table("A deadline before the next attempt", "The same operation under a deadline 5 s away: does it sleep although no attempt can follow?", "library", "sleeps?", "where")
	for _, s := range subjects() {
		if s.constant != nil {
			d.row(s, []string{deadlineAnswer(t, s.constant), d.places(s.module, s.constantAt)})
		}
	}
	if !raceEnabled { // some libraries race here, as their documentation says
		d.table("A policy that operations share", "1 s × 2, 3 retries: the correct waits are 1 s, 2 s, 4 s. The second operation begins 0.5 s after the first, the third when both are over.", "library", "first", "second", "third", "where")
		for _, s := range subjects() {
			if s.shared != nil {
				d.row(s, append(sharedAnswer(t, s.shared), d.places(s.module, s.sharedAt)))
			}
		}
	}
	return d.text.String(), d.err
}

// inBubbleOf calls f on virtual time.
func inBubbleOf(t *testing.T, f func(int) []time.Duration, n int) (d []time.Duration) {
	synctest.Test(t, func(*testing.T) { d = f(n) })
	return d
}

// writer writes the document. It keeps the first error.
type writer struct {
	text    strings.Builder
	modules map[string]module
	err     error
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.text, format, args...) }

func (w *writer) table(title, text string, columns ...string) {
	w.printf("\n## %s\n\n%s\n\n| %s |\n%s|\n", title, text, strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
}

// library is the part of a subject's name that its version follows: the rest says how it is used.
var library = regexp.MustCompile("^[^,`]*[^,` ]")

func (w *writer) row(s subject, cells []string) {
	name := s.name
	if version := w.module(s.module).Version; version != "" {
		name = library.ReplaceAllString(name, "${0} "+version)
	}
	w.printf("| %s | %s |\n", name, strings.Join(cells, " | "))
}

// places returns links.
func (w *writer) places(path string, places []place) string {
	var links []string
	for _, p := range places {
		link, err := w.link(path, p)
		if err != nil && w.err == nil {
			w.err = err
		}
		links = append(links, link)
	}
	return strings.Join(links, ", ")
}
