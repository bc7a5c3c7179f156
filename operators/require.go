package operators

import "fmt"

// panicf panics with what is wrong with the arguments of an operator.
func panicf(operator, format string, args ...any) {
	panic("operators: " + operator + ": " + fmt.Sprintf(format, args...))
}

func notNil(operator, argument string, isNil bool) {
	if isNil {
		panicf(operator, "%s is nil", argument)
	}
}

// nilStream is the error of an operator whose function f has returned no stream.
func nilStream(operator string) error {
	return fmt.Errorf("operators: %s: f returned a nil stream", operator)
}
