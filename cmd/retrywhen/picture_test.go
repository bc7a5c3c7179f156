package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/jitter"
)

// The pictures of the documents are what this command writes. To update one, run the command with that file as its
// output, as in
//
//	go run ./cmd/retrywhen sim herd -o docs/img/question.svg
func TestPictures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may differ in the last digit")
	}
	const three = "exponential base=100ms factor=2 cap=10s jitter=full limit=3"
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	for name, args := range map[string][]string{
		"question.svg": {"herd"},
		"overload.svg": {"overload", "3 retries: " + three, "3 retries and a budget: " + three + " budget=10,1,0.1"},
	} {
		file := filepath.Join(t.TempDir(), name)
		_, _, err := inProcess(t, append(append([]string{"sim"}, args...), "-o", file)...)
		must(t, err)
		got, err := os.ReadFile(file)
		must(t, err)
		if bytes.Contains(got, []byte("var(")) {
			t.Errorf("%s has variables, which librsvg does not have", name)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", "img", name))
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("docs/img/%s is not what the command writes: retrywhen sim %q", name, args)
		}
	}
}

// TestDrawnPictures compares the pictures that no command writes. RETRYWHEN_DRAW=1 writes them.
func TestDrawnPictures(t *testing.T) {
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // as in TestPictures
	for name, figure := range map[string]picture.Figure{
		"feed.svg": feedPicture(), "packages.svg": packagesPicture(), "job.svg": jobPicture(), "jitter.svg": jitterPicture(), "finding.svg": findingPicture(t),
	} {
		var got bytes.Buffer
		must(t, figure.SVG(&got))
		file := filepath.Join("..", "..", "docs", "img", name)
		if os.Getenv("RETRYWHEN_DRAW") != "" {
			must(t, os.WriteFile(file, got.Bytes(), 0o644)) //nolint:gosec // a document
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("docs/img/%s is not what %s draws (%v): RETRYWHEN_DRAW=1 go test ./cmd/retrywhen -run TestDrawnPictures", name, t.Name(), err)
		}
	}
}

// Librsvg, which GitHub's mobile app and the desktops use, draws the pictures of the documents in their colors. It
// knows no variables: with them all is black.
func TestPicturesInLibrsvg(t *testing.T) {
	if os.Getenv("RETRYWHEN_RSVG") != "required" {
		t.Skip("it runs nightly: RETRYWHEN_RSVG=required")
	}
	names, err := filepath.Glob(filepath.Join("..", "..", "docs", "img", "*.svg"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d pictures, %v", len(names), err)
	}
	picture := render(t, "-w", "1200", filepath.Join("..", "..", "docs", "img", "overload.svg"))
	file, err := os.Open(filepath.Join("..", "..", "docs", "img", "overload.png"))
	must(t, err)
	defer file.Close()
	committed, err := png.Decode(file)
	if err != nil || committed.Bounds() != picture.Bounds() {
		t.Fatalf("overload.png: %v, %v", err, committed.Bounds())
	}
	differ := 0
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if color.NRGBAModel.Convert(committed.At(x, y)) != color.NRGBAModel.Convert(picture.At(x, y)) {
				differ++
			}
		}
	}
	if all := picture.Bounds().Dx() * picture.Bounds().Dy(); differ > all/20 { // fonts differ
		t.Errorf("docs/img/overload.png is not overload.svg: %d of %d pixels differ: rsvg-convert -w 1200 docs/img/overload.svg -o docs/img/overload.png", differ, all)
	}
	for _, name := range names {
		drawn := render(t, name)
		seen := map[color.NRGBA]int{}
		size := drawn.Bounds().Size()
		for y := range size.Y {
			for x := range size.X {
				seen[color.NRGBAModel.Convert(drawn.At(x, y)).(color.NRGBA)]++
			}
		}
		pixels := size.X * size.Y
		if black := seen[color.NRGBA{0, 0, 0, 255}]; black > pixels/1000 || seen[color.NRGBA{255, 255, 255, 255}] < pixels/3 || len(seen) < 20 {
			t.Errorf("%s: %d of %d pixels are black, %d white, and there are %d colors", name, black, pixels, seen[color.NRGBA{255, 255, 255, 255}], len(seen))
		}
	}
}

