package mcp

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Revisions of the protocol. From Stateless on, each request is independent; before it, a client initializes a session.
const (
	Stateless = "2026-07-28"
	Sessions  = "2025-11-25"
)

// Revisions returns the revisions that Weir speaks, latest first.
func Revisions() []string { return []string{Stateless, Sessions, "2025-06-18", "2025-03-26"} }

// Speaks reports whether Weir speaks a revision.
func Speaks(revision string) bool { return slices.Contains(Revisions(), revision) }

// Methods that Weir treats specially.
const (
	MethodDiscover   = "server/discover"
	MethodInitialize = "initialize"
	MethodCall       = "tools/call"
	MethodTools      = "tools/list"
)

// Headers of requests.
const (
	HeaderRevision = "Mcp-Protocol-Version"
	HeaderMethod   = "Mcp-Method"
	HeaderName     = "Mcp-Name"
	HeaderSession  = "Mcp-Session-Id"
	HeaderParam    = "Mcp-Param-"  // before the name that a tool's schema gives
	HeaderCaller   = "Weir-Caller" // Request.Session, for a Carrier only
)

// Members of _meta in requests.
const (
	metaOwn          = "io.modelcontextprotocol/" // before those of the revisions without sessions
	MetaRevision     = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaTrace        = "traceparent"
	metaLogs         = metaOwn + "logLevel"
)

// Codes of errors.
const (
	CodeParse          = -32700
	CodeRequest        = -32600
	CodeMethod         = -32601
	CodeParams         = -32602
	CodeInternal       = -32603
	CodeNoResource     = -32002 // before the revision Stateless
	CodeHeaderMismatch = -32020
	CodeCapability     = -32021
	CodeRevision       = -32022
	CodeElicitation    = -32042 // a person has to visit an address first (revision 2025-11-25)
)

// NamedBy returns the member of a method's params that the header Mcp-Name repeats; empty for none.
func NamedBy(method string) string {
	switch method {
	case MethodCall, MethodPrompt:
		return "name"
	case MethodResource:
		return "uri"
	}
	return ""
}

const encodedPrefix, encodedSuffix = "=?base64?", "?="

// EncodeHeader returns a value as a header has it: in base64, marked, if it is not plain ASCII without blanks at its
// ends, or looks like the mark.
func EncodeHeader(value string) string {
	marked := strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
	other := strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
	if !marked && !other && strings.Trim(value, " ") == value {
		return value
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + encodedSuffix
}

// DecodeHeader returns the value of a header. It is false for base64 that is not valid.
func DecodeHeader(header string) (string, bool) {
	rest, begins := strings.CutPrefix(header, encodedPrefix)
	text, ends := strings.CutSuffix(rest, encodedSuffix)
	if !begins || !ends {
		return header, true
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return string(b), err == nil
}
