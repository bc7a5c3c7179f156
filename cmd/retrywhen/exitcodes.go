package main

import (
	"errors"
	"strconv"
	"strings"
)

// exitCodes is the value of --on-exit: a set of exit codes from 1 to 255. The empty one is all of them.
type exitCodes struct {
	text   string
	in     [256]bool
	beyond bool // codes above 255, which Windows has
}

func (e *exitCodes) Type() string { return "codes" }

func (e *exitCodes) wants() string {
	return `exit codes from 1 to 255 separated by commas, as in 1,64-78, or "all but" these`
}

func (e *exitCodes) String() string { return e.text }

// Set adds codes and ranges of codes, separated by commas, or all codes but those.
func (e *exitCodes) Set(text string) error {
	list, but := strings.CutPrefix(text, "all but ")
	var named [256]bool
	for part := range strings.SplitSeq(list, ",") {
		least, most, isRange := strings.Cut(part, "-")
		if !isRange {
			most = least
		}
		from, err1 := strconv.ParseUint(least, 10, 8)
		to, err2 := strconv.ParseUint(most, 10, 8)
		if err := errors.Join(err1, err2); err != nil || from < 1 || to < from {
			return errors.Join(err, errors.New("no exit codes"))
		}
		for code := from; code <= to; code++ {
			named[code] = true
		}
	}
	for code := 1; code < len(e.in); code++ {
		e.in[code] = e.in[code] || named[code] != but
	}
	e.beyond = e.beyond || but
	e.text = strings.TrimPrefix(e.text+","+text, ",")
	return nil
}

// has reports whether an attempt that ended with the code is retried.
func (e *exitCodes) has(code int) bool {
	if code >= len(e.in) {
		return e.beyond || e.text == ""
	}
	return e.in[code] || e.text == ""
}