// render returns the picture that rsvg-convert draws.
func render(t *testing.T, args ...string) image.Image {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "rsvg-convert", args...).Output()
	if err != nil {
		t.Fatalf("rsvg-convert %q: %v", args, err)
	}
	drawn, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return drawn
}

// sheet returns a figure of one panel whose unit is a pixel, y upwards.
func sheet(height float64, marks []picture.Mark, keys ...picture.Key) picture.Figure {
	return picture.Figure{Columns: 1, Width: 860, Keys: keys, Panels: []picture.Panel{
		{X: picture.Axis{Most: 786}, Y: picture.Axis{Most: height}, Height: height, Marks: marks},
	}}
}

// frame returns a box around a name and lines below it, centred at a point.
func frame(x, y, w, h float64, c picture.Color, name string, lines ...string) []picture.Mark {
	l, r, b, t := x-w/2, x+w/2, y-h/2, y+h/2
	marks := []picture.Mark{picture.Line{Points: []picture.Point{{X: l, Y: b}, {X: r, Y: b}, {X: r, Y: t}, {X: l, Y: t}, {X: l, Y: b}}, Color: c, Width: 2}}
	at := y - 4 + 8*float64(len(lines))
	marks = append(marks, picture.Text{At: picture.Point{X: x, Y: at}, Text: name, Color: picture.Ink})
	for i, line := range lines {
		marks = append(marks, picture.Text{At: picture.Point{X: x, Y: at - 16*float64(i+1)}, Text: line, Color: picture.Muted})
	}
	return marks
}

// arrow returns a line through points with a head at its end, and a label.
func arrow(label picture.Text, points ...picture.Point) []picture.Mark {
	to, from := points[len(points)-1], points[len(points)-2]
	dx, dy := 0.0, 0.0
	switch {
	case to.X > from.X:
		dx = 7
	case to.X < from.X:
		dx = -7
	case to.Y > from.Y:
		dy = 7
	default:
		dy = -7
	}
	head := []picture.Point{{X: to.X - dx - dy/2, Y: to.Y - dy - dx/2}, to, {X: to.X - dx + dy/2, Y: to.Y - dy + dx/2}}
	label.Color = picture.Muted
	return []picture.Mark{picture.Line{Points: points, Color: picture.Plain, Width: 1.5}, picture.Line{Points: head, Color: picture.Plain, Width: 1.5}, label}
}

// packagesPicture says which package is for what.
func packagesPicture() picture.Figure {
	groups := []string{"calls", "feeds, jobs, metrics", "tests and figures"}
	boxes := [][3]string{
		{"retry", "a call, a loop, a shared token", "Do · Attempts · Shared"},
		{"retryhttp", "an http.Client, a download", "NewTransport · ResumeBody"},
		{"retrygrpc", "a gRPC connection", "UnaryClientInterceptor · Receive"},
		{"stream, operators", "a feed that continues, many items", "RetryWhen · Resume · MapRetry"},
		{"durable", "jobs that survive the process", "Put · Work"},
		{"retryotel", "metrics and traces of any policy", "Observe"},
		{"streamtest", "hours of waits without waiting", "Run · Expect · NewClock"},
		{"reconnecttest, prove", "does the client come back?", "CheckResume · Check · CheckCalls"},
		{"sim", "what a policy does to a server", "Boundary · Choose"},
	}
	var marks []picture.Mark
	var keys []picture.Key
	for i, b := range boxes {
		c := picture.Series([]int{0, 2, 1}[i/3])
		marks = append(marks, frame(125+268*float64(i%3), 240-92*float64(i/3), 250, 74, c, b[0], b[1], b[2])...)
		if i%3 == 0 {
			keys = append(keys, picture.Key{Name: groups[i/3], Colors: []picture.Color{c}})
		}
	}
	return sheet(280, marks, keys...)
}

