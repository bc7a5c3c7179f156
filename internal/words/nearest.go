package words

// Nearest returns the name that word most likely means, or "" if none is near.
func Nearest(word string, names []string) string {
	best, least := "", len(word)/3+2
	for _, name := range names {
		if len(word)-len(name) >= least { // the distance is at least the difference in length
			continue
		}
		if d := distance(word, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace, or swap with the next one to turn a into b (optimal
// string alignment).
func distance(a, b string) int {
	var before, last, row []int
	for j := range len(b) + 1 {
		last = append(last, j)
	}
	for i := 1; i <= len(a); i++ {
		row = []int{i}
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row = append(row, d)
		}
		before, last = last, row
	}
	return last[len(b)]
}
