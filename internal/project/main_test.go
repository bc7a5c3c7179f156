// Package project_test contains the tests of the project itself: its signatures, its layers, its exported names and its
// documents. They run in the repository's top folder.
package project_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
