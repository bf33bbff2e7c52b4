// Package oauth is the authorization server for programs that use the tools of this gateway: OAuth 2.1 as the Model
// Context Protocol wants it (https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization, read on
// 2026-11-29). A person who is signed in grants a program an API key of an account. The program gets its token for an
// hour at a time.
package oauth
