package jitter_test

import (
	"fmt"

	"github.com/retrywhen/retrywhen/jitter"
)

func Example() {
	for _, j := range []jitter.Jitter{jitter.None, jitter.Default, jitter.Full, jitter.Equal} {
		fmt.Printf("%-8v %-5v %-5v %v\n", j, j.Factor(0), j.Factor(0.5), j.Factor(1))
	}
	// Output:
	// none     1     1     1
	// default  0.85  1     1.15
	// full     0     0.5   1
	// equal    0.5   0.75  1
}

func ExampleDeviation() {
	j := jitter.Deviation(0.5)
	fmt.Println(j.Factor(0), j.Factor(0.5), j.Factor(1))
	fmt.Println(j)
	// Output:
	// 0.5 1 1.5
	// deviation:0.5
}

func ExampleUniform() {
	j := jitter.Uniform(1, 3)
	fmt.Println(j.Factor(0), j.Factor(0.25), j.Factor(1))
	fmt.Println(j)
	// Output:
	// 1 1.5 3
	// uniform:1:3
}

// A jitter that makes short delays more likely than long ones.
func ExampleFunc() {
	early := jitter.Func(func(u float64) float64 { return u * u })
	for _, u := range []float64{0.25, 0.5, 0.75} {
		fmt.Println(early.Factor(u))
	}
	// Output:
	// 0.0625
	// 0.25
	// 0.5625
}

func ExampleParse() {
	j, err := jitter.Parse("uniform:0.5:1.5")
	fmt.Println(j.Factor(0), j.Factor(1), err)

	_, err = jitter.Parse("deviation:7")
	fmt.Println(err)
	// Output:
	// 0.5 1.5 <nil>
	// jitter: Parse: "deviation:7": p is 7, want 0 <= p <= 1
}
