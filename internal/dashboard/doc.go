// Package dashboard implements the pages of the gateway for people who sign in. The server renders them with
// html/template; all pages work without scripts, except where they say otherwise.
//
// A page is one Go file, with its handlers and its data, and one template in pages/, which defines "main". The
// template's dot is a view: .Frame holds the frame of the page, .Page the page's own data. routes.go has the table of
// all routes. A type named after its subject, such as keyHandlers, serves one page or a few. All of them share a
// site. Shared components are templates in parts/ and types in parts.go; the page /design shows all of them.
package dashboard
