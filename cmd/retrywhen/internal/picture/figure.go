// Package picture draws the charts of the command as SVG: panels of dots, lines, bands and bars.
package picture

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
)

// Figure is a picture: panels in rows, left to right, under a legend.
type Figure struct {
	Note    string // under the panels
	Columns int    // at least 1
	Panels  []Panel
	Keys    []Key
	Width   float64 // 0 is 480 for each column
}

// Key is an entry of the legend.
type Key struct {
	Name   string
	Colors []Color
}

// Panel is one chart.
type Panel struct {
	Title  string
	X, Y   Axis
	Marks  []Mark
	Labels []Label // at the right, one above the other
	Height float64 // of the area inside the axes; 0 is 240
}

// Label is the name of a line at its end.
type Label struct {
	End   Point
	Text  string
	Color Color
}

// Axis runs from 0 to Most.
type Axis struct {
	Label string
	Most  float64
	Ticks []axis.Tick
}

// Point is a point of a panel, in the units of its axes.
type Point struct{ X, Y float64 }

// Mark is Dots, Line, Band, Bars, Rule, Level, Text or Code.
type Mark interface {
	draw(s *svg, at func(Point) Point)
}

// Dots are filled circles.
type Dots struct {
	Points []Point
	Color  Color
	Radius float64
}

// Line joins its points.
type Line struct {
	Points []Point
	Color  Color
	Width  float64
}

// Band is the area between two lines with the same number of points.
type Band struct {
	Low, High []Point
	Color     Color
}

// Bars are columns on the X axis.
type Bars struct {
	Bars  []Bar
	Color Color
}

// Bar is a column from From to To with the given Height.
type Bar struct{ From, To, Height float64 }

// Rule is a vertical line from the bottom to the top.
type Rule struct {
	X     float64
	Most  float64 // of the Y axis
	Label string
	Left  bool // the label is to the left of the line
	Color Color
}

// Level is a horizontal dashed line from the left to the right, with its label above its right end.
type Level struct {
	Y     float64
	Most  float64 // of the X axis
	Label string
}

// Text is a small text whose base line is centred at a point.
type Text struct {
	At    Point
	Text  string
	Color Color
}

// Code is a line of a terminal that begins at a point.
type Code struct {
	At    Point
	Text  string
	Color Color
}

func (c Code) draw(s *svg, at func(Point) Point) { s.code(at(c.At), c.Text, c.Color) }

func (t Text) draw(s *svg, at func(Point) Point) {
	s.text(at(t.At), t.Text, small, middle, t.Color)
}

func (d Dots) draw(s *svg, at func(Point) Point) {
	s.circles(placed(d.Points, at), d.Radius, d.Color)
}

func (l Line) draw(s *svg, at func(Point) Point) {
	s.line(placed(l.Points, at), l.Width, l.Color)
}

func placed(points []Point, at func(Point) Point) []Point {
	all := make([]Point, len(points))
	for i, p := range points {
		all[i] = at(p)
	}
	return all
}

func (b Band) draw(s *svg, at func(Point) Point) {
	low := placed(b.Low, at)
	slices.Reverse(low)
	s.area(append(placed(b.High, at), low...), b.Color)
}

func (b Bars) draw(s *svg, at func(Point) Point) {
	boxes := make([]box, 0, len(b.Bars))
	for _, bar := range b.Bars {
		if bar.Height <= 0 {
			continue
		}
		from, to := at(Point{bar.From, bar.Height}), at(Point{bar.To, 0})
		gap := 0.0
		if to.X-from.X > 3 {
			gap = 0.5
		}
		boxes = append(boxes, box{from.X + gap, from.Y, max(to.X-from.X-2*gap, 0.8), to.Y - from.Y})
	}
	s.boxes(boxes, b.Color)
}

func (r Rule) draw(s *svg, at func(Point) Point) {
	top, bottom := at(Point{r.X, r.Most}), at(Point{r.X, 0})
	s.line([]Point{top, bottom}, 1, r.Color)
	x, part := top.X+4, start
	if r.Left {
		x, part = top.X-4, end
	}
	s.text(Point{x, top.Y - 4}, r.Label, small, part, Muted)
}

