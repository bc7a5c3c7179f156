package console

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestForLocale(t *testing.T) {
	chart := strings.Join(append(Bars([]int64{1, 2, 3, 4, 5, 6, 7, 8}, 8, 1),
		Span{Most: 4 * time.Second, Width: 5}.Range(0, 2*time.Second, 4*time.Second), "5 ±1 µs…"), "\n")
	const ascii = ".:-=+*%#\n|-o-|\n5 +-1 us~"
	for _, test := range []struct{ all, ctype, lang, want string }{
		{"C", "", "", ascii},
		{"POSIX", "en_US.UTF-8", "", ascii},
		{"", "de_DE.ISO-8859-1", "C.UTF-8", ascii},
		{"", "", "C", ascii},
		{"", "", "", chart},
		{"C.UTF-8", "C", "C", chart},
		{"", "de_DE.utf8", "C", chart},
		{"", "", "en_US.UTF-8", chart},
	} {
		t.Setenv("LC_ALL", test.all)
		t.Setenv("LC_CTYPE", test.ctype)
		t.Setenv("LANG", test.lang)
		if got := ForLocale(chart); got != test.want {
			t.Errorf("%+v: got\n%s", test, got)
		}
	}
	t.Setenv("LC_ALL", "C")
	const all = " ▁▂▃▄▅▆▇█─├┤●·…▲▼▶✗×“”µ±√ρφσΣ⁰¹²³⁴⁸⁹ⁿ"
	if i := strings.IndexFunc(ForLocale(all), func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 {
		t.Errorf("%q remains", ForLocale(all)[i:])
	}
	if got := ForLocale("Jörg: linear"); got != "Jörg: linear" {
		t.Errorf("a user's name becomes %q", got)
	}
}
