package backoff

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/internal/suggest"
	"github.com/retrywhen/retrywhen/jitter"
)

// ParseError is the error of Parse and UnmarshalText.
type ParseError struct {
	Text   string // what was to be read
	Word   string // the offending word of it, "" if the text as a whole is wrong
	Offset int    // the byte of Text at which Word begins
	Reason string // what is wrong with it, and what would be right
}

// Error says where what is wrong, and what would be right. Columns count characters, from 1.
func (e *ParseError) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("backoff: Parse: %q: %s", e.Text, e.Reason)
	}
	return fmt.Sprintf("backoff: Parse: %q at column %d: %s", e.Word, e.Column(), e.Reason)
}

// Column returns the character of Text at which Word begins, counted from 1.
func (e *ParseError) Column() int {
	return utf8.RuneCountInString(e.Text[:e.Offset]) + 1
}

// modifiers are the words that any curve may have.
var modifiers = []string{"plus", "cap", "jitter", "tiled", "key", "ordinal"}

// jitters are the jitters' names, to suggest from.
var jitters = []string{"none", "default", "full", "equal", "deviation", "uniform"}

// Parse reads a Backoff from its text form, which String returns; see the
// package comment for the grammar. Words stand in any order, apart by any
// white space; their names may be in upper case. The error is a *ParseError,
// which quotes the offending word and its place and says what is allowed.
//
// A language that has more words than these takes its own out of the text,
// puts spaces in their place, and leaves the rest to Parse: the places that
// errors name are then those of the whole text.
func Parse(s string) (Backoff, error) {
	p := parser{text: s, curve: -1, at: map[string]word{}}
	b, err := p.parse()
	if err != nil {
		return Backoff{}, err
	}
	return b, nil
}

// word is one word of the text, taken apart.
type word struct {
	text       string
	offset     int
	key, value string // key in lower case
	assigned   bool   // there is a = between them
}

// parser holds what has been read of a text.
type parser struct {
	text  string
	curve int // of curves, -1 before one was read
	named word
	at    map[string]word // by key
}

func (p *parser) parse() (b Backoff, err error) {
	words := split(p.text)
	for _, w := range words {
		if err := p.curveOf(w); err != nil {
			return b, err
		}
	}
	if p.curve < 0 {
		return b, p.noCurve(words)
	}
	// Only now is it known which keys there may be, wherever the curve's name stands.
	for _, w := range words {
		if w.offset == p.named.offset {
			continue
		}
		if err := p.take(w); err != nil {
			return b, err
		}
	}
	b.kind = kind(p.curve)
	for _, key := range curves[b.kind].keys {
		w, ok := p.at[key]
		if !ok {
			return b, p.fail(p.named, "has no %s, want %s", key, usage(b.kind))
		}
		if err := p.argument(&b, w); err != nil {
			return b, err
		}
	}
	return b, p.modify(&b)
}

// curveOf notes the curve if w names one.
func (p *parser) curveOf(w word) error {
	k := curveNamed(w.key)
	switch {
	case k < 0:
		return nil
	case kind(k) == function:
		return p.fail(w, "a func has no text form, want one of %s", list(curveNames(), "or"))
	case w.assigned:
		return p.fail(w, "a curve takes no value, want %s", usage(kind(k)))
	case p.curve >= 0:
		return p.fail(w, "a second curve, after %q; want one only", p.named.text)
	}
	p.curve, p.named = k, w
	return nil
}

// noCurve is the error of a text that names no curve. A bare word was probably meant to.
func (p *parser) noCurve(words []word) error {
	allowed := list(curveNames(), "or")
	for _, w := range words {
		if w.assigned || slices.Contains(modifiers, w.key) {
			continue
		}
		if s := suggest.Nearest(w.key, curveNames()); s != "" {
			return p.fail(w, "unknown curve; did you mean %s? want one of %s", s, allowed)
		}
		return p.fail(w, "unknown curve, want one of %s", allowed)
	}
	return &ParseError{Text: p.text, Reason: "names no curve, want one of " + allowed}
}

// take notes a word that the curve, or any curve, may have.
func (p *parser) take(w word) error {
	name := curves[p.curve].name
	allowed := slices.Concat(curves[p.curve].keys, modifiers)
	first, again := p.at[w.key]
	switch {
	case w.key == "":
		return p.fail(w, "no key before the =; %s takes %s", name, list(allowed, "and"))
	case !slices.Contains(allowed, w.key):
		hint := ""
		if s := suggest.Nearest(w.key, allowed); s != "" {
			hint = fmt.Sprintf("did you mean %s? ", s)
		}
		return p.fail(w, "unknown word; %s%s takes %s", hint, name, list(allowed, "and"))
	case again:
		return p.fail(w, "a second %s, after %q; want one only", w.key, first.text)
	case w.key == "tiled" && w.assigned:
		return p.fail(w, "tiled takes no value")
	case w.key != "tiled" && w.value == "":
		return p.fail(w, "%s has no value, want %s", w.key, form(w.key))
	}
	p.at[w.key] = w
	return nil
}

