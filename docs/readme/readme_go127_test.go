//go:build go1.27

package readme_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

func isRise(e Event) bool { return e.ID%2 == 0 }

func format(e Event) string { return fmt.Sprint(e.ID) }

func TestREADME_AChain(t *testing.T) {
	const chain = "prices(0, connect).Filter(isRise).Map(format).Batch[[]string](100, time.Second)"
	text, err := os.ReadFile("../../README.md")
	if err != nil || !strings.Contains(string(text), chain) {
		t.Errorf("README.md has no %s (%v)", chain, err)
	}
	synctest.Test(t, func(t *testing.T) {
		connect := func(last int64) stream.Stream[Event] {
			return stream.Of(Event{last + 1}, Event{last + 2}, Event{last + 3}, Event{last + 4}).Concat(stream.Never[Event]())
		}
		start := time.Now()
		batch, err := prices(0, connect).Filter(isRise).Map(format).Batch[[]string](100, time.Second).One(context.Background())
		if err != nil || !slices.Equal(batch, []string{"2", "4"}) || time.Since(start) != time.Second {
			t.Errorf("got %v, %v after %v", batch, err, time.Since(start))
		}
	})
}
