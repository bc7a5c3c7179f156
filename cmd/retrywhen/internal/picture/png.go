package picture

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
)

// PNG writes the figure on white, with two dots for each pixel of its size.
func (f Figure) PNG(w io.Writer) error {
	const scale = 2
	width, height := f.size()
	r := &raster{Context: gg.NewContext(int(math.Ceil(width*scale)), int(math.Ceil(height*scale))), faces: map[faceKey]font.Face{}}
	r.SetColor(rgba(paper, 255))
	r.Clear()
	r.Scale(scale, scale)
	r.scale = scale
	f.draw(r)
	if r.err != nil {
		return r.err
	}
	return png.Encode(w, r.Image())
}

type raster struct {
	*gg.Context
	scale float64
	faces map[faceKey]font.Face
	err   error
}

type faceKey struct {
	size float64
	bold bool
}

func rgba(c Color, alpha uint8) color.Color {
	var r, g, b uint8
	if _, err := fmt.Sscanf(hex[c][0], "#%02x%02x%02x", &r, &g, &b); err != nil {
		panic(fmt.Sprintf("picture: color %d: %v", c, err)) // the table is wrong
	}
	return color.NRGBA{r, g, b, alpha}
}

func (r *raster) boxes(b []box, c Color) {
	r.SetColor(rgba(c, 255))
	for _, x := range b {
		r.DrawRectangle(x.x, x.y, x.w, x.h)
	}
	r.Fill()
}

func (r *raster) circles(centres []Point, radius float64, c Color) {
	r.SetColor(rgba(c, 255))
	for _, p := range centres {
		r.DrawCircle(p.X, p.Y, radius)
		r.Fill()
	}
}

func (r *raster) line(points []Point, width float64, c Color) {
	r.SetColor(rgba(c, 255))
	r.SetLineWidth(width * r.scale)
	r.path(points)
	r.Stroke()
}

func (r *raster) area(points []Point, c Color) {
	r.SetColor(rgba(c, 46))
	r.path(points)
	r.ClosePath()
	r.Fill()
}

func (r *raster) path(points []Point) {
	begun := false
	for _, p := range points {
		switch {
		case math.IsNaN(p.X):
			begun = false
		case begun:
			r.LineTo(p.X, p.Y)
		default:
			r.MoveTo(p.X, p.Y)
			begun = true
		}
	}
}

func (r *raster) text(at Point, s string, size float64, a anchor, c Color) {
	face, err := r.face(size, c == Ink)
	if err != nil {
		r.err = err
		return
	}
	r.SetColor(rgba(c, 255))
	// The context scales places, not letters: so the text is drawn unscaled.
	r.Push()
	r.Identity()
	r.SetFontFace(face)
	r.DrawStringAnchored(s, at.X*r.scale, at.Y*r.scale, [...]float64{0, 0.5, 1}[a], 0)
	r.Pop()
}

func (r *raster) face(size float64, bold bool) (font.Face, error) {
	key := faceKey{size, bold}
	if f, ok := r.faces[key]; ok {
		return f, nil
	}
	ttf := liberationsansregular.TTF
	if bold {
		ttf = liberationsansbold.TTF
	}
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size * r.scale, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil, err
	}
	r.faces[key] = f
	return f, nil
}