func (l Level) draw(s *svg, at func(Point) Point) {
	from, to := at(Point{0, l.Y}), at(Point{l.Most, l.Y})
	s.dashed(from, to, Alarm)
	s.halo(Point{to.X - 2, to.Y - 5}, l.Label, small, end, Alarm)
}

// The sizes of the parts of a figure, in pixels.
const (
	left, right  = 52, 22 // of a panel, next to the area inside its axes
	above, below = 36, 44 // above and below that area, at most
	untitled     = 22     // above it if no panel of the row has a title
	unlabelled   = 28     // below it if no X axis of the row has a label
	footer       = 24     // under the figure
	keyHeight    = 20
	keyDot       = 14
	labelHeight  = 15
	longestLabel = 28  // characters
	letter       = 5.7 // the width of a small one, on average
	bold         = 7.4 // that of a title
	titleHeight  = 16
	noteHeight   = 15
	columnWidth  = 480
	panelHeight  = 240
	margin       = 8
	small, plain = 11, 13
)

func (f Figure) size() (width, height float64) {
	width = f.width()
	height = margin + keyHeight*float64(len(f.keyRows()))
	for i := 0; i < len(f.Panels); i += f.Columns {
		over, under := f.around(i)
		height += over + f.rowHeight(i) + under
	}
	if n := len(f.notes()); n > 0 {
		height += footer + noteHeight*float64(n-1)
	}
	return width, height
}

// notes splits the note into lines.
func (f Figure) notes() []string {
	return console.Wrap(int((f.width()-left-right)/letter), strings.Fields(f.Note)...)
}

func (f Figure) width() float64 {
	return cmp.Or(f.Width, columnWidth*float64(f.Columns))
}

