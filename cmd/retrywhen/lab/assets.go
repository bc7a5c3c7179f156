package lab

import (
	"embed"
	"io/fs"
)

//go:embed assets
var embedded embed.FS

// assets are the files of the page.
var assets = func() fs.FS {
	sub, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // there is no such folder
	}
	return sub
}()
