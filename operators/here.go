package operators

import "github.com/retrywhen/retrywhen/internal/op"

// here is this package's name in panics and errors.
const here op.Package = "operators"
