// Package recipes has streams that continue where they stopped after a failure, one folder for each kind of source, to
// be copied. docs/recipes.md explains them, and says how each is tested.
package recipes
