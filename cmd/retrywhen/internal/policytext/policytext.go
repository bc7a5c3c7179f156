// Package policytext takes the text form of a policy apart: into its words, and into the Go expression that makes it.
package policytext

import (
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// Fields are the words of a policy by their names. A word without a value, as the curve's name, has the value "".
type Fields map[string]string

// Words returns the words of the policy's text form.
func Words(p retry.Policy) Fields {
	words := Fields{}
	for word := range strings.FieldsSeq(p.String()) {
		name, value, _ := strings.Cut(word, "=")
		words[name] = value
	}
	return words
}

// Unlimited reports whether the policy has no word that makes it give up.
func (w Fields) Unlimited() bool {
	for _, name := range []string{"limit", "within", "stopat"} {
		if _, ok := w[name]; ok {
			return false
		}
	}
	return true
}

// Duration returns the value of the word, 0 if there is none.
func (w Fields) Duration(name string) time.Duration {
	value, ok := w[name]
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		panic(fmt.Sprintf("policytext: %s=%s: %v", name, value, err)) // a policy's own String has no such word
	}
	return d
}
