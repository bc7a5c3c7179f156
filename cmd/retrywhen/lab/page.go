package lab

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"strings"
)

// WritePage writes the page as one file that needs no server: its numbers are inside, and its controls are not.
func WritePage(ctx context.Context, w io.Writer, s State) error {
	herd, err := ComputeHerd(ctx, s)
	if err != nil {
		return err
	}
	contention, err := ComputeContention(ctx, s)
	if err != nil {
		return err
	}
	outage, err := ComputeOutage(ctx, s)
	if err != nil {
		return err
	}
	data, err := json.Marshal(struct { // it escapes <, so that no text ends the script
		Herd       *Herd       `json:"herd"`
		Contention *Contention `json:"contention"`
		Outage     *Outage     `json:"outage"`
	}{herd, contention, outage})
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, name := range []string{"index.html", "app.css", "app.js", "app.licenses.txt"} {
		b, err := fs.ReadFile(assets, name)
		if err != nil {
			return err
		}
		files[name] = string(b)
	}
	page := strings.NewReplacer(
		`<link rel="stylesheet" href="app.css">`, "<style>\n"+files["app.css"]+"</style>",
		`<script id="data" type="application/json"></script>`, `<script id="data" type="application/json">`+string(data)+"</script>",
		`<script src="app.js" defer></script>`, "<!--\n"+strings.ReplaceAll(files["app.licenses.txt"], "--", "- -")+"-->\n<script>"+files["app.js"]+"</script>",
	).Replace(files["index.html"])
	_, err = io.WriteString(w, page)
	return err
}
