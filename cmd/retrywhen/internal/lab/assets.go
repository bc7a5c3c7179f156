package lab

import (
	"embed"
	"io/fs"
)

//go:embed assets
var embedded embed.FS

// assets returns the files of the page. It is a function, so that the linker drops them from a program that serves no
// page.
func assets() fs.FS {
	sub, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // the folder does not exist
	}
	return sub
}
