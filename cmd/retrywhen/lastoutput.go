package main

import (
	"errors"
	"io"
	"os"
)

// lastOutput keeps the output of the last attempt in a temporary file, so that nothing of a failed attempt remains.
type lastOutput struct {
	file    *os.File
	removed bool // from its folder, so that nothing remains if run is killed; Windows removes no open file
}

func newLastOutput() (*lastOutput, error) {
	f, err := os.CreateTemp("", "retrywhen-*.out")
	if err != nil {
		return nil, err
	}
	return &lastOutput{f, os.Remove(f.Name()) == nil}, nil
}

// restart deletes what has been written.
func (o *lastOutput) restart() error {
	_, err := o.file.Seek(0, io.SeekStart)
	return errors.Join(err, o.file.Truncate(0))
}

// copyTo writes what the last attempt has written to w, and removes the file.
func (o *lastOutput) copyTo(w io.Writer) error {
	_, err := o.file.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(w, o.file)
	}
	err = errors.Join(err, o.file.Close())
	if !o.removed {
		err = errors.Join(err, os.Remove(o.file.Name()))
	}
	return err
}
