// Package toolserver serves the tools of all MCP servers under one address by the Model Context Protocol over HTTP, in
// the revisions 2025-03-26 to 2026-07-28. It has no sessions: each request is independent, as the latest revision wants
// and the earlier ones allow.
package toolserver
