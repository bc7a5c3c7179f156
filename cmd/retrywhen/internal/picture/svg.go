package picture

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// SVG writes the figure as a document that is light or dark, following the reader's system.
func (f Figure) SVG(w io.Writer) error {
	width, height := f.size()
	s := &svg{out: bufio.NewWriter(w)}
	fmt.Fprintf(s.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif">`+"\n",
		px(width), px(height), px(width), px(height))
	s.style()
	fmt.Fprintf(s.out, `<rect class="f%d" width="100%%" height="100%%"/>`+"\n", paper)
	f.draw(s)
	s.out.WriteString("</svg>\n")
	return s.out.Flush()
}

// svg writes a document. Positions are in pixels, with y downwards.
type svg struct{ out *bufio.Writer }

type box struct{ x, y, w, h float64 }

// anchor is the part of a text that is at its position.
type anchor int

const (
	start anchor = iota
	middle
	end
)

// style writes the classes f and s, fill and stroke, of each color.
func (s *svg) style() {
	s.out.WriteString("<style>:root{")
	for c := range hex {
		fmt.Fprintf(s.out, "--c%d:%s;", c, hex[c][0])
	}
	s.out.WriteString("}@media(prefers-color-scheme:dark){:root{")
	for c := range hex {
		fmt.Fprintf(s.out, "--c%d:%s;", c, hex[c][1])
	}
	s.out.WriteString("}}")
	for c := range hex {
		fmt.Fprintf(s.out, ".f%d{fill:var(--c%d)}.s%d{fill:none;stroke:var(--c%d)}", c, c, c, c)
	}
	s.out.WriteString(".a{opacity:.18}</style>\n")
}

func (s *svg) boxes(b []box, c Color) {
	if len(b) == 0 {
		return
	}
	fmt.Fprintf(s.out, `<path class="f%d" d="`, c)
	for _, x := range b {
		fmt.Fprintf(s.out, "M%s %sh%sv%sh-%sz", px(x.x), px(x.y), px(x.w), px(x.h), px(x.w))
	}
	s.out.WriteString("\"/>\n")
}

// circles draws lines of length 0 with round ends, which take a quarter of the bytes of circle elements.
func (s *svg) circles(centres []Point, radius float64, c Color) {
	if len(centres) == 0 {
		return
	}
	fmt.Fprintf(s.out, `<path class="s%d" stroke-width="%s" stroke-linecap="round" d="`, c, px(2*radius))
	for _, p := range centres {
		fmt.Fprintf(s.out, "M%s %sh0", px(p.X), px(p.Y))
	}
	s.out.WriteString("\"/>\n")
}

func (s *svg) line(points []Point, width float64, c Color) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(s.out, `<path class="s%d" stroke-width="%s" stroke-linejoin="round" d="`, c, px(width))
	s.path(points)
	s.out.WriteString("\"/>\n")
}

func (s *svg) area(points []Point, c Color) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(s.out, `<path class="f%d a" d="`, c)
	s.path(points)
	s.out.WriteString("z\"/>\n")
}

func (s *svg) path(points []Point) {
	for i, p := range points {
		letter := "L"
		if i == 0 || math.IsNaN(points[i-1].X) {
			letter = "M"
		}
		if !math.IsNaN(p.X) {
			s.out.WriteString(letter + px(p.X) + " " + px(p.Y))
		}
	}
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
	fmt.Fprintf(s.out, `<text class="f%d" x="%s" y="%s" font-size="%s" text-anchor="%s"%s>%s</text>`+"\n",
		c, px(at.X), px(at.Y), px(size), [...]string{"start", "middle", "end"}[a], weight, escape(text))
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
