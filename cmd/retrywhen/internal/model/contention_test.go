package model

import (
	"fmt"
	"testing"
)

func TestClientCounts(t *testing.T) {
	for _, test := range []struct {
		most, points int
		want         string
	}{{100, 10, "[10 20 30 40 50 60 70 80 90 100]"}, {3, 10, "[1 2 3]"}, {1, 1, "[1]"}, {7, 2, "[3 7]"}} {
		if got := fmt.Sprint(clientCounts(test.most, test.points)); got != test.want {
			t.Errorf("ClientCounts(%d, %d) = %s, want %s", test.most, test.points, got, test.want)
		}
	}
}