// argument reads one of the curve's own keys.
func (p *parser) argument(b *Backoff, w word) (err error) {
	switch w.key {
	case "delays":
		var delays []time.Duration
		for v := range strings.SplitSeq(w.value, ",") {
			d, err := p.duration(w, v)
			if err != nil {
				return err
			}
			delays = append(delays, d)
		}
		b.table = Table(delays...).table
	case "degree", "factor", "exponent":
		x, err := strconv.ParseFloat(w.value, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return p.fail(w, "%q is not a number, want %s", w.value, form(w.key))
		}
		if why := numberWrong(x); why != "" {
			return p.fail(w, "%s is %v, want %s", w.key, x, why)
		}
		b.x = x + 0
	default:
		b.d, err = p.duration(w, w.value)
	}
	return err
}

// modify applies the words that any curve may have.
func (p *parser) modify(b *Backoff) error {
	if w, ok := p.at["plus"]; ok {
		d, err := p.duration(w, w.value)
		if err != nil {
			return err
		}
		*b = b.Plus(d)
	}
	if w, ok := p.at["cap"]; ok {
		d, err := p.duration(w, w.value)
		if err != nil {
			return err
		}
		*b = b.Cap(d)
	}
	if w, ok := p.at["key"]; ok {
		key, err := p.whole(w)
		if err != nil {
			return err
		}
		*b = b.Keyed(key)
	}
	if w, ok := p.at["ordinal"]; ok {
		i, err := p.whole(w)
		if err != nil {
			return err
		}
		if first, both := p.at["key"]; both {
			return p.fail(w, "a second place, after %q; want one only", first.text)
		}
		*b = b.Ordinal(i)
	}
	if w, ok := p.at["jitter"]; ok {
		j, err := p.jitter(w)
		if err != nil {
			return err
		}
		*b = b.Jitter(j)
	}
	if w, ok := p.at["tiled"]; ok {
		b.tiled = true
		if why := b.tiledWrong(); why != "" {
			return p.fail(w, "%s", why)
		}
	}
	return nil
}

// whole reads the value of w.
func (p *parser) whole(w word) (uint64, error) {
	x, err := strconv.ParseUint(w.value, 10, 64)
	if err != nil {
		return 0, p.fail(w, "%q is not a whole number from 0 to %d", w.value, uint64(math.MaxUint64))
	}
	return x, nil
}

// duration reads v, the value of w or a part of it.
func (p *parser) duration(w word, v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	switch {
	case err == nil && d >= 0:
		return d, nil
	case err == nil:
		return 0, p.fail(w, "%s is negative, want a duration >= 0", v)
	case v == "":
		return 0, p.fail(w, "an empty duration, want %s", form(w.key))
	}
	if _, err := strconv.ParseFloat(v, 64); err == nil {
		return 0, p.fail(w, "%s has no unit, want %s", v, form(w.key))
	}
	if wellFormed(v) {
		return 0, p.fail(w, "%s is past the largest duration, %v", v, time.Duration(math.MaxInt64))
	}
	return 0, p.fail(w, "%q is not a duration, want %s", v, form(w.key))
}

// wellFormed reports whether v would be a duration if its numbers were small.
func wellFormed(v string) bool {
	_, err := time.ParseDuration(strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, v))
	return err == nil
}

// jitter reads the value of w.
func (p *parser) jitter(w word) (jitter.Jitter, error) {
	j, err := jitter.Parse(w.value)
	if err == nil {
		return j, nil
	}
	name, _, _ := strings.Cut(strings.ToLower(w.value), ":")
	hint := ""
	if s := suggest.Nearest(name, jitters); s != "" && s != name {
		hint = fmt.Sprintf("; did you mean %s?", s)
	}
	return nil, p.fail(w, "%s%s", strings.TrimPrefix(err.Error(), "jitter: Parse: "), hint)
}

func (p *parser) fail(w word, format string, args ...any) error {
	return &ParseError{Text: p.text, Word: w.text, Offset: w.offset, Reason: fmt.Sprintf(format, args...)}
}

// split takes a text apart at its white space.
func split(s string) (words []word) {
	for i := 0; i < len(s); {
		rest := strings.TrimLeftFunc(s[i:], unicode.IsSpace)
		i = len(s) - len(rest)
		if rest == "" {
			break
		}
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		w := word{text: rest[:end], offset: i}
		w.key, w.value, w.assigned = strings.Cut(w.text, "=")
		w.key = strings.ToLower(w.key)
		words = append(words, w)
		i += end
	}
	return words
}

func curveNames() (names []string) {
	for k := range curves {
		if kind(k) != function {
			names = append(names, curves[k].name)
		}
	}
	return names
}

// curveNamed is the curve of that name, -1 if there is none.
func curveNamed(name string) int {
	for k := range curves {
		if curves[k].name == name {
			return k
		}
	}
	return -1
}

// usage is an example of the curve's words.
func usage(k kind) string {
	var s strings.Builder
	s.WriteString(curves[k].name)
	for _, key := range curves[k].keys {
		s.WriteString(" " + key + "=" + examples[key])
	}
	return strconv.Quote(s.String())
}

// examples holds a value for each key.
var examples = map[string]string{
	"d": "1s", "base": "100ms", "unit": "1s", "factor": "2", "degree": "1.5", "exponent": "2",
	"delays": "10ms,100ms,1s", "plus": "1s", "cap": "30s", "jitter": "full", "key": "42", "ordinal": "3",
}

// form says what a key's value looks like.
func form(key string) string {
	return fmt.Sprintf("as in %q", key+"="+examples[key])
}

// list writes names as "a, b and c".
func list(names []string, and string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + and + " " + names[len(names)-1]
}
