// Package stdio runs an MCP server as a process, and sends it messages by its standard input and output. It looks like
// a server over HTTP to the client of package mcp: a session is the life of one process.
package stdio
