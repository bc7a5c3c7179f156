package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

// A server of 20 a second has a thousand clients. With which policy are all of them served within a minute of its
// return, after outages of 2 s and of a minute?
func ExampleChoose() {
	r, err := sim.Choose{
		Clients: 1000, Capacity: 20, Outages: []time.Duration{2 * time.Second, time.Minute}, Served: time.Minute, Runs: 2,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, c := range r.Choices {
		mark := " "
		if i == r.Recommended {
			mark = "*"
		}
		var last sim.ChoiceOutage = c.Outages[1]
		fmt.Printf("%s %-26s %-5v %4.1f refusals a client; after a minute all served in %v\n", mark, c.Name, c.Meets, c.Refusals, last.After.Most.Round(time.Second))
	}
	var choice sim.Choice = r.Choices[r.Recommended]
	fmt.Printf("%v: an operation that fails alone waits for %v in the median\n", choice.Policy, choice.FirstWait.P50.Round(10*time.Millisecond))
	// Output:
	//   exponential, full          false  3.9 refusals a client; after a minute all served in 1m15s
	//   exponential, equal         false  4.0 refusals a client; after a minute all served in 1m10s
	//   decorrelated               false  4.2 refusals a client; after a minute all served in 1m12s
	//   constant 55s, tiled        true   0.0 refusals a client; after a minute all served in 55s
	//   constant 1m11.5s, tiled    false  0.0 refusals a client; after a minute all served in 1m11s
	//   1s, then 27.5s, tiled      true   0.9 refusals a client; after a minute all served in 55s
	//   1s, then 41.3s, tiled      false  0.4 refusals a client; after a minute all served in 1m22s
	// * 1s, then 55s, tiled        true   0.0 refusals a client; after a minute all served in 55s
	//   1s, then 1m11.5s, tiled    false  0.0 refusals a client; after a minute all served in 1m11s
	//   constant 22s, full         false  3.1 refusals a client; after a minute all served in 1m5s
	// table delays=1s,55s tiled: an operation that fails alone waits for 500ms in the median
}

// The policies that Choose compares by default.
func ExampleCandidates() {
	for _, s := range sim.Candidates(1000, 20, 0, sim.OneProcess) {
		fmt.Printf("%-26s %v\n", s.Name, s.Policy)
	}
	// Output:
	// exponential, full          exponential base=1s factor=2 cap=30s jitter=full
	// exponential, equal         exponential base=1s factor=2 cap=30s jitter=equal
	// decorrelated               decorrelated base=1s cap=30s
	// constant 55s, tiled        constant d=55s tiled
	// constant 1m11.5s, tiled    constant d=1m11.5s tiled
	// 1s, then 27.5s, tiled      table delays=1s,27.5s tiled
	// 1s, then 41.3s, tiled      table delays=1s,41.3s tiled
	// 1s, then 55s, tiled        table delays=1s,55s tiled
	// 1s, then 1m11.5s, tiled    table delays=1s,1m11.5s tiled
	// constant 22s, full         constant d=22s jitter=full
}

// A server of 20 a second needs 50 s for a thousand clients.
func ExampleWave() {
	fmt.Println(sim.Wave(1000, 20))
	// Output: 55s
}
