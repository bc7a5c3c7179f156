package backoff_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestDictated(t *testing.T) {
	s := time.Second
	plain := backoff.Exponential(s, 2)
	tests := []struct {
		name string
		b    backoff.Backoff
		d    time.Duration
		u    float64
		want time.Duration
	}{
		{"no jitter is exact", plain, 10 * s, 0.9, 10 * s},
		{"None is exact", plain.Jitter(jitter.None), 10 * s, 0.9, 10 * s},
		{"the zero Backoff is exact", backoff.Backoff{}, 10 * s, 0.9, 10 * s},
		{"default, low", plain.Jitter(jitter.Default), 10 * s, 0, 10 * s},
		{"default, middle", plain.Jitter(jitter.Default), 10 * s, 0.5, 10750 * ms},
		{"default, high", plain.Jitter(jitter.Default), 10 * s, below1, 11500*ms - 1},
		{"full", plain.Jitter(jitter.Full), 10 * s, 0.25, 10375 * ms},
		{"equal", plain.Jitter(jitter.Equal), 10 * s, 0.5, 10750 * ms},
		{"a jitter that only lengthens", plain.Jitter(jitter.Uniform(2, 3)), 10 * s, 0.5, 10750 * ms},
		{"curve, plus and cap play no part", plain.Plus(s).Cap(s).Jitter(jitter.Full), 10 * s, 0.5, 10750 * ms},
		{"tiled", plain.Tiled(), 10 * s, 0.5, 10750 * ms},
		{"sidekiq", backoff.Sidekiq(), 10 * s, 0.5, 10750 * ms},
		{"buckets", backoff.Buckets(s, 2), 10 * s, 0.5, 10750 * ms},
		{"decorrelated", backoff.Decorrelated(s), 10 * s, 0.5, 10750 * ms},
		{"random by itself, with a jitter", backoff.Sidekiq().Jitter(jitter.Full), 10 * s, 0.5, 10750 * ms},
		{"func", backoff.Func(func(int, float64) time.Duration { return s }), 10 * s, 0.5, 10 * s},
		{"func with a jitter", backoff.Func(func(int, float64) time.Duration { return s }).Jitter(jitter.Full), 10 * s, 0.5, 10750 * ms},
		{"a jitter that falls, against its contract", plain.Jitter(falling{}), 10 * s, 0.5, 10750 * ms},
		{"negative", plain.Jitter(jitter.Full), -s, 0.5, 0},
		{"zero", plain.Jitter(jitter.Full), 0, 0.5, 0},
		{"draw below 0", plain.Jitter(jitter.Full), 10 * s, -3, 10 * s},
		{"no draw", plain.Jitter(jitter.Full), 10 * s, math.NaN(), 10 * s},
		{"draw above 1", plain.Jitter(jitter.Full), 10 * s, 3, 11500*ms - 1},
		{"saturates", plain.Jitter(jitter.Full), longest - 5, 0.5, longest},
		{"a jitter with a huge factor", plain.Jitter(jitter.Uniform(0, 1e300)), s, 0.5, 1075 * ms},
		{"the longest, exact", plain, longest, 0.5, longest},
	}
	for _, tt := range tests {
		if got := tt.b.Dictated(tt.d, -1, tt.u); got != tt.want {
			t.Errorf("%s: (%v).Dictated(%v, %v) = %v, want %v", tt.name, tt.b, tt.d, tt.u, got, tt.want)
		}
	}
}

// The part that is added is spread over half of the room, if 15 % would not fit there.
func TestDictated_Room(t *testing.T) {
	s := time.Second
	plain := backoff.Exponential(s, 2)
	full := plain.Jitter(jitter.Full)
	tests := []struct {
		b    backoff.Backoff
		room time.Duration
		u    float64
		want time.Duration
	}{
		{full, 0, 0.5, 10 * s},
		{full, 4 * s, 0, 10 * s},
		{full, 2 * s, 0.5, 10500 * ms},
		{full, 2 * s, below1, 11*s - 1},
		{full, 3 * s, 0.5, 10750 * ms},
		{full, 40 * s, 0.5, 10750 * ms},
		{plain.Jitter(jitter.Equal), 2 * s, 0.5, 10500 * ms},
		{plain.Tiled(), 2 * s, 0.5, 10500 * ms},
		{plain.Tiled(), 4 * s, 0.5, 10750 * ms},
		{plain, 4 * s, 0.5, 10 * s},
	}
	for _, tt := range tests {
		if got := tt.b.Dictated(10*s, tt.room, tt.u); got != tt.want {
			t.Errorf("(%v).Dictated(10s, %v, %v) = %v, want %v", tt.b, tt.room, tt.u, got, tt.want)
		}
	}
}

func TestDictatedIsALeastDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(everyCurve()).Draw(t, "b").Jitter(anyJitter().Draw(t, "j"))
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		u := rapid.Float64().Draw(t, "u")
		v := rapid.Float64Min(u).Draw(t, "v")
		got, more := b.Dictated(d, -1, u), b.Dictated(d, -1, v)
		if got < max(0, d) {
			t.Fatalf("(%v).Dictated(%v, %v) = %v", b, d, u, got)
		}
		if more < got {
			t.Fatalf("(%v).Dictated(%v, %v) = %v, and %v for the larger %v", b, d, u, got, more, v)
		}
	})
}

// falling falls from 1 to 0.5, although 1 is its bound.
type falling struct{}

func (falling) Factor(u float64) float64 {
	if u == 1 {
		return 1
	}
	return 1 - u/2
}
