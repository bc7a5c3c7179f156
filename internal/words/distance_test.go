package words

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"a", "b", 1}, {"abc", "ab", 1}, {"abc", "bc", 1},
		{"abc", "axc", 1}, {"abc", "xyz", 3}, {"kitten", "sitting", 3}, {"saturday", "sunday", 3},
		{"ab", "ba", 1}, {"xab", "xba", 1}, {"abx", "bax", 1}, {"xaby", "xbay", 1}, {"abcd", "badc", 2}, // letters swapped
		{"ab", "bc", 2}, {"ab", "ca", 2}, {"aab", "abb", 1}, {"abc", "cab", 2}, // letters that only look swapped
		{"ca", "abc", 3}, // a swapped pair is not changed again
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
