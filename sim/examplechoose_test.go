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
		fmt.Printf("%s %-22s %-5v %4.1f refusals a client; after a minute all served in %v\n", mark, c.Name, c.Meets, c.Refusals, last.After.Most.Round(time.Second))
	}
	var choice sim.Choice = r.Choices[r.Recommended]
	fmt.Printf("%v: an operation that fails alone waits for %v in the median\n", choice.Policy, choice.FirstWait.P50.Round(time.Second))
	// Output:
	//   exponential, full      false  3.9 refusals a client; after a minute all served in 1m15s
	//   exponential, equal     false  4.0 refusals a client; after a minute all served in 1m10s
	//   decorrelated           false  4.2 refusals a client; after a minute all served in 1m12s
	//   exponential, tiled     false  3.1 refusals a client; after a minute all served in 1m0s
	// * one wave, tiled        true   0.0 refusals a client; after a minute all served in 55s
	//   up to one wave, tiled  false  2.7 refusals a client; after a minute all served in 58s
	//   up to one wave, full   false  2.7 refusals a client; after a minute all served in 2m26s
	// constant d=55s tiled: an operation that fails alone waits for 27s in the median
}

// The policies that Choose compares by default.
func ExampleCandidates() {
	for _, s := range sim.Candidates(1000, 20, 0, sim.OneProcess) {
		fmt.Printf("%-22s %v\n", s.Name, s.Policy)
	}
	// Output:
	// exponential, full      exponential base=1s factor=2 cap=30s jitter=full
	// exponential, equal     exponential base=1s factor=2 cap=30s jitter=equal
	// decorrelated           decorrelated base=1s cap=30s
	// exponential, tiled     exponential base=1s factor=2 cap=30s tiled
	// one wave, tiled        constant d=55s tiled
	// up to one wave, tiled  exponential base=1s factor=2 cap=55s tiled
	// up to one wave, full   exponential base=1s factor=2 cap=1m50s jitter=full
}

// A server of 20 a second needs 50 s for a thousand clients.
func ExampleWave() {
	fmt.Println(sim.Wave(1000, 20))
	// Output: 55s
}
