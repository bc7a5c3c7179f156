package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copyHead clones the repository to dest, to commit there as in the repository. It refuses a work tree with changes, for they would not be released, and a
// version that is there already.
func (t *tools) copyHead(repo, dest, version string) error {
	changes, err := t.git(repo, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the work tree has changes: commit them first, or use -dry-run\n%s", changes)
	}
	tags, err := t.git(repo, "tag", "--list", version, "*/"+version)
	if err != nil {
		return err
	}
	if tags != "" {
		return fmt.Errorf("released already: a version never changes. Its tags:\n%s", tags)
	}
	if err := os.RemoveAll(dest); err != nil { // what an earlier run has left
		return err
	}
	if err := t.clone(repo, dest); err != nil {
		return err
	}
	return t.copyIdentity(repo, dest)
}

// copyIdentity has dest commit as repo does, where repo has settings of its own for that: a clone does not take them over.
func (t *tools) copyIdentity(repo, dest string) error {
	settings, err := t.git(repo, "config", "--local", "--list", "-z")
	if err != nil {
		return err
	}
	for setting := range strings.SplitSeq(strings.TrimSuffix(settings, "\x00"), "\x00") {
		key, value, _ := strings.Cut(setting, "\n")
		switch section, _, _ := strings.Cut(key, "."); section {
		case "user", "author", "committer", "commit", "gpg":
			if _, err := t.git(dest, "config", key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tools) clone(repo, dest string) error {
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return err
	}
	_, err := t.git(repo, "clone", "--quiet", "--no-tags", fileURL(repo), dest)
	if err != nil {
		return err
	}
	_, err = t.git(dest, "checkout", "--quiet", "--detach")
	return err
}

// copyWorkTree clones the repository to dest and makes its files those of the work tree, except the ignored ones.
func (t *tools) copyWorkTree(repo, dest string) error {
	if err := t.clone(repo, dest); err != nil {
		return err
	}
	if _, err := t.git(dest, "rm", "-rfq", "--ignore-unmatch", "."); err != nil {
		return err
	}
	files, err := t.git(repo, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		err := copyFile(filepath.Join(dest, file), filepath.Join(repo, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted, and not committed
			return err
		}
	}
	return nil
}

func copyFile(to, from string) (err error) {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil // a zip has no links either
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	_, err = io.Copy(dst, src)
	return err
}
