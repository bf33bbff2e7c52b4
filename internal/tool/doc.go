// Package tool offers the tools of MCP servers under one set of names, and calls them: each call has its right, its
// limits, its budgets and its row in the ledger, where a server is a provider and a tool is a model.
package tool
