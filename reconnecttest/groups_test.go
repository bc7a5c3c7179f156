package reconnecttest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The times and numbers are those of docs/testing.md and of the comments.
func TestTimes_AreDocumented(t *testing.T) {
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	times := []time.Duration{dialing, latency, eventPace, idlePause, recovery, watching, prompt, slowness, shortLife, lastQuiet, worked, longestWait, calm, noWait, hotSpan}
	if want := []time.Duration{ms, ms / 20, 100 * ms, 10 * s, 10 * m, 10 * s, s, 2 * m, m, 20 * s, 2 * m, 5 * m, 5 * s, 5 * ms, 20 * s}; !slices.Equal(times, want) {
		t.Errorf("got %v, want %v", times, want)
	}
	if numbers, want := []int{hotLoop, noWaits, hotWrites, hotVain, flapCuts}, []int{600, 9, 20_000, 1000, 12}; !slices.Equal(numbers, want) {
		t.Errorf("got %v, want %v", numbers, want)
	}
}

// docs/testing.md lists the ways in which connections break.
func TestGroups_AreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "These are the ways")
	list, _, found := strings.Cut(list, "\n\n`AtLeastOnce`")
	if !found {
		t.Fatal("the list is gone")
	}
	lost := map[string]string{"log begins at the position": "dropped what it has sent", "position lost": "and the next event too"}
	stream, client := newCheck("CheckResume", "event", nil), newCheck("Check", "write", nil)
	stream.events = []any{1}
	stream.units, client.units, client.dials, stream.forgets = 1, 1, true, true
	for _, c := range []*check{stream, client} {
		for _, g := range c.groups() {
			words := strings.Split(strings.ReplaceAll(g.name, ",", ""), " ")
			if row := lost[g.name]; row != "" {
				words = []string{row}
			}
			if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(list, w) }) {
				t.Errorf("%s is not in the list", g.name)
			}
		}
	}
}

// Of writes that are alike, each seam breaks in both ways, but few of one write; of a single write there are more.
func TestAmid_Seams(t *testing.T) {
	places := seams([]byte("15\r\ndata: event 1\nid: 1\n\n\r\n"))
	if want := []int{1, 2, 3, 4, 17, 18, 23, 24, 25, 26}; !slices.Equal(places, want) {
		t.Fatalf("got %v, want %v", places, want)
	}
	for units, most := range map[int]int{1: 6, 3: 2, 12: 2} {
		c := newCheck("Check", "write", nil)
		c.dials, c.units, c.seams = true, units, slices.Repeat([][]int{places}, units)
		for _, how := range []fate{cut, ends} {
			all, broken := c.amid(scenario{fate: how, amid: true}), map[int]int{}
			for _, sc := range all {
				broken[sc.bytes]++
			}
			if len(all) > units*(1+most) || units == 12 && len(broken) != 1+len(places) {
				t.Errorf("%d writes, %v: %d scenarios, %v", units, how, len(all), broken)
			}
		}
	}
}
