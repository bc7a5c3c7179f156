//go:build go1.27

package readme_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Price is made of an event.
type Price struct{ Event int64 }

func isPrice(e Event) bool { return e.ID%2 == 0 }

func parse(e Event) Price { return Price{e.ID} }

var prices = feed.Filter(isPrice).Map(parse).Batch[[]Price](100, time.Second)

func TestREADME_Prices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithValue(t.Context(), connecting{}, func(last int64) stream.Stream[Event] {
			return stream.Of(Event{last + 1}, Event{last + 2}, Event{last + 3}, Event{last + 4}).Concat(stream.Never[Event]())
		})
		start := time.Now()
		batch, err := prices.One(ctx)
		if err != nil || !slices.Equal(batch, []Price{{2}, {4}}) || time.Since(start) != time.Second {
			t.Errorf("got %v, %v after %v", batch, err, time.Since(start))
		}
	})
}
