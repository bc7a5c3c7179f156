package lab

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// The page's script formats times as the text and the axes do.
func TestTimesOfTheScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("RETRYWHEN_NPM") == "required" {
			t.Fatal(err)
		}
		t.Skip("there is no node")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	times := []time.Duration{0, 1, 999, 1000, 999_499, 999_999_999, time.Second, 59_950 * time.Millisecond, time.Minute, 90 * time.Second, 90_250 * time.Millisecond,
		time.Hour - time.Millisecond, time.Hour, 24*time.Hour - time.Second, 36 * time.Hour, 800 * time.Hour, 100 * 365 * 24 * time.Hour, -90 * time.Second}
	for range 2000 {
		times = append(times, time.Duration(math.Pow(10, 18*rng.Float64())))
	}
	in := make([]report.Seconds, len(times))
	for i, d := range times {
		in[i] = report.Seconds(d)
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	script := `import {time} from "./src/time.js"; console.log(JSON.stringify(` + string(text) + `.map((s) => [s, time(s)])))`
	out, err := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got [][2]any
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(times) {
		t.Fatalf("%v, %d times", err, len(got))
	}
	for _, g := range got { // of the numbers in the page's data, which have six digits
		if want := axis.Time(time.Duration(math.Round(g[0].(float64) * 1e9))); g[1] != want {
			t.Errorf("%v s is %s, want %s", g[0], g[1], want)
		}
	}
}
