package picture

// Color is the role of a color, so that a picture can be light or dark.
type Color int

// The roles. Series and Retry return further ones.
const (
	Ink   Color = iota // titles
	Muted              // labels
	Grid
	Plain // bars that belong to no series
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

// hex holds the colors on a light and on a dark background. Color-blind readers can distinguish the colors of series
// (Okabe and Ito, "Color Universal Design"). The colors of retries are samples of viridis, without its brightest end.
var hex = [colors][2]string{
	Ink:             {"#1f2328", "#e6edf3"},
	Muted:           {"#59636e", "#9da7b3"},
	Grid:            {"#e2e6ea", "#2d333b"},
	Plain:           {"#8c959f", "#6e7681"},
	Faint:           {"#d5dade", "#31373f"},
	paper:           {"#ffffff", "#0d1117"},
	firstSeries:     {"#0072b2", "#4aa8dd"},
	firstSeries + 1: {"#d55e00", "#f0803c"},
	firstSeries + 2: {"#009e73", "#2fc49a"},
	firstSeries + 3: {"#aa4499", "#d67bc4"},
	firstSeries + 4: {"#b8860b", "#e0b040"},
	firstSeries + 5: {"#4b5fc1", "#8f9ff0"},
	firstSeries + 6: {"#7a4a2b", "#c08a63"},
	firstSeries + 7: {"#667079", "#a5afb8"},
	firstRetry:      {"#440154", "#a15fc0"},
	firstRetry + 1:  {"#46327e", "#7f78d6"},
	firstRetry + 2:  {"#365c8d", "#5d93cf"},
	firstRetry + 3:  {"#277f8e", "#3fabba"},
	firstRetry + 4:  {"#1fa187", "#2fc2a2"},
	firstRetry + 5:  {"#4ac16d", "#62d883"},
	firstRetry + 6:  {"#8fbc2f", "#a5dc4a"},
	firstRetry + 7:  {"#d8a800", "#fde047"},
}
