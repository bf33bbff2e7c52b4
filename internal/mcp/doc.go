// Package mcp speaks the Model Context Protocol to one server of tools: over HTTP, in the revisions 2025-03-26 to
// 2026-07-28. Results pass as bytes, so that members of later revisions stay. The specification is at
// https://modelcontextprotocol.io/specification/2026-07-28 (read 2026-11-28).
package mcp
