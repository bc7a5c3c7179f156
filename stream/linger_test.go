package stream

import "testing"

// Nothing of what came in the last moment of waiting is lost, though it is more than one thing.
func TestLinger_WhatComesInTheLastStep(t *testing.T) {
	calls, late := 0, 0
	linger(t.Context(), func() (came, over bool) {
		if calls++; calls <= lateTurns+lateSteps {
			return false, false
		}
		late++
		return true, late == 3
	})
	if late != 3 {
		t.Errorf("%d of 3 received", late)
	}
}
