package picture

// Color is the role of a color, so that a picture can be light or dark.
type Color int

// The roles. Series and Retry return further ones.
const (
	Ink   Color = iota // titles
	Muted              // labels
	Grid
	Plain // bars that belong to no series
	Alarm // the capacity
	Faint // lines that join dots
	paper

	firstSeries
	firstRetry = firstSeries + seriesColors
	colors     = firstRetry + retryColors

	seriesColors = 8
	retryColors  = 8
)

// Series returns the color of series i, from 0.
func Series(i int) Color { return firstSeries + Color(i%seriesColors) }

// Retry returns the color of retry i of n, from 0: dark to bright.
func Retry(i, n int) Color {
	if n <= 1 {
		return firstRetry
	}
	return firstRetry + Color(i*(retryColors-1)/(n-1))
}

// Hex returns the color as a CSS text, on a light or on a dark background.
func (c Color) Hex(dark bool) string {
	if dark {
		return hex[c][1]
	}
	return hex[c][0]
}

// hex holds the colors on a light and on a dark background. Readers with deuteranopia can distinguish the colors of
// series. The colors of retries are samples of viridis, without its brightest end.
var hex = [colors][2]string{
	Ink:             {"#1f2328", "#e6edf3"},
	Muted:           {"#59636e", "#9da7b3"},
	Grid:            {"#e2e6ea", "#2d333b"},
	Plain:           {"#8c959f", "#6e7681"},
	Alarm:           {"#b62324", "#f47067"},
	Faint:           {"#d5dade", "#31373f"},
	paper:           {"#ffffff", "#0d1117"},
	firstSeries:     {"#105993", "#007db9"},
	firstSeries + 1: {"#d55e00", "#d86e27"},
	firstSeries + 2: {"#069f74", "#33c49d"},
	firstSeries + 3: {"#b44ea0", "#c264ae"},
	firstSeries + 4: {"#3c3400", "#ffce59"},
	firstSeries + 5: {"#3160cf", "#adafff"},
	firstSeries + 6: {"#9b5d36", "#c18862"},
	firstSeries + 7: {"#474e4f", "#b9dbf1"},
	firstRetry:      {"#440154", "#a15fc0"},
	firstRetry + 1:  {"#46327e", "#7f78d6"},
	firstRetry + 2:  {"#365c8d", "#5d93cf"},
	firstRetry + 3:  {"#277f8e", "#3fabba"},
	firstRetry + 4:  {"#1fa187", "#2fc2a2"},
	firstRetry + 5:  {"#4ac16d", "#62d883"},
	firstRetry + 6:  {"#8fbc2f", "#a5dc4a"},
	firstRetry + 7:  {"#d8a800", "#fde047"},
}
