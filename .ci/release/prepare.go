package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// prepare makes the release commit in the copy at dir: module after module it requires the tag of those before, and drops
// what it replaced. Their sums are known as soon as they are tagged, and do not change when the commit does, for a
// module's zip holds its own folder only.
func (t *tools) prepare(out io.Writer, dir, version string, modules []module, dry bool) error {
	if err := t.work(dir, version, modules); err != nil { // first, for it is in the library's zip
		return err
	}
	commit := []string{"commit", "--quiet", "--allow-empty", "--no-verify", "-m", "Release " + version}
	if dry {
		commit = append([]string{"-c", "user.name=dry run", "-c", "user.email=dry@run.invalid", "-c", "commit.gpgsign=false"}, commit...)
	}
	if _, err := t.git(dir, "add", "--all"); err != nil {
		return err
	}
	if _, err := t.git(dir, commit...); err != nil {
		return err
	}
	commit = append(commit, "--amend")
	root := library(modules)
	first := t.fromGit("first", dir, root)
	tidy := t.cache("first", root, t.third) // the modules before are in it
	for _, m := range modules {
		folder := filepath.Join(dir, filepath.FromSlash(m.Dir))
		if len(m.own)+len(m.replaces) > 0 {
			edit := []string{"mod", "edit"}
			for _, p := range m.own {
				edit = append(edit, "-require="+p+"@"+version)
			}
			for _, p := range m.replaces {
				edit = append(edit, "-dropreplace="+p)
			}
			if _, err := t.run(folder, tidy, "go", edit...); err != nil {
				return err
			}
			if _, err := t.run(folder, tidy, "go", "mod", "tidy"); err != nil {
				return err
			}
			if _, err := t.run(folder, tidy, "go", "list", "-deps", "-test", "./..."); err != nil {
				return err
			}
		}
		if _, err := t.git(dir, "add", "--all"); err != nil {
			return err
		}
		if _, err := t.git(dir, commit...); err != nil {
			return err
		}
		for _, tagged := range modules { // those before move along with the commit
			if _, err := t.git(dir, "tag", "--force", "--no-sign", tagged.tag(version)); err != nil {
				return err
			}
			if tagged.Path == m.Path {
				break
			}
		}
		sums, err := t.download(first, m.Path, version)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", sums)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
		// Who checks out the tag needs nothing of the repository's from elsewhere.
		_, err := t.run(dir, append(t.cache("workspace", root, t.third), "GOWORK="), "go", "list", "-m", "all")
		return err
	}
	return nil
}

// work has the workspace take the versions that its modules will require of each other from the folders beside them, as
// their own replaces did.
func (t *tools) work(dir, version string, modules []module) error {
	if _, err := os.Stat(filepath.Join(dir, "go.work")); err != nil {
		return nil
	}
	edit := []string{"work", "edit"}
	for _, m := range modules {
		edit = append(edit, fmt.Sprintf("-replace=%s@%s=./%s", m.Path, version, strings.TrimPrefix(m.Dir, ".")))
	}
	_, err := t.run(dir, []string{"GOWORK="}, "go", edit...)
	return err
}

// publish lets go fetch all modules from the release commit into a new module cache, whose download folder is a file
// system proxy, and returns that proxy. They must be what the modules' go.sum files say.
func (t *tools) publish(dir, version string, modules []module) (proxy string, err error) {
	root := library(modules)
	for _, m := range modules {
		var sums [2]string
		for i, cache := range []string{"first", "published"} {
			sums[i], err = t.download(t.fromGit(cache, dir, root), m.Path, version)
			if err != nil {
				return "", err
			}
		}
		if sums[0] != sums[1] {
			return "", errors.New("the release commit is not what was summed up:\n" + sums[0] + sums[1])
		}
	}
	return fileURL(filepath.Join(t.temp, "published", "cache", "download")), nil
}
