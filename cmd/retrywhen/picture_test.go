package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
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
		if _, _, err := inProcess(t, append(append([]string{"sim"}, args...), "-o", file)...); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(got, []byte("var(")) {
			t.Errorf("%s has variables, which librsvg does not have", name)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", "img", name))
		if err != nil {
			t.Fatal(err)
		}
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
		if err := figure.SVG(&got); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "..", "docs", "img", name)
		if os.Getenv("RETRYWHEN_DRAW") != "" {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil { //nolint:gosec // a document
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
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
