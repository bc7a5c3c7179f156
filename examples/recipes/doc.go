// Package recipes holds streams that come back where they stopped, one folder for each kind of source: copy one. Each
// has a test with a real server that is cut, refuses and falls silent while events flow. docs/recipes.md explains them.
package recipes
