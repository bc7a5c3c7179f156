package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// Seconds is a duration that JSON encodes as a number of seconds with six digits.
type Seconds time.Duration

// MarshalJSON returns the number.
func (s Seconds) MarshalJSON() ([]byte, error) {
	x := time.Duration(s).Seconds()
	if x != 0 {
		scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
		if r := math.Round(x*scale) / scale; !math.IsInf(r, 0) && !math.IsNaN(r) {
			x = r
		}
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64), nil
}

// Grade says how good a result is.
type Grade string

// The grades.
const (
	Well Grade = "well"
	Late Grade = "late"
	Bad  Grade = "bad"
)

// Axis is a time axis from 0 to Most, with its ticks for a wide and for a narrow chart.
type Axis struct {
	Most   Seconds     `json:"most"`
	Wide   []axis.Tick `json:"wide"`
	Narrow []axis.Tick `json:"narrow"`
}

func newAxis(most time.Duration) Axis { return newAxisFrom(0, most) }

// newAxisFrom returns an axis whose labels count from the origin.
func newAxisFrom(origin, most time.Duration) Axis {
	return Axis{Seconds(most), axis.TimesFrom(origin, most, 9), axis.TimesFrom(origin, most, 4)}
}

// Term is a figure on the page, as a text and as a number.
type Term struct {
	Name  string  `json:"name"`
	Text  string  `json:"text"`
	Value float64 `json:"value"`
	Help  string  `json:"help"`
}

// termTable returns the figures of strategies as a table for a terminal, what the figures mean, and a note.
func termTable(width int, names []string, figures [][]Term, note string) []string {
	if len(names) == 0 {
		return nil
	}
	header, rows, words := []string{"policy"}, make([][]string, len(names)), []string{}
	for _, f := range figures[0] {
		header = append(header, f.Name)
		words = append(words, strings.Fields(strings.ToUpper(f.Name[:1])+f.Name[1:]+": "+f.Help+".")...)
	}
	for i, name := range names {
		rows[i] = append(rows[i], name)
		for _, f := range figures[i] {
			rows[i] = append(rows[i], f.Text)
		}
	}
	return append(console.Fit(width, header, rows, 1), console.Wrap(width, append(words, strings.Fields(note)...)...)...)
}

// picturePage is a page of a picture and tables.
type picturePage struct {
	Sentence string      `json:"sentence"`
	Picture  string      `json:"picture"` // an SVG
	Tables   []pageTable `json:"tables"`
}

type pageTable struct {
	Title   string     `json:"title"`
	Formula string     `json:"formula"`
	Header  []string   `json:"header"`
	Rows    [][]string `json:"rows"`
}

func newPicturePage(f picture.Figure, sentence string) *picturePage {
	var svg strings.Builder
	_ = f.SVG(&svg) // a Builder does not fail
	return &picturePage{Sentence: sentence, Picture: svg.String(), Tables: []pageTable{}}
}
