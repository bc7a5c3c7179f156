package lab

import (
	"embed"
	"io/fs"
)

//go:embed assets
var embedded embed.FS

// assets returns the files of the page. It is a function, so that a program that computes and shows no page has none in
// it.
func assets() fs.FS {
	sub, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // there is no such folder
	}
	return sub
}