// jobPicture shows the stages of a durable job: docs/durable-protocol.md.
func jobPicture() picture.Figure {
	at := func(x, y float64) picture.Point { return picture.Point{X: x, Y: y} }
	label := func(x, y float64, text string) picture.Text { return picture.Text{At: at(x, y), Text: text} }
	var marks []picture.Mark
	add := func(m []picture.Mark) { marks = append(marks, m...) }
	stage := picture.Series(0)
	add(frame(160, 170, 110, 50, stage, "first", "the job"))
	add(frame(390, 170, 130, 50, picture.Plain, "an attempt", "in a worker"))
	add(frame(700, 170, 150, 50, picture.Series(2), "mark", "done"))
	add(frame(500, 45, 130, 50, stage, "later", "with a schedule"))
	add(frame(300, 45, 130, 50, stage, "again", "its time has come"))
	add(frame(700, 45, 150, 50, picture.Alarm, "dead", "the dead letter"))
	add(arrow(label(50, 178, "Put"), at(0, 170), at(105, 170)))
	add(arrow(label(270, 178, "delivered"), at(215, 170), at(325, 170)))
	add(arrow(label(540, 188, "returns nil"), at(455, 180), at(625, 180)))
	add(arrow(label(482, 105, "fails, waits"), at(445, 145), at(445, 70)))
	add(arrow(label(400, 53, "its time"), at(435, 45), at(365, 45)))
	add(arrow(label(318, 105, "delivered"), at(350, 70), at(350, 145)))
	add(arrow(label(545, 128, "given up"), at(455, 160), at(590, 160), at(590, 45), at(625, 45)))
	add(arrow(label(455, 4, "Revive"), at(700, 20), at(700, 0), at(160, 0), at(160, 145)))
	add(arrow(label(455, 217, "Cancel, at any stage but dead"), at(160, 195), at(160, 210), at(700, 210), at(700, 195)))
	return sheet(220, marks, picture.Key{Name: "stored by the server", Colors: []picture.Color{stage}},
		picture.Key{Name: "done", Colors: []picture.Color{picture.Series(2)}}, picture.Key{Name: "given up", Colors: []picture.Color{picture.Alarm}})
}

