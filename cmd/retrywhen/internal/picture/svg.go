package picture

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SVG writes the figure as a document that is light or dark, following the reader's system. A reader that does not know
// its system, as librsvg, shows the light one: the styles use no variables, which librsvg does not have.
func (f Figure) SVG(w io.Writer) error {
	width, height := f.size()
	var body bytes.Buffer
	s := &svg{out: &body, used: map[string]Color{}}
	s.printf(`<rect class="%s" width="100%%" height="100%%"/>`+"\n", s.fill(paper))
	f.draw(s)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif">`+
		"\n<style>%s@media(prefers-color-scheme:dark){%s}.a{opacity:.18}</style>\n%s</svg>\n", px(width), px(height), s.style(false), s.style(true), &body)
	return err
}

// svg writes a document. Positions are in pixels, with y downwards.
type svg struct {
	out  *bytes.Buffer
	used map[string]Color // classes: f and s, fill and stroke, with the color's number
}

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

func (s *svg) fill(c Color) string   { return s.class("f", c) }
func (s *svg) stroke(c Color) string { return s.class("s", c) }

func (s *svg) class(kind string, c Color) string {
	name := kind + strconv.Itoa(int(c))
	s.used[name] = c
	return name
}

type box struct{ x, y, w, h float64 }

// anchor is the part of a text that is at its position.
type anchor int

const (
	start anchor = iota
	middle
	end
)

var anchors = [...]string{"start", "middle", "end"}

// style returns the rules of the used classes.
func (s *svg) style(dark bool) string {
	var rules strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.used)) {
		switch hex := s.used[name].Hex(dark); {
		case name[0] == 'f':
			fmt.Fprintf(&rules, ".%s{fill:%s}", name, hex)
		default:
			fmt.Fprintf(&rules, ".%s{fill:none;stroke:%s}", name, hex)
		}
	}
	return rules.String()
}

// path writes a path that is filled or stroked, unless it is empty.
func (s *svg) path(d string, class func(Color) string, c Color, attributes string) {
	if d != "" {
		s.printf(`<path class="%s"%s d="%s"/>`+"\n", class(c), attributes, d)
	}
}

func (s *svg) boxes(b []box, c Color) {
	var d strings.Builder
	for _, x := range b {
		fmt.Fprintf(&d, "M%s %sh%sv%sh-%sz", px(x.x), px(x.y), px(x.w), px(x.h), px(x.w))
	}
	s.path(d.String(), s.fill, c, "")
}

// circles draws lines of length 0 with round ends, which take a quarter of the bytes of circle elements.
func (s *svg) circles(centres []Point, radius float64, c Color) {
	var d strings.Builder
	for _, p := range centres {
		if !math.IsNaN(p.X) {
			fmt.Fprintf(&d, "M%s %sh0", px(p.X), px(p.Y))
		}
	}
	s.path(d.String(), s.stroke, c, ` stroke-width="`+px(2*radius)+`" stroke-linecap="round"`)
}

func (s *svg) line(points []Point, width float64, c Color) {
	s.path(through(points), s.stroke, c, ` stroke-width="`+px(width)+`" stroke-linejoin="round"`)
}

func (s *svg) dashed(from, to Point, c Color) {
	s.path(through([]Point{from, to}), s.stroke, c, ` stroke-width="1.2" stroke-dasharray="4 3"`)
}

func (s *svg) area(points []Point, c Color) {
	if len(points) > 0 {
		s.printf(`<path class="%s a" d="%sz"/>`+"\n", s.fill(c), through(points))
	}
}

// through returns the path through points, which is interrupted at NaN.
func through(points []Point) string {
	var d strings.Builder
	for i, p := range points {
		letter := "L"
		if i == 0 || math.IsNaN(points[i-1].X) {
			letter = "M"
		}
		if !math.IsNaN(p.X) {
			d.WriteString(letter + px(p.X) + " " + px(p.Y))
		}
	}
	return d.String()
}

// halo writes a text as text does, on a ground of paper.
func (s *svg) halo(at Point, text string, size float64, a anchor, c Color) {
	s.printf(`<text class="%s" stroke-width="4" stroke-linejoin="round" x="%s" y="%s" font-size="%s" text-anchor="%s" aria-hidden="true">%s</text>`+"\n",
		s.stroke(paper), px(at.X), px(at.Y), px(size), anchors[a], escape(text))
	s.text(at, text, size, a, c)
}

// text writes a text. The anchor says whether at is the left end, the middle or the right end of its base line.
func (s *svg) text(at Point, text string, size float64, a anchor, c Color) {
	if text == "" {
		return
	}
	weight := ""
	if c == Ink {
		weight = ` font-weight="600"`
	}
	s.printf(`<text class="%s" x="%s" y="%s" font-size="%s" text-anchor="%s"%s>%s</text>`+"\n",
		s.fill(c), px(at.X), px(at.Y), px(size), anchors[a], weight, escape(text))
}

// code writes a line of a terminal, with its spaces.
func (s *svg) code(at Point, text string, c Color) {
	s.printf(`<text class="%s" x="%s" y="%s" font-size="%d" font-family="ui-monospace,'Liberation Mono',monospace" xml:space="preserve">%s</text>`+"\n",
		s.fill(c), px(at.X), px(at.Y), plain, escape(text))
}

// px formats a number of pixels with at most one decimal.
func px(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return -1 // not allowed in XML
		}
		return r
	}, s))
}
