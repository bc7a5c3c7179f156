// Command release prepares a release of every module of the repository in a copy of it, tries it as a stranger would,
// and prints what remains to be done. It never pushes, and changes nothing but the copy.
//
//	release v0.1.0            from a clean work tree, into dist/release-v0.1.0
//	release -dry-run v0.1.0   from the work tree as it is; the copy is thrown away
//
// While developing, nested modules have a replace directive for the modules that lie beside them. Importers ignore it and
// go install refuses it. So a release is a commit of its own, beside the main branch, in which they require the tag
// instead. All tags are on that commit, with the module's folder as a prefix: v0.1.0, cmd/retrywhen/v0.1.0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	dry := flag.Bool("dry-run", false, "take the work tree as it is, and leave nothing behind")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: release [-dry-run] VERSION   (make release VERSION=v0.1.0)")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || flag.Arg(0) == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := release(ctx, os.Stdout, ".", flag.Arg(0), *dry)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// Modules whose path does not end in /vN have versions v0 and v1. Build metadata is not for tags.
var canonical = regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func release(ctx context.Context, out io.Writer, dir, version string, dry bool) (err error) {
	if !canonical.MatchString(version) {
		return fmt.Errorf("version %q: want one like v0.1.0 or v1.2.3-rc.1, of v0 or v1", version)
	}
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	t, err := newTools(ctx, temp)
	if err != nil {
		return err
	}
	repo, err := t.git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	repo = strings.TrimSpace(repo)

	dest := filepath.Join(temp, "copy")
	if dry {
		err = t.copyWorkTree(repo, dest)
	} else {
		dest = filepath.Join(repo, "dist", "release-"+version)
		err = t.copyHead(repo, dest, version)
	}
	if err != nil {
		return err
	}
	modules, err := t.modules(dest)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Preparing %s of %d modules in %s\n", version, len(modules), dest)
	if err := t.prepare(out, dest, version, modules, dry); err != nil {
		return err
	}
	proxy, err := t.publish(dest, version, modules)
	if err != nil {
		return err
	}
	if err := t.tryAll(out, proxy, version, modules); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe tags, all on one commit:")
	for _, m := range modules {
		fmt.Fprintln(out, "\t"+m.tag(version))
	}
	if dry {
		fmt.Fprintln(out, "That was a dry run: nothing is left of it.")
		return nil
	}
	var specs, tags strings.Builder
	for _, m := range modules {
		tag := m.tag(version)
		fmt.Fprintf(&specs, " refs/tags/%s:refs/tags/%[1]s", tag)
		fmt.Fprintf(&tags, " refs/tags/%s", tag)
	}
	fmt.Fprintf(out, "Look at the commit, then take it over and publish it:\n"+
		"\tgit -C dist/release-%s show --stat\n\tgit fetch --no-tags ./dist/release-%[1]s%s\n\tgit push --atomic origin%s\n",
		version, specs.String(), tags.String())
	return nil
}
