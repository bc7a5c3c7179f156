module github.com/retrywhen/retrywhen/sim

go 1.26.0

require github.com/retrywhen/retrywhen v0.0.0

replace github.com/retrywhen/retrywhen => ../
