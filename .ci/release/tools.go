package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tools runs go and git for a release. Each has an environment of its own: the caches of a dry run hold versions that
// were never published, and must not be those of the user.
type tools struct {
	ctx    context.Context
	temp   string
	base   []string // the process's environment, without what would lead go and git elsewhere
	third  string   // GOPROXY for the modules of others: what the user has downloaded, then the user's proxies
	noSums string   // the user's GONOSUMDB
}

func newTools(ctx context.Context, temp string) (*tools, error) {
	t := &tools{ctx: ctx, temp: temp}
	for _, kv := range os.Environ() {
		switch key, _, _ := strings.Cut(kv, "="); key {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GOBIN", "GOOS", "GOARCH":
		default:
			t.base = append(t.base, kv)
		}
	}
	text, err := t.run(temp, nil, "go", "env", "-json", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOSUMDB", "GOCACHE")
	if err != nil {
		return nil, err
	}
	var env struct{ GOMODCACHE, GOPROXY, GONOSUMDB, GOSUMDB, GOCACHE string }
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		return nil, err
	}
	t.third = fileURL(filepath.Join(env.GOMODCACHE, "cache", "download")) + "," + env.GOPROXY
	t.noSums = env.GONOSUMDB
	t.base = append(t.base, "GOENV=off", "GOCACHE="+env.GOCACHE, "GOSUMDB="+env.GOSUMDB, "GOWORK=off",
		"GOPRIVATE=", "GONOPROXY=", // with either, go install looks for a nested module in the modules around it
		"GOFLAGS=-modcacherw -trimpath -buildvcs=false") // trimmed, what is compiled is the same in every module cache
	return t, nil
}

func fileURL(path string) string { return "file://" + slashed(path) }

func slashed(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return path
}

// run runs a command in dir and returns what it writes to its standard output.
func (t *tools) run(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(t.base), env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

func (t *tools) git(dir string, args ...string) (string, error) {
	return t.run(dir, nil, "git", args...)
}

// cache returns the environment for a module cache of its own, which has the given name.
func (t *tools) cache(name, own string, proxies ...string) []string {
	return []string{
		"GOMODCACHE=" + filepath.Join(t.temp, name),
		"GOPROXY=" + strings.Join(proxies, ","),
		"GONOSUMDB=" + strings.TrimSuffix(own+","+t.noSums, ","), // the sum database has never heard of the tag
	}
}

// download fetches a module at a version, from git if that is what env says, and returns its lines of a go.sum.
func (t *tools) download(env []string, path, version string) (sums string, err error) {
	text, err := t.run(t.temp, env, "go", "mod", "download", "-json", path+"@"+version)
	if err != nil {
		return "", err
	}
	var got struct{ Sum, GoModSum string }
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", path, version, got.Sum, got.GoModSum), nil
}

// fromGit returns the environment in which go takes the repository of the module root from the copy at dir, which is what
// it does for a proxy, too: the zip it makes is the one that the world will see.
func (t *tools) fromGit(cache, dir, root string) []string {
	return append(t.cache(cache, root, "direct"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+fileURL(dir)+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+root)
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
