package console

import (
	"cmp"
	"os"
	"strings"
)

// ForLocale returns the text as it is if the terminal's locale has Unicode, or if the environment names none. Otherwise
// it replaces the characters of charts, and the few of texts, with ASCII.
func ForLocale(text string) string {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"), "utf-8"))
	if strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") {
		return text
	}
	return plain.Replace(text)
}

// plain has one character for each of a chart, whose columns stay.
var plain = strings.NewReplacer(
	"▁", ".", "▂", ":", "▃", "-", "▄", "=", "▅", "+", "▆", "*", "▇", "%", "█", "#",
	"─", "-", "├", "|", "┤", "|", "│", "|", "●", "o", "·", ".", "…", "~", "▲", "^", "▼", "v", "▶", ">", "✗", "x", "×", "x",
	"“", `"`, "”", `"`, "µ", "u", "±", "+-", "√", "sqrt ", "ρ", "rho", "φ", "phi", "σ", "sigma", "Σ", "sum",
	"⁰", "^0", "¹", "^1", "²", "^2", "³", "^3", "⁴", "^4", "⁸", "^8", "⁹", "^9", "ⁿ", "^n")
