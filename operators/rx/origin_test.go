package rx

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/retry"
)

// The fields that are read of rxgo's observables are pinned here, so that a change in rxgo is noticed.
func TestOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in, second := rxgo.WithContext(ctx), rxgo.WithDuration(time.Second)
		src := func() rxgo.Observable { return rxgo.Just(1)() }
		empty := func(rxgo.Item) rxgo.Observable { return rxgo.Empty() }
		same := func(_ context.Context, v any) (any, error) { return v, nil }
		number := func(any) int { return 0 }
		zip := func(context.Context, any, any) (any, error) { return nil, nil }
		when := func(any) time.Time { return time.Time{} }
		for name, c := range map[string]struct {
			o    rxgo.Observable
			want kind
		}{
			"Defer":                 {rxgo.Defer(nil), separate},
			"Just":                  {rxgo.Just(1, "a", nil, []int{1})(), separate},
			"Map":                   {src().Map(same), separate},
			"Map with a pool":       {src().Map(same, rxgo.WithPool(2)), separate},
			"Filter":                {src().Filter(func(any) bool { return true }), separate},
			"Take":                  {src().Take(1), separate},
			"WindowWithCount":       {src().WindowWithCount(1), separate},
			"FromStream":            {FromStream(func(context.Context, func(int) bool) error { return nil }), separate},
			"Wrap":                  {Wrap(src()).RetryWhen(retry.Default), separate},
			"Range":                 {rxgo.Range(0, 1), silent},
			"GroupBy":               {src().GroupBy(1, func(rxgo.Item) int { return 0 }, in), silent},
			"FlatMap":               {src().FlatMap(empty), onceOnly},
			"Debounce":              {src().Debounce(second), onceOnly},
			"Join":                  {src().Join(zip, src(), when, second), onceOnly},
			"TimeInterval":          {src().TimeInterval(), onceOnly},
			"BufferWithTime":        {src().BufferWithTime(second), onceOnly},
			"BufferWithTimeOrCount": {src().BufferWithTimeOrCount(second, 1), onceOnly},
			"WindowWithTime":        {src().WindowWithTime(second), onceOnly},
			"WindowWithTimeOrCount": {src().WindowWithTimeOrCount(second, 1), onceOnly},
			"Just of a channel":     {rxgo.Just(1, make(chan int))(), onceOnly},
			"Create":                {rxgo.Create(nil), created},
			"FromChannel":           {rxgo.FromChannel(make(chan rxgo.Item)), given},
			"Never":                 {rxgo.Never(), internal},
			"Empty":                 {rxgo.Empty(), internal},
			"Thrown":                {rxgo.Thrown(context.Canceled), internal},
			"Timer":                 {rxgo.Timer(second, in), internal},
			"Start":                 {rxgo.Start(nil), internal},
			"Merge":                 {rxgo.Merge(nil), internal},
			"Concat":                {rxgo.Concat(nil), internal},
			"Amb":                   {rxgo.Amb(nil), internal},
			"CombineLatest":         {rxgo.CombineLatest(nil, nil), internal},
			"StartWith":             {src().StartWith(src(), in), internal},
			"ZipFromIterable":       {src().ZipFromIterable(src(), zip, in), internal},
			"Retry":                 {src().Retry(1, func(error) bool { return true }, in), internal},
			"Serialize":             {src().Serialize(0, number, in), internal},
			"Eager":                 {src().Take(1, rxgo.WithObservationStrategy(rxgo.Eager), in), internal},
			"FromEventSource":       {rxgo.FromEventSource(make(chan rxgo.Item), in), events},
			"Interval":              {rxgo.Interval(second, in), events},
			"another type":          {struct{ rxgo.Observable }{src()}, unknown},
			"nil":                   {nil, unknown},
		} {
			if got := inspect(c.o).kind; got != c.want {
				t.Errorf("%s is of kind %d, want %d", name, got, c.want)
			}
		}
	})
}

// A connectable's subscriber is distinguished from an unshared channel.
func TestOriginOfAConnectable(t *testing.T) {
	items := make(chan rxgo.Item)
	plain, shared := rxgo.FromChannel(items), rxgo.FromChannel(items, rxgo.WithPublishStrategy())
	if got := inspect(plain).drain(plain.Observe(), nil); got != drainNone {
		t.Errorf("what is left of a channel: %d", got)
	}
	if got := inspect(shared).drain(shared.Observe(), nil); got != drainAll {
		t.Errorf("what is left of a subscriber: %d", got)
	}
}

// If another version of rxgo had other fields, the kind would be unknown.
func TestOriginOfUnknownFields(t *testing.T) {
	if got := inspect(new(rxgo.ObservableImpl)); got != (origin{}) {
		t.Errorf("an observable without a source is %v", got)
	}
	for name, got := range map[string]kind{
		"no factory":  kindOfOperator(reflect.Value{}),
		"no function": kindOfOperator(reflect.ValueOf(1)),
		"no items":    kindOfItems(reflect.Value{}),
		"no slice":    kindOfItems(reflect.ValueOf(1)),
	} {
		if got != unknown {
			t.Errorf("%s: kind %d", name, got)
		}
	}
	if got := kindOfOperator(reflect.ValueOf((func())(nil))); got != separate {
		t.Errorf("a nil factory: kind %d", got)
	}
	if got := kindOfItems(reflect.ValueOf([]int{1})); got != separate {
		t.Errorf("items of one type: kind %d", got)
	}
}
