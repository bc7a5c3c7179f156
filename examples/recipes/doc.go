// Package recipes has streams that continue where they stopped after a failure, one folder for each kind of source, to
// be copied. Each has a test with a real server, whose connections are cut, refused and silenced while events flow.
// docs/recipes.md explains them.
package recipes
