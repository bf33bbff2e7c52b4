// Package weir holds the documents of the repository, which the gateway serves at /docs.
package weir

import "embed"

// Documents holds the pages and their drawings, by their paths in the repository. The package is in the root directory,
// because a package can only embed files below its own.
//
//go:embed ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
//go:embed docs/*.md docs/adr/*.md docs/providers/*.md docs/reference/*.md docs/pictures/*.svg
var Documents embed.FS