// keyRows splits the legend into rows.
func (f Figure) keyRows() [][]Key {
	width := f.width()
	var rows [][]Key
	used := width
	for _, k := range f.Keys {
		need := keyWidth(k)
		if used+need > width-left-right {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		used += need
	}
	return rows
}

// keyWidth returns the estimated width of an entry. The exact one depends on the font.
func keyWidth(k Key) float64 {
	return 20 + keyDot*float64(len(k.Colors)) + 7.4*float64(len([]rune(k.Name)))
}

// rowHeight returns the height of the highest panel in the row that begins with panel i.
func (f Figure) rowHeight(i int) float64 {
	most := 0.0
	for _, p := range f.Panels[i:min(i+f.Columns, len(f.Panels))] {
		most = max(most, cmp.Or(p.Height, panelHeight))
	}
	return most
}

// room returns the width of a panel inside its axes.
func (f Figure) room(p Panel) float64 {
	return f.width()/float64(f.Columns) - left - max(right, p.labelWidth())
}

// titles splits the title of a panel into lines that leave room for the label of its Y axis.
func (f Figure) titles(p Panel) []string {
	letters := int((f.room(p) - letter*float64(len([]rune(p.Y.Label))+2)) / bold)
	lines := console.Wrap(letters, strings.Fields(p.Title)...)
	for i, l := range lines {
		lines[i] = console.Shorten(l, max(letters, 1))
	}
	return lines
}

// around returns the space above and below the row that begins with panel i.
func (f Figure) around(i int) (over, under float64) {
	over, under = untitled, unlabelled
	for _, p := range f.Panels[i:min(i+f.Columns, len(f.Panels))] {
		if n := len(f.titles(p)); n > 0 {
			over = max(over, above+titleHeight*float64(n-1))
		}
		if p.X.Label != "" {
			under = below
		}
	}
	return over, under
}

// draw writes the figure.
func (f Figure) draw(s *svg) {
	width, height := f.size()
	y := float64(margin)
	for _, row := range f.keyRows() {
		x := float64(left)
		for _, k := range row {
			for i, c := range k.Colors {
				s.circles([]Point{{x + 5 + keyDot*float64(i), y + 9}}, 5, c)
			}
			s.text(Point{x + 2 + keyDot*float64(len(k.Colors)), y + 13}, k.Name, plain, start, Ink)
			x += keyWidth(k)
		}
		y += keyHeight
	}
	column := width / float64(f.Columns)
	for i := 0; i < len(f.Panels); i += f.Columns {
		h := f.rowHeight(i)
		over, under := f.around(i)
		for j, p := range f.Panels[i:min(i+f.Columns, len(f.Panels))] {
			p.draw(s, box{float64(j)*column + left, y + over, f.room(p), h}, f.titles(p))
		}
		y += over + h + under
	}
	notes := f.notes()
	for i, line := range notes {
		s.text(Point{left, height - margin - 4 - noteHeight*float64(len(notes)-1-i)}, line, small, start, Muted)
	}
}

func (p Panel) draw(s *svg, in box, titles []string) {
	at := func(q Point) Point {
		return Point{in.x + q.X/cmp.Or(p.X.Most, 1)*in.w, in.y + in.h - q.Y/cmp.Or(p.Y.Most, 1)*in.h}
	}
	for i, line := range titles {
		s.text(Point{in.x, in.y - 17 - titleHeight*float64(len(titles)-1-i)}, line, plain, start, Ink)
	}
	for _, t := range p.X.Ticks {
		x := at(Point{t.At, 0}).X
		s.line([]Point{{x, in.y}, {x, in.y + in.h}}, 0.7, Grid)
		s.text(Point{x, in.y + in.h + 16}, t.Label, small, middle, Muted)
	}
	for _, t := range p.Y.Ticks {
		y := at(Point{0, t.At}).Y
		s.line([]Point{{in.x, y}, {in.x + in.w, y}}, 0.7, Grid)
		s.text(Point{in.x - 7, y + 4}, t.Label, small, end, Muted)
	}
	for _, m := range p.Marks {
		m.draw(s, at)
	}
	p.label(s, at, in)
	s.text(Point{in.x + in.w, in.y + in.h + 32}, p.X.Label, small, end, Muted)
	if p.Title == "" {
		s.text(Point{in.x, in.y - 8}, p.Y.Label, small, start, Muted)
	} else {
		s.text(Point{in.x + in.w, in.y - 17}, p.Y.Label, small, end, Muted)
	}
}

// Series adds the line of series i, with dots, and its name at its end. Points at NaN interrupt it.
func (p *Panel) Series(i int, name string, width float64, points []Point) {
	c := Series(i)
	p.Marks = append(p.Marks, Line{Points: points, Color: c, Width: width}, Dots{Points: points, Color: c, Radius: width + 0.8})
	for _, end := range slices.Backward(points) {
		if !math.IsNaN(end.X) {
			p.Labels = append(p.Labels, Label{end, name, c})
			return
		}
	}
}

// labelWidth returns the estimated width of the labels, with the space around them.
func (p Panel) labelWidth() float64 {
	most := 0.0
	for _, l := range p.Labels {
		most = max(most, 30+letter*float64(min(len([]rune(l.Text)), longestLabel)))
	}
	return most
}

// label writes the labels at the right of the ends of their lines, moved apart where they would overlap.
func (p Panel) label(s *svg, at func(Point) Point, in box) {
	labels := slices.SortedStableFunc(slices.Values(p.Labels), func(a, b Label) int { return cmp.Compare(b.End.Y, a.End.Y) })
	places := make([]float64, len(labels))
	bottom := in.y + in.h
	for i := len(labels) - 1; i >= 0; i-- { // from the bottom upwards
		places[i] = min(at(labels[i].End).Y, bottom)
		bottom = places[i] - labelHeight
	}
	top := in.y
	for i, l := range labels {
		places[i] = max(places[i], top)
		top = places[i] + labelHeight
		end, x := at(l.End), in.x+in.w
		s.line([]Point{end, {x + 4, end.Y}, {x + 12, places[i]}}, 0.7, l.Color)
		s.circles([]Point{{x + 14, places[i]}}, 3, l.Color)
		s.text(Point{x + 21, places[i] + 4}, console.Shorten(l.Text, longestLabel), small, start, Muted)
	}
}
