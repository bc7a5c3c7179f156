package operators

import (
	"fmt"

	"github.com/retrywhen/retrywhen/internal/op"
)

// here is this package's name in panics and errors.
const here op.Package = "operators"

// panicf panics with a message about an invalid argument.
func panicf(operator, format string, args ...any) {
	panic("operators: " + operator + ": " + fmt.Sprintf(format, args...))
}

func notNil(operator, argument string, isNil bool) {
	if isNil {
		panicf(operator, "%s is nil", argument)
	}
}
