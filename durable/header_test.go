package durable

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

func TestStateTravelsInHeaders(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	for _, want := range []state{
		{id: "a", put: at},
		{id: "a", put: at, due: at.Add(time.Nanosecond)},
		{id: "ä =\t", put: at, due: at.Add(time.Hour), from: 1<<64 - 1, lastError: "first\r\nsecond: \"quoted\" ☃\x00",
			row: retry.State{Attempts: 7, Retries: 3, First: at.Add(1), Since: at.Add(2), Previous: 1234567890123, Place: 0.1234567890123456789, Placed: true}},
		{id: "b", put: at, row: retry.State{Attempts: 1, First: at}}, // the row has just started again
	} {
		h := want.header()
		for key, values := range h {
			if len(values) != 1 || strings.ContainsAny(values[0], "\r\n") {
				t.Errorf("%s: %q is no header", key, values)
			}
		}
		if got := readState(h); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestStateOfAJobThatWasJustPut(t *testing.T) {
	if got := readState(nats.Header{headerMsgID: {"x"}}); !reflect.DeepEqual(got, state{id: "x"}) {
		t.Errorf("got %+v", got)
	}
}

// Whatever is in the headers, reading them does no harm.
func FuzzReadState(f *testing.F) {
	f.Add("id", "3", "1h", "0.5", "2026-03-04T05:06:07Z", `"text"`)
	f.Add("", "-3", "-1h", "NaN", "yesterday", `"text`)
	f.Add("\x00", "99999999999999999999", "1", "2", "", "")
	f.Fuzz(func(t *testing.T, id, number, duration, place, at, text string) {
		s := readState(nats.Header{headerID: {id}, headerAttempts: {number}, headerRetries: {number}, headerDelay: {duration}, headerPlace: {place},
			headerFirst: {at}, headerSince: {at}, headerPut: {at}, headerDue: {at}, headerFrom: {number}, headerError: {text}})
		if s.row.Attempts < 0 || s.row.Retries < 0 || s.row.Previous < 0 || !(s.row.Place >= 0 && s.row.Place < 1) {
			t.Errorf("got %+v", s)
		}
		again := readState(s.header())
		if again.row.Attempts != s.row.Attempts || !again.put.Equal(s.put) || again.from != s.from {
			t.Errorf("read %+v, then %+v", s, again)
		}
	})
}

func TestErrorTextFits(t *testing.T) {
	for range 200 {
		letters := []rune("abc ä☃\n\x00\u2028\U0010ffff\\\"")
		var b strings.Builder
		for range rand.N(5 * errorRoom) {
			b.WriteRune(letters[rand.N(len(letters))])
		}
		text := errorText(b.String() + "\xff")
		if len(text) > errorRoom || !utf8.ValidString(text) || strings.ContainsAny(text, "\r\n") {
			t.Fatalf("%d bytes of %q", len(text), text)
		}
		if got := readErrorText(text); !strings.HasPrefix(b.String(), strings.TrimSuffix(strings.TrimSuffix(got, " …"), "\uFFFD")) {
			t.Fatalf("got %q of %q", got, b.String())
		}
	}
}

func TestTokensAreFitForSubjects(t *testing.T) {
	seen := make(map[string]string)
	for _, id := range []string{"a", "A-1_b", "a.b", "a b", "*", ">", "ä", "=", "=Kg", "Kg", "", strings.Repeat(".", maxID)} {
		got := token(id)
		if id != "" && (got == "" || strings.ContainsAny(got, " .*>\t\r\n")) {
			t.Errorf("%q: %q is no token", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have the same token %q", id, other, got)
		}
		seen[got] = id
	}
}