// jitterPicture shows when 1,000 clients that fail together come back, by jitter.
func jitterPicture() picture.Figure {
	const clients, bin, most = 1000, 0.25, 20.0
	curve := backoff.Exponential(time.Second, 2)
	f := picture.Figure{Columns: 1, Width: 860, Note: "1,000 clients fail together; each retry fails too. exponential base=1s factor=2, four retries"}
	for i, c := range []struct {
		name string
		b    backoff.Backoff
	}{{"no jitter", curve}, {"±15 %, jitter.Default", curve.Jitter(jitter.Default)}, {"equal", curve.Jitter(jitter.Equal)}, {"full", curve.Jitter(jitter.Full)}, {"tiled", curve.Tiled()}} {
		bins := make([]float64, int(most/bin))
		for client := range clients {
			random, at := rand.New(rand.NewPCG(1, uint64(client))), 0.0
			kept := (float64(client) + 0.5) / clients
			for n := 1; n <= 4; n++ {
				u := random.Float64()
				if c.name == "tiled" {
					u = kept
				}
				at += c.b.At(n, u).Seconds()
				if at < most {
					bins[int(at/bin)]++
				}
			}
		}
		var bars []picture.Bar
		highest := 0.0
		for j, n := range bins {
			bars = append(bars, picture.Bar{From: float64(j) * bin, To: float64(j+1) * bin, Height: n})
			highest = max(highest, n)
		}
		p := picture.Panel{Title: fmt.Sprintf("%s: at most %.0f in a quarter of a second", c.name, highest),
			X: picture.Axis{Most: most}, Y: picture.Axis{Most: clients}, Height: 70, Marks: []picture.Mark{picture.Bars{Bars: bars, Color: picture.Series(i)}}}
		p.Y.Ticks = []axis.Tick{{At: 0, Label: "0"}, {At: clients, Label: "1000"}}
		for s := 0; s <= int(most); s += 5 {
			p.X.Ticks = append(p.X.Ticks, axis.Tick{At: float64(s), Label: fmt.Sprintf("%d s", s)})
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// findingPicture shows the command and the finding of docs/prove.md in a terminal.
func findingPicture(t *testing.T) picture.Figure {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "prove.md"))
	must(t, err)
	_, command, _ := strings.Cut(string(text), "```sh\n")
	command, _, _ = strings.Cut(command, "\n```")
	_, finding, ok := strings.Cut(string(text), "```text\n")
	finding, _, _ = strings.Cut(finding, "\n```")
	if !ok || !strings.HasPrefix(finding, "lost: ") {
		t.Fatalf("prove.md's first finding is %q", finding)
	}
	command, program, _ := strings.Cut(command, " -- ")
	what, advice, _ := strings.Cut(finding, "; ")
	advice, rest, _ := strings.Cut(advice, "\n")
	lines := append([]string{"$ " + command + " \\", "    -- " + program, "", what + ";", "  " + advice}, strings.Split(rest, "\n")...)
	height := 22*float64(len(lines)) + 40
	var marks []picture.Mark
	marks = append(marks, frame(393, height/2, 786, height, picture.Plain, "")...)
	for i := range 3 {
		marks = append(marks, picture.Dots{Points: []picture.Point{{X: 16 + 16*float64(i), Y: height - 14}}, Color: picture.Faint, Radius: 5})
	}
	for i, line := range lines {
		c := picture.Muted
		if strings.HasPrefix(line, "lost: ") {
			c = picture.Alarm
		}
		marks = append(marks, picture.Code{At: picture.Point{X: 16, Y: height - 46 - 22*float64(i)}, Text: line, Color: c})
	}
	return sheet(height, marks)
}

// feedPicture returns README's picture: one feed over time, with four breaks, for the usual loop and for Resume. Its
// figures are drawn, not measured: docs/recipes.md explains the loop.
func feedPicture() picture.Figure {
	sent := []float64{6, 14, 25, 36, 47, 58, 70, 92} // events 1 to 8
	breaks := []struct {
		at, back float64
		name     string
	}{{18, 22, "cut"}, {40, 44, "clean end"}, {62, 76, "silence"}, {83, 88, "refused"}}
	panel := func(title string, handled map[int][]float64, wrong map[int]bool, positions bool) picture.Panel {
		p := picture.Panel{Title: title, X: picture.Axis{Most: 100}, Y: picture.Axis{Most: 3}, Height: 120}
		from := 0.0
		for _, b := range breaks {
			p.Marks = append(p.Marks, picture.Rule{X: b.at, Most: 3, Label: b.name, Color: picture.Muted},
				picture.Line{Points: []picture.Point{{X: from, Y: 1}, {X: b.at, Y: 1}}, Color: picture.Series(0), Width: 2})
			from = b.back
		}
		p.Marks = append(p.Marks, picture.Line{Points: []picture.Point{{X: from, Y: 1}, {X: 100, Y: 1}}, Color: picture.Series(0), Width: 2})
		for i, at := range sent {
			n := i + 1
			p.Marks = append(p.Marks, picture.Dots{Points: []picture.Point{{X: at, Y: 2}}, Color: picture.Plain, Radius: 4},
				picture.Text{At: picture.Point{X: at, Y: 2.25}, Text: strconv.Itoa(n), Color: picture.Muted})
			c := picture.Series(2)
			if wrong[n] {
				c = picture.Alarm
			}
			for _, h := range handled[n] {
				p.Marks = append(p.Marks, picture.Dots{Points: []picture.Point{{X: h, Y: 1}}, Color: c, Radius: 5},
					picture.Text{At: picture.Point{X: h, Y: 0.5}, Text: strconv.Itoa(n), Color: c})
			}
			if len(handled[n]) == 0 {
				p.Marks = append(p.Marks, picture.Text{At: picture.Point{X: at, Y: 0.5}, Text: strconv.Itoa(n) + " is lost", Color: picture.Alarm})
			}
		}
		if positions {
			for i, after := range []string{"connect after 2", "connect after 4", "connect after 6", "connect after 7"} {
				p.Marks = append(p.Marks, picture.Text{At: picture.Point{X: breaks[i].back + 2, Y: 0.1}, Text: after, Color: picture.Muted})
			}
		}
		return p
	}
	return picture.Figure{
		Columns: 1, Width: 860,
		Keys: []picture.Key{{Name: "sent by the server", Colors: []picture.Color{picture.Plain}}, {Name: "handled", Colors: []picture.Color{picture.Series(2)}},
			{Name: "lost, or handled twice", Colors: []picture.Color{picture.Alarm}}, {Name: "connected", Colors: []picture.Color{picture.Series(0)}}},
		Panels: []picture.Panel{
			panel("The usual loop", map[int][]float64{1: {7}, 2: {15}, 3: {26}, 4: {37, 45.5}, 5: {48}, 6: {59}, 8: {93}}, map[int]bool{4: true}, false),
			panel("Resume", map[int][]float64{1: {7}, 2: {15}, 3: {26}, 4: {37}, 5: {48}, 6: {59}, 7: {77.5}, 8: {93}}, nil, true),
		},
	}
}
