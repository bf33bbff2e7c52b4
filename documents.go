// Package weir holds the documents of the repository, which the gateway serves at /docs.
package weir

import "embed"

// Documents are the pages and their drawings, by their paths in the repository. The
// package stands here because a package embeds only what is below it.
//
//go:embed ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
//go:embed docs/*.md docs/adr/*.md docs/providers/*.md docs/reference/*.md docs/pictures/*.svg
var Documents embed.FS
