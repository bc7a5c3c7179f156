package main

import (
	"bytes"
	"fmt"
	"strings"
)

// What stands around the computed part of docs/comparison.md.
const (
	begin = "<!-- computed: costs -->\n"
	end   = "<!-- end: costs -->\n"
)

// fill puts the table of costs into the text.
func (r *results) fill(text []byte) ([]byte, error) {
	before, rest, ok1 := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("no part between %q and %q", begin, end)
	}
	return bytes.Join([][]byte{before, after}, []byte(begin+"\n"+r.costs()+"\n"+end)), nil
}

// costs is the table: nanoseconds for each of five things, by library.
func (r *results) costs() string {
	things := []struct{ title, unit string }{
		{"an item through map, filter, reduce", "sec/item"},
		{"the same under its retry", "sec/item"},
		{"a failure and the subscription after it", "sec/failure"},
		{"a call, first try", "sec/op"},
		{"a call, ten failures", "sec/op"},
		{"a delay", "sec/delay"},
	}
	rows := []struct {
		label string
		names [6]string
	}{
		{r.label("loop"), [6]string{"Items/plain/loop", "Items/retried/loop", "Resubscribe/loop", "Call/first-try/loop", "Call/ten-failures/loop", "Delay/loop"}},
		{r.label("retrywhen"), [6]string{"Items/plain/retrywhen", "Items/retried/retrywhen", "Resubscribe/retrywhen-RetryWhen", "Call/first-try/retrywhen", "Call/ten-failures/retrywhen", "Delay/retrywhen"}},
		{r.label("iter.Seq"), [6]string{"Items/plain/iter.Seq"}},
		{r.label("cilium-stream"), [6]string{"Items/plain/cilium-stream", "Items/retried/cilium-stream", "Resubscribe/cilium-stream"}},
		{r.label("samber-ro"), [6]string{"Items/plain/samber-ro", "Items/retried/samber-ro", "Resubscribe/samber-ro"}},
		{r.label("rxgo-BackOffRetry"), [6]string{"Items/plain/rxgo", "Items/retried/rxgo-BackOffRetry", "Resubscribe/rxgo-BackOffRetry"}},
		{r.label("channels-select"), [6]string{"Items/plain/channels-select", "Items/retried/channels-select"}},
		{r.label("channels-buffered-select"), [6]string{"Items/plain/channels-buffered-select"}},
		{r.label("destel-rill"), [6]string{"Items/plain/destel-rill"}},
		{r.label("sourcegraph-conc"), [6]string{"Items/plain/sourcegraph-conc"}},
		{r.label("cenkalti-backoff"), [6]string{3: "Call/first-try/cenkalti-backoff", 4: "Call/ten-failures/cenkalti-backoff", 5: "Delay/cenkalti-backoff"}},
		{r.label("avast-retry-go"), [6]string{3: "Call/first-try/avast-retry-go", 4: "Call/ten-failures/avast-retry-go", 5: "Delay/avast-retry-go"}},
		{r.label("avast-retry-go-own-context"), [6]string{3: "Call/first-try/avast-retry-go-own-context", 4: "Call/ten-failures/avast-retry-go-own-context"}},
		{r.label("failsafe-go"), [6]string{3: "Call/first-try/failsafe-go", 4: "Call/ten-failures/failsafe-go"}},
		{r.label("sethvargo-go-retry"), [6]string{3: "Call/first-try/sethvargo-go-retry", 4: "Call/ten-failures/sethvargo-go-retry", 5: "Delay/sethvargo-go-retry"}},
		{r.label("k8s-wait"), [6]string{3: "Call/first-try/k8s-wait", 4: "Call/ten-failures/k8s-wait", 5: "Delay/k8s-wait"}},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Nanoseconds, medians of %d interleaved runs; %s; %s. No delays.\n\n|", r.Rounds, r.Machine, r.Go)
	for _, t := range things {
		b.WriteString(" | " + t.title)
	}
	b.WriteString(" |\n|---" + strings.Repeat("|--:", len(things)) + "|\n")
	for _, row := range rows {
		b.WriteString("| " + row.label + " |")
		for i, name := range row.names {
			if v, ok := r.get(name, things[i].unit); ok {
				b.WriteString(" " + digits(v*1e9))
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
