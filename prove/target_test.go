package prove

import (
	"context"
	"slices"
	"testing"
	"time"
)

// The defaults are those of the comments on Target's fields.
func TestTarget_Defaults(t *testing.T) {
	c, err := Target{Server: "server:1", Client: func(context.Context, Run, func(string)) error { return nil }}.prepare()
	if err != nil {
		t.Fatal(err)
	}
	times := []time.Duration{c.Every, c.Within, c.Quiet, c.Stop}
	numbers := []int{c.Events, c.Parallel, c.Places, len(c.Ways)}
	if !slices.Equal(times, []time.Duration{100 * time.Millisecond, 30 * time.Second, 2 * time.Second, 5 * time.Second}) || !slices.Equal(numbers, []int{12, 64, 24, 6}) {
		t.Errorf("got %v and %v", times, numbers)
	}
}
